/* SPDX-License-Identifier: Apache-2.0 */
/* err.h - the words in which parts of pawl tell each other that something failed.
 *
 * Err is our vocabulary: a dozen codes. errno is translated where the system call
 * is made and never travels. Where a person will read it, an Error carries a
 * sentence that names what was being done, to which object, and why it failed. */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#define MUST_CHECK           __attribute__((warn_unused_result))
#define PRINTF_LIKE(fmt, va) __attribute__((format(printf, fmt, va)))

typedef enum Err {
    ERR_OK = 0,
    ERR_INVALID,     /* the input makes no sense */
    ERR_NOT_FOUND,   /* no such thing */
    ERR_CONFLICT,    /* not in this state, or someone else was first */
    ERR_DENIED,      /* not allowed */
    ERR_LIMIT,       /* larger or more than a named limit */
    ERR_FULL,        /* no room on the disk */
    ERR_BUSY,        /* owned by another process, or try again */
    ERR_IO,          /* the disk or a descriptor failed */
    ERR_CORRUPT,     /* stored bytes are not what was written */
    ERR_UNAVAILABLE, /* the other side is not there now */
    ERR_TIMEOUT,     /* it took too long */
    ERR_UNSUPPORTED, /* known, but not by this build, store or machine */
} Err;

#define ERROR_TEXT_BYTES 480 /* two lines of a terminal with a path in them */

typedef struct Error {
    Err code;
    char text[ERROR_TEXT_BYTES];
} Error;

/* Short stable word for a code, e.g. "not_found". */
const char *err_name(Err err);

/* The Err that stands for an errno of a file or socket call. */
Err err_from_errno(int error_number);

/* Fills *why (which may be NULL) and returns code, so that callers can write
 * `return error_set(why, ERR_IO, "...")`. */
Err error_set(Error *why, Err code, const char *format, ...) PRINTF_LIKE(3, 4);

/* As error_set with ": " and the text of errno added; the code comes from errno. */
Err error_errno(Error *why, const char *format, ...) PRINTF_LIKE(2, 3);

#endif

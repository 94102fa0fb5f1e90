/* SPDX-License-Identifier: Apache-2.0 */
/* chunks.h - a body in chunks (RFC 9112, 7.1), piece by piece as it comes. Pure.
 * Zero-initialised is before the first byte. */
#ifndef HTTP_CHUNKS_H
#define HTTP_CHUNKS_H

#include "base/slice.h"

#include <stdint.h>

typedef enum ChunksState {
    CHUNKS_SIZE, /* the line with the size of the next */
    CHUNKS_DATA,
    CHUNKS_AFTER,   /* CR LF behind the data */
    CHUNKS_TRAILER, /* lines behind the last: read, and not looked at */
    CHUNKS_DONE,
    CHUNKS_BAD,
} ChunksState;

typedef struct Chunks {
    ChunksState state;
    uint64_t left;       /* of the data */
    unsigned digits;     /* of the size */
    bool extended;       /* a ';' was there: the rest of the line is not looked at */
    bool spaced;         /* behind the size: only an extension or the end may follow */
    bool cr;             /* the last byte was CR */
    bool empty;          /* the line so far */
    uint64_t line_bytes; /* of lines that are not data, in a row */
} Chunks;

/* Takes bytes off the front of *in: as many as belong together. Returns what of them is
 * data; empty when there is none. Goes on until *in is empty, or it is done or bad. */
Slice chunks_take(Chunks *chunks, Slice *in);

#endif

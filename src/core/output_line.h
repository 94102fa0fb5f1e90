/* SPDX-License-Identifier: Apache-2.0 */
/* output_line.h - lines of a job's output that mean something.
 *
 *     J: type|payload     a new job when the attempt ends; also #J:
 *     J!: type|payload    a new job at once
 *     P: 45 message       progress in percent
 *     R: 200 result       status and result
 *     R: 200 <<N          the same, the result being the N bytes after this line
 *
 * At the start of a line only; whatever is not exactly so is log, and a J line that is
 * not is told as refused besides: its author meant a job. The parser is fed pieces of any
 * size, keeps only the unfinished line it cares about, and gives the same answers however
 * the pieces were cut. */
#ifndef CORE_OUTPUT_LINE_H
#define CORE_OUTPUT_LINE_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

#define LINE_BYTES_MAX   (16u << 20) /* a longer J, P or R line is log */
#define RESULT_BYTES_MAX (16u << 20) /* of a result, unless set otherwise */

typedef enum LineKind {
    LINE_CHILD,     /* type, payload */
    LINE_CHILD_NOW, /* type, payload */
    LINE_PROGRESS,  /* number: percent; payload: message */
    LINE_RESULT,    /* number: code; payload: result; cut */
    LINE_REFUSED,   /* type: why; payload: the line, none if it was too long */
} LineKind;

typedef struct LineEvent {
    LineKind kind;
    int32_t number;
    Slice type;
    Slice payload; /* valid until the next call on the parser */
    bool cut;      /* the result was longer than its limit, or ended too early */
} LineEvent;

typedef enum LineMode {
    LINE_START,   /* at the start of a line */
    LINE_KEEP,    /* inside a line that may mean something */
    LINE_SKIP,    /* inside a line of log */
    LINE_COUNTED, /* inside the N bytes of a result */
} LineMode;

typedef struct LineParser {
    Buf line; /* what is kept of the unfinished line or result */
    LineMode mode;
    size_t result_bytes_max; /* 0: RESULT_BYTES_MAX */
    uint64_t left;           /* LINE_COUNTED: bytes still to come */
    int32_t code;            /* LINE_COUNTED */
    bool cut;
    bool too_long; /* the line in hand was meant to be a job */
    bool handed;   /* `line` holds what the last event borrowed */
} LineParser;

/* Lines that were refused: how many, and the first with its reason, for people. */
typedef struct LineNote {
    uint64_t count;
    Buf first;
} LineNote;

/* Takes bytes off *rest up to the end of the next line that means something. False
 * when *rest is used up without one. */
bool line_next(LineParser *parser, Slice *rest, LineEvent *out_event);

/* After the last byte: a line without a newline at the end counts too. */
bool line_end(LineParser *parser, LineEvent *out_event);

void line_done(LineParser *parser);

void line_note_add(LineNote *note, const LineEvent *refused);
void line_note_done(LineNote *note);

#endif

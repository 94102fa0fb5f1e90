/* SPDX-License-Identifier: Apache-2.0 */
/* chunks.c - see chunks.h. */
#include "http/chunks.h"

#define DIGITS_MAX     15
#define LINE_BYTES_MAX (16u << 10) /* of sizes, extensions and trailers */

static void begin(Chunks *chunks, ChunksState state)
{
    chunks->state = state;
    chunks->cr = false;
    chunks->empty = true;
}

static void end_size(Chunks *chunks)
{
    if (!chunks->digits) {
        chunks->state = CHUNKS_BAD;
        return;
    }
    begin(chunks, chunks->left ? CHUNKS_DATA : CHUNKS_TRAILER);
    if (chunks->state == CHUNKS_DATA)
        chunks->line_bytes = 0;
    chunks->digits = 0;
    chunks->extended = false;
    chunks->spaced = false;
}

static void take_size(Chunks *chunks, char c)
{
    int digit = hex_digit(c);
    if (chunks->cr) {
        if (c == '\n')
            end_size(chunks);
        else
            chunks->state = CHUNKS_BAD;
    } else if (c == '\r') {
        chunks->cr = true;
    } else if (chunks->extended) {
        chunks->state = c == '\n' ? CHUNKS_BAD : CHUNKS_SIZE;
    } else if (digit >= 0 && chunks->digits < DIGITS_MAX && !chunks->spaced) {
        chunks->left = (chunks->digits++ ? chunks->left << 4 : 0) | (unsigned)digit;
    } else if (chunks->digits && c == ';') {
        chunks->extended = true;
    } else if (chunks->digits && (c == ' ' || c == '\t')) {
        chunks->spaced = true; /* "1 2" is neither 1 nor 18 */
    } else {
        chunks->state = CHUNKS_BAD;
    }
}

static void take_after(Chunks *chunks, char c)
{
    if (!chunks->cr && c == '\r')
        chunks->cr = true;
    else if (chunks->cr && c == '\n')
        begin(chunks, CHUNKS_SIZE);
    else
        chunks->state = CHUNKS_BAD;
}

static void take_trailer(Chunks *chunks, char c)
{
    if (chunks->cr && c == '\n') {
        bool last = chunks->empty;
        begin(chunks, last ? CHUNKS_DONE : CHUNKS_TRAILER);
    } else if (chunks->cr || c == '\n') {
        chunks->state = CHUNKS_BAD;
    } else if (c == '\r') {
        chunks->cr = true;
    } else {
        chunks->empty = false;
    }
}

static void take_byte(Chunks *chunks, char c)
{
    if (++chunks->line_bytes > LINE_BYTES_MAX)
        chunks->state = CHUNKS_BAD;
    else if (chunks->state == CHUNKS_SIZE)
        take_size(chunks, c);
    else if (chunks->state == CHUNKS_AFTER)
        take_after(chunks, c);
    else
        take_trailer(chunks, c);
}

Slice chunks_take(Chunks *chunks, Slice *in)
{
    while (in->bytes && chunks->state != CHUNKS_DATA && chunks->state < CHUNKS_DONE) {
        take_byte(chunks, in->data[0]);
        *in = (Slice){ in->data + 1, in->bytes - 1 };
    }
    if (chunks->state != CHUNKS_DATA)
        return (Slice){ NULL, 0 };
    size_t bytes = in->bytes < chunks->left ? in->bytes : (size_t)chunks->left;
    Slice data = { in->data, bytes };
    *in = (Slice){ in->data + bytes, in->bytes - bytes };
    chunks->left -= bytes;
    if (!chunks->left)
        begin(chunks, CHUNKS_AFTER);
    return data;
}

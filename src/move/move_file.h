/* SPDX-License-Identifier: Apache-2.0 */
/* move_file.h - a whole store as a file of JSON lines, and back; the format is in
 * docs/reference/export.md.
 *
 *   {"pawl_export":1}                                       the version of the format
 *   {"job":"BASE64","slot":1,"run_retry":0,"run_state":8}   a job, packed
 *   {"table":"result","row":[12345,"BASE64"]}               a row of another table
 *   {"rows":2,"xxh3":"0123456789abcdef"}                    the end: how many, checksum
 *
 * The same rows give the same bytes, whatever kind of store they are in. */
#ifndef MOVE_MOVE_FILE_H
#define MOVE_MOVE_FILE_H

#include "store/moving.h"

#include <stdio.h>

/* Everything in the store, and how many rows that were. The stream is flushed. */
MUST_CHECK Err move_file_write(Store *store, FILE *out, uint64_t *out_rows, Error *why);

/* Gives every row of the file to the sink. A file that is cut, damaged or none at all is
 * refused before the first row; a line that cannot be understood when it is its turn: so
 * whoever keeps what comes reads it twice. */
MUST_CHECK Err move_file_read(Slice text, const MoveSink *sink, uint64_t *out_rows,
                              Error *why);

#endif

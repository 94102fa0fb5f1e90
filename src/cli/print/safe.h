/* SPDX-License-Identifier: Apache-2.0 */
/* safe.h - text of others made safe to print: no control characters, known width.
 *
 * A job's name or error may hold anything, also what would move the cursor, colour the
 * screen or write backwards. Such characters are shown as escapes. */
#ifndef CLI_PRINT_SAFE_H
#define CLI_PRINT_SAFE_H

#include "base/buf.h"

/* Appends `text` with control characters, bytes that are no UTF-8 and characters that
 * change the direction of writing as \n, \t, \xHH or \u{HHHH}. */
void safe_add(Buf *out, Slice text);

/* As safe_add, but line ends and tabs stay: for text of several lines. */
void safe_add_lines(Buf *out, Slice text);

/* Columns that safe text takes on a terminal. */
size_t safe_width(Slice text);

/* How many bytes of safe text fit into `columns`; whole characters only. */
size_t safe_fit(Slice text, size_t columns);

#endif

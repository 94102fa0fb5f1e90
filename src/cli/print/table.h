/* SPDX-License-Identifier: Apache-2.0 */
/* table.h - aligned columns of text.
 *
 * Cells are filled left to right, row after row; their text is made safe (safe.h). On a
 * terminal a row never wraps: the columns marked `wide` are cut to what is left. */
#ifndef CLI_PRINT_TABLE_H
#define CLI_PRINT_TABLE_H

#include "cli/print/term.h"

#include "base/buf.h"

typedef struct Column {
    const char *title;
    bool right; /* numbers */
    bool wide;  /* gives way on a narrow screen */
} Column;

typedef struct Cell {
    Slice text; /* safe, in the table's arena */
    size_t width;
    Colour colour;
} Cell;

typedef struct Table {
    const Column *columns; /* borrowed */
    size_t column_count;
    Arena arena;
    Cell *cells;
    size_t cell_count;
    size_t cell_capacity;
} Table;

void table_init(Table *table, const Column *columns, size_t column_count);
void table_done(Table *table);

void table_add(Table *table, Colour colour, Slice text);
void table_addf(Table *table, Colour colour, const char *format, ...) PRINTF_LIKE(3, 4);
size_t table_rows(const Table *table);

/* Titles and rows, each ended by a newline, without spaces at the end of a line. */
void table_print(const Table *table, const Term *term, Buf *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* table.c - see table.h. */
#include "cli/print/table.h"

#include "cli/print/safe.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#define GAP            2
#define COLUMNS_MAX    16
#define WIDE_WIDTH_MIN 8 /* less than this of a text says nothing */
#define CELL_BYTES_MAX 512

void table_init(Table *table, const Column *columns, size_t column_count)
{
    assert(column_count > 0);
    assert(column_count <= COLUMNS_MAX);
    *table = (Table){ .columns = columns, .column_count = column_count };
}

void table_done(Table *table)
{
    arena_done(&table->arena);
    mem_free(table->cells);
    *table = (Table){ 0 };
}

void table_add(Table *table, Colour colour, Slice text)
{
    Buf safe = { 0 };
    /* The end of a long text cannot be seen in a table anyway. */
    safe_add(&safe, slice_of(text.data,
                             text.bytes < CELL_BYTES_MAX ? text.bytes : CELL_BYTES_MAX));
    Slice kept = slice_copy(&table->arena, buf_slice(&safe));
    buf_done(&safe);
    MEM_PUSH(table->cells, table->cell_count, table->cell_capacity) =
        (Cell){ .text = kept, .width = safe_width(kept), .colour = colour };
}

void table_addf(Table *table, Colour colour, const char *format, ...)
{
    char text[CELL_BYTES_MAX];
    va_list list;
    va_start(list, format);
    int bytes = vsnprintf(text, sizeof text, format, list);
    va_end(list);
    assert(bytes >= 0);
    table_add(table, colour, slice_text(text));
}

size_t table_rows(const Table *table)
{
    return table->cell_count / table->column_count;
}

/* Takes what does not fit on the screen from the wide columns, the widest first. */
static void shrink(const Table *table, size_t screen, size_t widths[COLUMNS_MAX])
{
    size_t total = GAP * (table->column_count - 1);
    for (size_t i = 0; i < table->column_count; i++)
        total += widths[i];
    while (total > screen) {
        size_t widest = COLUMNS_MAX;
        for (size_t i = 0; i < table->column_count; i++) {
            bool may = table->columns[i].wide && widths[i] > WIDE_WIDTH_MIN;
            if (may && (widest == COLUMNS_MAX || widths[i] > widths[widest]))
                widest = i;
        }
        if (widest == COLUMNS_MAX)
            return;
        widths[widest]--;
        total--;
    }
}

static void measure(const Table *table, const Term *term, size_t widths[COLUMNS_MAX])
{
    for (size_t i = 0; i < table->column_count; i++)
        widths[i] = strlen(table->columns[i].title);
    for (size_t i = 0; i < table->cell_count; i++) {
        size_t column = i % table->column_count;
        if (table->cells[i].width > widths[column])
            widths[column] = table->cells[i].width;
    }
    if (term->width)
        shrink(table, term->width, widths);
}

static void spaces(Buf *out, size_t count)
{
    for (size_t i = 0; i < count; i++)
        buf_add_char(out, ' ');
}

static void print_cell(const Cell *cell, bool right, size_t width, const Term *term,
                       Buf *out)
{
    Slice text = cell->text;
    size_t columns = cell->width;
    bool cut = columns > width;
    if (cut) {
        text.bytes = safe_fit(text, width - 1);
        columns = safe_width(text) + 1;
    }
    if (right)
        spaces(out, width - columns);
    buf_add_text(out, term_on(term, cell->colour));
    buf_add_slice(out, text);
    if (cut)
        buf_add_text(out, term->utf8 ? "…" : "~");
    buf_add_text(out, term_off(term, cell->colour));
    if (!right)
        spaces(out, width - columns);
}

static void print_row(const Table *table, const Cell *cells,
                      const size_t widths[COLUMNS_MAX], const Term *term, Buf *out)
{
    for (size_t i = 0; i < table->column_count; i++) {
        if (i)
            spaces(out, GAP);
        print_cell(&cells[i], table->columns[i].right, widths[i], term, out);
    }
    while (out->bytes && out->data[out->bytes - 1] == ' ')
        out->bytes--;
    buf_add_char(out, '\n');
}

void table_print(const Table *table, const Term *term, Buf *out)
{
    assert(table->cell_count % table->column_count == 0);
    size_t widths[COLUMNS_MAX];
    measure(table, term, widths);

    Cell titles[COLUMNS_MAX];
    for (size_t i = 0; i < table->column_count; i++) {
        Slice title = slice_text(table->columns[i].title);
        titles[i] = (Cell){ title, title.bytes, COLOUR_BOLD };
    }
    print_row(table, titles, widths, term, out);
    for (size_t i = 0; i < table->cell_count; i += table->column_count)
        print_row(table, &table->cells[i], widths, term, out);
}

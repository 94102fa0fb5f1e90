/* SPDX-License-Identifier: Apache-2.0 */
/* errors.c - see errors.h. Everything comes from the table of problem.c. */
#include "api/errors.h"

#define HTML_TYPE "text/html; charset=utf-8"
#define TEXT_TYPE "text/plain; charset=utf-8"

static void add_html(Buf *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '<')
            buf_add_text(out, "&lt;");
        else if (*text == '&')
            buf_add_text(out, "&amp;");
        else
            buf_add_char(out, *text);
    }
}

static void add_kind(Buf *out, const ProblemKind *kind)
{
    buf_printf(out, "<h2 id=\"%s\">%s</h2>\n<p>%d: ", kind->code, kind->code,
               kind->status);
    add_html(out, kind->title);
    buf_add_text(out, ".</p>\n");
    if (!kind->hint[0])
        return;
    buf_add_text(out, "<p>What to do: ");
    add_html(out, kind->hint);
    buf_add_text(out, ".</p>\n");
}

void api_errors(Exchange *exchange)
{
    Buf *out = &exchange->out;
    buf_clear(out);
    buf_add_text(out, "<!DOCTYPE html>\n<html lang=\"en\"><meta charset=\"utf-8\">"
                      "<title>pawl: errors</title>\n<h1>Errors</h1>\n"
                      "<p>The <code>code</code> of a problem, its HTTP status, what it "
                      "means.</p>\n");
    for (const ProblemKind *kind = problem_kinds(); kind->code; kind++)
        add_kind(out, kind);
    buf_add_text(out, "</html>\n");
    exchange_reply(exchange, 200, HTML_TYPE);
}

void api_error(Exchange *exchange)
{
    const ProblemKind *kind =
        problem_find(slice_cstr(&exchange->arena, exchange->parts[0]));
    if (!kind) {
        exchange_refuse(exchange, "not_found", "no problem has this code");
        return;
    }
    buf_clear(&exchange->out);
    buf_printf(&exchange->out, "%s (%d)\n\n%s.\n", kind->code, kind->status, kind->title);
    if (kind->hint[0])
        buf_printf(&exchange->out, "What to do: %s.\n", kind->hint);
    exchange_reply(exchange, 200, TEXT_TYPE);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* progress.c - see progress.h. */
#include "cli/print/progress.h"

#include "base/times.h"

#define BAR_WIDTH_MIN 10
#define BAR_WIDTH_MAX 40
#define LINE_EVERY_MS (30 * MS_PER_S)
#define LINES_MAX     10

static size_t part(size_t count, size_t total, size_t width)
{
    return total ? count * width / total : 0;
}

static void repeat(Buf *out, const char *text, size_t count)
{
    for (size_t i = 0; i < count; i++)
        buf_add_text(out, text);
}

/* What is left at the pace so far; nothing before there is a pace. */
static void add_eta(const Progress *progress, Buf *out)
{
    size_t ended = progress_ended(progress);
    char text[DURATION_TEXT_BYTES];
    if (!ended || ended == progress->total || progress->elapsed_ms < MS_PER_S)
        return;
    int64_t left_ms =
        progress->elapsed_ms * (int64_t)(progress->total - ended) / (int64_t)ended;
    buf_printf(out, "  eta %s",
               duration_human(left_ms / MS_PER_S * MS_PER_S + MS_PER_S, text));
}

static void add_counts(const Progress *progress, Buf *out)
{
    buf_printf(out, " %zu/%zu  done %zu", progress_ended(progress), progress->total,
               progress->done);
    if (progress->failed)
        buf_printf(out, "  failed %zu", progress->failed);
    if (progress->cancelled)
        buf_printf(out, "  cancelled %zu", progress->cancelled);
    if (progress->running)
        buf_printf(out, "  running %zu", progress->running);
    add_eta(progress, out);
}

void progress_bar(const Progress *progress, const Term *term, Buf *out)
{
    Buf counts = { 0 };
    add_counts(progress, &counts);
    size_t room = term->width > counts.bytes + 3 ? term->width - counts.bytes - 3 : 0;
    size_t width = room > BAR_WIDTH_MAX ? BAR_WIDTH_MAX : room;
    if (width >= BAR_WIDTH_MIN) {
        size_t ended = part(progress_ended(progress), progress->total, width);
        size_t bad = part(progress->failed + progress->cancelled, progress->total, width);
        size_t active =
            part(progress_ended(progress) + progress->running, progress->total, width);
        buf_add_char(out, '[');
        buf_add_text(out, term_on(term, COLOUR_GREEN));
        repeat(out, term->utf8 ? "█" : "#", ended - bad);
        buf_add_text(out, term_on(term, COLOUR_RED));
        repeat(out, term->utf8 ? "▓" : "!", bad);
        buf_add_text(out, term_off(term, COLOUR_RED));
        repeat(out, term->utf8 ? "▒" : "+", active - ended);
        repeat(out, term->utf8 ? "░" : ".", width - active);
        buf_add_char(out, ']');
    }
    if (counts.bytes >= term->width && term->width)
        counts.bytes = term->width - 1;
    buf_add_slice(out, buf_slice(&counts));
    buf_done(&counts);
}

void progress_line(const Progress *progress, Buf *out)
{
    buf_printf(out, "progress %zu/%zu done=%zu failed=%zu cancelled=%zu running=%zu",
               progress_ended(progress), progress->total, progress->done,
               progress->failed, progress->cancelled, progress->running);
}

bool progress_due(const Progress *before, const Progress *now)
{
    return part(progress_ended(before), before->total, LINES_MAX) !=
               part(progress_ended(now), now->total, LINES_MAX) ||
           now->elapsed_ms - before->elapsed_ms >= LINE_EVERY_MS;
}

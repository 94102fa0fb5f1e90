/* SPDX-License-Identifier: Apache-2.0 */
/* worker_lines.c - see worker_lines.h. */
#include "cli/worker_lines.h"

#include "base/text.h"

typedef struct Mark {
    const char *text;
    WorkerLineKind kind;
    bool numbered; /* a number stands behind the id */
} Mark;

static const Mark marks[] = {
    { "R: ", WORKER_RESULT, true },
    { "P: ", WORKER_PROGRESS, true },
    { "J: ", WORKER_JOB, false },
    { "#J: ", WORKER_JOB, false },
};

static const Mark *mark_of(Slice line)
{
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (slice_starts(line, slice_text(marks[i].text)))
            return &marks[i];
    return NULL;
}

static WorkerLine read_line(Slice line)
{
    WorkerLine other = { .kind = WORKER_OTHER, .text = line };
    const Mark *mark = mark_of(line);
    if (!mark)
        return other;
    Slice rest = slice_from(line, strlen(mark->text));
    WorkerLine read = { .kind = mark->kind, .id = slice_cut(&rest, ' ') };
    if (mark->numbered && int_parse(slice_cut(&rest, ' '), &read.number))
        return other;
    read.text = rest;
    return read;
}

/* <<N behind a result: how many bytes follow. */
static bool counted(const WorkerLine *line, size_t *out_bytes)
{
    int64_t bytes;
    Slice mark = SLICE_LITERAL("<<");
    if (line->kind != WORKER_RESULT || !slice_starts(line->text, mark) ||
        int_parse(slice_from(line->text, mark.bytes), &bytes) || bytes < 0)
        return false;
    *out_bytes = (size_t)bytes;
    return true;
}

bool worker_line_next(Slice in, size_t *at, WorkerLine *out)
{
    Slice rest = slice_from(in, *at);
    const char *end = rest.bytes ? memchr(rest.data, '\n', rest.bytes) : NULL;
    if (!end)
        return false;
    size_t length = (size_t)(end - rest.data);
    size_t taken = length + 1;
    size_t follows = 0;
    WorkerLine line = read_line(slice_of(rest.data, length));
    if (counted(&line, &follows)) {
        if (rest.bytes - taken < follows)
            return false;
        line.text = slice_of(rest.data + taken, follows);
        taken += follows;
        if (taken < rest.bytes && rest.data[taken] == '\n')
            taken++; /* people end what they print with one */
    }
    *at += taken;
    *out = line;
    return true;
}

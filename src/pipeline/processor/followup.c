/* SPDX-License-Identifier: Apache-2.0 */
/* followup.c - see followup.h. */
#include "pipeline/processor/followup.h"

#include "pipeline/pipeline.h"
#include "pipeline/processor/notes.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define NEXT_DIR     "next"
#define SIGNAL_QUEUE "signals"
#define SIGNAL_TYPE  "signal"
#define RETRY_MS     (2 * MS_PER_S)
#define WINDOW_MS    (30 * 24 * MS_PER_HOUR) /* a node may be away for long */

/* $0 program, $1 data directory, $2 destination, $3 unit. Another node may run it when
 * this one is lost: then there is nobody behind this one's socket. */
static const char script[] =
    "\"$0\" processor --server \"unix:$1/pawl.sock\" process -- \"$2\" \"$3\"\n"
    "code=$?\n"
    "[ $code = 6 ] && [ -n \"$PAWL_API_URL\" ] || exit $code\n"
    "exec \"$0\" processor --server \"$PAWL_API_URL\" process -- \"$2\" \"$3\"\n";

/* A name alone is of this node, whoever sends the signal. */
static Slice whole_address(const Processor *processor, Slice destination, Arena *arena)
{
    const PipelineOptions *options = pipeline_options(processor->pipeline);
    Buf text = { 0 };
    bool here = options->engine.publish &&
                !memchr(destination.data, '@', destination.bytes) &&
                pipeline_find(processor->pipeline, destination);
    if (!here)
        return destination;
    Slice name = pipeline_find(processor->pipeline, destination)->plan.name;
    buf_printf(&text, SLICE_FMT "@%s", SLICE_ARG(name), options->sysid);
    Slice kept = slice_copy(arena, buf_slice(&text));
    buf_done(&text);
    return kept;
}

Err next_keep(const Processor *processor, const char *unit, Slice destination, Error *why)
{
    Buf text = { 0 };
    Now now = clock_now();
    /* The first line makes this signal another than the one of a later run. */
    buf_printf(&text, "%lld.%lld\n", (long long)now.wall_ms, (long long)now.boot_ms);
    buf_add_slice(&text, destination);
    Err err = own_write(&processor->buckets, NEXT_DIR, unit, buf_slice(&text), why);
    buf_done(&text);
    return err;
}

static void add_word(Buf *command, Slice word)
{
    buf_add_slice(command, word);
    buf_add_char(command, '\0');
}

static Err send_one(Processor *processor, const char *unit, Slice stamp,
                    Slice destination)
{
    const PipelineOptions *options = pipeline_options(processor->pipeline);
    Buf command = { 0 };
    Arena arena = { 0 };
    Buf key = { 0 };
    Error why = { 0 };
    Job job = job_default();
    const Slice words[] = { SLICE_LITERAL("/bin/sh"),
                            SLICE_LITERAL("-c"),
                            slice_text(script),
                            slice_text(options->program),
                            slice_text(options->data_dir),
                            whole_address(processor, destination, &arena),
                            slice_text(unit) };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        add_word(&command, words[i]);
    buf_printf(&key, "next:" SLICE_FMT ":" SLICE_FMT, SLICE_ARG(processor->plan.name),
               SLICE_ARG(stamp));
    job.tenant = SLICE_LITERAL("default");
    job.type = SLICE_LITERAL(SIGNAL_TYPE);
    job.queue = SLICE_LITERAL(SIGNAL_QUEUE);
    job.command = buf_slice(&command);
    job.cwd = SLICE_LITERAL("/");
    job.name = SLICE_LITERAL("next process signal");
    job.retry_delay_ms = RETRY_MS;
    job.retry_window_ms = WINDOW_MS;
    const JobsPort *engine = &options->engine;
    Err err = engine->add_once(engine->context, &job, buf_slice(&key), &why);
    if (err)
        processor_trouble(processor, unit, "the next signal cannot be queued: %s",
                          why.text);
    buf_done(&key);
    arena_done(&arena);
    buf_done(&command);
    return err;
}

void next_send(Processor *processor, const char *unit)
{
    Buf text = { 0 };
    if (!own_read(&processor->buckets, NEXT_DIR, unit, &text)) {
        Slice destination = buf_slice(&text);
        Slice stamp = slice_cut(&destination, '\n');
        if (!destination.bytes || !send_one(processor, unit, stamp, destination))
            own_remove(&processor->buckets, NEXT_DIR, unit);
    }
    buf_done(&text);
}

void next_recover(Processor *processor)
{
    BucketWalk walk = { 0 };
    char name[UNIT_BYTES_MAX + 1];
    int dir = openat(processor->buckets.own_fd, NEXT_DIR,
                     O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir < 0)
        return;
    for (WalkStep step; (step = bucket_walk_next(&walk, dir, name)) != WALK_END;)
        if (step == WALK_UNIT && bucket_has(&processor->buckets, IN_PROCESSED, name))
            next_send(processor, name);
    close(dir);
}

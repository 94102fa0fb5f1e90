/* SPDX-License-Identifier: Apache-2.0 */
/* stream.c - see stream.h: from the pipes into the spool, and from there to the lines
 * that mean something.
 *
 * Bytes are read as lines only after they are in the spool: what the loop was told can
 * be told again by the next daemon. */
#include "run/process/stream.h"
#include "run/news.h"

#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#define FINISH_BYTES_MAX (4 << 20) /* a pipe holds less; a leftover may go on writing */

static void watch(Runner *runner, Stream *stream)
{
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = stream };
    if (stream->fd < 0 || stream->watched)
        return;
    stream->watched = epoll_ctl(runner->epoll_fd, EPOLL_CTL_ADD, stream->fd, &event) == 0;
}

/* The launcher has a copy of the descriptor: closing ours would not end the watch. */
static void unwatch(Runner *runner, Stream *stream)
{
    if (stream->watched)
        epoll_ctl(runner->epoll_fd, EPOLL_CTL_DEL, stream->fd, NULL);
    stream->watched = false;
}

void stream_close(Runner *runner, Stream *stream)
{
    if (stream->fd < 0)
        return;
    unwatch(runner, stream);
    close(stream->fd);
    stream->fd = -1;
}

typedef struct Teller {
    Runner *runner;
    RunAttempt *attempt;
} Teller;

static void tell_child(void *context, uint64_t number, Slice type, Slice payload)
{
    const Teller *teller = context;
    news_child(teller->runner, teller->attempt, number, type, payload);
}

static void tell_progress(Runner *runner, RunAttempt *attempt)
{
    OutputLines *said = attempt->said;
    int64_t now_ms = clock_now().boot_ms;
    if (attempt->progress_told_ms + RUNNER_PROGRESS_MS > now_ms) {
        streams_tick_soon(runner);
        return;
    }
    RunNews *news = news_new(RUN_PROGRESS, attempt);
    news->number = said->progress;
    buf_add_slice(&news->text, buf_slice(&said->message));
    news_put(runner, news);
    attempt->progress_told_ms = now_ms;
    said->progress_news = false;
}

/* Reads as lines what is in the spool and was not read yet. */
static void read_lines(Runner *runner, RunAttempt *attempt, const Buf *dropped, bool end)
{
    OutputLines *said = attempt->said;
    const Spool *spool = &attempt->streams[OUTPUT_OUT].spool;
    Teller teller = { runner, attempt };
    OutputLinesSink sink = { tell_child, &teller,
                             (attempt->flags & PREPARED_CHILDREN_NOW) != 0 };
    if (said->read < spool->first)
        said->read = spool->first - (int64_t)dropped->bytes;
    while (said->read + (int64_t)dropped->bytes < spool->total) {
        buf_clear(&runner->scratch);
        spool_read(spool, said->read, SPOOL_TAKE_MAX, &runner->scratch);
        if (!runner->scratch.bytes)
            break;
        output_lines_read(said, buf_slice(&runner->scratch), &sink);
    }
    if (dropped->bytes)
        output_lines_read(said, buf_slice(dropped), &sink);
    if (end)
        output_lines_end(said, &sink);
    else if (said->progress_news)
        tell_progress(runner, attempt);
}

/* Moves what waits in the pipe into the spool and reads it. */
static size_t take(Runner *runner, Stream *stream)
{
    RunAttempt *attempt = stream->attempt;
    bool reads = attempt->said && stream == &attempt->streams[OUTPUT_OUT];
    Buf dropped = { 0 };
    size_t moved = spool_take(&stream->spool, stream->fd, &dropped);
    if (reads && moved)
        read_lines(runner, attempt, &dropped, false);
    buf_done(&dropped);
    if (spool_over(&stream->spool)) {
        /* If it cannot be saved the disk is full, which dropping the front helps. */
        if (reads && output_lines_save(attempt->said))
            attempt->said->result_saved = false;
        spool_trim(&stream->spool);
    }
    return moved;
}

void stream_ready(Runner *runner, Stream *stream, bool ended)
{
    if (stream->fd < 0)
        return;
    if (stream->attempt->said && news_too_many()) {
        unwatch(runner, stream);
        stream->attempt->paused = true;
        streams_tick_soon(runner);
        return;
    }
    if (!take(runner, stream) && ended)
        stream_close(runner, stream);
}

void stream_catch_up(Runner *runner, RunAttempt *attempt)
{
    Buf none = { 0 };
    if (!attempt->said)
        return;
    output_lines_load(attempt->said);
    read_lines(runner, attempt, &none, false);
}

void stream_finish(Runner *runner, RunAttempt *attempt)
{
    Buf none = { 0 };
    for (int i = 0; i < OUTPUT_STREAMS; i++) {
        Stream *stream = &attempt->streams[i];
        size_t all = 0;
        size_t moved;
        while (stream->fd >= 0 && all < FINISH_BYTES_MAX &&
               (moved = take(runner, stream)) > 0)
            all += moved;
        stream_close(runner, stream);
    }
    if (attempt->said)
        read_lines(runner, attempt, &none, true);
    for (int i = 0; i < OUTPUT_STREAMS; i++)
        spool_done(&attempt->streams[i].spool);
}

void streams_tick_soon(Runner *runner)
{
    if (!runner->tick_ms)
        runner->tick_ms = clock_now().boot_ms + RUNNER_TICK_MS;
}

static void tick(Runner *runner, RunAttempt *attempt)
{
    if (attempt->said && attempt->said->progress_news)
        tell_progress(runner, attempt);
    attempt->paused = attempt->paused && news_too_many();
    if (attempt->paused) {
        streams_tick_soon(runner);
        return;
    }
    for (int i = 0; i < OUTPUT_STREAMS; i++)
        watch(runner, &attempt->streams[i]);
}

void streams_tick(Runner *runner)
{
    MapEntry entry;
    runner->tick_ms = 0;
    for (size_t at = 0; map_next(&runner->attempts, &at, &entry);)
        for (RunAttempt *attempt = entry.value; attempt; attempt = attempt->next)
            if (attempt->phase != PHASE_OVER)
                tick(runner, attempt);
}

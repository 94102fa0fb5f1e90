/* SPDX-License-Identifier: Apache-2.0 */
/* api_logs.c - see api_logs.h.
 *
 * Following: the stream looks at the spool files whenever it is woken (every tenth of a
 * second, and when the job ends). Meanwhile one call after the other waits for the job's
 * end, each followed by a look at the job: so the stream knows how many attempts there
 * are and when the last one is over. It ends when it has sent all of an attempt that is
 * known to be over, and no further one is to come or wanted. */
#include "serve/api_logs.h"

#include "base/text.h"
#include "run/output.h"
#include "serve/api_common.h"

#include <stdio.h>

#define TEXT_TYPE     "text/plain; charset=utf-8"
#define READ_BYTES    (256u << 10)
#define WAIT_SLICE_MS (2 * MS_PER_S)

typedef struct LogWanted {
    uint32_t attempt; /* 0: the last one */
    bool streams[OUTPUT_STREAMS];
    bool follow;
} LogWanted;

/* --- What is asked -------------------------------------------------------------------
 */

static bool read_stream(Exchange *exchange, LogWanted *wanted)
{
    Slice stream = exchange_param(exchange, "stream");
    wanted->streams[OUTPUT_OUT] = !stream.data || slice_is(stream, "stdout");
    wanted->streams[OUTPUT_ERR] = !stream.data || slice_is(stream, "stderr");
    if (wanted->streams[OUTPUT_OUT] || wanted->streams[OUTPUT_ERR])
        return true;
    exchange_refuse(exchange, "invalid_value", "stream is stdout or stderr");
    return false;
}

static bool read_attempt(Exchange *exchange, LogWanted *wanted)
{
    Slice attempt = exchange_param(exchange, "attempt");
    int64_t number = 0;
    if (!attempt.data)
        return true;
    if (int_parse(attempt, &number) || number < 1 || number > UINT32_MAX) {
        exchange_refuse(exchange, "invalid_value", "attempt is a number from 1 on");
        return false;
    }
    wanted->attempt = (uint32_t)number;
    return true;
}

static bool read_follow(Exchange *exchange, LogWanted *wanted)
{
    Slice follow = exchange_param(exchange, "follow");
    wanted->follow = slice_is(follow, "1") || slice_is(follow, "true");
    if (!follow.data || wanted->follow || slice_is(follow, "0") ||
        slice_is(follow, "false"))
        return true;
    exchange_refuse(exchange, "invalid_value", "follow is 1 or 0");
    return false;
}

/* --- At once
 * ---------------------------------------------------------------------------- */

/* Output that its cap took away is not passed over in silence. */
static void add_gap(Buf *out, int64_t bytes)
{
    buf_printf(out,
               "\n[pawl: %lld bytes of output were dropped here; see limits.output]\n",
               (long long)bytes);
}

/* All that is kept of one stream. */
static Err read_all(const OutputName *name, Buf *out)
{
    int64_t from = 0;
    Buf piece = { 0 };
    Err err = ERR_OK;
    for (bool more = true; more && !err;) {
        OutputPart part = { 0 };
        buf_clear(&piece);
        err = output_read(name, from, READ_BYTES, &piece, &part);
        if (!err && piece.bytes && part.from > from)
            add_gap(out, part.from - from);
        buf_add_slice(out, buf_slice(&piece));
        more = part.next > from && part.next < part.total;
        from = part.next;
    }
    buf_done(&piece);
    return err;
}

static void read_log(Call *call, Store *store)
{
    Exchange *exchange = call->context;
    const LogWanted *wanted = exchange->state;
    if (!call_load_job(call, store, exchange->id))
        return;
    OutputName name = {
        .data_dir = daemon_facts(exchange->daemon)->data_dir,
        .id = exchange->id,
        .attempt = wanted->attempt ? wanted->attempt : call->job.attempt,
    };
    if (name.attempt > call->job.attempt) {
        call->err = ERR_NOT_FOUND;
        call->problem = "attempt_not_found";
        return;
    }
    buf_clear(&exchange->out);
    for (unsigned i = 0; i < OUTPUT_STREAMS && name.attempt && !call->err; i++) {
        name.stream = (OutputStream)i;
        if (wanted->streams[i] && !wanted->follow)
            call->err = read_all(&name, &exchange->out);
    }
}

static void add_attempt_header(Exchange *exchange, uint32_t attempt)
{
    char text[16];
    snprintf(text, sizeof text, "%u", attempt);
    exchange_add_header(exchange, "Pawl-Attempt", text);
}

/* --- Followed
 * ----------------------------------------------------------------------------- */

typedef struct LogStream {
    Stream stream; /* must be first */
    Call wait_call;
    Call read_call;
    Daemon *daemon;
    JobId id;
    LogWanted wanted;
    OutputName name;
    int64_t offsets[OUTPUT_STREAMS];
    Buf piece;

    pthread_mutex_t lock; /* of what the calls found */
    uint32_t attempts;    /* that the job has had */
    bool owned;           /* the last of them runs */
    bool final;
} LogStream;

static void log_stream_free(Stream *stream)
{
    LogStream *log = (LogStream *)stream;
    arena_done(&log->wait_call.arena);
    arena_done(&log->read_call.arena);
    buf_done(&log->piece);
    pthread_mutex_destroy(&log->lock);
    mem_free(log);
}

static ssize_t read_piece(LogStream *log, char *out, size_t max)
{
    for (unsigned i = 0; i < OUTPUT_STREAMS; i++) {
        if (!log->wanted.streams[i])
            continue;
        OutputPart part = { 0 };
        log->name.stream = (OutputStream)i;
        buf_clear(&log->piece);
        if (output_read(&log->name, log->offsets[i], max, &log->piece, &part))
            return -1;
        if (!log->piece.bytes)
            continue;
        if (part.from > log->offsets[i]) {
            buf_clear(&log->piece);
            add_gap(&log->piece, part.from - log->offsets[i]);
            part.next = part.from; /* what follows is read the next time */
            if (log->piece.bytes > max)
                return -1;
        }
        log->offsets[i] = part.next;
        memcpy(out, log->piece.data, log->piece.bytes);
        return (ssize_t)log->piece.bytes;
    }
    return 0;
}

/* The next attempt may have begun since the job was last looked at. What is left of this
 * one is then read first: it is over, so all of it is there. */
static bool next_has_begun(LogStream *log)
{
    if (log->wanted.attempt)
        return false;
    OutputName name = log->name;
    name.attempt++;
    bool begun = false;
    for (unsigned i = 0; i < OUTPUT_STREAMS && !begun; i++) {
        OutputPart part = { 0 };
        name.stream = (OutputStream)i;
        buf_clear(&log->piece);
        begun = !output_read(&name, 0, 1, &log->piece, &part) && part.total > 0;
    }
    pthread_mutex_lock(&log->lock);
    if (begun && log->attempts < name.attempt)
        log->attempts = name.attempt;
    pthread_mutex_unlock(&log->lock);
    return begun;
}

static ssize_t log_stream_read(Stream *stream, char *out, size_t max)
{
    LogStream *log = (LogStream *)stream;
    for (;;) {
        /* Looked at before the files: what was printed before the end is then in them. */
        pthread_mutex_lock(&log->lock);
        uint32_t attempts = log->attempts;
        bool over = log->name.attempt < attempts || !log->owned;
        bool final = log->final;
        pthread_mutex_unlock(&log->lock);
        if (stream_gone(stream))
            return -1;
        ssize_t bytes = log->name.attempt ? read_piece(log, out, max) : 0;
        if (bytes)
            return bytes;
        if (over && log->name.attempt && log->wanted.attempt)
            return -1;
        if (log->name.attempt < attempts) {
            log->name.attempt++;
            memset(log->offsets, 0, sizeof log->offsets);
            continue;
        }
        if (final)
            return -1;
        if (!next_has_begun(log))
            return 0;
    }
}

static void log_wait_on(LogStream *log)
{
    if (stream_gone(&log->stream))
        return;
    log->wait_call.event.id = log->id;
    log->wait_call.timeout_ms = WAIT_SLICE_MS;
    stream_send(&log->stream, &log->wait_call);
}

static void log_waited(Call *call)
{
    LogStream *log = call->context;
    if (!stream_gone(&log->stream))
        stream_send(&log->stream, &log->read_call);
    stream_done(&log->stream);
}

static void log_read_job(Call *call, Store *store)
{
    LogStream *log = call->context;
    Load load = { .kind = LOAD_JOB, .id = log->id };
    Loaded loaded = { 0 };
    call->err = store->kind->load(store, &load, &loaded, &call->why);
    pthread_mutex_lock(&log->lock);
    if (!call->err && loaded.count) {
        log->attempts = loaded.jobs[0].attempt;
        log->owned = state_in(loaded.jobs[0].state, STATES_OWNED);
        log->final = state_in(loaded.jobs[0].state, STATES_FINAL);
    } else if (!call->err) { /* removed */
        log->owned = false;
        log->final = true;
    }
    pthread_mutex_unlock(&log->lock);
    loaded_done(&loaded);
}

static void log_job_read(Call *call)
{
    LogStream *log = call->context;
    pthread_mutex_lock(&log->lock);
    bool leaving = call->err == ERR_UNAVAILABLE;
    log->final = log->final || leaving;
    bool more = !log->final;
    pthread_mutex_unlock(&log->lock);
    if (more)
        log_wait_on(log);
    stream_done(&log->stream);
}

static void follow(Exchange *exchange, const Job *job)
{
    const LogWanted *wanted = exchange->state;
    LogStream *log = MEM_NEW(LogStream);
    log->stream.read = log_stream_read;
    log->stream.free = log_stream_free;
    log->daemon = exchange->daemon;
    log->id = exchange->id;
    log->wanted = *wanted;
    log->attempts = job->attempt;
    log->owned = state_in(job->state, STATES_OWNED);
    log->final = state_in(job->state, STATES_FINAL);
    log->name = (OutputName){
        .data_dir = daemon_facts(exchange->daemon)->data_dir,
        .id = exchange->id,
        .attempt = wanted->attempt ? wanted->attempt : job->attempt,
    };
    log->wait_call = (Call){ .kind = CALL_WAIT, .done = log_waited, .context = log };
    log->read_call = (Call){
        .kind = CALL_READ, .read = log_read_job, .done = log_job_read, .context = log
    };
    pthread_mutex_init(&log->lock, NULL);
    stream_init(&log->stream, exchange);
    if (!log->final)
        log_wait_on(log);
    exchange_stream(exchange, &log->stream, TEXT_TYPE);
}

/* --- Both
 * ------------------------------------------------------------------------------------ */

static void log_read(Exchange *exchange, Call *call)
{
    const LogWanted *wanted = exchange->state;
    if (call->err) {
        exchange_failed(exchange, call);
        return;
    }
    add_attempt_header(exchange, wanted->attempt ? wanted->attempt : call->job.attempt);
    if (wanted->follow)
        follow(exchange, &call->job);
    else
        exchange_reply(exchange, 200, TEXT_TYPE);
}

static void get_log(Exchange *exchange)
{
    LogWanted *wanted = ARENA_NEW(&exchange->arena, LogWanted);
    if (!read_stream(exchange, wanted) || !read_attempt(exchange, wanted) ||
        !read_follow(exchange, wanted))
        return;
    exchange->state = wanted;
    Call *call = exchange_call(exchange, CALL_READ, log_read);
    call->read = read_log;
    exchange_send(exchange, call);
}

void api_job_log(Exchange *exchange)
{
    api_with_job(exchange, get_log);
}

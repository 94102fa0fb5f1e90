/* SPDX-License-Identifier: Apache-2.0 */
/* log_stream.c - see log_stream.h.
 *
 * The stream looks for more whenever it is woken (every tenth of a second, and when the
 * job ends): in the spool files, or by asking the node that has them. Meanwhile one call
 * after the other waits for the job's end, each followed by a look at the job: so the
 * stream knows how many attempts there are, where, and when the last one is over. It ends
 * when it has sent all of an attempt that is known to be over, and no further one is to
 * come or wanted. */
#include "api/jobs/log_stream.h"

#include "base/log.h"
#include "cluster/neighbours.h"
#include "cluster/remote_query.h"

#include <stdio.h>

#define WAIT_SLICE_MS   (2 * MS_PER_S)
#define SHARED_SLICE_MS 500  /* attempts may begin on other nodes: no file tells */
#define FAR_EVERY_MS    300  /* questions to another node that has no more now */
#define PIECE_WAIT      (-3) /* it is being asked for; else as a Stream reads */

typedef struct LogPlace {
    char node[NEIGHBOUR_SYSID_BYTES]; /* empty: this one */
} LogPlace;

/* What another node is asked for. */
typedef struct FarLog {
    Call call;
    Question question;
    bool out;        /* the call is */
    bool asked_over; /* the attempt was known to be over when it was sent */
    bool dry;        /* there was nothing more, */
    bool dry_over;   /* and nothing more will come */
    Err failed;
    Buf bytes; /* that have come, */
    size_t taken;
    int64_t next_boot;
} FarLog;

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
    bool shared;
    bool told; /* why there is no more */

    pthread_mutex_t lock; /* of what the calls found */
    uint32_t attempts;    /* that the job has had */
    bool owned;           /* the last of them runs */
    bool final;
    LogPlace *places; /* of attempts from 1 on, as far as they are known */
    size_t place_count;
    size_t place_capacity;
    FarLog far;
} LogStream;

void log_gap(Buf *out, int64_t bytes)
{
    buf_printf(out,
               "\n[pawl: %lld bytes of output were dropped here; see limits.output]\n",
               (long long)bytes);
}

static void log_stream_free(Stream *stream)
{
    LogStream *log = (LogStream *)stream;
    arena_done(&log->wait_call.arena);
    arena_done(&log->read_call.arena);
    arena_done(&log->far.call.arena);
    buf_done(&log->far.bytes);
    buf_done(&log->piece);
    mem_free(log->places);
    pthread_mutex_destroy(&log->lock);
    mem_free(log);
}

/* --- Where an attempt ran -------------------------------------------------------------
 */

static Slice node_of(const DaemonFacts *facts, Slice node)
{
    return slice_is(node, facts->sysid) ? (Slice){ NULL, 0 } : node;
}

/* Attempts come in order; one that is not there has left nothing. */
static Err load_attempts(Call *call, Store *store, JobId id, Loaded *out)
{
    Load load = { .kind = LOAD_ATTEMPTS, .id = id };
    return store->kind->load(store, &load, out, &call->why);
}

Slice log_place(Call *call, Store *store, const DaemonFacts *facts, uint32_t attempt)
{
    Loaded loaded = { 0 };
    Slice node = { NULL, 0 };
    if (!facts->shared)
        return node;
    call->err = load_attempts(call, store, call->job.id, &loaded);
    for (size_t i = 0; i < loaded.count && !call->err; i++)
        if (loaded.jobs[i].attempt == attempt)
            node = slice_copy(&call->arena, node_of(facts, loaded.jobs[i].node));
    loaded_done(&loaded);
    return node;
}

static void set_place(LogStream *log, uint32_t attempt, Slice node)
{
    while (log->place_count < attempt) {
        LogPlace none = { "" };
        MEM_PUSH(log->places, log->place_count, log->place_capacity) = none;
    }
    LogPlace *place = &log->places[attempt - 1];
    snprintf(place->node, sizeof place->node, SLICE_FMT, SLICE_ARG(node));
}

static void learn_places(LogStream *log, Call *call, Store *store)
{
    const DaemonFacts *facts = daemon_facts(log->daemon);
    Loaded loaded = { 0 };
    if (!log->shared)
        return;
    call->err = load_attempts(call, store, log->id, &loaded);
    pthread_mutex_lock(&log->lock);
    for (size_t i = 0; i < loaded.count && !call->err; i++)
        if (loaded.jobs[i].attempt)
            set_place(log, loaded.jobs[i].attempt, node_of(facts, loaded.jobs[i].node));
    pthread_mutex_unlock(&log->lock);
    loaded_done(&loaded);
}

/* --- Pieces: of this node -------------------------------------------------------------
 */

/* That there is more than can be had is said in the text, and then by how it ends. */
static ssize_t cannot_read(LogStream *log, char *out, size_t max)
{
    static const char text[] =
        "\n[pawl: the rest cannot be read; see the daemon's log]\n";
    if (log->told || sizeof text > max)
        return STREAM_BROKEN;
    log->told = true;
    memcpy(out, text, sizeof text - 1);
    return sizeof text - 1;
}

static ssize_t piece_failed(LogStream *log, Err err, char *out, size_t max)
{
    char id[ID_TEXT_BYTES];
    if (!log->told)
        log_event(LOG_WARN, "log.unreadable", "job=%s attempt=%u err=%s",
                  id_text(log->id, id), log->name.attempt, err_name(err));
    return cannot_read(log, out, max);
}

static ssize_t read_piece(LogStream *log, char *out, size_t max)
{
    for (unsigned i = 0; i < OUTPUT_STREAMS; i++) {
        if (!log->wanted.streams[i])
            continue;
        OutputPart part = { 0 };
        log->name.stream = (OutputStream)i;
        buf_clear(&log->piece);
        Err err = output_read(&log->name, log->offsets[i], max, &log->piece, &part);
        if (err)
            return piece_failed(log, err, out, max);
        if (!log->piece.bytes)
            continue;
        if (part.from > log->offsets[i]) {
            buf_clear(&log->piece);
            log_gap(&log->piece, part.from - log->offsets[i]);
            part.next = part.from; /* what follows is read the next time */
            if (log->piece.bytes > max)
                return STREAM_BROKEN;
        }
        log->offsets[i] = part.next;
        memcpy(out, log->piece.data, log->piece.bytes);
        return (ssize_t)log->piece.bytes;
    }
    return 0;
}

/* --- Pieces: of another ---------------------------------------------------------------
 */

static void far_answered(Call *call)
{
    LogStream *log = call->context;
    FarLog *far = &log->far;
    const RemoteQueryText *answer = &far->question.answer;
    pthread_mutex_lock(&log->lock);
    far->out = false;
    far->failed = call->err;
    far->dry = !call->err && !answer->out.bytes;
    far->dry_over = far->dry && far->asked_over;
    if (!call->err && answer->out.bytes) {
        int64_t *offset = &log->offsets[answer->stream];
        if (answer->from > *offset)
            log_gap(&far->bytes, answer->from - *offset);
        buf_add_slice(&far->bytes, answer->out);
        *offset = answer->next;
    }
    pthread_mutex_unlock(&log->lock);
    stream_done(&log->stream);
}

/* Under the lock; no call is out. */
static void far_fill(LogStream *log, bool over, const char *node)
{
    FarLog *far = &log->far;
    arena_reset(&far->call.arena);
    far->call = (Call){ .kind = CALL_AFAR,
                        .done = far_answered,
                        .context = log,
                        .arena = far->call.arena,
                        .question = &far->question };
    far->question = (Question){ .sysid = slice_copy(&far->call.arena, slice_text(node)) };
    RemoteQueryText *text = &far->question.text;
    *text = (RemoteQueryText){ .kind = REMOTE_QUERY_LOG,
                               .id = log->id,
                               .attempt = log->name.attempt };
    memcpy(text->offsets, log->offsets, sizeof text->offsets);
    for (unsigned i = 0; i < OUTPUT_STREAMS; i++)
        text->streams |= log->wanted.streams[i] ? 1u << i : 0;
    far->out = true;
    far->asked_over = over;
    far->dry = far->dry_over = false;
    far->next_boot = clock_now().boot_ms + FAR_EVERY_MS;
}

static ssize_t far_failed(LogStream *log, char *out, size_t max, const char *node)
{
    Err err = log->far.failed;
    if (err != ERR_UNAVAILABLE && err != ERR_NOT_FOUND)
        return cannot_read(log, out, max);
    if (log->told)
        return STREAM_END;
    log->told = true;
    int bytes = snprintf(
        out, max, "\n[pawl: the rest is on node %s, which is down or does not answer]\n",
        node);
    return bytes < 0 || (size_t)bytes >= max ? STREAM_END : bytes;
}

static ssize_t far_piece(LogStream *log, bool over, char *out, size_t max)
{
    FarLog *far = &log->far;
    ssize_t bytes = PIECE_WAIT;
    bool send = false;
    pthread_mutex_lock(&log->lock);
    const char *node = log->places[log->name.attempt - 1].node;
    size_t left = far->bytes.bytes - far->taken;
    if (left) {
        size_t part = left < max ? left : max;
        memcpy(out, far->bytes.data + far->taken, part);
        far->taken += part;
        bytes = (ssize_t)part;
    } else if (far->failed) {
        bytes = far_failed(log, out, max, node);
    } else if (far->dry_over ||
               (far->dry && !over && clock_now().boot_ms < far->next_boot)) {
        bytes = 0;
    } else if (!far->out) {
        buf_clear(&far->bytes);
        far->taken = 0;
        far_fill(log, over, node);
        send = true;
    }
    pthread_mutex_unlock(&log->lock);
    if (send)
        stream_send(&log->stream, &far->call);
    return bytes;
}

/* --- The stream -----------------------------------------------------------------------
 */

/* How many bytes of the attempt; 0: there are none now, and if it is over none at all. */
static ssize_t piece(LogStream *log, bool over, char *out, size_t max)
{
    if (!log->shared)
        return read_piece(log, out, max);
    pthread_mutex_lock(&log->lock);
    bool known = log->name.attempt <= log->place_count;
    bool here = known && !log->places[log->name.attempt - 1].node[0];
    bool final = log->final;
    pthread_mutex_unlock(&log->lock);
    if (!known)
        return over && final ? 0 : PIECE_WAIT;
    return here ? read_piece(log, out, max) : far_piece(log, over, out, max);
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
    if (begun && log->attempts < name.attempt) {
        log->attempts = name.attempt;
        set_place(log, name.attempt, (Slice){ NULL, 0 });
    }
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
            return STREAM_END;
        ssize_t bytes = log->name.attempt ? piece(log, over, out, max) : 0;
        if (bytes)
            return bytes == PIECE_WAIT ? 0 : bytes;
        if (over && log->name.attempt && log->wanted.attempt)
            return STREAM_END;
        if (log->name.attempt < attempts) {
            log->name.attempt++;
            memset(log->offsets, 0, sizeof log->offsets);
            log->far.dry = log->far.dry_over = false; /* no call is out */
            continue;
        }
        if (final)
            return STREAM_END;
        if (!next_has_begun(log))
            return 0;
    }
}

/* --- What becomes of the job ----------------------------------------------------------
 */

static void log_wait_on(LogStream *log)
{
    if (stream_gone(&log->stream))
        return;
    log->wait_call.event.id = log->id;
    log->wait_call.timeout_ms = log->shared ? SHARED_SLICE_MS : WAIT_SLICE_MS;
    stream_send(&log->stream, &log->wait_call);
}

static void log_waited(Call *call)
{
    LogStream *log = call->context;
    if (!stream_gone(&log->stream))
        stream_send(&log->stream, &log->read_call);
    stream_done(&log->stream);
}

/* Where attempts ran is learnt before it is known that there are so many. */
static void log_read_job(Call *call, Store *store)
{
    LogStream *log = call->context;
    Load load = { .kind = LOAD_JOB, .id = log->id };
    Loaded loaded = { 0 };
    call->err = store->kind->load(store, &load, &loaded, &call->why);
    if (!call->err)
        learn_places(log, call, store);
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

void log_follow(Exchange *exchange, const LogWanted *wanted)
{
    const Job *job = wanted->job;
    LogStream *log = MEM_NEW(LogStream);
    log->stream.read = log_stream_read;
    log->stream.free = log_stream_free;
    log->daemon = exchange->daemon;
    log->id = exchange->id;
    log->wanted = *wanted;
    log->shared = daemon_facts(exchange->daemon)->shared;
    log->attempts = job->attempt;
    log->owned = state_in(job->state, STATES_OWNED);
    log->final = state_in(job->state, STATES_FINAL);
    log->name = (OutputName){ .data_dir = daemon_facts(exchange->daemon)->data_dir,
                              .id = exchange->id,
                              .attempt = wanted->found };
    if (wanted->found)
        set_place(log, wanted->found, wanted->node);
    log->wait_call = (Call){ .kind = CALL_WAIT, .done = log_waited, .context = log };
    log->read_call = (Call){
        .kind = CALL_READ, .read = log_read_job, .done = log_job_read, .context = log
    };
    pthread_mutex_init(&log->lock, NULL);
    stream_init(&log->stream, exchange);
    if (!log->final)
        log_wait_on(log);
    exchange_stream(exchange, &log->stream, LOG_TEXT_TYPE);
}

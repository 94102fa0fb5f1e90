/* SPDX-License-Identifier: Apache-2.0 */
/* api_events.c - see api_events.h.
 *
 * A stream looks at the daemon's log of events each time the server asks it for bytes and
 * it has none: about ten times a second while nothing happens. */
#include "serve/api_events.h"

#include "serve/api_common.h"
#include "serve/event_log.h"

#define STREAM_TYPE "text/event-stream"
#define ALIVE_MS    (15 * MS_PER_S) /* a comment after so long a silence */

/* What was asked for. */
typedef struct EventsWanted {
    Slice tenant; /* empty: of all */
    EventCursor cursor;
    bool placed; /* the cursor was sent */
    bool follow;
} EventsWanted;

typedef struct EventStream {
    Stream stream; /* must be first */
    Call call;
    char tenant[NAME_BYTES_MAX + 1];
    bool follow;

    pthread_mutex_t lock; /* of all below: HTTP and loop threads */
    EventCursor cursor;
    bool busy; /* the call is under way */
    bool over;
    Buf ready;
    int64_t said_boot;
} EventStream;

static void events_free(Stream *stream)
{
    EventStream *events = (EventStream *)stream;
    arena_done(&events->call.arena);
    buf_done(&events->ready);
    pthread_mutex_destroy(&events->lock);
    mem_free(events);
}

/* On the loop thread. */
static void look(Call *call, Daemon *daemon)
{
    EventStream *events = call->context;
    const EventLog *log = daemon_events(daemon);
    pthread_mutex_lock(&events->lock);
    bool more =
        event_log_read(log, &events->cursor, slice_text(events->tenant), &events->ready);
    events->over = !events->follow && !more;
    pthread_mutex_unlock(&events->lock);
}

static void looked(Call *call)
{
    EventStream *events = call->context;
    pthread_mutex_lock(&events->lock);
    events->busy = false;
    events->over = events->over || call->err; /* the daemon is leaving */
    bool news = events->ready.bytes || events->over;
    pthread_mutex_unlock(&events->lock);
    if (news)
        stream_wake(&events->stream);
    stream_done(&events->stream);
}

/* What there is; under the lock. */
static ssize_t give(EventStream *events, char *out, size_t max)
{
    size_t bytes = events->ready.bytes < max ? events->ready.bytes : max;
    memcpy(out, events->ready.data, bytes);
    memmove(events->ready.data, events->ready.data + bytes, events->ready.bytes - bytes);
    events->ready.bytes -= bytes;
    return (ssize_t)bytes;
}

static ssize_t events_read(Stream *stream, char *out, size_t max)
{
    EventStream *events = (EventStream *)stream;
    int64_t now = clock_now().boot_ms;
    ssize_t bytes = 0;
    if (stream_gone(stream))
        return -1;
    pthread_mutex_lock(&events->lock);
    if (!events->ready.bytes && !events->over && now - events->said_boot >= ALIVE_MS)
        buf_add_text(&events->ready, ":\n\n");
    if (events->ready.bytes) {
        bytes = give(events, out, max);
        events->said_boot = now;
    } else if (events->over) {
        bytes = -1;
    }
    bool ask = !bytes && !events->busy;
    events->busy = events->busy || ask;
    pthread_mutex_unlock(&events->lock);
    if (ask)
        stream_send(stream, &events->call);
    return bytes;
}

/* Where a listener begins that names no event, on the loop thread: before it is answered,
 * so that it misses nothing from then on. */
static void place(Call *call, Daemon *daemon)
{
    const Exchange *exchange = call->context;
    EventsWanted *wanted = exchange->state;
    const EventLog *log = daemon_events(daemon);
    if (!wanted->placed)
        wanted->cursor = wanted->follow ? event_log_now(log) : event_log_first(log);
}

static void placed(Exchange *exchange, Call *call)
{
    const EventsWanted *wanted = exchange->state;
    if (call->err) {
        exchange_failed(exchange, call);
        return;
    }
    EventStream *events = MEM_NEW(EventStream);
    memcpy(events->tenant, wanted->tenant.data ? wanted->tenant.data : "",
           wanted->tenant.bytes);
    events->follow = wanted->follow;
    events->cursor = wanted->cursor;
    events->said_boot = clock_now().boot_ms;
    buf_add_text(&events->ready, ":\n\n"); /* so that the answer begins */
    events->stream.read = events_read;
    events->stream.free = events_free;
    events->call =
        (Call){ .kind = CALL_LOOK, .look = look, .done = looked, .context = events };
    pthread_mutex_init(&events->lock, NULL);
    stream_init(&events->stream, exchange);
    exchange_stream(exchange, &events->stream, STREAM_TYPE);
}

void api_events(Exchange *exchange)
{
    EventsWanted *wanted = ARENA_NEW(&exchange->arena, EventsWanted);
    Slice follow = exchange_param(exchange, "follow");
    Slice last = exchange_header(exchange, "Last-Event-ID");
    if (!api_whose(exchange))
        return;
    wanted->tenant = exchange->whose;
    if (follow.data && !slice_is(follow, "0") && !slice_is(follow, "1")) {
        exchange_refuse(exchange, "invalid_value", "follow is 0 or 1");
        return;
    }
    if (last.bytes && event_cursor_parse(last, &wanted->cursor)) {
        exchange_refuse(exchange, "invalid_value",
                        "Last-Event-ID is not the id of an event");
        return;
    }
    wanted->follow = !slice_is(follow, "0");
    wanted->placed = last.bytes > 0;
    exchange->state = wanted;
    Call *call = exchange_call(exchange, CALL_LOOK, placed);
    call->look = place;
    exchange_send(exchange, call);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* events.c - see events.h.
 *
 * A stream looks for events each time the server asks it for bytes and it has none: about
 * ten times a second while nothing happens. */
#include "api/events.h"

#include "api/common.h"
#include "cluster/remote_query.h"
#include "watch/event_listener.h"

#include <assert.h>

#define STREAM_TYPE "text/event-stream"
#define ALIVE_MS    (15 * MS_PER_S) /* a comment after so long a silence */

/* What was asked for, and where it begins. */
typedef struct EventsWanted {
    Slice tenant; /* empty: of all */
    Slice last;   /* Last-Event-ID; empty: none */
    bool follow;
    EventPlace *places; /* of who follows and was nowhere before */
    size_t count;
    size_t asked; /* which of them have been */
} EventsWanted;

typedef struct EventStream {
    Stream stream; /* must be first */
    Call call;
    char tenant[NAME_BYTES_MAX + 1];
    EventListener listener; /* only the call touches it */

    pthread_mutex_t lock; /* of all below: HTTP and loop threads */
    bool busy;            /* the call is under way */
    bool over;
    Buf ready;
    int64_t said_boot;
} EventStream;

static void events_free(Stream *stream)
{
    EventStream *events = (EventStream *)stream;
    arena_done(&events->call.arena);
    buf_done(&events->ready);
    event_listener_done(&events->listener);
    pthread_mutex_destroy(&events->lock);
    mem_free(events);
}

/* On the loop thread. */
static void look(Call *call, Daemon *daemon)
{
    EventStream *events = call->context;
    EventSources sources;
    daemon_event_sources(daemon, &sources);
    pthread_mutex_lock(&events->lock);
    events->over = !event_listener_read(&events->listener, &sources, &events->ready);
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
        return STREAM_END;
    pthread_mutex_lock(&events->lock);
    if (!events->ready.bytes && !events->over && now - events->said_boot >= ALIVE_MS)
        buf_add_text(&events->ready, ":\n\n");
    if (events->ready.bytes) {
        bytes = give(events, out, max);
        events->said_boot = now;
    } else if (events->over) {
        bytes = STREAM_END;
    }
    bool ask = !bytes && !events->busy;
    events->busy = events->busy || ask;
    pthread_mutex_unlock(&events->lock);
    if (ask)
        stream_send(stream, &events->call);
    return bytes;
}

/* --- Where it begins ------------------------------------------------------------------
 */

static void begin(Exchange *exchange)
{
    const EventsWanted *wanted = exchange->state;
    EventStream *events = MEM_NEW(EventStream);
    EventListener *listener = &events->listener;
    memcpy(events->tenant, wanted->tenant.data ? wanted->tenant.data : "",
           wanted->tenant.bytes);
    listener->tenant = slice_text(events->tenant);
    listener->follow = wanted->follow;
    listener->begun_boot = events->said_boot = clock_now().boot_ms;
    if (wanted->last.bytes) {
        Err err = event_places_parse(wanted->last, &listener->places);
        assert(!err); /* it was read before */
    }
    for (size_t i = 0; i < wanted->count; i++)
        event_place_add(&listener->places, wanted->places[i].node, wanted->places[i].at);
    buf_add_text(&events->ready, ":\n\n"); /* so that the answer begins */
    events->stream.read = events_read;
    events->stream.free = events_free;
    events->call =
        (Call){ .kind = CALL_LOOK, .look = look, .done = looked, .context = events };
    pthread_mutex_init(&events->lock, NULL);
    stream_init(&events->stream, exchange);
    exchange_stream(exchange, &events->stream, STREAM_TYPE);
}

/* Of a node that does not answer no one can say what is missed from now on. */
static void placed_far(Exchange *exchange, Call *call)
{
    EventsWanted *wanted = exchange->state;
    const RemoteQueryText *answer = &call->question->answer;
    for (size_t i = 0; i < wanted->count; i++)
        if (wanted->places[i].node == call->question->number)
            wanted->places[i].at =
                call->err ? (EventCursor){ EVENT_EPOCH_LOST, 0 }
                          : (EventCursor){ answer->epoch, (uint64_t)answer->next };
    if (--wanted->asked == 0)
        begin(exchange);
}

static void ask_place(Exchange *exchange, uint32_t node)
{
    Call *call = exchange_call(exchange, CALL_AFAR, placed_far);
    call->question = ARENA_NEW(&call->arena, Question);
    call->question->number = node;
    call->question->text =
        (RemoteQueryText){ .kind = REMOTE_QUERY_EVENTS, .from = REMOTE_QUERY_EVENTS_NOW };
    exchange_send(exchange, call);
}

/* On the loop thread. */
static void place(Call *call, Daemon *daemon)
{
    Exchange *exchange = call->context;
    EventsWanted *wanted = exchange->state;
    EventSources sources;
    daemon_event_sources(daemon, &sources);
    size_t peers = sources.peers ? sources.peers->count : 0;
    wanted->places = arena_take(&call->arena, (peers + 1) * sizeof *wanted->places);
    wanted->places[wanted->count++] =
        (EventPlace){ .node = sources.number, .at = event_log_now(sources.own) };
    for (size_t i = 0; i < peers; i++) {
        const Neighbour *peer = &sources.peers->list[i];
        if (peer->fenced)
            continue;
        wanted->asked += peer->alive;
        wanted->places[wanted->count++] =
            (EventPlace){ .node = peer->number,
                          .at = { peer->alive ? 0 : EVENT_EPOCH_LOST, 0 } };
    }
}

/* Each other node is asked where it is now, before the listener is answered: so that it
 * misses nothing from then on. */
static void placed(Exchange *exchange, Call *call)
{
    const EventsWanted *wanted = exchange->state;
    if (call->err) {
        exchange_failed(exchange, call);
        return;
    }
    if (!wanted->asked) {
        begin(exchange);
        return;
    }
    size_t count = wanted->count;
    for (size_t i = 0; i < count; i++)
        if (!wanted->places[i].at.epoch)
            ask_place(exchange, wanted->places[i].node);
}

void api_events(Exchange *exchange)
{
    EventsWanted *wanted = ARENA_NEW(&exchange->arena, EventsWanted);
    EventPlaces places = { 0 };
    Slice follow = exchange_param(exchange, "follow");
    if (!api_whose(exchange))
        return;
    wanted->tenant = exchange->whose;
    wanted->last = exchange_header(exchange, "Last-Event-ID");
    wanted->follow = !slice_is(follow, "0");
    exchange->state = wanted;
    if (follow.data && wanted->follow && !slice_is(follow, "1")) {
        exchange_refuse(exchange, "invalid_value", "follow is 0 or 1");
        return;
    }
    if (wanted->last.bytes && event_places_parse(wanted->last, &places)) {
        exchange_refuse(exchange, "invalid_value",
                        "Last-Event-ID is not the id of an event");
        return;
    }
    event_places_done(&places);
    if (wanted->last.bytes || !wanted->follow) {
        begin(exchange); /* behind what it had, or with the first that is kept */
        return;
    }
    exchange_look(exchange, place, placed);
}

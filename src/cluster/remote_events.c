/* SPDX-License-Identifier: Apache-2.0 */
/* remote_events.c - see remote_events.h. */
#include "cluster/remote_events.h"

#include "engine/daemon_state.h"
#include "engine/loop.h"
#include "watch/event_text.h"

#define HOLD_MS     (2 * MS_PER_S) /* a question; less than remote_query.c waits */
#define HELD_MAX    4096           /* such questions; a further one is answered at once */
#define GATHER_MS   50             /* between two answers to who follows what goes on */
#define KEEP_MS     (2 * MS_PER_S) /* an answer; listeners look ten times a second */
#define KEPT_BYTES  ((size_t)8 << 20) /* of all answers */
#define SILENCE_MS  MS_PER_S /* before a node that did not answer is asked again */
#define ANSWER_ROWS EVENT_READ_MAX

/* What another node has said; or that it does not answer. */
typedef struct OutputLines {
    struct OutputLines *next;
    uint32_t node;
    EventCursor asked;
    int64_t asked_boot;
    int64_t until_boot;
    bool silent;
    EventChunk chunk;
    Buf rows;
} OutputLines;

/* What is asked of another node. */
typedef struct Asked {
    Call call; /* first: it is what comes back */
    Question question;
    struct Asked *next;
    RemoteEvents *far;
    EventWish wish;
    int64_t asked_boot;
} Asked;

/* What another node asks. */
typedef struct Held {
    struct Held *next;
    uint32_t from;
    uint64_t token;
    EventCursor behind;
    int64_t from_boot; /* not before */
    int64_t until_boot;
} Held;

struct RemoteEvents {
    Daemon *daemon;
    RemoteQuery *remote_query;
    OutputLines *said; /* the newest first */
    Asked *asked;
    Held *held;
    size_t held_count;
};

RemoteEvents *remote_events_new(Daemon *daemon, RemoteQuery *remote_query)
{
    RemoteEvents *far = MEM_NEW(RemoteEvents);
    far->daemon = daemon;
    far->remote_query = remote_query;
    return far;
}

static bool same(EventCursor a, EventCursor b)
{
    return a.epoch == b.epoch && a.number == b.number;
}

/* --- What was said --------------------------------------------------------------------
 */

static void forget(OutputLines **at)
{
    OutputLines *said = *at;
    *at = said->next;
    buf_done(&said->rows);
    mem_free(said);
}

static void forget_old(RemoteEvents *far, int64_t boot_ms)
{
    size_t bytes = 0;
    for (OutputLines **at = &far->said; *at;) {
        bytes += (*at)->rows.capacity;
        if (boot_ms >= (*at)->until_boot || bytes > KEPT_BYTES)
            forget(at);
        else
            at = &(*at)->next;
    }
}

/* That nothing has happened was true when it was said. */
static bool says(const OutputLines *said, const EventWish *wish)
{
    const EventChunk *chunk = &said->chunk;
    if (said->node != wish->node)
        return false;
    if (said->silent)
        return true;
    if (chunk->last == chunk->behind.number && same(chunk->behind, wish->behind))
        return !wish->follow && said->asked_boot >= wish->since_boot;
    return same(said->asked, wish->behind) ||
           (chunk->behind.epoch == wish->behind.epoch &&
            chunk->behind.number <= wish->behind.number &&
            wish->behind.number < chunk->last);
}

static void keep(RemoteEvents *far, const Asked *asked)
{
    const RemoteQueryText *answer = &asked->question.answer;
    OutputLines *said = MEM_NEW(OutputLines);
    *said = (OutputLines){ .next = far->said,
                           .node = asked->wish.node,
                           .asked = asked->wish.behind,
                           .asked_boot = asked->asked_boot,
                           .silent = asked->call.err != ERR_OK };
    said->until_boot = clock_now().boot_ms + (said->silent ? SILENCE_MS : KEEP_MS);
    if (!said->silent) {
        buf_add_slice(&said->rows, answer->out);
        said->chunk = (EventChunk){ .behind = { answer->epoch, (uint64_t)answer->from },
                                    .last = (uint64_t)answer->next,
                                    .more = answer->more,
                                    .rows = buf_slice(&said->rows) };
    }
    far->said = said;
}

/* --- Asking ---------------------------------------------------------------------------
 */

static void answered(Call *call)
{
    Asked *asked = call->context;
    RemoteEvents *far = asked->far;
    Asked **at = &far->asked;
    while (*at != asked)
        at = &(*at)->next;
    *at = asked->next;
    keep(far, asked);
    arena_done(&call->arena);
    mem_free(asked);
}

static bool is_asked(const RemoteEvents *far, const EventWish *wish)
{
    for (const Asked *asked = far->asked; asked; asked = asked->next)
        if (asked->wish.node == wish->node && same(asked->wish.behind, wish->behind) &&
            (wish->follow ||
             (!asked->wish.follow && asked->asked_boot >= wish->since_boot)))
            return true;
    return false;
}

static void ask(RemoteEvents *far, const EventWish *wish)
{
    Asked *asked = MEM_NEW(Asked);
    asked->far = far;
    asked->wish = *wish;
    asked->asked_boot = clock_now().boot_ms;
    asked->question = (Question){ .number = wish->node,
                                  .text = { .kind = REMOTE_QUERY_EVENTS,
                                            .epoch = wish->behind.epoch,
                                            .from = (int64_t)wish->behind.number,
                                            .more = wish->follow } };
    asked->call = (Call){ .kind = CALL_AFAR,
                          .done = answered,
                          .context = asked,
                          .question = &asked->question };
    asked->next = far->asked;
    far->asked = asked;
    remote_query_take(far->remote_query, &asked->call);
}

EventHeard remote_events_hear(void *context, const EventWish *wish, EventChunk *out)
{
    RemoteEvents *far = context;
    for (const OutputLines *said = far->said; said; said = said->next) {
        if (!says(said, wish))
            continue;
        if (said->silent)
            return EVENTS_SILENT;
        *out = said->chunk;
        out->more = out->more || said->asked_boot < wish->since_boot;
        return EVENTS_HERE;
    }
    if (!is_asked(far, wish))
        ask(far, wish);
    return EVENTS_ASKED;
}

/* --- Answering ------------------------------------------------------------------------
 */

/* Where the answer begins. Epoch 0 is the first that is kept, or, with a number, what
 * happens from now on. */
static EventCursor begin(const EventLog *log, EventCursor behind)
{
    if (!behind.epoch && !behind.number)
        return event_log_first(log);
    return event_log_keeps(log, behind) ? behind : event_log_now(log);
}

static void answer(const RemoteEvents *far, uint32_t to, uint64_t token,
                   EventCursor behind)
{
    const EventLog *log = &far->daemon->event_log;
    Buf rows = { 0 };
    EventCursor at = begin(log, behind);
    RemoteQueryText text = { .kind = REMOTE_QUERY_ANSWER,
                             .token = token,
                             .epoch = at.epoch,
                             .from = (int64_t)at.number };
    const EventRow *row;
    for (size_t i = 0; i < ANSWER_ROWS && rows.bytes < REMOTE_QUERY_PIECE_BYTES &&
                       (row = event_log_behind(log, at)) != NULL;
         i++) {
        event_pack(&rows, row);
        at.number++;
    }
    text.next = (int64_t)at.number;
    text.more = event_log_behind(log, at) != NULL;
    text.out = buf_slice(&rows);
    remote_query_post(far->remote_query, to, &text);
    buf_done(&rows);
}

void remote_events_asked(RemoteEvents *far, uint32_t from, const RemoteQueryText *text)
{
    const EventCursor behind = { text->epoch, (uint64_t)text->from };
    if (!text->more || far->held_count >= HELD_MAX) {
        answer(far, from, text->token, behind);
        return;
    }
    int64_t now = clock_now().boot_ms;
    Held *held = MEM_NEW(Held);
    *held = (Held){ .next = far->held,
                    .from = from,
                    .token = text->token,
                    .behind = behind,
                    .from_boot = now + GATHER_MS,
                    .until_boot = now + HOLD_MS };
    far->held = held;
    far->held_count++;
}

static bool has_news(const RemoteEvents *far, const Held *held)
{
    const EventLog *log = &far->daemon->event_log;
    return !event_log_keeps(log, held->behind) ||
           event_log_behind(log, held->behind) != NULL;
}

void remote_events_happened(const RemoteEvents *far)
{
    if (far->held)
        loop_wake(far->daemon);
}

void remote_events_collect(RemoteEvents *far, Now now)
{
    for (Held **at = &far->held; *at;) {
        Held *held = *at;
        bool due = now.boot_ms >= held->from_boot && has_news(far, held);
        if (!due && now.boot_ms < held->until_boot) {
            at = &held->next;
            continue;
        }
        answer(far, held->from, held->token, held->behind);
        *at = held->next;
        far->held_count--;
        mem_free(held);
    }
    forget_old(far, now.boot_ms);
}

void remote_events_free(RemoteEvents *far)
{
    while (far->said)
        forget(&far->said);
    while (far->held) {
        Held *next = far->held->next;
        mem_free(far->held);
        far->held = next;
    }
    mem_free(far);
}

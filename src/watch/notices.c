/* SPDX-License-Identifier: Apache-2.0 */
/* notices.c - see notices.h. */
#include "watch/notices.h"

#include "base/log.h"
#include "engine/daemon_state.h"
#include "watch/notice_try.h"
#include "watch/notify.h"

#include <signal.h>
#include <stdio.h>

#define NOTICES_MAX      10000 /* waiting; more are told to no one but the log */
#define TRIES_MAX        16    /* under way at once */
#define TENANT_TRIES_MAX 3     /* of one tenant */

typedef struct Pending {
    struct Pending *next;
    Arena arena;
    NoticeName name;
    Notice notice;
    Buf error;          /* of the last try, if that was since the start */
    JobId try;          /* under way; 0: none */
    int64_t until_boot; /* with try */
    bool busy;          /* a try is under way, or what came of it is being written */
} Pending;

struct Notices {
    Daemon *daemon;
    Pending *all;
    size_t count;
    Pending *trying[TRIES_MAX];
    size_t trying_count;
    OwedList owed; /* at the start */
};

static Pending **find(Notices *notices, const NoticeName *name)
{
    Pending **at = &notices->all;
    while (*at && !(slice_equal((*at)->name.key, name->key) &&
                    slice_equal((*at)->name.tenant, name->tenant)))
        at = &(*at)->next;
    return at;
}

static void pending_free(Pending *pending)
{
    arena_done(&pending->arena);
    buf_done(&pending->error);
    mem_free(pending);
}

static void drop(Notices *notices, Pending **at)
{
    Pending *pending = *at;
    *at = pending->next;
    notices->count--;
    for (size_t i = 0; i < notices->trying_count; i++)
        if (notices->trying[i] == pending)
            notices->trying[i] = notices->trying[--notices->trying_count];
    pending_free(pending);
}

static void insert(Notices *notices, const NoticeName *name, Slice value)
{
    Notice notice;
    if (notice_unpack(value, &notice))
        return;
    Pending *pending = MEM_NEW(Pending);
    Arena *arena = &pending->arena;
    pending->name.tenant = slice_copy(arena, name->tenant);
    pending->name.key = slice_copy(arena, name->key);
    pending->notice = notice;
    pending->notice.target = slice_copy(arena, notice.target);
    pending->notice.body = slice_copy(arena, notice.body);
    pending->notice.user = slice_copy(arena, notice.user);
    pending->notice.error = slice_copy(arena, notice.error);
    Pending **at = &notices->all;
    while (*at)
        at = &(*at)->next;
    *at = pending;
    notices->count++;
}

/* --- Opening --------------------------------------------------------------------------
 */

static void stored(void *context, const Definition *definition)
{
    NoticeName name = { definition->tenant, definition->key };
    insert(context, &name, definition->value);
}

Err notices_open(Daemon *daemon, Error *why)
{
    Notices *notices = MEM_NEW(Notices);
    daemon->notices = notices;
    notices->daemon = daemon;
    Err err = notify_read(daemon, &notices->owed, why);
    return err ? err
               : daemon->store->kind->definitions(
                     daemon->store, SLICE_LITERAL(NOTICE_TABLE), stored, notices, why);
}

void notices_free(Notices *notices)
{
    if (!notices)
        return;
    mem_free(notices->owed.items);
    while (notices->all)
        drop(notices, &notices->all);
    mem_free(notices);
}

/* --- Trying ---------------------------------------------------------------------------
 */

/* With this turn; notice NULL: it is gone. What the event points to lives until its step
 * is over. */
static void define(Daemon *daemon, const NoticeName *name, const Notice *notice)
{
    Event *event = engine_event(&daemon->engine, EVENT_DEFINE);
    event->table = SLICE_LITERAL(NOTICE_TABLE);
    event->tenant = slice_copy(&daemon->engine.in.step, name->tenant);
    event->key = slice_copy(&daemon->engine.in.step, name->key);
    if (!notice)
        return;
    Buf value = { 0 };
    notice_pack(&value, notice);
    event->value = slice_copy(&daemon->engine.in.step, buf_slice(&value));
    buf_done(&value);
}

static void log_failed(const Pending *pending)
{
    char quoted[LOG_QUOTE_BYTES];
    bool last = pending->notice.gave_up;
    log_event(last ? LOG_ERROR : LOG_WARN, last ? "announce.gave_up" : "announce.failed",
              "notice=" SLICE_FMT " tries=%u why=%s", SLICE_ARG(pending->name.key),
              pending->notice.tries, log_quote(pending->notice.error, quoted));
}

static void take_result(Notices *notices, Pending *pending, const Error *why)
{
    if (!why) {
        define(notices->daemon, &pending->name, NULL);
        return;
    }
    buf_clear(&pending->error);
    buf_add_text(&pending->error, why->text);
    notice_failed(&pending->notice, clock_now().wall_ms, buf_slice(&pending->error));
    log_failed(pending);
    define(notices->daemon, &pending->name, &pending->notice);
}

bool notices_event(Notices *notices, const Event *event)
{
    size_t at = 0;
    while (at < notices->trying_count && notices->trying[at]->try != event->id)
        at++;
    if (at == notices->trying_count)
        return false;
    if (event->kind != EVENT_ENDED)
        return true;
    Pending *pending = notices->trying[at];
    notices->trying[at] = notices->trying[--notices->trying_count];
    pending->try = 0;
    Error why = { 0 };
    bool arrived = notice_try_ended(notices->daemon, event, &why);
    take_result(notices, pending, arrived ? NULL : &why);
    return true;
}

static bool may_try(const Notices *notices, const Pending *pending)
{
    size_t own = 0;
    for (size_t i = 0; i < notices->trying_count; i++)
        own += slice_equal(notices->trying[i]->name.tenant, pending->name.tenant);
    return notices->trying_count < TRIES_MAX && own < TENANT_TRIES_MAX;
}

static void try_it(Notices *notices, Pending *pending)
{
    Error why = { 0 };
    if (!may_try(notices, pending))
        return;
    pending->busy = true;
    pending->until_boot = clock_now().boot_ms + NOTICE_TRY_MS;
    pending->try =
        notice_try_begin(notices->daemon, pending->name.tenant, &pending->notice, &why);
    if (pending->try)
        notices->trying[notices->trying_count++] = pending;
    else
        take_result(notices, pending, &why);
}

size_t notices_trying(const Notices *notices)
{
    return notices->trying_count;
}

void notices_tick(Notices *notices, Now now)
{
    if (notices->daemon->stop)
        return;
    for (size_t i = 0; i < notices->trying_count; i++)
        if (now.boot_ms >= notices->trying[i]->until_boot)
            daemon_ports.signal(notices->daemon, notices->trying[i]->try, 1, SIGKILL);
    notify_ask(notices->daemon, &notices->owed);
    for (Pending *at = notices->all; at; at = at->next) {
        if (at->busy || at->notice.due_ms > now.wall_ms)
            continue;
        if (!at->notice.gave_up) {
            try_it(notices, at);
            continue;
        }
        at->busy = true; /* it was seen long enough */
        define(notices->daemon, &at->name, NULL);
    }
}

/* --- Adding ---------------------------------------------------------------------------
 */

void notices_add(Daemon *daemon, const NoticeName *name, const Notice *notice)
{
    if (daemon->notices->count >= NOTICES_MAX) {
        log_event(LOG_ERROR, "announce.gave_up",
                  "notice=" SLICE_FMT " tries=0 why=\"too many wait\"",
                  SLICE_ARG(name->key));
        return;
    }
    Notice made = *notice;
    made.created_ms = made.due_ms = clock_now().wall_ms;
    define(daemon, name, &made);
}

void notices_kept(Notices *notices, const NoticeName *name, Slice value)
{
    Pending **at = find(notices, name);
    if (value.data && !*at)
        insert(notices, name, value);
    else if (value.data)
        (*at)->busy = false;
    else if (*at)
        drop(notices, at);
}

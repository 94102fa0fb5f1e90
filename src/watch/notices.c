/* SPDX-License-Identifier: Apache-2.0 */
/* notices.c - see notices.h. */
#include "watch/notices.h"

#include "base/log.h"
#include "engine/daemon_state.h"
#include "watch/announce.h"
#include "watch/notify.h"

#include <stdio.h>

#define NOTICES_MAX 10000 /* waiting; more than that is told to no one but the log */

typedef struct Pending {
    struct Pending *next;
    Arena arena;
    NoticeName name;
    Notice notice;
    Buf error; /* of the last try, if that was since the start */
    uint64_t token;
    bool busy; /* a try is under way, or what came of it is being written */
} Pending;

/* What came of a try; from the announcer's thread. */
typedef struct Result {
    Mail mail;
    uint64_t token;
    bool sent;
    Error why;
} Result;

struct Notices {
    Daemon *daemon;
    Announcer *announcer; /* from the first notice on */
    Mailbox results;
    Pending *all;
    size_t count;
    uint64_t tokens;
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
    pending->token = ++notices->tokens;
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
    mailbox_init(&notices->results);
    Err err = notify_read(daemon, &notices->owed, why);
    return err ? err
               : daemon->store->kind->definitions(
                     daemon->store, SLICE_LITERAL(NOTICE_TABLE), stored, notices, why);
}

void notices_free(Notices *notices)
{
    if (!notices)
        return;
    announcer_close(notices->announcer);
    for (Mail *mail = mailbox_take(&notices->results); mail;) {
        Mail *next = mail->next;
        mem_free(mail);
        mail = next;
    }
    mailbox_done(&notices->results);
    mem_free(notices->owed.items);
    while (notices->all)
        drop(notices, &notices->all);
    mem_free(notices);
}

/* --- Trying ---------------------------------------------------------------------------
 */

static void announced(void *context, uint64_t token, const Error *why)
{
    Notices *notices = context;
    Result *result = MEM_NEW(Result);
    result->token = token;
    result->sent = !why;
    if (why)
        result->why = *why;
    mailbox_put(&notices->results, &result->mail);
    uv_async_send(&notices->daemon->wake);
}

static void try_it(Notices *notices, Pending *pending)
{
    if (!notices->announcer)
        notices->announcer = announcer_open(announced, notices);
    pending->busy = true;
    announcer_send(notices->announcer, &(Announcement){ .token = pending->token,
                                                        .target = pending->notice.target,
                                                        .body = pending->notice.body,
                                                        .user = pending->notice.user });
}

/* With this turn; notice NULL: it is gone. What the event points to lives until its step
 * is over. */
static void define(Daemon *daemon, const NoticeName *name, const Notice *notice)
{
    Event *event = daemon_event(daemon, EVENT_DEFINE);
    event->table = SLICE_LITERAL(NOTICE_TABLE);
    event->tenant = slice_copy(&daemon->step, name->tenant);
    event->key = slice_copy(&daemon->step, name->key);
    if (!notice)
        return;
    Buf value = { 0 };
    notice_pack(&value, notice);
    event->value = slice_copy(&daemon->step, buf_slice(&value));
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

static void take_result(Notices *notices, const Result *result, Now now)
{
    Pending *pending = notices->all;
    while (pending && pending->token != result->token)
        pending = pending->next;
    if (!pending)
        return;
    if (result->sent) {
        define(notices->daemon, &pending->name, NULL);
        return;
    }
    buf_clear(&pending->error);
    buf_add_text(&pending->error, result->why.text);
    notice_failed(&pending->notice, now.wall_ms, buf_slice(&pending->error));
    log_failed(pending);
    define(notices->daemon, &pending->name, &pending->notice);
}

void notices_tick(Notices *notices, Now now)
{
    if (notices->daemon->stop)
        return;
    notify_ask(notices->daemon, &notices->owed);
    for (Mail *mail = mailbox_take(&notices->results); mail;) {
        Result *result = (Result *)(void *)mail;
        mail = mail->next;
        take_result(notices, result, now);
        mem_free(result);
    }
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

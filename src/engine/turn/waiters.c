/* SPDX-License-Identifier: Apache-2.0 */
/* waiters.c - those who wait for the end of a job. */
#include "engine/turn/engine.h"

bool engine_wait_ask(Engine *engine, JobId id)
{
    const Call *call = map_find(&engine->waiting.ends, id);
    if (!call || call->event.table.bytes)
        return false; /* for an operation: whoever waits looks again after a while */
    Ask *ask = MEM_NEW(Ask);
    ask->purpose = ASK_WAIT;
    ask->load = (Load){ .kind = LOAD_JOB, .id = id };
    ask->needs = engine->ports->journal_end(engine->world);
    engine->ports->ask(engine->world, ask);
    return true;
}

/* Someone waits for a job's end. It may have come already: the store is asked once, after
 * the waiter is in place, so that no end falls between. */
void engine_wait_add(Engine *engine, Call *call)
{
    JobId id = call->event.id;
    call->deadline_boot = engine->ports->now(engine->world).boot_ms + call->timeout_ms;
    call->mail.next = map_find(&engine->waiting.ends, id);
    map_put(&engine->waiting.ends, id, call);
    engine->waiting.ends_count++;
    engine_wait_ask(engine, id);
}

static void answer_list(Engine *engine, Call *call, Err err)
{
    while (call) {
        Call *next = (Call *)(void *)call->mail.next;
        engine->waiting.ends_count--;
        call->err = err;
        call->problem = err == ERR_NOT_FOUND ? "job_not_found" : NULL;
        call->done(call);
        call = next;
    }
}

void engine_wait_answer(Engine *engine, JobId id, Err err)
{
    if (engine->waiting.ends_count)
        answer_list(engine, map_remove(&engine->waiting.ends, id), err);
}

void engine_wait_end(Engine *engine)
{
    MapEntry entry;
    for (size_t at = 0;
         engine->waiting.ends_count && map_next(&engine->waiting.ends, &at, &entry);
         at = 0) /* what follows may have moved */
        answer_list(engine, map_remove(&engine->waiting.ends, entry.key), ERR_OK);
}

/* Splits the waiters of one job into those whose time is up and those who stay. */
static Call *take_expired(Call **list, int64_t boot_ms)
{
    Call *expired = NULL;
    for (Call **at = list; *at;) {
        Call *call = *at;
        if (call->deadline_boot > boot_ms) {
            at = (Call **)(void *)&call->mail.next;
            continue;
        }
        *at = (Call *)(void *)call->mail.next;
        call->mail.next = (Mail *)(void *)expired;
        expired = call;
    }
    return expired;
}

void engine_wait_expire(Engine *engine, Now now)
{
    Call *expired = NULL;
    JobId id = 0;
    do {
        MapEntry entry;
        expired = NULL;
        for (size_t at = 0; !expired && engine->waiting.ends_count &&
                            map_next(&engine->waiting.ends, &at, &entry);) {
            Call *list = entry.value;
            expired = take_expired(&list, now.boot_ms);
            if (!expired)
                continue;
            id = entry.key;
            map_remove(&engine->waiting.ends, id);
            if (list)
                map_put(&engine->waiting.ends, id, list);
        }
        answer_list(engine, expired, ERR_TIMEOUT);
    } while (expired);
}

static void refuse_list(Call *call)
{
    while (call) {
        Call *next = (Call *)(void *)call->mail.next;
        engine_answer(call, ERR_UNAVAILABLE, "draining");
        call = next;
    }
}

void engine_refuse_all(Engine *engine)
{
    Waiting *waiting = &engine->waiting;
    MapEntry entry;
    refuse_list(waiting->reads);
    waiting->reads = NULL;
    waiting->reads_last = &waiting->reads;
    for (size_t at = 0; map_next(&waiting->ends, &at, &entry);)
        refuse_list(entry.value);
    map_done(&waiting->ends);
    waiting->ends_count = 0;
    for (size_t at = 0; map_next(&waiting->calls, &at, &entry);)
        engine_answer(entry.value, ERR_UNAVAILABLE, "draining");
    map_done(&waiting->calls);
}

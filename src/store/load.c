/* SPDX-License-Identifier: Apache-2.0 */
/* load.c - see load.h: between the words of the node and those of the store. */
#include "store/load.h"

#include "core/group.h"
#include "core/unique.h"

#include "store/store.h"

static LoadKind kind_of(LoadWhat what)
{
    switch (what) {
    case WANT_WINDOW:
        return LOAD_WINDOW;
    case WANT_DUE:
        return LOAD_DUE;
    case WANT_JOB:
    case WANT_LAST:
        return LOAD_JOB;
    case WANT_KEY:
        return LOAD_KEY;
    case WANT_OLD_DONE:
    case WANT_OLD_OTHER:
        return LOAD_OLD;
    case WANT_BLOCKED:
        return LOAD_BLOCKED;
    case WANT_AFTER:
        return LOAD_AFTER;
    case WANT_UNIQUE:
        return LOAD_UNIQUE;
    case WANT_MATCH:
        return LOAD_MATCH;
    case WANT_INBOX:
        return LOAD_INBOX;
    case WANT_GIVEN:
        return LOAD_IDS;
    case WANT_LANES:
        return LOAD_LANES;
    case WANT_RUNNING:
        return LOAD_RUNNING;
    case WANT_GROUP:
        return LOAD_GROUP;
    case WANT_OWED:
        return LOAD_OWED;
    }
    return LOAD_JOB;
}

Load load_of(const Effect *effect, Arena *arena)
{
    const JobStates done = STATE_BIT(JOB_DONE);
    return (Load){
        .kind = kind_of(effect->what),
        .id = effect->id,
        .tenant = slice_copy(arena, effect->tenant),
        .queue = slice_copy(arena, effect->queue),
        .key = slice_copy(arena, effect->key),
        .pull = effect->pull,
        .behind = effect->behind,
        .priority = effect->priority,
        .dt_ms = effect->dt_ms,
        .behind_id = effect->behind_id,
        .age_ms = effect->age_ms,
        .late_ms = effect->late_ms,
        .limit = effect->limit,
        .owner = effect->owner,
        .lock = slice_copy(arena, effect->lock),
        .states = effect->what == WANT_OLD_DONE ? done : STATES_FINAL & ~done,
    };
}

void loaded_tell(const Loaded *loaded, Event *event)
{
    event->loaded = loaded->jobs;
    event->loaded_count = loaded->count;
    event->more = loaded->more;
    event->gone = loaded->gone;
    event->whole = loaded->whole;
    event->next_due_ms = loaded->next_due_ms;
    event->value = loaded->value;
    event->after = loaded->after;
    event->cursor = loaded->cursor;
    event->letters = loaded->letters;
    event->letter_count = loaded->letter_count;
}

typedef struct Matches {
    Loaded *out;
} Matches;

static void take_match(void *context, const Job *job)
{
    Loaded *out = ((Matches *)context)->out;
    MEM_PUSH(out->jobs, out->count, out->capacity) = job_copy(&out->arena, job);
}

Err load_match(Store *store, const Load *load, Loaded *out, Error *why)
{
    Loaded loaded = { .next_due_ms = TIME_NEVER };
    JobQuery query = { .tenant = load->tenant,
                       .before = load->behind_id,
                       .limit = load->limit,
                       .wall_ms = load->dt_ms };
    Matches matches = { &loaded };
    JobSink sink = { take_match, &matches };
    QueryEnd page = { 0 };
    Err err = query_parse(load->key, &loaded.arena, &query, why);
    if (!err)
        err = store->kind->query(store, &query, &sink, &page, why);
    loaded.cursor = page.cursor;
    if (err)
        loaded_done(&loaded);
    else
        *out = loaded;
    return err;
}

static void take_count(void *context, const GroupCount *count)
{
    ((GroupCounts *)context)->of[count->state] = count->count;
}

Err load_group_counts(Store *store, const Load *load, Loaded *out, Error *why)
{
    GroupCounts counts = { 0 };
    const GroupCount one = { .tenant = load->tenant, .name = load->key };
    Err err = store->kind->groups(store, &one, take_count, &counts, why);
    if (err)
        return err;
    *out = (Loaded){ .next_due_ms = TIME_NEVER };
    out->value = slice_copy(&out->arena, slice_of((const char *)&counts, sizeof counts));
    return ERR_OK;
}

static void take_owed(void *context, const Definition *definition)
{
    Loaded *out = context;
    Job job;
    if (!job_unpack(definition->value, &job))
        MEM_PUSH(out->jobs, out->count, out->capacity) = job_copy(&out->arena, &job);
}

Err load_owed(Store *store, Loaded *out, Error *why)
{
    Loaded loaded = { .next_due_ms = TIME_NEVER };
    Err err = store->kind->definitions(store, SLICE_LITERAL(OWED_TABLE), take_owed,
                                       &loaded, why);
    if (err)
        loaded_done(&loaded);
    else
        *out = loaded;
    return err;
}

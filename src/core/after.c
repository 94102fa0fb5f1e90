/* SPDX-License-Identifier: Apache-2.0 */
/* after.c - see after.h. */
#include "core/after.h"

#include "core/batch.h"

static const char *const on_names[] = { "ok", "any", "fail" };

const char *after_on_name(AfterOn on)
{
    return on_names[on];
}

Err after_on_parse(Slice text, AfterOn *out_on)
{
    for (unsigned on = 0; on <= AFTER_FAIL; on++) {
        if (!slice_is(text, on_names[on]))
            continue;
        *out_on = (AfterOn)on;
        return ERR_OK;
    }
    return ERR_INVALID;
}

bool after_next(Slice *rest, AfterItem *out_item)
{
    Slice item;
    while (list_next(rest, &item)) {
        Slice on = slice_cut(&item, ':');
        if (!after_on_parse(on, &out_item->on) && !id_parse(item, &out_item->id))
            return true;
    }
    return false;
}

void after_add(Buf *list, AfterItem item)
{
    char id[ID_TEXT_BYTES];
    buf_printf(list, "%s:%s", after_on_name(item.on), id_text(item.id, id));
    buf_add_char(list, '\0');
}

bool after_met(AfterOn on, int32_t state)
{
    switch (on) {
    case AFTER_OK:
        return state == JOB_DONE;
    case AFTER_ANY:
        return true;
    case AFTER_FAIL:
        return state == JOB_FAILED || state == JOB_REJECTED;
    }
    return false;
}

void after_count(AfterCount *count, AfterItem item, bool ended, int32_t state)
{
    if (!ended) {
        if (!count->pending++ || item.id < count->first_pending)
            count->first_pending = item.id;
        return;
    }
    if (after_met(item.on, state) || (count->broken && count->broken <= item.id))
        return;
    count->broken = item.id;
    count->broken_on = item.on;
    count->broken_state = state;
}

void after_tally(AfterTally *tally, const AfterRow *row)
{
    if (row->cond == AFTER_BROKE) {
        tally->count.reopened = tally->count.reopened || row->ended;
        return;
    }
    AfterItem item = { (AfterOn)row->cond, after_id(row->parent) };
    after_count(&tally->count, item, row->ended, row->state);
    if (!row->ended)
        return;
    if (after_met(item.on, row->state))
        after_add(&tally->met, item);
    else if (!(row->parent & AFTER_FOREIGN) && row->state != STATE_GONE)
        after_add(&tally->unmet, item);
}

AfterCount after_tallied(AfterTally *tally, Arena *arena)
{
    AfterCount count = tally->count;
    count.met = slice_copy(arena, buf_slice(&tally->met));
    count.unmet = slice_copy(arena, buf_slice(&tally->unmet));
    buf_done(&tally->met);
    buf_done(&tally->unmet);
    return count;
}

AfterItem after_begin(AfterItem item, int32_t state, uint32_t fields, bool ran,
                      bool *out_ended)
{
    if (state == STATE_GONE && ran)
        item.on = AFTER_ANY;
    bool ended = state == STATE_GONE || state_in((JobState)state, STATES_FINAL);
    *out_ended = ended && (state == STATE_GONE || !(fields & FIELD_PATIENT) ||
                           after_met(item.on, state));
    return item;
}

AfterSteps after_steps(const Job *job, const Op *op, uint32_t had)
{
    uint32_t fields = op->kind == OP_MOVE ? op->fields : 0;
    bool over = state_in(job->state, STATES_FINAL);
    if (!job->after.bytes || (!(had & JOB_WAITS) && !(fields & FIELD_RETRY)))
        return (AfterSteps){ 0 };
    bool all = over || (fields & (FIELD_FREED | FIELD_RETRY));
    return (AfterSteps){ .settles_all = all,
                         .settles_listed = !all && (fields & FIELD_MET),
                         .breaks = (fields & FIELD_BROKEN) != 0,
                         .waits = (fields & FIELD_WAITS) != 0 };
}

bool after_names(Slice list, JobId id)
{
    AfterItem item;
    while (after_next(&list, &item))
        if (item.id == id)
            return true;
    return false;
}

void after_reason(Buf *out, const AfterCount *count)
{
    char id[ID_TEXT_BYTES];
    if (count->broken) {
        const char *wanted = count->broken_on == AFTER_OK ? "done" : "failed";
        id_text(count->broken, id);
        if (count->broken_state == STATE_GONE)
            buf_printf(out, "job %s is not there any more: it cannot end %s", id, wanted);
        else
            buf_printf(out, "job %s ended %s: it cannot end %s any more", id,
                       state_name((JobState)count->broken_state), wanted);
        return;
    }
    id_text(count->first_pending, id);
    if (count->pending > 1)
        buf_printf(out, "waits for job %s and %u more", id, count->pending - 1);
    else
        buf_printf(out, "waits for job %s", id);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* after.c - see after.h. */
#include "core/after.h"

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

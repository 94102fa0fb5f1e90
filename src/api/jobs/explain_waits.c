/* SPDX-License-Identifier: Apache-2.0 */
/* explain_waits.c - see explain_waits.h. */
#include "api/jobs/explain_waits.h"

Err waited_for_find(Store *store, const Job *job, WaitedFor *out, Error *why)
{
    Slice rest = job->after;
    AfterItem item;
    bool over = false;
    Err err = ERR_OK;
    while (!err && !over && after_next(&rest, &item)) {
        Loaded loaded = { 0 };
        Load load = { .kind = LOAD_JOB, .id = item.id, .tenant = job->tenant };
        err = store->kind->load(store, &load, &loaded, why);
        if (!err && loaded.count) {
            JobState state = loaded.jobs[0].state;
            bool final = state_in(state, STATES_FINAL);
            over = final && !after_met(item.on, (int32_t)state);
            if (over || (!final && !out->id))
                *out = (WaitedFor){ item.id, item.on, state };
        }
        loaded_done(&loaded);
    }
    return err;
}

void waited_for_say(const WaitedFor *waited, const Job *job, Buf *text, Buf *command)
{
    char id[ID_TEXT_BYTES];
    bool over = state_in(waited->state, STATES_FINAL);
    id_text(waited->id, id);
    if (over)
        buf_printf(
            text,
            "it waits for job %s, which ended %s: it runs when that one is retried "
            "and then ends %s",
            id, state_name(waited->state), waited->on == AFTER_FAIL ? "failed" : "done");
    else
        buf_printf(text, "it waits for job %s, which is %s", id,
                   state_name(waited->state));
    buf_printf(command, "pawl %s %s", over ? "retry" : "explain", id);
    if (!slice_is(job->tenant, "default"))
        buf_printf(command, " --tenant " SLICE_FMT, SLICE_ARG(job->tenant));
}

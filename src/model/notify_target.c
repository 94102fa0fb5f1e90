/* SPDX-License-Identifier: Apache-2.0 */
/* notify_target.c - see notify_target.h. */
#include "model/notify_target.h"

#define FAILURES (STATE_BIT(JOB_FAILED) | STATE_BIT(JOB_REJECTED))

static const struct {
    const char *name;
    JobStates states;
} events[] = {
    { "done", STATE_BIT(JOB_DONE) },
    { "failed", STATE_BIT(JOB_FAILED) },
    { "rejected", STATE_BIT(JOB_REJECTED) },
    { "cancelled", STATE_BIT(JOB_CANCELLED) },
    { "error", FAILURES },
    { "end", STATES_FINAL },
};
#define EVENTS (sizeof events / sizeof *events)

static JobStates states_of(Slice event)
{
    for (size_t i = 0; i < EVENTS; i++)
        if (slice_is(event, events[i].name))
            return events[i].states;
    return 0;
}

bool notify_target_wants(Slice event, JobState state)
{
    return state_in(state, states_of(event));
}

Err notify_target_check(Slice event, Slice to, Error *why)
{
    NotifyTargetKind kind;
    Slice rest;
    if (!states_of(event))
        return error_set(why, ERR_INVALID,
                         "event is done, failed, rejected, cancelled, error or end");
    if (to.bytes > NOTIFY_TARGET_BYTES_MAX)
        return error_set(why, ERR_LIMIT, "to is longer than %d bytes",
                         NOTIFY_TARGET_BYTES_MAX);
    if (notify_target_parse(to, &kind, &rest))
        return error_set(why, ERR_INVALID,
                         "to is webhook:http://..., webhook:https://... or command:...");
    return ERR_OK;
}

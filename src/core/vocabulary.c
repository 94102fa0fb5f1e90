/* SPDX-License-Identifier: Apache-2.0 */
/* vocabulary.c - the few functions of event.h and effect.h. */
#include "core/effect.h"

const char *action_name(Action action)
{
    switch (action) {
    case ACT_CANCEL:
        return "cancel";
    case ACT_KILL:
        return "kill";
    case ACT_HOLD:
        return "hold";
    case ACT_RELEASE:
        return "release";
    case ACT_PAUSE:
        return "pause";
    case ACT_RESUME:
        return "resume";
    case ACT_HALT:
        return "halt";
    case ACT_RETRY:
        return "retry";
    case ACT_REMOVE:
        return "remove";
    case ACT_PATCH:
        return "patch";
    }
    return "?";
}

const char *claim_status_name(ClaimStatus status)
{
    switch (status) {
    case CLAIM_OK:
        return "ok";
    case CLAIM_LOST:
        return "lost";
    case CLAIM_CANCEL:
        return "cancel";
    case CLAIM_LATE:
        return "late";
    }
    return "?";
}

JobStates action_allowed(Action action)
{
    static const JobStates allowed[ACTIONS] = {
        [ACT_CANCEL] = STATES_WAITING | STATES_OWNED,
        [ACT_KILL] = STATES_WAITING | STATES_OWNED,
        [ACT_HOLD] = STATES_WAITING,
        [ACT_RELEASE] = STATE_BIT(JOB_HELD),
        [ACT_PAUSE] = STATE_BIT(JOB_RUNNING),
        [ACT_RESUME] = STATE_BIT(JOB_PAUSED) | STATE_BIT(JOB_HALTED),
        [ACT_HALT] = STATES_OWNED,
        [ACT_RETRY] = STATES_FINAL | STATE_BIT(JOB_RETRYING),
        [ACT_REMOVE] = STATES_WAITING | STATES_OWNED | STATES_FINAL,
        [ACT_PATCH] = STATES_WAITING,
    };
    return allowed[action];
}

Effect *outbox_effect(Outbox *outbox, EffectKind kind, Wait wait)
{
    Effect *effect =
        &MEM_PUSH(outbox->effects, outbox->effect_count, outbox->effect_capacity);
    *effect = (Effect){ .kind = kind, .wait = wait };
    return effect;
}

#define EFFECTS_KEPT 512 /* as batch_clear does it */

void outbox_clear(Outbox *outbox)
{
    batch_clear(&outbox->adds);
    batch_clear(&outbox->batch);
    if (outbox->effect_capacity > EFFECTS_KEPT) {
        mem_free(outbox->effects);
        outbox->effects = NULL;
        outbox->effect_capacity = 0;
    }
    outbox->effect_count = 0;
    outbox->number = 0;
}

void outbox_done(Outbox *outbox)
{
    batch_done(&outbox->adds);
    batch_done(&outbox->batch);
    mem_free(outbox->effects);
    *outbox = (Outbox){ 0 };
}

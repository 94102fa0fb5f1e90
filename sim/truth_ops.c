/* SPDX-License-Identifier: Apache-2.0 */
/* truth_ops.c - every operation that a node decides has a cause outside it. */
#include "sim/links.h"
#include "sim/machine.h"

#include "base/text.h"
#include "core/outcome.h"

#include <stdio.h>
#include <stdlib.h>

/* --- Adding: I2
 * ------------------------------------------------------------------------- */

/* A number at *at, followed by `end`. */
static bool take_number(const char **at, char end, uint64_t *out)
{
    char *behind;
    *out = strtoull(*at, &behind, 10);
    if (behind == *at || *behind != end)
        return false;
    *at = behind + 1;
    return true;
}

/* Payloads are `s<serial>.<k>` as sent, `c<parent>.<attempt>.<k>` of children, each with
 * `/<n>` behind it once the n-th patch has replaced it. */
static Submission *submission_of(World *world, const char *payload, uint64_t *out_item)
{
    uint64_t serial;
    const char *at = payload + 1;
    if (*payload != 's' || !take_number(&at, '.', &serial) ||
        !take_number(&at, '\0', out_item) || !serial ||
        serial > world->truth.submission_count)
        return NULL;
    return world->truth.submissions[serial - 1];
}

static bool child_is_true(World *world, const Job *job, const char *payload)
{
    JobId parent;
    uint64_t attempt;
    const char *at = payload + 15; /* c, 13 characters, a point */
    if (*payload != 'c' || strlen(payload) < 17 ||
        id_parse(slice_of(payload + 1, 13), &parent) || !take_number(&at, '.', &attempt))
        return false;
    const Witness *witness = truth_witness(world, parent, (uint32_t)attempt);
    if (!witness || witness->alive || witness->signal || job->parent != parent)
        return false;
    /* By its exit, or by its own word; which of them counts is another question. */
    Ending ending = { .kind = END_EXITED, .exit_status = witness->exit_status };
    JobCode by_exit = outcome_of(&ending, false, false).code;
    ending.said_code = witness->said_code;
    JobCode by_word = outcome_of(&ending, false, false).code;
    return by_exit == CODE_OK || by_exit == CODE_FAILED || by_word == CODE_OK ||
           by_word == CODE_FAILED;
}

static bool sent_like_this(const Submission *submission, uint64_t item, const Job *job)
{
    const Job *sent = &submission->jobs[submission->lines ? 0 : item];
    return slice_equal(sent->tenant, job->tenant) &&
           slice_equal(sent->queue, job->queue) && sent->priority == job->priority &&
           sent->max_retries == job->max_retries;
}

static void check_add(World *world, Machine *machine, const Job *job)
{
    char payload[80];
    char id[ID_TEXT_BYTES];
    uint64_t item = 0;
    id_text(job->id, id);
    snprintf(payload, sizeof payload, SLICE_FMT, SLICE_ARG(job->payload));
    Submission *submission = submission_of(world, payload, &item);
    bool known = submission ? submission->machine == machine->index &&
                                  item < submission->count && !submission->refused &&
                                  sent_like_this(submission, item, job)
                            : child_is_true(world, job, payload);
    if (!known)
        violate(world, "I2", "%s is added, but no one sent %s", id, payload);
    uint64_t hash = hash_bytes(job->payload.data, job->payload.bytes);
    if (map_find(&world->truth.by_payload, hash))
        violate(world, "I2", "%s is added twice", payload);
    if (map_find(&world->truth.by_id, job->id))
        violate(world, "I2", "the id %s is given twice", id);
    if (id_node(job->id) != machine->number)
        violate(world, "I2", "%s has another node's id", id);
    if (job->id <= machine->last_id)
        violate(world, "I8", "%s comes after larger ids", id);
    if (world->failed)
        return;
    JobTruth *truth = MEM_NEW(JobTruth);
    truth->id = job->id;
    truth->machine = machine->index;
    truth->submission = submission;
    truth->payload_hash = hash;
    truth->shown = -1;
    MEM_PUSH(world->truth.jobs, world->truth.job_count, world->truth.job_capacity) =
        truth;
    map_put(&world->truth.by_id, job->id, truth);
    map_put(&world->truth.by_payload, hash, truth);
    world->counts.jobs++;
}

static void check_lines(World *world, Machine *machine, const Op *op)
{
    Slice rest = op->body;
    Slice line;
    uint64_t k = 0;
    for (; lines_next(&rest, &line) && !world->failed; k++) {
        Job job = *op->job;
        job.id = id_from_count(op->first + k, machine->number);
        job.payload = line;
        check_add(world, machine, &job);
    }
    if (k != op->count)
        violate(world, "I2", "%llu lines are counted as %llu", (unsigned long long)k,
                (unsigned long long)op->count);
}

/* --- Running: I3, I7, I8, I13
 * ----------------------------------------------------------- */

/* I8: what starts is the best of its lane. */
static void check_claim(World *world, Machine *machine, const Job *job, const Op *op)
{
    Loaded loaded = { 0 };
    Load first = { .kind = LOAD_WINDOW,
                   .tenant = job->tenant,
                   .queue = job->queue,
                   .pull = (job->flags & JOB_PULL) != 0,
                   .limit = 1 };
    char id[ID_TEXT_BYTES];
    char better[ID_TEXT_BYTES];
    (void)!machine->decided->kind->load(machine->decided, &first, &loaded, NULL);
    if (loaded.count && !(job->flags & JOB_PULL) && /* those name what they want */
        loaded.jobs[0].id != job->id && limits_ordered(machine, job) &&
        !loaded.jobs[0].resources.bytes) /* it may want more than there is */
        violate(world, "I8", "%s starts before %s", id_text(job->id, id),
                id_text(loaded.jobs[0].id, better));
    loaded_done(&loaded);
    limits_claim(world, machine, job, op);
    if (!(job->flags & JOB_PULL)) /* they take no slot */
        turns_claim(world, machine, job, op);
    world->counts.starts++;
}

/* What runs is what was decided last: jobs on their way to a start are cached. */
static bool is_as_decided(Machine *machine, const Job *job)
{
    Loaded loaded = { 0 };
    Load load = { .kind = LOAD_JOB, .id = job->id };
    Store *store = machine->decided;
    (void)!store->kind->load(store, &load, &loaded, NULL);
    bool same = !loaded.count || slice_equal(loaded.jobs[0].payload, job->payload);
    loaded_done(&loaded);
    return same;
}

void truth_started(World *world, Machine *machine, const Job *job)
{
    char id[ID_TEXT_BYTES];
    JobTruth *truth = truth_job(world, job->id);
    id_text(job->id, id);
    if (!truth || truth->machine != machine->index) {
        violate(world, "I2", "%s runs, but no one sent it", id);
        return;
    }
    if (truth_witness(world, job->id, job->attempt))
        violate(world, "I3", "%s #%u is started twice", id, job->attempt);
    Slice rest = job->payload;
    Slice original = slice_cut(&rest, '/');
    int64_t patch = 0;
    if (rest.bytes && int_parse(rest, &patch))
        patch = -1;
    if (hash_bytes(original.data, original.bytes) != truth->payload_hash || patch < 0 ||
        (uint64_t)patch > truth->patches)
        violate(world, "I2", "%s runs with a payload that no one sent", id);
    if (!is_as_decided(machine, job))
        violate(world, "I2", "%s runs with a payload that was replaced", id);
    MEM_PUSH(world->truth.witnesses, world->truth.witness_count,
             world->truth.witness_capacity) = (Witness){ .id = job->id,
                                                         .attempt = job->attempt,
                                                         .machine = machine->index,
                                                         .alive = true,
                                                         .exit_status = -1 };
}

/* Whether someone asked for it since an operator's retry began the job anew. */
static bool asked(const JobTruth *truth, Action action)
{
    return truth->asked[action] &&
           (truth->asked[action] > truth->retried || truth->waiting[action]);
}

static bool asked_to_end(const JobTruth *truth)
{
    return asked(truth, ACT_CANCEL) || asked(truth, ACT_KILL) || asked(truth, ACT_REMOVE);
}

/* I7: an outcome is that of a process that really ran. */
static void check_outcome(World *world, const Machine *machine, const Op *op)
{
    char id[ID_TEXT_BYTES];
    const Outcome *outcome = &op->outcome;
    const Witness *witness = truth_witness(world, op->id, op->attempt);
    id_text(op->id, id);
    if (witness && witness->alive)
        violate(world, "I13", "%s #%u is ended while it runs", id, op->attempt);
    bool ran = outcome->exit_status >= 0 || outcome->signal;
    bool said = witness && witness->told && witness->said_code == outcome->exitcode;
    if (ran && (!witness || witness->exit_status != outcome->exit_status ||
                witness->signal != outcome->signal))
        violate(world, "I7", "%s #%u did not end with exit %d signal %d", id, op->attempt,
                outcome->exit_status, outcome->signal);
    if (outcome->exitcode == 503 && witness && !said)
        violate(world, "I7", "%s #%u did start", id, op->attempt);
    if (outcome->exitcode == 502 && witness && !witness->launcher_lost &&
        !witness->pulled && (!witness->warm || witness->contexts == machine->contexts))
        violate(world, "I7", "%s #%u is taken for lost, but its end was kept", id,
                op->attempt);
    if (op->to == JOB_DONE && !ran && !said)
        violate(world, "I7", "%s is done without having run", id);
    if (op->result.bytes && (!witness || !slice_is(op->result, witness->result)))
        violate(world, "I7", "%s #%u has another's result", id, op->attempt);
}

/* I18: a worker that is heard of in time keeps its job. */
static void check_lease(World *world, const Machine *machine, const Op *op)
{
    char id[ID_TEXT_BYTES];
    const Witness *witness = truth_witness(world, op->id, op->attempt);
    const JobTruth *truth = truth_job(world, op->id);
    if (truth->asked_any)
        return; /* it may have been taken for a reason */
    if (op->outcome.exitcode == 502 && witness && witness->pulled &&
        witness->epoch == machine->epoch && world->time_ms < witness->sure_until_ms)
        violate(world, "I18", "%s #%u is taken from its worker before its lease ends",
                id_text(op->id, id), op->attempt);
}

/* I6: retries or the retry window are really used up. */
static void check_rejected(World *world, Machine *machine, const Job *job, const Op *op)
{
    const NodeSettings *settings = node_settings(machine->node);
    char id[ID_TEXT_BYTES];
    if (job->max_retries >= 0 && job->retry_number >= (uint32_t)job->max_retries)
        return;
    int64_t window_ms =
        job->retry_window_ms ? job->retry_window_ms : settings->retry_window_ms;
    int64_t delay_ms =
        job->retry_delay_ms ? job->retry_delay_ms : settings->retry_delay_max_ms;
    int64_t from_ms = job->retry_number ? job->window_from_ms : op->at_ms;
    if (window_ms >= 0 && op->at_ms + delay_ms * 11 / 10 > from_ms + window_ms)
        return;
    violate(world, "I6", "%s is rejected after %u of %d retries", id_text(job->id, id),
            job->retry_number, job->max_retries);
}

static void check_finish(World *world, Machine *machine, const Job *job, const Op *op)
{
    char id[ID_TEXT_BYTES];
    const JobTruth *truth = truth_job(world, op->id);
    id_text(op->id, id);
    check_outcome(world, machine, op);
    check_lease(world, machine, op);
    world->counts.lost_attempts += op->outcome.exitcode == 502;
    if (op->to == JOB_CANCELLED && !asked_to_end(truth))
        violate(world, "I4", "%s ends cancelled, but no one asked", id);
    if (op->to == JOB_HALTED && !asked(truth, ACT_HALT))
        violate(world, "I4", "%s ends halted, but no one asked", id);
    if (truth->halt_acked == op->attempt && op->to != JOB_HALTED &&
        op->to != JOB_CANCELLED)
        violate(world, "I4", "%s #%u was halted and is %s", id, op->attempt,
                state_name(op->to));
    if (truth->cancel_acked && op->to != JOB_CANCELLED)
        violate(world, "I4", "%s was cancelled and is %s", id, state_name(op->to));
    bool forgiven =
        op->to == JOB_READY || op->to == JOB_CANCELLED || op->to == JOB_HALTED;
    if (op->outcome.exitcode == 502 && !forgiven && !(job->flags & JOB_PULL) &&
        (job->flags & JOB_LOSSES) != JOB_LOSSES)
        violate(world, "I6", "%s is charged for a loss", id);
    if (op->to == JOB_REJECTED)
        check_rejected(world, machine, job, op);
}

/* --- Moving and removing: I4
 * ------------------------------------------------------------ */

static bool may_move(const JobTruth *truth, const Job *job, const Op *op, int64_t now_ms,
                     bool handlers)
{
    if (op->fields & FIELD_RETRY)
        return truth->asked[ACT_RETRY] > 0;
    if (state_in(job->state, STATES_FINAL))
        return false;
    if (op->fields & ~(uint32_t)FIELD_HANDLER)
        return truth->asked[ACT_PATCH] > 0;
    if (op->to == JOB_CANCELLED)
        return asked_to_end(truth);
    if (op->to == JOB_HELD)
        return truth->asked[ACT_HOLD] > 0;
    if (job->state == JOB_HELD)
        return truth->asked[ACT_RELEASE] && (op->to != JOB_READY || op->dt_ms <= now_ms);
    if (job->state == JOB_HALTED)
        return truth->asked[ACT_RESUME] > 0;
    if (job->state == JOB_DEFERRED || job->state == JOB_RETRYING)
        return (op->to == JOB_READY && job->dt_ms <= now_ms) || op->to == job->state ||
               truth->asked[ACT_PATCH];
    bool free =
        state_in(op->to, STATES_TIMED | STATE_BIT(JOB_READY)) && op->to != JOB_BLOCKED;
    if (job->state == JOB_BLOCKED && !free)
        return job->dt_ms <= now_ms; /* its window is over, or has moved */
    if (job->state == JOB_BLOCKED || op->to == JOB_BLOCKED)
        return handlers && !job->command.bytes;
    return op->to == job->state && truth->asked[ACT_PATCH];
}

static void check_move(World *world, Machine *machine, const Job *job, const Op *op)
{
    char id[ID_TEXT_BYTES];
    JobTruth *truth = truth_job(world, op->id);
    /* An answer may be from before the clock was set back. */
    int64_t back_ms = world->profile.clock_per_1000 ? 10 * MS_PER_HOUR : 0;
    int64_t now_ms = machine_now(machine).wall_ms + back_ms;
    if (!links_may_move(world, job, op) &&
        !may_move(truth, job, op, now_ms, world->truth.handlers))
        violate(world, "I4", "%s goes from %s to %s, but no one asked",
                id_text(op->id, id), state_name(job->state), state_name(op->to));
    if (op->fields & FIELD_RETRY) {
        truth->retried = world->step;
        truth->retries++;
    }
}

static void check_remove(World *world, Machine *machine, const Job *job)
{
    char id[ID_TEXT_BYTES];
    JobTruth *truth = truth_job(world, job->id);
    const NodeSettings *settings = node_settings(machine->node);
    int64_t age_ms = machine_now(machine).wall_ms - job->finished_ms;
    int64_t keep_ms =
        job->state == JOB_DONE ? settings->keep_done_ms : settings->keep_other_ms;
    /* The clock may have been set back since the store was asked for old jobs. */
    int64_t back_ms = world->profile.clock_per_1000 ? 10 * MS_PER_HOUR : 0;
    bool old = state_in(job->state, STATES_FINAL) && age_ms > keep_ms - back_ms;
    if (!truth->asked[ACT_REMOVE] && !old)
        violate(world, "I1", "%s is removed, but no one asked", id_text(job->id, id));
    world->counts.purged += !truth->asked[ACT_REMOVE];
    truth->gone = true;
}

static void check_progress(World *world, const Op *op)
{
    char id[ID_TEXT_BYTES];
    JobTruth *truth = truth_job(world, op->id);
    id_text(op->id, id);
    if ((op->flags & JOB_CANCELLING) && !asked_to_end(truth))
        violate(world, "I4", "%s is being ended, but no one asked", id);
    if ((op->flags & JOB_HALTING) && !asked(truth, ACT_HALT))
        violate(world, "I4", "%s is being halted, but no one asked", id);
    /* From now on it holds, however long ago it was asked. */
    if (op->flags & JOB_CANCELLING)
        truth->asked[ACT_CANCEL] = world->step;
    if (op->flags & JOB_HALTING)
        truth->asked[ACT_HALT] = world->step;
}

static void check_change(World *world, Machine *machine, const Job *job, const Op *op)
{
    char id[ID_TEXT_BYTES];
    const JobTruth *truth = truth_job(world, op->id);
    if (op->kind == OP_CLAIM)
        check_claim(world, machine, job, op);
    if (op->kind == OP_PROGRESS)
        check_progress(world, op);
    if (op->kind == OP_FINISH)
        check_finish(world, machine, job, op);
    if (op->kind == OP_MOVE)
        check_move(world, machine, job, op);
    if (op->kind == OP_REMOVE)
        check_remove(world, machine, job);
    Action cause = op->to == JOB_PAUSED ? ACT_PAUSE : ACT_RESUME;
    if (op->kind == OP_PAUSE && !truth->asked[cause])
        violate(world, "I4", "%s is %s, but no one asked", id_text(op->id, id),
                state_name(op->to));
}

void truth_decided(World *world, Machine *machine, const Op *op)
{
    switch (op->kind) {
    case OP_ADD:
        check_add(world, machine, op->job);
        return;
    case OP_ADD_LINES:
        check_lines(world, machine, op);
        return;
    case OP_CLAIM:
    case OP_PROGRESS:
    case OP_FINISH:
    case OP_MOVE:
    case OP_PAUSE:
    case OP_REMOVE:
        break;
    case OP_BEAT:
    case OP_PURGE:
    case OP_PUT:
    case OP_DELETE:
    case OP_NODE:
    case OP_KEY:
    case OP_GIVE:
    case OP_MAIL:
    case OP_TAKEN:
    case OP_FENCE:
    case OP_TAKE:
    case OP_JOIN:
    case OP_DROP:
    case OP_SWEPT:
        return;
    }
    char id[ID_TEXT_BYTES];
    Loaded loaded = { 0 };
    Load load = { .kind = LOAD_JOB, .id = op->id };
    (void)!machine->decided->kind->load(machine->decided, &load, &loaded, NULL);
    if (!loaded.count || !truth_job(world, op->id))
        violate(world, "I2", "%s of %s, which no one knows", op_name(op->kind),
                id_text(op->id, id));
    else
        check_change(world, machine, &loaded.jobs[0], op);
    if (!world->failed)
        links_decided(world, &loaded.jobs[0], op);
    loaded_done(&loaded);
}

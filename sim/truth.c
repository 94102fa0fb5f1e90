/* SPDX-License-Identifier: Apache-2.0 */
/* truth.c - see truth.h. Here: what was asked, answered and shown; recoveries; the end.
 */
#include "sim/truth.h"

#include "sim/machine.h"

void truth_done(Truth *truth)
{
    for (size_t i = 0; i < truth->submission_count; i++) {
        arena_done(&truth->submissions[i]->arena);
        buf_done(&truth->submissions[i]->body);
        mem_free(truth->submissions[i]);
    }
    for (size_t i = 0; i < truth->job_count; i++)
        mem_free(truth->jobs[i]);
    mem_free(truth->submissions);
    mem_free(truth->jobs);
    mem_free(truth->requests);
    mem_free(truth->witnesses);
    map_done(&truth->by_id);
    map_done(&truth->by_payload);
    *truth = (Truth){ 0 };
}

Submission *truth_submission(World *world, unsigned machine)
{
    Truth *truth = &world->truth;
    Submission *submission = MEM_NEW(Submission);
    submission->machine = machine;
    submission->again_ms = TIME_NEVER;
    MEM_PUSH(truth->submissions, truth->submission_count, truth->submission_capacity) =
        submission;
    submission->serial = truth->submission_count;
    return submission;
}

JobTruth *truth_job(World *world, JobId id)
{
    return map_find(&world->truth.by_id, id);
}

Requester truth_request(World *world, const SimRequest *request)
{
    Truth *truth = &world->truth;
    SimRequest *kept =
        &MEM_PUSH(truth->requests, truth->request_count, truth->request_capacity);
    *kept = *request;
    kept->number = ++truth->last_request;
    if (request->kind == REQUEST_ADD) {
        request->submission->open = true;
        request->submission->tries++;
    }
    JobTruth *job = truth_job(world, request->id);
    if (request->kind != REQUEST_ACT || !job)
        return kept->number;
    job->asked[request->action] = job->asked_any = world->step;
    job->waiting[request->action]++;
    if (request->action == ACT_RETRY)
        job->cancel_acked = false;
    return kept->number;
}

Witness *truth_witness(World *world, JobId id, uint32_t attempt)
{
    Truth *truth = &world->truth;
    for (size_t i = truth->witness_count; i-- > 0;)
        if (truth->witnesses[i].id == id && truth->witnesses[i].attempt == attempt)
            return &truth->witnesses[i];
    return NULL;
}

/* --- Answers -------------------------------------------------------------------------
 */

static void added(World *world, Machine *machine, Submission *submission,
                  const Effect *effect)
{
    if (effect->count != submission->count) {
        violate(world, "I1", "s%llu: %llu jobs are acknowledged",
                (unsigned long long)submission->serial,
                (unsigned long long)effect->count);
        return;
    }
    if (submission->answered && submission->first != effect->first) {
        violate(world, "I2", "s%llu is acknowledged as other jobs than before",
                (unsigned long long)submission->serial);
        return;
    }
    submission->answered = true;
    submission->first = effect->first;
    submission->again_ms = TIME_NEVER;
    for (uint64_t k = 0; k < effect->count; k++) {
        char text[ID_TEXT_BYTES];
        JobId id = id_from_count(effect->first + k, machine->number);
        JobTruth *job = truth_job(world, id);
        if (!job || job->submission != submission) {
            violate(world, "I1", "s%llu is acknowledged as %s, which it is not",
                    (unsigned long long)submission->serial, id_text(id, text));
            return;
        }
        world->counts.acknowledged += !job->acked;
        job->acked = true;
    }
}

static void not_added(World *world, Submission *submission, Err err)
{
    bool later = err == ERR_CONFLICT || err == ERR_UNAVAILABLE || err == ERR_FULL ||
                 submission->jobs[0].resources.bytes; /* there is not so much of it */
    if (!later)
        violate(world, "I1", "s%llu is refused with %s",
                (unsigned long long)submission->serial, err_name(err));
    if (submission->keyed) {
        submission->again_ms = world->time_ms + 200 + (int64_t)below(world, 3000);
        return;
    }
    submission->refused = true;
    for (size_t i = 0; i < world->truth.job_count; i++)
        if (world->truth.jobs[i]->submission == submission)
            violate(world, "I2", "s%llu was refused, but is there",
                    (unsigned long long)submission->serial);
}

static void not_found(World *world, const JobTruth *job)
{
    char text[ID_TEXT_BYTES];
    if (job && !job->gone)
        violate(world, "read-your-writes", "%s is not found, but is there",
                id_text(job->id, text));
}

static uint32_t decided_attempt(Machine *machine, JobId id)
{
    Loaded loaded = { 0 };
    Load load = { .kind = LOAD_JOB, .id = id };
    uint32_t attempt = 0;
    if (!machine->decided->kind->load(machine->decided, &load, &loaded, NULL) &&
        loaded.count)
        attempt = loaded.jobs[0].attempt;
    loaded_done(&loaded);
    return attempt;
}

static void acted(World *world, Machine *machine, const SimRequest *request, Err err)
{
    char text[ID_TEXT_BYTES];
    JobTruth *job = truth_job(world, request->id);
    world->counts.actions++;
    if (err == ERR_NOT_FOUND)
        not_found(world, job);
    if (!job)
        return;
    if (job->waiting[request->action])
        job->waiting[request->action]--;
    if (err)
        return;
    bool retry_asked = job->asked[ACT_RETRY] > 0;
    if (request->action == ACT_CANCEL || request->action == ACT_KILL)
        job->cancel_acked = !retry_asked;
    if (request->action == ACT_HALT && !job->asked[ACT_RESUME])
        job->halt_acked = decided_attempt(machine, job->id);
    if (request->action == ACT_REMOVE && !job->gone)
        if (!(world->failed || job->asked[ACT_REMOVE]))
            violate(world, "I4", "%s is said to be removed", id_text(job->id, text));
    if (request->action == ACT_REMOVE && job->gone)
        job->removal_acked = true;
}

/* The request that is answered leaves the list; false: no one waits for it. */
static bool take_request(World *world, Requester number, SimRequest *out)
{
    Truth *truth = &world->truth;
    size_t at = 0;
    while (at < truth->request_count && truth->requests[at].number != number)
        at++;
    if (at == truth->request_count) {
        violate(world, "reply", "request %llu is answered, but no one waits",
                (unsigned long long)number);
        return false;
    }
    *out = truth->requests[at];
    memmove(&truth->requests[at], &truth->requests[at + 1],
            (--truth->request_count - at) * sizeof *out);
    return true;
}

/* E3: who was told of a job sees it, until it goes. Who waits for its end hears of no
 * other. */
void truth_seen(World *world, Machine *machine, const Effect *effect, bool found)
{
    SimRequest request;
    char text[ID_TEXT_BYTES];
    if (!take_request(world, effect->request, &request) || effect->err)
        return;
    const JobTruth *job = truth_job(world, request.id);
    if (!job || job->gone)
        return;
    if (request.kind == REQUEST_READ && !found)
        violate(world, "E3", "m%u does not find %s, which it has accepted",
                machine->index, id_text(request.id, text));
    if (request.kind == REQUEST_WAIT && !job->ends)
        violate(world, "E1", "m%u says that %s has ended, which it has not",
                machine->index, id_text(request.id, text));
}

void truth_reply(World *world, Machine *machine, const Effect *effect)
{
    SimRequest request;
    if (!take_request(world, effect->request, &request))
        return;
    trace(world, "m%u answers %llu: %s %s", machine->index,
          (unsigned long long)effect->request, err_name(effect->err),
          effect->problem ? effect->problem : "");
    switch (request.kind) {
    case REQUEST_ADD:
        request.submission->open = false;
        if (effect->err)
            not_added(world, request.submission, effect->err);
        else
            added(world, machine, request.submission, effect);
        return;
    case REQUEST_ACT:
        acted(world, machine, &request, effect->err);
        return;
    case REQUEST_PULL:
        worker_reply(world, machine, request.worker, effect);
        return;
    case REQUEST_DEFINE:
    case REQUEST_READ:
    case REQUEST_WAIT:
        return;
    }
}

void truth_shown(World *world, const Effect *effect)
{
    char text[ID_TEXT_BYTES];
    JobTruth *job = truth_job(world, effect->id);
    if (!job || effect->count != 1)
        return;
    bool final = state_in(effect->state, STATES_FINAL);
    bool left = job->shown >= 0 && job->shown != (int)effect->state;
    if (left && job->retries_shown++ >= job->retries)
        violate(world, "I4", "%s was shown %s and is now shown %s",
                id_text(job->id, text), state_name((JobState)job->shown),
                state_name(effect->state));
    job->shown = final ? (int)effect->state : -1;
}

/* --- Crashes and recoveries ------------------------------------------------------------
 */

void truth_crashed(World *world, unsigned machine)
{
    Truth *truth = &world->truth;
    size_t kept = 0;
    for (size_t i = 0; i < truth->request_count; i++) {
        SimRequest *request = &truth->requests[i];
        if (request->machine != machine) {
            truth->requests[kept++] = *request;
            continue;
        }
        world->counts.unknown++;
        Submission *submission = request->submission;
        if (request->kind == REQUEST_ADD) {
            submission->open = false;
            if (submission->keyed)
                submission->again_ms = world->time_ms + (int64_t)below(world, 4000);
        }
        JobTruth *job = truth_job(world, request->id);
        if (request->kind == REQUEST_ACT && job)
            job->waiting[request->action] = 0;
    }
    truth->request_count = kept;
    workers_crashed(world, machine);
}

/* What was decided and lost before anyone could know of it never was. */
static void forget_job(Truth *truth, size_t at)
{
    JobTruth *job = truth->jobs[at];
    map_remove(&truth->by_id, job->id);
    if (map_find(&truth->by_payload, job->payload_hash) == job)
        map_remove(&truth->by_payload, job->payload_hash);
    truth->jobs[at] = truth->jobs[--truth->job_count];
    mem_free(job);
}

static void still_there(World *world, JobTruth *job, const Job *stored)
{
    char text[ID_TEXT_BYTES];
    id_text(job->id, text);
    job->durable = true;
    if (job->gone && job->removal_acked)
        violate(world, "I4", "%s was removed and is back", text);
    job->gone = false;
    if (job->shown < 0 || stored->state == (JobState)job->shown)
        return;
    job->shown = -1; /* a retry was durable before anyone saw it */
    if (job->retries_shown++ >= job->retries)
        violate(world, "I4", "%s was shown final and is %s after a restart", text,
                state_name(stored->state));
}

static void take_stored(void *context, const Job *job)
{
    World *world = context;
    char text[ID_TEXT_BYTES];
    if (!truth_job(world, job->id))
        violate(world, "I2", "no one knows %s", id_text(job->id, text));
}

void truth_recovered(World *world, Machine *machine)
{
    Truth *truth = &world->truth;
    Store *store = machine->store;
    for (size_t i = 0; i < truth->job_count && !world->failed;) {
        JobTruth *job = truth->jobs[i];
        char text[ID_TEXT_BYTES];
        Loaded loaded = { 0 };
        Load load = { .kind = LOAD_JOB, .id = job->id };
        if (job->machine != machine->index) {
            i++;
            continue;
        }
        (void)!store->kind->load(store, &load, &loaded, NULL);
        bool there = loaded.count > 0;
        if (there)
            still_there(world, job, &loaded.jobs[0]);
        else if (job->acked && !job->gone)
            violate(world, "I1", "%s was acknowledged and is lost",
                    id_text(job->id, text));
        loaded_done(&loaded);
        if (!there && !job->durable)
            forget_job(truth, i);
        else
            i++;
    }
    JobQuery all = { .limit = 1000000 };
    QueryEnd end;
    JobSink sink = { take_stored, world };
    (void)!store->kind->query(store, &all, &sink, &end, NULL);
}

/* --- The end
 * ---------------------------------------------------------------------------- */

/* I6 and I7: every attempt has a record, and every record a cause. */
static void check_attempts(World *world, Machine *machine, const Job *job)
{
    Loaded loaded = { 0 };
    Load load = { .kind = LOAD_ATTEMPTS, .id = job->id };
    char text[ID_TEXT_BYTES];
    id_text(job->id, text);
    (void)!machine->store->kind->load(machine->store, &load, &loaded, NULL);
    if (loaded.count != job->attempt)
        violate(world, "I6", "%s has %u attempts and %zu records", text, job->attempt,
                loaded.count);
    int32_t charged = 0;
    unsigned lost = 0;
    for (size_t i = 0; i < loaded.count && !world->failed; i++) {
        const Job *attempt = &loaded.jobs[i];
        const Outcome *outcome = &attempt->outcome;
        const Witness *witness = truth_witness(world, job->id, attempt->attempt);
        if (attempt->attempt != i + 1)
            violate(world, "I6", "%s: record %zu is of attempt %u", text, i,
                    attempt->attempt);
        if (outcome->exit_status >= 0 &&
            (!witness || witness->exit_status != outcome->exit_status))
            violate(world, "I7", "%s #%u did not exit with %d", text, attempt->attempt,
                    outcome->exit_status);
        if (outcome->code == CODE_NONE)
            violate(world, "I6", "%s #%u has no outcome", text, attempt->attempt);
        bool not_its_fault = attempt->state == JOB_READY || outcome->exitcode == 502 ||
                             (outcome->exitcode == 503 && attempt->state == JOB_RETRYING);
        lost += not_its_fault;
        charged += !not_its_fault &&
                   (attempt->state == JOB_RETRYING || attempt->state == JOB_REJECTED);
    }
    const JobTruth *known = truth_job(world, job->id);
    bool plain = known && !known->asked[ACT_RETRY];
    if (plain && job->max_retries >= 0 && charged > job->max_retries + 1 + (int32_t)lost)
        violate(world, "I6", "%s has %d charged runs for %d retries", text, charged,
                job->max_retries);
    loaded_done(&loaded);
}

static void check_final(World *world, Machine *machine, const JobTruth *truth,
                        const Job *job)
{
    char text[ID_TEXT_BYTES];
    id_text(job->id, text);
    if (!state_in(job->state, STATES_FINAL))
        violate(world, "I5", "%s is %s in the end", text, state_name(job->state));
    if (truth->cancel_acked && job->state != JOB_CANCELLED)
        violate(world, "I4", "%s was cancelled and is %s", text, state_name(job->state));
    if (!slice_is(job->lock, LOCK_DONE))
        violate(world, "I5", "%s is final and locked", text);
    check_attempts(world, machine, job);
}

void truth_final(World *world, Machine *machine)
{
    Truth *truth = &world->truth;
    for (size_t i = 0; i < truth->job_count && !world->failed; i++) {
        const JobTruth *job = truth->jobs[i];
        char text[ID_TEXT_BYTES];
        Loaded loaded = { 0 };
        Load load = { .kind = LOAD_JOB, .id = job->id };
        if (job->machine != machine->index)
            continue;
        (void)!machine->store->kind->load(machine->store, &load, &loaded, NULL);
        if (loaded.count && job->gone)
            violate(world, "I4", "%s is gone and there", id_text(job->id, text));
        else if (loaded.count)
            check_final(world, machine, job, &loaded.jobs[0]);
        else if (!job->gone)
            violate(world, "I1", "%s is lost in the end", id_text(job->id, text));
        if (job->removal_acked && !job->gone)
            violate(world, "I4", "%s was removed and is there", id_text(job->id, text));
        loaded_done(&loaded);
    }
    for (size_t i = 0; i < truth->submission_count && !world->failed; i++) {
        const Submission *submission = truth->submissions[i];
        if (submission->machine != machine->index)
            continue;
        if (submission->open || (submission->keyed && !submission->answered))
            violate(world, "I5", "s%llu was never answered",
                    (unsigned long long)submission->serial);
    }
}

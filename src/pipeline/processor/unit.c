/* SPDX-License-Identifier: Apache-2.0 */
/* unit.c - see unit.h.
 *
 * The order of renames at an end is output first, input second, each synced: a unit that
 * is in `processed` has its output in `finished`. */
#include "pipeline/processor/unit.h"

#include "base/log.h"
#include "base/text.h"
#include "pipeline/pipeline.h"
#include "pipeline/processor/followup.h"
#include "pipeline/processor/mount.h"

#include <stdio.h>

#define CLAIM_MAX      64   /* jobs in one addition */
#define LOOK_MAX       4096 /* entries looked at in one step */
#define CLAIM_PAUSE_MS (2 * MS_PER_S)
#define RECENT_JOBS    2000 /* that a crash can have left unfinished business of */
#define CTIME_SLACK_MS 20   /* clocks of files tick in coarse steps */

static const Bucket taken[] = { IN_PROCESSED, IN_FAILED, OUT_FINISHED, OUT_SENT,
                                OUT_FAILED };

Unit *processor_unit(const Processor *processor, const char *name)
{
    for (Unit *unit = processor->units; unit; unit = unit->next)
        if (strcmp(unit->name, name) == 0)
            return unit;
    return NULL;
}

static Unit *unit_new(Processor *processor, const char *name, JobId job, JobState state)
{
    Unit *unit = MEM_NEW(Unit);
    snprintf(unit->name, sizeof unit->name, "%s", name);
    unit->job = job;
    unit->state = state;
    unit->next = processor->units;
    processor->units = unit;
    processor->unit_count++;
    return unit;
}

void unit_drop(Processor *processor, Unit *unit)
{
    for (Unit **at = &processor->units; *at; at = &(*at)->next) {
        if (*at != unit)
            continue;
        *at = unit->next;
        processor->unit_count--;
        mem_free(unit);
        return;
    }
}

size_t units_busy(const Processor *processor)
{
    size_t busy = 0;
    for (const Unit *unit = processor->units; unit; unit = unit->next)
        busy += unit->state != JOB_HALTED && unit->state != JOB_RETRYING &&
                unit->state != JOB_HELD && !state_in(unit->state, STATES_FINAL);
    return busy;
}

/* --- Claiming -------------------------------------------------------------------------
 */

/* A unit's name may be any bytes; the job's name is for people. */
static Slice shown_name(Arena *arena, const char *name)
{
    Buf text = { 0 };
    Slice raw = slice_text(name);
    if (utf8_valid(raw))
        return slice_copy(arena, raw);
    for (size_t i = 0; i < raw.bytes && text.bytes < JOB_NAME_MAX - 4; i++) {
        unsigned char c = (unsigned char)raw.data[i];
        if (c >= 0x20 && c < 0x7f)
            buf_add_char(&text, (char)c);
        else
            buf_printf(&text, "\\x%02x", c);
    }
    Slice shown = slice_copy(arena, buf_slice(&text));
    buf_done(&text);
    return shown;
}

static void add_variable(Buf *env, const char *name, const char *value)
{
    buf_add_text(env, name);
    buf_add_char(env, '=');
    buf_add_text(env, value);
    buf_add_char(env, '\0');
}

static Job job_of(const Processor *processor, const char *name, Arena *arena)
{
    const Plan *plan = &processor->plan;
    const Buckets *buckets = &processor->buckets;
    Buf path = { 0 };
    Buf env = { 0 };
    buf_add_slice(&env, plan->env);
    add_variable(&env, "PAWL_UNIT", name);
    add_variable(&env, "PAWL_INPUT", bucket_unit_path(buckets, IN_ACTIVE, name, &path));
    add_variable(&env, "PAWL_OUTPUT",
                 bucket_unit_path(buckets, OUT_PROCESSING, name, &path));
    Job job = job_default();
    job.tenant = SLICE_LITERAL("default");
    job.type = plan->type.bytes ? plan->type : slice_text(processor->queue);
    job.queue = slice_text(processor->queue);
    job.command = plan->command;
    job.cwd = plan->cwd.bytes ? plan->cwd : slice_text(buckets->dir);
    job.env = slice_copy(arena, buf_slice(&env));
    job.name = shown_name(arena, name);
    job.priority = plan->priority;
    job.max_retries = plan->max_retries;
    job.retry_delay_ms = plan->retry_delay_ms;
    job.max_run_ms = plan->max_run_ms;
    job.flags = JOB_UNIT | JOB_KEEP_STATE | JOB_STAYS;
    buf_done(&path);
    buf_done(&env);
    return job;
}

/* Why the unit cannot be taken; NULL: it can. */
static const char *clash(const Processor *processor, const char *name)
{
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (bucket_has(&processor->buckets, taken[i], name))
            return bucket_path(taken[i]);
    return NULL;
}

/* From work to active; false with a trouble told and the unit where it was. */
static bool take(Processor *processor, const char *name)
{
    Error why = { 0 };
    const char *where = clash(processor, name);
    if (where) {
        processor_trouble(processor, name,
                          "there is already a unit of this name in %s; remove it there, "
                          "rename this one, or reset the processor",
                          where);
        return false;
    }
    if (bucket_has(&processor->buckets, OUT_PROCESSING, name) &&
        bucket_remove(&processor->buckets, OUT_PROCESSING, name, &why)) {
        processor_trouble(processor, name, "%s", why.text);
        return false;
    }
    Err err = bucket_move(&processor->buckets, name, IN_WORK, IN_ACTIVE, &why);
    if (err && err != ERR_NOT_FOUND)
        processor_trouble(processor, name, "%s", why.text);
    return !err;
}

static void put_back(Processor *processor, const char *name)
{
    Error why = { 0 };
    if (bucket_move(&processor->buckets, name, IN_ACTIVE, IN_WORK, &why))
        processor_trouble(processor, name, "%s", why.text);
}

/* Units that are in active now become jobs, or go back. */
static Err add_jobs(Processor *processor, char (*names)[UNIT_BYTES_MAX + 1], size_t count,
                    Error *why)
{
    Arena arena = { 0 };
    Job *jobs = arena_take(&arena, count * sizeof *jobs);
    JobId *ids = arena_take(&arena, count * sizeof *ids);
    const JobsPort *engine = &pipeline_options(processor->pipeline)->engine;
    for (size_t i = 0; i < count; i++)
        jobs[i] = job_of(processor, names[i], &arena);
    Err err = engine->add(engine->context, jobs, count, ids, why);
    for (size_t i = 0; i < count; i++) {
        if (err) {
            put_back(processor, names[i]);
            continue;
        }
        unit_new(processor, names[i], ids[i], JOB_READY);
        trouble_clear(&processor->troubles, names[i]);
    }
    arena_done(&arena);
    return err;
}

Err processor_claim(Processor *processor, const char *name, Error *why)
{
    char names[1][UNIT_BYTES_MAX + 1];
    const char *where = clash(processor, name);
    if (where)
        return error_set(why, ERR_CONFLICT, "there is already a unit of this name in %s",
                         where);
    if (!take(processor, name))
        return error_set(why, ERR_CONFLICT, "the unit cannot be taken out of input/work");
    snprintf(names[0], sizeof names[0], "%s", name);
    return add_jobs(processor, names, 1, why);
}

static size_t room_for(const Processor *processor)
{
    size_t busy = units_busy(processor);
    size_t apart = processor->unit_count - busy;
    /* Ends that cannot be recorded (a full disk) are not piled up. */
    bool stuck = processor->ended_stuck > 0;
    if (busy >= processor->plan.slots || apart >= UNITS_APART_MAX || stuck)
        return 0;
    size_t room = processor->plan.slots - busy;
    return room < CLAIM_MAX ? room : CLAIM_MAX;
}

bool units_claim(Processor *processor, int64_t boot_ms)
{
    char names[CLAIM_MAX][UNIT_BYTES_MAX + 1];
    size_t count = 0;
    size_t room = room_for(processor);
    if (!(processor->monitor || processor->all_once) || processor->suspended || !room ||
        boot_ms < processor->claim_after_boot ||
        !bucket_walk_due(&processor->work_walk, processor->buckets.fds[IN_WORK], boot_ms))
        return false;
    int work = processor->buckets.fds[IN_WORK];
    WalkStep step = WALK_UNIT;
    for (size_t looked = 0; count < room && looked < LOOK_MAX; looked++) {
        step = bucket_walk_next(&processor->work_walk, work, names[count]);
        if (step == WALK_END)
            break;
        if (step == WALK_OTHER)
            processor_trouble(processor, names[count],
                              "only files and directories are units; this is neither");
        else if (!processor_unit(processor, names[count]) &&
                 take(processor, names[count]))
            count++;
    }
    bool again = step == WALK_END && (processor->walk_took || count);
    processor->walk_took = step != WALK_END && (processor->walk_took || count);
    if (step == WALK_END)
        processor->all_once = false;
    Error why = { 0 };
    if (count && add_jobs(processor, names, count, &why)) {
        processor_trouble(processor, "", "units cannot be queued: %s", why.text);
        processor->claim_after_boot = boot_ms + CLAIM_PAUSE_MS;
        return false;
    }
    if (count)
        trouble_clear(&processor->troubles, "");
    /* What came behind the walk is looked for at once, as long as there is work. */
    return (step != WALK_END || again) && room_for(processor) > 0;
}

/* --- Ends -----------------------------------------------------------------------------
 */

/* The output of an ended unit goes where it belongs; what is not there is no error. */
static Err end_output(Processor *processor, const char *name, bool good, Error *why)
{
    Buckets *buckets = &processor->buckets;
    Bucket to = good ? OUT_FINISHED : OUT_FAILED;
    if (!bucket_has(buckets, OUT_PROCESSING, name))
        return ERR_OK;
    Err err = bucket_sync_unit(buckets, OUT_PROCESSING, name, why);
    if (!err)
        err = bucket_move(buckets, name, OUT_PROCESSING, to, why);
    return err;
}

static Err end_input(Processor *processor, const char *name, bool good, Error *why)
{
    Bucket to = good ? IN_PROCESSED : IN_FAILED;
    if (!bucket_has(&processor->buckets, IN_ACTIVE, name))
        return ERR_OK; /* taken away by someone: nothing is left to be done */
    return bucket_move(&processor->buckets, name, IN_ACTIVE, to, why);
}

Err unit_back(Processor *processor, const char *name, Error *why)
{
    Buckets *buckets = &processor->buckets;
    Err err = ERR_OK;
    /* In this order: a unit in active whose job is done still has its output. */
    if (bucket_has(buckets, IN_ACTIVE, name))
        err = bucket_move(buckets, name, IN_ACTIVE, IN_WORK, why);
    if (!err && bucket_has(buckets, OUT_PROCESSING, name))
        err = bucket_remove(buckets, OUT_PROCESSING, name, why);
    return err;
}

static void count_end(Processor *processor, const Unit *unit, int64_t boot_ms)
{
    if (unit->state != JOB_DONE) {
        processor->failed++;
        return;
    }
    int64_t ms = unit->ran_ms;
    if (!processor->done || ms < processor->unit_ms_min)
        processor->unit_ms_min = ms;
    if (ms > processor->unit_ms_max)
        processor->unit_ms_max = ms;
    processor->unit_ms_sum += ms;
    processor->done++;
    rate_count(&processor->rate, boot_ms);
}

static Err output_step(Processor *processor, const Unit *unit, Error *why)
{
    if (unit->fate == FATE_BACK)
        return ERR_OK;
    return end_output(processor, unit->name, unit->state == JOB_DONE, why);
}

static Err input_step(Processor *processor, const Unit *unit, Error *why)
{
    if (unit->fate == FATE_BACK)
        return unit_back(processor, unit->name, why);
    return end_input(processor, unit->name, unit->state == JOB_DONE, why);
}

/* One of the two steps for all that ended; those that fail stay, and are tried again. */
static void each_ended(Processor *processor,
                       Err (*step)(Processor *, const Unit *, Error *), bool *good)
{
    Error why = { 0 };
    for (size_t i = 0; i < processor->ended_count; i++) {
        const Unit *unit = processor->ended[i];
        if (good[i] && step(processor, unit, &why)) {
            processor_trouble(processor, unit->name, "%s", why.text);
            good[i] = false;
        }
    }
    if (buckets_sync(&processor->buckets, &why)) {
        processor_trouble(processor, "", "%s", why.text);
        memset(good, 0, processor->ended_count * sizeof *good);
    }
}

void units_finish(Processor *processor, int64_t boot_ms)
{
    size_t left = 0;
    if (!processor->ended_count)
        return;
    bool *good = MEM_ARRAY(bool, processor->ended_count);
    memset(good, 1, processor->ended_count * sizeof *good);
    each_ended(processor, output_step, good);
    each_ended(processor, input_step, good);
    for (size_t i = 0; i < processor->ended_count; i++) {
        Unit *unit = processor->ended[i];
        if (!good[i]) {
            processor->ended[left++] = unit;
            continue;
        }
        if (unit->fate == FATE_OF_JOB) {
            count_end(processor, unit, boot_ms);
            if (unit->state == JOB_DONE)
                next_send(processor, unit->name);
        }
        trouble_clear(&processor->troubles, unit->name);
        unit_drop(processor, unit);
    }
    processor->ended_count = processor->ended_stuck = left;
    mem_free(good);
}

/* --- After a start --------------------------------------------------------------------
 */

bool unit_of_job(const Job *job, char out_name[UNIT_BYTES_MAX + 1])
{
    static const Slice wanted = { "PAWL_UNIT=", 10 };
    Slice env = job->env;
    Slice item;
    while (list_next(&env, &item)) {
        if (!slice_starts(item, wanted))
            continue;
        Slice name = slice_from(item, wanted.bytes);
        if (!unit_name_valid(name))
            return false;
        memcpy(out_name, name.data, name.bytes);
        out_name[name.bytes] = '\0';
        return true;
    }
    return false;
}

typedef struct LiveJob {
    JobId id;
    JobState state;
    char name[UNIT_BYTES_MAX + 1];
} LiveJob;

typedef struct LiveJobs {
    LiveJob *items;
    size_t count;
    size_t capacity;
} LiveJobs;

static void take_live(void *context, const Job *job)
{
    LiveJobs *live = context;
    LiveJob found = { .id = job->id, .state = job->state };
    if (unit_of_job(job, found.name))
        MEM_PUSH(live->items, live->count, live->capacity) = found;
}

/* A job that lives needs its unit in active: a rename that a power cut undid is done
 * again. Without a unit there is nothing to run. */
static void adopt(Processor *processor, const LiveJob *live)
{
    Error why = { 0 };
    Buckets *buckets = &processor->buckets;
    const JobsPort *engine = &pipeline_options(processor->pipeline)->engine;
    bool here = bucket_has(buckets, IN_ACTIVE, live->name);
    if (processor_unit(processor, live->name))
        return;
    if (!here && bucket_has(buckets, IN_WORK, live->name))
        here = !bucket_move(buckets, live->name, IN_WORK, IN_ACTIVE, &why);
    Unit *unit = unit_new(processor, live->name, live->id, live->state);
    if (here)
        return;
    unit->fate = FATE_BACK;
    if (engine->act(engine->context, live->id, ACT_CANCEL, &why) == ERR_NOT_FOUND)
        unit_drop(processor, unit);
}

typedef struct Recent {
    Processor *processor;
    Unit *orphans; /* in active without a live job */
    bool lasted;   /* what was written is there, synced or not */
} Recent;

static int64_t ms_of(struct timespec at)
{
    return (int64_t)at.tv_sec * MS_PER_S + at.tv_nsec / 1000000;
}

/* The newest final job of an orphan, if it was made for this stay in active: the rename
 * into it changed the unit's ctime, and the job came after. One that is done counts only
 * while the file system was mounted: it does not say that its output was on disk when the
 * power went. */
static void judge(void *context, const Job *job)
{
    const Recent *recent = context;
    char name[UNIT_BYTES_MAX + 1];
    struct stat found;
    if (!unit_of_job(job, name))
        return;
    for (Unit *unit = recent->orphans; unit; unit = unit->next) {
        if (unit->job || strcmp(unit->name, name) != 0)
            continue;
        unit->job = job->id;
        if (!bucket_stat(&recent->processor->buckets, IN_ACTIVE, name, &found))
            continue;
        int64_t came_ms = ms_of(found.st_ctim);
        bool its_own = job->created_ms + CTIME_SLACK_MS >= came_ms;
        /* A unit that was reset came after the end of its older job. */
        bool good = recent->lasted && came_ms + CTIME_SLACK_MS < job->finished_ms;
        if (its_own && (good || job->state != JOB_DONE))
            unit->state = job->state;
    }
}

/* Output that is in its last bucket says how the unit ended; the claim made sure that
 * there was none before. */
static JobState state_by_output(const Processor *processor, const char *name)
{
    if (bucket_has(&processor->buckets, OUT_FINISHED, name) ||
        bucket_has(&processor->buckets, OUT_SENT, name))
        return JOB_DONE;
    if (bucket_has(&processor->buckets, OUT_FAILED, name))
        return JOB_FAILED;
    return JOB_READY;
}

static Err settle(Processor *processor, const Unit *orphan, Error *why)
{
    JobState state = state_by_output(processor, orphan->name);
    bool ended = orphan->state == JOB_DONE || orphan->state == JOB_FAILED ||
                 orphan->state == JOB_REJECTED;
    if (state == JOB_READY && ended)
        state = orphan->state;
    if (state == JOB_READY)
        return unit_back(processor, orphan->name, why);
    log_event(LOG_INFO, "processor.settled", "processor=" SLICE_FMT " state=%s",
              SLICE_ARG(processor->plan.name), state_name(state));
    Err err = end_output(processor, orphan->name, state == JOB_DONE, why);
    if (!err)
        err = buckets_sync(&processor->buckets, why);
    if (!err)
        err = end_input(processor, orphan->name, state == JOB_DONE, why);
    if (!err && state == JOB_DONE)
        next_send(processor, orphan->name);
    return err;
}

static Err settle_orphans(Processor *processor, Error *why)
{
    BucketWalk walk = { 0 };
    char name[UNIT_BYTES_MAX + 1];
    Recent recent = { .processor = processor,
                      .lasted = mount_lasted(&processor->buckets) };
    const JobsPort *engine = &pipeline_options(processor->pipeline)->engine;
    for (WalkStep step; (step = bucket_walk_next(&walk, processor->buckets.fds[IN_ACTIVE],
                                                 name)) != WALK_END;) {
        if (step != WALK_UNIT || processor_unit(processor, name))
            continue;
        Unit *unit = MEM_NEW(Unit);
        snprintf(unit->name, sizeof unit->name, "%s", name);
        unit->state = JOB_READY;
        unit->next = recent.orphans;
        recent.orphans = unit;
    }
    JobsQuestion question = { .queue = slice_text(processor->queue),
                              .states = STATES_FINAL,
                              .limit = RECENT_JOBS };
    Err err = recent.orphans
                  ? engine->ask(engine->context, &question, judge, &recent, why)
                  : ERR_OK;
    Error one = { 0 };
    while (recent.orphans) {
        Unit *unit = recent.orphans;
        recent.orphans = unit->next;
        if (!err && settle(processor, unit, &one))
            processor_trouble(processor, unit->name, "%s", one.text);
        mem_free(unit);
    }
    return err;
}

/* Whether a name that is no unit's (hidden, *.part) could be of one in hand. */
static bool of_one_in_hand(const Processor *processor, const char *name)
{
    for (const Unit *unit = processor->units; unit; unit = unit->next)
        if (strstr(name, unit->name))
            return true;
    return false;
}

/* A unit that reached its last input bucket had its output synced before: only the rename
 * is missing. What else is left of no unit in hand goes. */
static Err settle_one_output(Processor *processor, const char *name, Error *why)
{
    Buckets *buckets = &processor->buckets;
    if (processor_unit(processor, name) ||
        (unit_name_ignored(name) && of_one_in_hand(processor, name)))
        return ERR_OK;
    if (bucket_has(buckets, IN_PROCESSED, name))
        return end_output(processor, name, true, why);
    if (bucket_has(buckets, IN_FAILED, name))
        return end_output(processor, name, false, why);
    return bucket_remove(buckets, OUT_PROCESSING, name, why);
}

void units_sweep_output(Processor *processor)
{
    BucketWalk walk = { .all = true };
    char name[UNIT_BYTES_MAX + 1];
    while (bucket_walk_next(&walk, processor->buckets.fds[OUT_PROCESSING], name) !=
           WALK_END) {
        Error why = { 0 };
        if (settle_one_output(processor, name, &why))
            processor_trouble(processor, name, "%s", why.text);
    }
}

Err units_recover(Processor *processor, Error *why)
{
    LiveJobs live = { 0 };
    const JobsPort *engine = &pipeline_options(processor->pipeline)->engine;
    JobsQuestion question = { .queue = slice_text(processor->queue),
                              .states = ((1u << JOB_STATES) - 1) & ~STATES_FINAL };
    Err err = engine->ask(engine->context, &question, take_live, &live, why);
    for (size_t i = 0; i < live.count && !err; i++)
        adopt(processor, &live.items[i]);
    mem_free(live.items);
    if (!err)
        err = settle_orphans(processor, why);
    if (!err)
        units_sweep_output(processor);
    if (!err)
        err = buckets_sync(&processor->buckets, why);
    if (!err)
        err = mount_remember(&processor->buckets, why);
    return err;
}

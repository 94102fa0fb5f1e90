/* SPDX-License-Identifier: Apache-2.0 */
/* store.c - the store of a simulated machine, as its engine sees it: the memory store
 * behind faults. Power cuts may take back what was not synced (recover.c). */
#include "sim/machine.h"

#include "core/queue.h"
#include "core/resource.h"

static Machine *machine_of(Store *store)
{
    return ((SimStore *)(void *)store)->machine;
}

static Store *inner(Store *store)
{
    return machine_of(store)->store;
}

static bool has_bug(const Machine *machine, Bug bug)
{
    return machine->world->options.bug == bug;
}

/* A state that a power cut may leave behind; some are enough. */
static void snapshot(Machine *machine)
{
    size_t at = machine->snapshot_count;
    if (machine->world->calm || !chance(machine->world, 40))
        return;
    if (at == SNAPSHOTS_MAX) {
        at = below(machine->world, SNAPSHOTS_MAX);
        store_close(machine->snapshots[at]);
    } else {
        machine->snapshot_count++;
    }
    machine->snapshots[at] = store_memory_clone(machine->store);
}

static void check_results(Machine *machine, const Batch *batch, const OpResult *results)
{
    for (size_t i = 0; i < batch->count; i++) {
        char id[ID_TEXT_BYTES];
        if (results[i] == OP_APPLIED)
            continue;
        violate(machine->world, "owner", "%s of %s is %s when ingested",
                op_name(batch->ops[i].kind), id_text(batch->ops[i].id, id),
                op_result_name(results[i]));
        return;
    }
}

static void note_durable(Machine *machine, const Batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        const Op *op = &batch->ops[i];
        uint64_t count = op->kind == OP_ADD_LINES ? op->count : op->kind == OP_ADD;
        uint64_t first = op->kind == OP_ADD_LINES ? op->first : id_count(op->id);
        for (uint64_t k = 0; k < count; k++) {
            JobId id = id_from_count(first + k, machine->number);
            JobTruth *job = truth_job(machine->world, id);
            if (job)
                job->durable = true;
            if (id > machine->last_id)
                machine->last_id = id;
        }
    }
}

/* Jobs first, then the read point: what lies between is a defect of the museum. */
static bool commit_apart(Machine *machine, const Batch *batch, OpResult *results)
{
    Batch jobs = *batch;
    Batch point = { .has_read_point = true,
                    .read_point = batch->read_point,
                    .node = batch->node };
    Store *store = machine->store;
    jobs.has_read_point = false;
    (void)!store->kind->commit(store, &jobs, 1, results, NULL);
    snapshot(machine);
    if (crash_here(machine, "between jobs and read point"))
        return false;
    (void)!store->kind->commit(store, &point, 1, NULL, NULL);
    return true;
}

/* Only while it runs: what fails in a recovery is a restart. */
static bool fails(Machine *machine, unsigned percent)
{
    return machine->node && !machine->world->calm &&
           (machine->outage_until_ms > machine->world->time_ms ||
            fault_percent(machine->world, percent));
}

static Err sim_commit(Store *store, const Batch *batches, size_t count,
                      OpResult *out_results, Error *why)
{
    Machine *machine = machine_of(store);
    if (machine->death || count != 1)
        return error_set(why, ERR_IO, "the machine is off");
    bool failed = fails(machine, machine->world->profile.commit_fails_percent);
    machine->world->counts.commit_failures += failed;
    if (failed && chance(machine->world, 70))
        return error_set(why, ERR_IO, "the store fails");
    if (has_bug(machine, BUG_READ_POINT_APART)) {
        if (!commit_apart(machine, batches, out_results))
            return error_set(why, ERR_IO, "the machine is off");
    } else {
        (void)!machine->store->kind->commit(machine->store, batches, 1, out_results,
                                            NULL);
    }
    check_results(machine, batches, out_results);
    note_durable(machine, batches);
    snapshot(machine);
    machine->world->counts.commits++;
    if (crash_here(machine, "after commit") || failed) /* an outcome that no one knows */
        return error_set(why, ERR_IO, "the store fails");
    return ERR_OK;
}

static Err sim_sync(Store *store, Error *why)
{
    Machine *machine = machine_of(store);
    if (machine->death || fails(machine, machine->world->profile.commit_fails_percent))
        return error_set(why, ERR_IO, "the store fails");
    for (size_t i = 0; i < machine->snapshot_count; i++)
        store_close(machine->snapshots[i]);
    machine->snapshot_count = 0;
    store_close(machine->synced);
    machine->synced = store_memory_clone(machine->store);
    (void)crash_here(machine, "between store sync and trim");
    return ERR_OK;
}

/* What a restart forgets, in the museum. */
static void forget_bookings(const Machine *machine, const Load *load, Loaded *out)
{
    for (size_t i = 0; load->kind == LOAD_RUNNING && i < out->count; i++) {
        Slice *bookings = &out->jobs[i].bookings;
        bool items = bookings->bytes && !memchr(bookings->data, '#', bookings->bytes);
        if (has_bug(machine, BUG_BOOKINGS_FORGOTTEN) ||
            (has_bug(machine, BUG_ITEMS_FORGOTTEN) && items))
            *bookings = (Slice){ NULL, 0 };
    }
}

static Err sim_load(Store *store, const Load *load, Loaded *out, Error *why)
{
    Machine *machine = machine_of(store);
    if (fails(machine, machine->world->profile.load_fails_percent)) {
        machine->world->counts.load_failures++;
        return error_set(why, ERR_IO, "the store fails");
    }
    Err err = machine->store->kind->load(machine->store, load, out, why);
    forget_bookings(machine, load, out);
    return err;
}

static Err sim_query(Store *store, const JobQuery *query, const JobSink *sink,
                     QueryEnd *out_end, Error *why)
{
    return inner(store)->kind->query(inner(store), query, sink, out_end, why);
}

static Err sim_read_point(Store *store, uint32_t node, ReadPoint *out, Error *why)
{
    return inner(store)->kind->read_point(inner(store), node, out, why);
}

static Err sim_last_id(Store *store, uint32_t node, JobId *out, Error *why)
{
    if (has_bug(machine_of(store), BUG_IDS_FROM_CLOCK)) {
        *out = 0;
        return ERR_OK;
    }
    return inner(store)->kind->last_id(inner(store), node, out, why);
}

static Err sim_last_number(Store *store, uint32_t node, uint64_t *out, Error *why)
{
    return inner(store)->kind->last_number(inner(store), node, out, why);
}

static Err sim_definitions(Store *store, Slice table, DefinitionSink *sink, void *context,
                           Error *why)
{
    bool limits = slice_is(table, QUEUE_TABLE) || slice_is(table, RESOURCE_TABLE);
    if (limits && has_bug(machine_of(store), BUG_LIMITS_FORGOTTEN))
        return ERR_OK;
    return inner(store)->kind->definitions(inner(store), table, sink, context, why);
}

static Err sim_groups(Store *store, const GroupCount *one, GroupSink *sink, void *context,
                      Error *why)
{
    return inner(store)->kind->groups(inner(store), one, sink, context, why);
}

/* What the engine calls; the rest is asked of the memory store itself. */
const StoreKind sim_store_kind = {
    .name = "simulated",
    .commit = sim_commit,
    .sync = sim_sync,
    .load = sim_load,
    .query = sim_query,
    .read_point = sim_read_point,
    .last_id = sim_last_id,
    .last_number = sim_last_number,
    .definitions = sim_definitions,
    .groups = sim_groups,
};

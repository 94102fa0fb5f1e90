/* SPDX-License-Identifier: Apache-2.0 */
/* differ.c - the embedded store must make of a journal what the memory store makes of it:
 * the same jobs, attempts, results, windows and due times. */
#include "sim/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void remove_files(const char *path)
{
    static const char *const ends[] = { "", "-wal", "-shm", "-journal" };
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        Buf name = { 0 };
        buf_printf(&name, "%s%s", path, ends[i]);
        (void)unlink(buf_cstr(&name));
        buf_done(&name);
    }
}

static int by_id(const void *a, const void *b)
{
    const Job *left = a;
    const Job *right = b;
    return left->id < right->id ? -1 : left->id > right->id;
}

/* All that a load gives, as bytes. */
static void load_bytes(Store *store, const Load *load, Buf *out)
{
    Loaded loaded = { 0 };
    Error why = { 0 };
    Err err = store->kind->load(store, load, &loaded, &why);
    buf_printf(out, "err %d, more %d, next %lld\n", (int)err, loaded.more,
               (long long)(load->kind == LOAD_DUE ? loaded.next_due_ms : 0));
    /* Lanes, and what runs, come in no particular order. */
    bool any_order = load->kind == LOAD_LANES || load->kind == LOAD_RUNNING;
    if (any_order && loaded.count)
        qsort(loaded.jobs, loaded.count, sizeof *loaded.jobs, by_id);
    for (size_t i = 0; i < loaded.count; i++)
        job_pack(out, &loaded.jobs[i]);
    buf_add_slice(out, loaded.value);
    loaded_done(&loaded);
}

static void compare(Machine *machine, Store *other, const Load *load, const char *what)
{
    char id[ID_TEXT_BYTES];
    Buf here = { 0 };
    Buf there = { 0 };
    load_bytes(machine->store, load, &here);
    load_bytes(other, load, &there);
    if (!slice_equal(buf_slice(&here), buf_slice(&there)))
        violate(machine->world, "stores", "they differ in %s of %s", what,
                id_text(load->id, id));
    buf_done(&here);
    buf_done(&there);
}

static void compare_results(Machine *machine, Store *other, JobId id)
{
    char text[ID_TEXT_BYTES];
    Buf here = { 0 };
    Buf there = { 0 };
    Err mine = machine->store->kind->result(machine->store, id, &here, NULL);
    Err its = other->kind->result(other, id, &there, NULL);
    if (mine != its || !slice_equal(buf_slice(&here), buf_slice(&there)))
        violate(machine->world, "stores", "they differ in the result of %s",
                id_text(id, text));
    buf_done(&here);
    buf_done(&there);
}

void machine_differ(Machine *machine, const char *path)
{
    World *world = machine->world;
    Store *other = NULL;
    Error why = { 0 };
    Buf url = { 0 };
    buf_printf(&url, "sqlite:%s", path);
    remove_files(path);
    if (store_open(buf_cstr(&url), &(StoreOptions){ 0 }, &other, &why)) {
        violate(world, "stores", "%s", why.text);
        buf_done(&url);
        return;
    }
    uint64_t end = machine_replay_into(machine, other, 5);
    ReadPoint point = { 0 };
    (void)!other->kind->read_point(other, machine->number, &point, NULL);
    if (point.position != end)
        violate(world, "stores", "its read point is %llu of %llu",
                (unsigned long long)point.position, (unsigned long long)end);
    for (size_t i = 0; i < world->truth.job_count && !world->failed; i++) {
        JobId id = world->truth.jobs[i]->id;
        if (world->truth.jobs[i]->machine != machine->index)
            continue;
        compare(machine, other, &(Load){ .kind = LOAD_JOB, .id = id }, "a job");
        compare(machine, other, &(Load){ .kind = LOAD_ATTEMPTS, .id = id }, "attempts");
        compare_results(machine, other, id);
    }
    compare(machine, other, &(Load){ .kind = LOAD_LANES }, "lanes");
    compare(machine, other, &(Load){ .kind = LOAD_RUNNING }, "what runs");
    compare(machine, other, &(Load){ .kind = LOAD_DUE, .dt_ms = TIME_WALL_MAX_MS },
            "dues");
    store_close(other);
    remove_files(path);
    buf_done(&url);
}

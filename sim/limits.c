/* SPDX-License-Identifier: Apache-2.0 */
/* limits.c - queues and resources in the simulation: people define them at random, and
 * every claim is held against what was defined and what runs, counted from the beginning
 * each time (I14). */
#include "sim/machine.h"

#include "core/queue.h"
#include "core/resource.h"

/* --- People ----------------------------------------------------------------------------
 */

static const Slice keys[] = { { "tape", 4 }, { "gpu", 3 } };

static void send_define(World *world, Machine *machine, const Event *what)
{
    SimRequest request = { .kind = REQUEST_DEFINE, .machine = machine->index };
    Event event = *what;
    event.kind = EVENT_DEFINE;
    event.request = truth_request(world, &request);
    trace(world, "client defines " SLICE_FMT " " SLICE_FMT " on m%u",
          SLICE_ARG(event.table), SLICE_ARG(event.key), machine->index);
    machine_call(machine, &event);
}

static void define_queue(World *world, Machine *machine, Slice tenant, Slice name)
{
    QueueDef def = { .tenant = tenant, .name = name };
    Buf value = { 0 };
    if (!world->calm) {
        def.paused = chance(world, 20);
        if (def.paused && chance(world, 50))
            def.paused_until_ms =
                machine_now(machine).wall_ms + (int64_t)below(world, 5000);
        def.has_slots = chance(world, 50);
        def.slots = def.has_slots ? (uint32_t)below(world, 3) : 0;
        def.policy = chance(world, 60) ? POLICY_FAIR : (QueuePolicy)below(world, 3);
        def.rate_jobs = chance(world, 20) ? 1 + (uint32_t)below(world, 3) : 0;
        def.rate_ms = def.rate_jobs ? 1000 : 0;
        if (chance(world, 60))
            def.resources = slice_of("tape", 5);
    } else if (seed_is_scarce(world->options.seed)) {
        if (!slice_equal(name, sim_queues[0]))
            def.resources = slice_of("tape", 5);
    } else if (seed_is_narrow(world->options.seed)) {
        def.has_slots = true;
        def.slots = 1;
    }
    queue_pack(&value, &def);
    send_define(world, machine,
                &(Event){ .table = SLICE_LITERAL(QUEUE_TABLE),
                          .tenant = tenant,
                          .key = name,
                          .value = chance(world, 90) || world->calm ? buf_slice(&value)
                                                                    : (Slice){ 0 } });
    buf_done(&value);
}

static void define_resource(World *world, Machine *machine, Slice key)
{
    bool listed = !world->calm && chance(world, 25);
    ResourceDef def =
        resource_default(key, listed ? RESOURCE_DISCRETE : RESOURCE_QUANTITY);
    Buf value = { 0 };
    def.consumption = 1;
    if (!world->calm)
        def.quantity = 1 + (int64_t)below(world, 2);
    if (listed)
        def.list = slice_of("a\0b\0c", 2 * (1 + below(world, 3)));
    resource_pack(&value, &def);
    send_define(world, machine,
                &(Event){ .table = SLICE_LITERAL(RESOURCE_TABLE),
                          .key = key,
                          .value = buf_slice(&value) });
    buf_done(&value);
}

void limits_change(World *world, Machine *machine, Slice tenant, Slice queue)
{
    if (!machine->limited) { /* from the beginning there is something to wait for */
        machine->limited = true;
        define_resource(world, machine, keys[0]);
        define_resource(world, machine, keys[1]);
        return;
    }
    if (chance(world, 50))
        define_queue(world, machine, tenant, queue);
    else
        define_resource(world, machine, keys[below(world, 2)]);
}

void limits_lift(World *world, Machine *machine, const Slice *tenants,
                 const Slice *queues)
{
    for (size_t i = 0; i < 2; i++)
        define_resource(world, machine, keys[i]);
    for (size_t i = 0; i < 2; i++)
        for (size_t k = 0; k < 4; k++)
            define_queue(world, machine, tenants[i], queues[k]);
}

/* --- What was decided so far
 * ------------------------------------------------------------
 */

typedef struct Looked {
    Slice tenant;
    Slice key;
    Slice value; /* of the definition; data NULL: there is none */
    Arena arena;
} Looked;

static void take(void *context, const Definition *definition)
{
    Looked *looked = context;
    if (slice_equal(definition->tenant, looked->tenant) &&
        slice_equal(definition->key, looked->key))
        looked->value = slice_copy(&looked->arena, definition->value);
}

static Looked look_up(const Machine *machine, const char *table, Slice tenant, Slice key)
{
    Looked looked = { .tenant = tenant, .key = key };
    (void)!machine->decided->kind->definitions(machine->decided, slice_text(table), take,
                                               &looked, NULL);
    return looked;
}

bool limits_ordered(const Machine *machine, const Job *job)
{
    Looked looked = look_up(machine, QUEUE_TABLE, job->tenant, job->queue);
    QueueDef def;
    bool fair = !looked.value.data || queue_unpack(looked.value, &def) ||
                def.policy == POLICY_FAIR;
    arena_done(&looked.arena);
    return fair;
}

int64_t limits_capacity(const Machine *machine, Slice key)
{
    Looked looked = look_up(machine, RESOURCE_TABLE, (Slice){ NULL, 0 }, key);
    ResourceDef def;
    int64_t capacity = looked.value.data && !resource_unpack(looked.value, &def)
                           ? resource_capacity(&def)
                           : 0;
    arena_done(&looked.arena);
    return capacity;
}

static Loaded load_running(const Machine *machine)
{
    Loaded running = { 0 };
    Load load = { .kind = LOAD_RUNNING };
    (void)!machine->decided->kind->load(machine->decided, &load, &running, NULL);
    return running;
}

/* What the jobs that run hold of a key: the sum of what each of their bookings counts. */
static int64_t held_of(const Machine *machine, Slice key, int64_t (*count)(Slice value))
{
    Loaded running = load_running(machine);
    int64_t held = 0;
    for (size_t i = 0; i < running.count; i++) {
        Slice rest = running.jobs[i].bookings;
        for (Slice value; list_next(&rest, &value);)
            if (slice_equal(slice_cut(&value, '='), key))
                held += count(value);
    }
    loaded_done(&running);
    return held;
}

static int64_t amount_in(Slice value)
{
    return booking_has_items(value) ? 0 : booking_amount(value);
}

static int64_t all_in(Slice value)
{
    int64_t count = 0;
    if (!booking_has_items(value))
        return booking_amount(value);
    for (; value.bytes; count++)
        (void)slice_cut(&value, ',');
    return count;
}

int64_t limits_held(const Machine *machine, Slice key)
{
    return held_of(machine, key, all_in);
}

/* Whether a job that runs holds this item of a key: then it is `*out_holder`. */
static bool item_is_held(const Machine *machine, Slice key, Slice item, JobId *out_holder)
{
    Loaded running = load_running(machine);
    bool held = false;
    for (size_t i = 0; i < running.count && !held; i++) {
        Slice rest = running.jobs[i].bookings;
        for (Slice value; !held && list_next(&rest, &value);) {
            if (!slice_equal(slice_cut(&value, '='), key) || !booking_has_items(value))
                continue;
            while (value.bytes && !held)
                held = slice_equal(slice_cut(&value, ','), item);
        }
        *out_holder = running.jobs[i].id;
    }
    loaded_done(&running);
    return held;
}

static bool is_listed(Slice list, Slice item)
{
    for (Slice other; list_next(&list, &other);)
        if (slice_equal(other, item))
            return true;
    return false;
}

/* Each item is of the list as it is now, and no one else has it. */
static void check_items(World *world, const Machine *machine, Slice key, Slice items,
                        const ResourceDef *def)
{
    char id[ID_TEXT_BYTES];
    JobId holder = 0;
    for (Slice rest = items; rest.bytes && !world->failed;) {
        Slice item = slice_cut(&rest, ',');
        if (def->kind == RESOURCE_DISCRETE && !is_listed(def->list, item))
            violate(world, "I14", "item " SLICE_FMT " of " SLICE_FMT " is not listed",
                    SLICE_ARG(item), SLICE_ARG(key));
        if (item_is_held(machine, key, item, &holder))
            violate(world, "I14",
                    "item " SLICE_FMT " of " SLICE_FMT " is booked, but %s has it",
                    SLICE_ARG(item), SLICE_ARG(key), id_text(holder, id));
        Slice again = rest;
        while (again.bytes)
            if (slice_equal(slice_cut(&again, ','), item))
                violate(world, "I14", "item " SLICE_FMT " is booked twice by one job",
                        SLICE_ARG(item));
    }
}

static void check_booking(World *world, const Machine *machine, Slice booking)
{
    Slice value = booking;
    Slice key = slice_cut(&value, '=');
    Looked looked = look_up(machine, RESOURCE_TABLE, (Slice){ NULL, 0 }, key);
    ResourceDef def;
    if (!looked.value.data || resource_unpack(looked.value, &def)) {
        violate(world, "I14", SLICE_FMT " is booked, but not defined", SLICE_ARG(key));
    } else {
        int64_t held = held_of(machine, key, amount_in);
        /* Items that left the list are held by those who have them, beside the list. */
        bool counted = def.kind == RESOURCE_QUANTITY && !booking_has_items(value);
        if (counted && held + booking_amount(value) > def.quantity)
            violate(world, "I14",
                    "%lld of " SLICE_FMT " are booked on top of %lld of %lld",
                    (long long)booking_amount(value), SLICE_ARG(key), (long long)held,
                    (long long)def.quantity);
        if (booking_has_items(value))
            check_items(world, machine, key, value, &def);
    }
    arena_done(&looked.arena);
}

uint32_t limits_running(const Machine *machine, Slice tenant, Slice queue)
{
    Loaded running = load_running(machine);
    uint32_t count = 0;
    for (size_t i = 0; i < running.count; i++)
        count += slice_equal(running.jobs[i].tenant, tenant) &&
                 slice_equal(running.jobs[i].queue, queue);
    loaded_done(&running);
    return count;
}

void limits_claim(World *world, const Machine *machine, const Job *job, const Op *op)
{
    char id[ID_TEXT_BYTES];
    Looked looked = look_up(machine, QUEUE_TABLE, job->tenant, job->queue);
    QueueDef def;
    id_text(job->id, id);
    if (looked.value.data && !queue_unpack(looked.value, &def)) {
        if (queue_paused(&def, op->at_ms))
            violate(world, "I14", "%s starts in a paused queue", id);
        if (def.has_slots &&
            limits_running(machine, job->tenant, job->queue) >= def.slots)
            violate(world, "I14", "%s starts beyond the %u slots of its queue", id,
                    def.slots);
    }
    arena_done(&looked.arena);
    Slice rest = op->bookings;
    for (Slice booking; !world->failed && list_next(&rest, &booking);)
        check_booking(world, machine, booking);
}

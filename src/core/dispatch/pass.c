/* SPDX-License-Identifier: Apache-2.0 */
/* pass.c - the pass: which jobs start now.
 *
 * A pass offers lanes in tours (lane_before in node.c): it costs what it starts and the
 * lanes it looks at, never what waits. A lane that is refused is looked at again only
 * when something has changed that could help it (limits.h). */
#include "core/dispatch/limits.h"
#include "core/node/inside.h"
#include "core/share/share.h"

/* What a context may take in one turn while other lanes wait: they get theirs soon. */
#define SHARED_TURN_JOBS 64

static int64_t deadline_ms(const Node *node, const Head *head)
{
    return head->max_run_ms ? node->now.wall_ms + head->max_run_ms : 0;
}

static void record_claim(Node *node, const Running *running)
{
    const Head *head = &running->head;
    Op *op = node_op(node, OP_CLAIM, head->id);
    op->from = STATE_BIT(JOB_READY);
    op->attempt = head->attempt;
    op->lock = node->options.sysid;
    op->dt_ms = node->now.wall_ms + node->settings.lease_ms;
    op->count = running->slot;
    op->version = running->version;
    op->bookings = node_keep(node, buf_slice(&running->bookings));
    Effect *start = outbox_effect(node->out, EFFECT_START, WAIT_BATCH);
    start->id = head->id;
    start->attempt = head->attempt;
    start->slot = running->slot;
    start->warm = running->warm;
    start->deadline_ms = deadline_ms(node, head);
    start->bookings = op->bookings;
    Effect *changed = node_changed(node, head, JOB_READY, JOB_RUNNING);
    int64_t waited_ms = node->now.wall_ms - running->ready_ms;
    changed->wait_ms = waited_ms > 0 ? waited_ms : 0;
}

static void start(Node *node, Lane *lane, const Admission *admission, BatchPlace *place)
{
    Head head = lane_take_at(lane, admission->at);
    head.attempt++;
    Running *running = node_hold(node, &head, place);
    place->slot = running->slot;
    slot_sharing_began(node, running);
    running->started_ms = node->now.wall_ms;
    /* A control file's dt may be older than the job: it waits since it is here. */
    running->ready_ms =
        head.dt_ms > head.window_from_ms ? head.dt_ms : head.window_from_ms;
    running->adopted = true;
    node_hold_handler(node, running);
    node_book(node, running, admission);
    if (admission->charge_count || lane->owed)
        node_lane_booked(node, lane);
    /* The limit is the job's own: it counts from its start. Until that is told, a start
     * that never comes must not last for ever. */
    if (head.max_run_ms && !running->warm)
        running->deadline_boot = node->now.boot_ms + head.max_run_ms + START_WAIT_MS;
    node_timer_set(node, running);
    record_claim(node, running);
    node->started++;
}

/* Whether the first job of the lane may follow the one before into its slot. */
static bool follows(Node *node, Lane *lane, uint32_t type, Admission *out)
{
    const Head *head = lane_first(lane);
    return head && head->type == type && !(head->flags & JOB_COMMAND) &&
           !map_find(&node->pins, head->id) &&
           node_admit_at(node, lane, 0, out) == ADMIT_YES;
}

/* The lane's turn: the admitted job, and for a warm context those of the same type behind
 * it. Fairness counts jobs: where others wait, so many turns are used up. */
static void start_turn(Node *node, Lane *lane, const Admission *admitted,
                       BatchPlace *place)
{
    Admission admission = *admitted;
    uint32_t type = lane_at(lane, admission.at)->type;
    uint32_t jobs = admission.at ? 1 : place->jobs; /* others were passed over */
    uint32_t started = 0;
    node_lane_out(node, lane);
    if (node->offers.count && jobs > SHARED_TURN_JOBS)
        jobs = SHARED_TURN_JOBS;
    if (lane->tour > node->tour && !lane->owed) /* who is owed goes before the tour */
        node_tour_begin(node, lane->tour);
    do {
        start(node, lane, &admission, place);
        started++;
    } while (started < jobs && follows(node, lane, type, &admission));
    node_lane_took(node, lane, node->offers.count ? started : 1);
    node_lane_started(node, lane);
    node_lane_changed(node, lane);
}

/* Ready jobs at the front of a lane whose type has no handler any more wait elsewhere. */
static void drop_unrunnable(Node *node, Lane *lane)
{
    node_lane_out(node, lane);
    while (lane_count(lane) && !node_can_run(node, lane_first(lane)) &&
           !map_find(&node->pins, lane_first(lane)->id)) {
        Head head = lane_take(lane);
        node_block(node, &head);
    }
    node_lane_changed(node, lane);
}

/* Someone is acting on the job that could start: it is asked again in the next pass. */
static void pass_over(Node *node, Lane *lane, Heap *passed)
{
    node_lane_out(node, lane);
    node_lane_put(passed, lane);
}

/* False: there is no room for its job, and it goes first when there is. */
static bool offer(Node *node, Lane *lane, Heap *passed)
{
    if (!node_can_run(node, lane_first(lane))) {
        if (map_find(&node->pins, lane_first(lane)->id))
            pass_over(node, lane, passed);
        else
            drop_unrunnable(node, lane);
        return true;
    }
    Admission admission;
    BatchPlace place;
    Admit admit = node_admit(node, lane, &admission);
    if (admit != ADMIT_YES)
        node_lane_refused(node, lane, admit, &admission);
    else if (!slot_sharing_place(node, lane_at(lane, admission.at), &place))
        return false;
    else if (admission.pinned)
        pass_over(node, lane, passed);
    else
        start_turn(node, lane, &admission, &place);
    return true;
}

void node_pass(Node *node)
{
    node->passes++;
    if (!node->settings.enabled || node->draining || node->no_room ||
        !node_share_may_start(node))
        return;
    Heap passed = { .before = node->offers.before };
    if (node->booked)
        node_unstick(node);
    node->booked = false;
    for (HeapNode *first; (first = heap_first(&node->offers));)
        if (!offer(node, (Lane *)(void *)first, &passed))
            break;
    /* No one is left who could be offered: all are even. */
    if (!node->offers.count && !passed.count && node->tour_last > node->tour)
        node_tour_begin(node, node->tour_last);
    for (HeapNode *first; (first = heap_first(&passed));) {
        Lane *lane = (Lane *)(void *)first;
        node_lane_out(node, lane);
        node_lane_in(node, lane);
    }
    heap_done(&passed);
}

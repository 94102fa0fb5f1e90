/* SPDX-License-Identifier: Apache-2.0 */
/* reclaim.c - see reclaim.h. */
#include "pipeline/processor/reclaim.h"

#include "base/log.h"
#include "base/map.h"
#include "pipeline/forward/peers.h"
#include "pipeline/forward/route.h"
#include "pipeline/pipeline.h"
#include "pipeline/processor/notes.h"
#include "pipeline/processor/processor.h"
#include "pipeline/processor/tree.h"
#include "run/files/sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#define BACK_DIR    "back"
#define HIDDEN_NAME ".back-%016" PRIx64
#define GONE_NAME   ".gone-%016" PRIx64
#define NAME_BYTES  32
#define STEP_MAX    256 /* units in one step */
#define REST_MS     (2 * MS_PER_S)
#define REST_TIMES  20 /* of what a look took */

/* A unit on its way: hidden in `receive` of the lost processor, then in the source. */
typedef struct Back {
    Broker *broker;
    Buckets *from;
    const char *unit;
    char hidden[NAME_BYTES];
} Back;

static Back back_of(Broker *broker, Buckets *from, const char *unit)
{
    Back back = { .broker = broker, .from = from, .unit = unit };
    snprintf(back.hidden, sizeof back.hidden, HIDDEN_NAME,
             hash_bytes(unit, strlen(unit)));
    return back;
}

static void tell(const Back *back, const char *text)
{
    char whole[2 * ERROR_TEXT_BYTES];
    snprintf(whole, sizeof whole, "cannot be taken back from %s: %s", back->from->dir,
             text);
    broker_trouble(back->broker, back->unit, whole);
}

static bool broken(const Back *back, const char *what)
{
    Error why = { 0 };
    (void)!error_errno(&why, "%s", what);
    tell(back, why.text);
    return false;
}

/* --- One unit ------------------------------------------------------------------------
 */

static void forget(Broker *broker, const char *unit)
{
    Error why = { 0 };
    own_remove(&broker->own, BACK_DIR, unit);
    if (own_sync(&broker->own, BACK_DIR, &why))
        broker_trouble(broker, unit, why.text);
    broker->backs--;
}

/* The source has a unit of this name by now: this one stays where it was. */
static bool put_back(const Back *back)
{
    const Buckets *from = back->from;
    if (renameat2(from->fds[IN_RECEIVE], back->hidden, from->fds[IN_WORK], back->unit,
                  RENAME_NOREPLACE))
        return broken(back, "the source and the processor have a unit of this name");
    forget(back->broker, back->unit);
    tell(back, "the source has a unit of this name");
    return false;
}

/* The last step of a copy. While the source has another unit of this name it waits. */
static bool unhide(const Back *back)
{
    int source = back->broker->source_fd;
    if (renameat2(source, back->hidden, source, back->unit, RENAME_NOREPLACE))
        return broken(back, "the source has a unit of this name");
    if (fsync(source))
        return broken(back, "cannot sync the source");
    forget(back->broker, back->unit);
    return true;
}

/* From another file system: a copy first. One rename ends the original, so that it is
 * whole as long as it is there; then the copy is the unit. */
static bool copy_over(const Back *back)
{
    TreeCopy tree = { 0 };
    int source = back->broker->source_fd;
    int receive = back->from->fds[IN_RECEIVE];
    char gone[NAME_BYTES];
    Buf path = { 0 };
    buf_printf(&path, "%s/%s", back->broker->sender.source_dir, back->hidden);
    sweep_path(buf_cstr(&path)); /* half of one, of a try before */
    snprintf(gone, sizeof gone, GONE_NAME, hash_bytes(back->unit, strlen(back->unit)));
    bool good = tree_copy(&tree, receive, source, back->hidden) &&
                tree_sync(source, back->hidden) && fsync(source) == 0 &&
                renameat(receive, back->hidden, receive, gone) == 0 &&
                fsync(receive) == 0;
    if (good)
        sweep_path(bucket_unit_path(back->from, IN_RECEIVE, gone, &path));
    buf_done(&path);
    return good ? unhide(back) : broken(back, "cannot copy it");
}

/* Out of hiding, into the source. */
static bool arrive(const Back *back)
{
    const Buckets *from = back->from;
    int source = back->broker->source_fd;
    bool good = renameat2(from->fds[IN_RECEIVE], back->hidden, source, back->unit,
                          RENAME_NOREPLACE) == 0;
    if (!good && errno == EXDEV)
        return copy_over(back);
    if (!good && (errno == EEXIST || errno == ENOTEMPTY))
        return put_back(back);
    if (!good)
        return broken(back, "cannot rename it into the source");
    if (fsync(source) || fsync(from->fds[IN_RECEIVE]))
        return broken(back, "cannot sync");
    forget(back->broker, back->unit);
    return true;
}

static void remove_record(const Buckets *from, const char *unit)
{
    own_remove(from, ARRIVED_DIR, unit);
}

/* Its way is written down, and then it leaves its bucket. */
static bool leave_bucket(const Back *back, Bucket bucket, Slice key)
{
    Buckets *from = back->from;
    Broker *broker = back->broker;
    Error why = { 0 };
    if (own_write(&broker->own, BACK_DIR, back->unit, key, &why)) {
        tell(back, why.text);
        return false;
    }
    broker->backs++;
    if (renameat2(from->fds[bucket], back->unit, from->fds[IN_RECEIVE], back->hidden,
                  RENAME_NOREPLACE)) {
        bool good = broken(back, "cannot take it out of its bucket");
        forget(broker, back->unit);
        return good;
    }
    from->dirty[bucket] = from->dirty[IN_RECEIVE] = true;
    remove_record(from, back->unit);
    if (bucket_has(from, OUT_PROCESSING, back->unit) &&
        bucket_remove(from, OUT_PROCESSING, back->unit, &why))
        tell(back, why.text);
    if (buckets_sync(from, &why)) {
        tell(back, why.text);
        return false;
    }
    return arrive(back);
}

bool reclaim_unit(Broker *broker, const ReclaimUnit *unit)
{
    Back back = back_of(broker, unit->from, unit->name);
    return leave_bucket(&back, unit->bucket, unit->key);
}

/* Hidden over there it is whole, and sets out again; hidden here it was copied; nowhere
 * hidden, it never left or has arrived. */
void reclaim_go_on(Broker *broker, Buckets *from, const char *unit)
{
    struct stat found;
    Back back = back_of(broker, from, unit);
    if (fstatat(from->fds[IN_RECEIVE], back.hidden, &found, AT_SYMLINK_NOFOLLOW) == 0)
        arrive(&back);
    else if (fstatat(broker->source_fd, back.hidden, &found, AT_SYMLINK_NOFOLLOW) == 0)
        unhide(&back);
    else
        forget(broker, unit);
}

/* --- One processor -------------------------------------------------------------------
 */

static bool is_ours(const Broker *broker, const Buckets *from, const char *unit)
{
    Buf record = { 0 };
    Buf sender = { 0 };
    buf_printf(&sender, "%s ", broker->sender.id);
    bool ours = !own_read(from, ARRIVED_DIR, unit, &record) &&
                slice_starts(buf_slice(&record), buf_slice(&sender));
    buf_done(&record);
    buf_done(&sender);
    return ours;
}

/* Output in its last bucket says that the unit had ended: its node will see to the rest.
 */
static bool has_ended(const Buckets *from, const char *unit)
{
    return bucket_has(from, OUT_FINISHED, unit) || bucket_has(from, OUT_SENT, unit) ||
           bucket_has(from, OUT_FAILED, unit);
}

/* What the source still has is not all delivered: that comes first. */
static bool may_take(const Broker *broker, const Buckets *from, const char *unit)
{
    struct stat found;
    return is_ours(broker, from, unit) && !has_ended(from, unit) &&
           !sender_busy(&broker->sender, unit) &&
           fstatat(broker->source_fd, unit, &found, AT_SYMLINK_NOFOLLOW) != 0;
}

static size_t take_from(Broker *broker, Buckets *from, const Place *place)
{
    static const Bucket buckets[] = { IN_WORK, IN_ACTIVE };
    char name[UNIT_BYTES_MAX + 1];
    size_t taken = 0;
    for (size_t i = 0; i < 2; i++) {
        BucketWalk walk = { 0 };
        WalkStep step;
        while (taken < STEP_MAX && (step = bucket_walk_next(&walk, from->fds[buckets[i]],
                                                            name)) != WALK_END) {
            ReclaimUnit unit = { from, buckets[i], name, slice_text(place->key) };
            if (step == WALK_UNIT && may_take(broker, from, name))
                taken += reclaim_unit(broker, &unit);
        }
        bucket_walk_end(&walk);
    }
    return taken;
}

/* Fenced, and its directory can be seen. */
static PeerPlace *lost_place(const Broker *broker, const Place *place, int64_t boot_ms)
{
    const Peers *peers = pipeline_peers(broker->pipeline);
    if (!way_elsewhere(broker->pipeline, place))
        return NULL;
    const PeerNode *node = peers_node(peers, place->node);
    PeerPlace *there = peers_place(peers, place->node, place->path);
    if (!node || node->alive || !node->fenced || !there || !peers_seen(there, boot_ms))
        return NULL;
    return there;
}

static bool open_lost(const PeerPlace *there, Buckets *out)
{
    Buf dir = { 0 };
    Error why = { 0 };
    buf_add_slice(&dir, there->dir);
    Err err = buckets_open(out, buf_cstr(&dir), &why);
    buf_done(&dir);
    return !err; /* else someone has it open: its node is not that lost */
}

static size_t take_from_lost(Broker *broker, const Place *place, int64_t boot_ms)
{
    Buckets from;
    const PeerPlace *there = lost_place(broker, place, boot_ms);
    if (!there || !open_lost(there, &from))
        return 0;
    size_t taken = take_from(broker, &from, place);
    buckets_close(&from);
    if (taken)
        log_event(LOG_WARN, "broker.retaken",
                  "broker=" SLICE_FMT " units=%zu from=" SLICE_FMT
                  " msg=\"its node is lost: they are divided anew\"",
                  SLICE_ARG(broker->plan.name), taken, SLICE_ARG(place->text));
    return taken;
}

/* --- Steps ---------------------------------------------------------------------------
 */

static const Place *place_with_key(const Forward *forward, Slice key)
{
    for (size_t p = 0; p < forward->count; p++)
        if (slice_is(key, forward->places[p].key))
            return &forward->places[p];
    return NULL;
}

/* While the directory over there cannot be seen it waits. */
static void go_on(Broker *broker, const char *unit, int64_t boot_ms)
{
    Buf text = { 0 };
    Buckets from;
    Error why = { 0 };
    const Place *place = NULL;
    if (!own_read(&broker->own, BACK_DIR, unit, &text))
        place = place_with_key(&broker->plan.forwards[0], buf_slice(&text));
    PeerPlace *there =
        place ? peers_place(pipeline_peers(broker->pipeline), place->node, place->path)
              : NULL;
    buf_clear(&text);
    if (there && peers_seen(there, boot_ms)) {
        buf_add_slice(&text, there->dir);
        if (!buckets_peek(&from, buf_cstr(&text), &why)) {
            reclaim_go_on(broker, &from, unit);
            buckets_close(&from);
        }
    }
    buf_done(&text);
}

static int open_notes(const Broker *broker)
{
    return openat(broker->own.own_fd, BACK_DIR,
                  O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

void reclaim_open(Broker *broker)
{
    BucketWalk walk = { 0 };
    char name[UNIT_BYTES_MAX + 1];
    int dir = open_notes(broker);
    broker->backs = 0;
    while (dir >= 0 && bucket_walk_next(&walk, dir, name) != WALK_END)
        broker->backs++;
    if (dir >= 0)
        close(dir);
}

static void go_on_all(Broker *broker, int64_t boot_ms)
{
    BucketWalk walk = { 0 };
    char name[UNIT_BYTES_MAX + 1];
    int dir = open_notes(broker);
    while (dir >= 0 && bucket_walk_next(&walk, dir, name) != WALK_END)
        go_on(broker, name, boot_ms);
    if (dir >= 0)
        close(dir);
}

bool reclaim_step(Broker *broker, int64_t boot_ms)
{
    const Forward *forward = &broker->plan.forwards[0];
    bool more = false;
    if (boot_ms < broker->reclaim_boot)
        return false;
    if (broker->backs)
        go_on_all(broker, boot_ms);
    /* Where every destination gets every unit there is nothing to divide anew. */
    for (size_t p = 0; p < forward->count && forward->mode != FORWARD_ALL; p++)
        if (take_from_lost(broker, &forward->places[p], boot_ms) == STEP_MAX)
            more = true;
    int64_t took_ms = clock_now().boot_ms - boot_ms;
    int64_t rest_ms = REST_TIMES * took_ms > REST_MS ? REST_TIMES * took_ms : REST_MS;
    broker->reclaim_boot = more ? 0 : boot_ms + rest_ms;
    return more;
}

bool reclaim_holds(const Broker *broker, const char *unit)
{
    Buf key = { 0 };
    bool held = broker->backs && !own_read(&broker->own, BACK_DIR, unit, &key);
    buf_done(&key);
    return held;
}

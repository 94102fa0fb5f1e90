/* SPDX-License-Identifier: Apache-2.0 */
/* copy_unit.c - see copy_unit.h. */
#include "pipeline/forward/copy_unit.h"

#include "pipeline/processor/notes.h"
#include "run/files/sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define TOGETHER_BYTES (16 << 20) /* after so many, those that wait get another turn */

enum { RECEIVE, WORK, ACTIVE, PROCESSED, FAILED, ARRIVED, FOLDERS };

static const char *const folders[FOLDERS] = {
    [RECEIVE] = "input/receive", [WORK] = "input/work",
    [ACTIVE] = "input/active",   [PROCESSED] = "input/processed",
    [FAILED] = "input/failed",   [ARRIVED] = OWN_DIR "/arrived",
};

typedef struct Carry {
    const char *dir;
    int from;
    int fds[FOLDERS];
    const atomic_bool *stop;
} Carry;

/* What is left to do for an order. */
typedef enum CarryStage {
    TO_COPY,
    COPIED,
    TO_NOTE,
    TO_RENAME,
    RENAMED,
    OVER,
} CarryStage;

static CarryStage give_up(CarryOrder *order, CarryEnd end, const char *text)
{
    order->end = end;
    error_set(&order->why, ERR_CONFLICT, "%s", text);
    return OVER;
}

static CarryStage broken(CarryOrder *order, const char *what)
{
    order->end = CARRY_FAILED;
    (void)!error_errno(&order->why, "%s", what);
    return OVER;
}

static CarryStage delivered(CarryOrder *order)
{
    order->end = CARRY_DONE;
    return OVER;
}

static bool has(const Carry *carry, int folder, const char *unit)
{
    struct stat found;
    return fstatat(carry->fds[folder], unit, &found, AT_SYMLINK_NOFOLLOW) == 0;
}

static void remove_received(const Carry *carry, const char *unit)
{
    Buf path = { 0 };
    buf_printf(&path, "%s/%s/%s", carry->dir, folders[RECEIVE], unit);
    sweep_path(buf_cstr(&path));
    buf_done(&path);
}

static CarryStage clash(CarryOrder *order, int folder)
{
    char text[128];
    snprintf(text, sizeof text, "it has a unit of this name already, in %s",
             folders[folder]);
    return give_up(order, CARRY_CLASH, text);
}

/* --- Steps ---------------------------------------------------------------------------
 */

/* What the destination has of this name already. */
static CarryStage look(const Carry *carry, CarryOrder *order)
{
    char text[NOTE_BYTES_MAX];
    Slice record = slice_text(order->record);
    Slice was = note_read(carry->fds[ARRIVED], order->unit, text);
    Slice sender = { record.data, order->sender_bytes };
    bool waits = has(carry, WORK, order->unit);
    int there = 0;
    for (int folder = ACTIVE; folder <= FAILED; folder++)
        if (has(carry, folder, order->unit))
            there = folder;
    bool received = has(carry, RECEIVE, order->unit);
    if (slice_equal(was, record) && (there || waits || !received))
        return delivered(order);
    if (there)
        return clash(order, there);
    if (slice_equal(was, record))
        return TO_RENAME; /* all of it was there when it was noted */
    if (waits && !slice_starts(was, sender))
        return clash(order, WORK);
    remove_received(carry, order->unit);
    /* S4.14: the older one leaves work. A processor that was faster keeps it. */
    if (waits && renameat2(carry->fds[WORK], order->unit, carry->fds[RECEIVE],
                           order->unit, RENAME_NOREPLACE))
        return errno == ENOENT ? clash(order, ACTIVE)
                               : broken(order, "cannot take the older one out of work");
    return TO_COPY;
}

static CarryStage copy(const Carry *carry, CarryOrder *order, int64_t *bytes)
{
    TreeCopy tree = { .rate = order->rate, .end = carry->stop };
    struct stat found;
    if (fstatat(carry->from, order->unit, &found, AT_SYMLINK_NOFOLLOW))
        return broken(order, "the unit is gone");
    remove_received(carry, order->unit);
    if (!tree_copy(&tree, carry->from, carry->fds[RECEIVE], order->unit)) {
        CarryStage stage = broken(order, errno == ELOOP ? "its folders are too deep"
                                                        : "cannot copy the unit");
        remove_received(carry, order->unit); /* a full disk gets its room back */
        return stage;
    }
    *bytes += tree.bytes;
    return COPIED;
}

static CarryStage sync_copy(const Carry *carry, CarryOrder *order)
{
    return tree_sync(carry->fds[RECEIVE], order->unit)
               ? TO_NOTE
               : broken(order, "cannot sync the copy of the unit");
}

static CarryStage note(const Carry *carry, CarryOrder *order)
{
    return note_set(carry->fds[ARRIVED], order->unit, slice_text(order->record))
               ? TO_RENAME
               : broken(order, "cannot note the delivery");
}

static CarryStage into_work(const Carry *carry, CarryOrder *order)
{
    if (renameat2(carry->fds[RECEIVE], order->unit, carry->fds[WORK], order->unit,
                  RENAME_NOREPLACE) == 0)
        return RENAMED;
    if (errno != EEXIST && errno != ENOTEMPTY)
        return broken(order, "cannot rename the unit into work");
    unlinkat(carry->fds[ARRIVED], order->unit, 0);
    return clash(order, WORK);
}

/* --- All of them ---------------------------------------------------------------------
 */

typedef CarryStage Step(const Carry *carry, CarryOrder *order);

/* Takes the step with every order that is at `stage`. */
static void each(const Carry *carry, CarryOrder **orders, CarryStage *stages,
                 CarryStage stage, Step *step)
{
    for (size_t i = 0; orders[i]; i++)
        if (stages[i] == stage)
            stages[i] = step(carry, orders[i]);
}

static CarryStage unsynced(const Carry *carry, CarryOrder *order)
{
    (void)carry;
    return broken(order, "cannot sync the buckets");
}

static CarryStage arrived(const Carry *carry, CarryOrder *order)
{
    (void)carry;
    return delivered(order);
}

static bool synced(const Carry *carry, int folder)
{
    return fsync(carry->fds[folder]) == 0;
}

/* A note may only be on disk when the copy is, bytes and entry; see look(). */
static void carry_opened(const Carry *carry, CarryOrder **orders, size_t count)
{
    CarryStage stages[CARRY_TOGETHER_MAX];
    CarryOrder *ended[CARRY_TOGETHER_MAX + 1] = { NULL };
    int64_t bytes = 0;
    memcpy(ended, orders, count * sizeof *orders);
    for (size_t i = 0; i < count; i++) {
        bool later = bytes > TOGETHER_BYTES || (carry->stop && *carry->stop);
        stages[i] =
            later ? give_up(orders[i], CARRY_NOT_YET, "") : look(carry, orders[i]);
        if (stages[i] == TO_COPY)
            stages[i] = copy(carry, orders[i], &bytes);
    }
    each(carry, ended, stages, COPIED, sync_copy);
    each(carry, ended, stages, TO_NOTE, synced(carry, RECEIVE) ? note : unsynced);
    each(carry, ended, stages, TO_RENAME, synced(carry, ARRIVED) ? into_work : unsynced);
    bool good = synced(carry, RECEIVE) && synced(carry, WORK);
    each(carry, ended, stages, RENAMED, good ? arrived : unsynced);
}

static int open_folder(const char *dir, const char *below, bool make)
{
    Buf path = { 0 };
    buf_printf(&path, "%s/%s", dir, below);
    if (make)
        mkdir(buf_cstr(&path), 0755); /* what cannot be made cannot be opened */
    int fd = open(buf_cstr(&path), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    buf_done(&path);
    return fd;
}

void carry_all(CarryOrder **orders, size_t count, const atomic_bool *stop)
{
    Carry carry = { .dir = orders[0]->dir, .stop = stop };
    char missing[256] = "";
    int error_number = 0;
    carry.from = open(orders[0]->source, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (carry.from < 0) {
        error_number = errno;
        snprintf(missing, sizeof missing, "cannot open the source directory");
    }
    for (int folder = 0; folder < FOLDERS; folder++) {
        carry.fds[folder] = open_folder(carry.dir, folders[folder], folder == ARRIVED);
        if (carry.fds[folder] >= 0 || missing[0])
            continue;
        error_number = errno;
        snprintf(missing, sizeof missing, "cannot open its %s", folders[folder]);
    }
    if (!missing[0]) {
        carry_opened(&carry, orders, count);
    } else {
        for (size_t i = 0; i < count; i++) {
            errno = error_number;
            broken(orders[i], missing);
            orders[i]->end = CARRY_NO_PLACE;
        }
    }
    for (int folder = 0; folder < FOLDERS; folder++)
        if (carry.fds[folder] >= 0)
            close(carry.fds[folder]);
    if (carry.from >= 0)
        close(carry.from);
}

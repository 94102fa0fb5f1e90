/* SPDX-License-Identifier: Apache-2.0 */
/* marks.c - see marks.h. */
#include "pipeline/processor/marks.h"

#include "pipeline/processor/notes.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#define MARKS        "sent-to"
#define ROUTES       "route"
#define FOLDER_BYTES 64

/* The rename into the source changed the ctime. */
bool delivery_of(int source_fd, const char *unit, char out[DELIVERY_BYTES])
{
    struct stat found;
    if (fstatat(source_fd, unit, &found, AT_SYMLINK_NOFOLLOW))
        return false;
    snprintf(out, DELIVERY_BYTES, "%" PRIu64 "-%" PRId64 ".%09ld", (uint64_t)found.st_ino,
             (int64_t)found.st_ctim.tv_sec, found.st_ctim.tv_nsec);
    return true;
}

static void mark_folder(const Place *place, char out[FOLDER_BYTES])
{
    snprintf(out, FOLDER_BYTES, MARKS "/%s", place->key);
}

static void route_folder(size_t forward, char out[FOLDER_BYTES])
{
    snprintf(out, FOLDER_BYTES, ROUTES "/%zu", forward);
}

/* --- Marks ---------------------------------------------------------------------------
 */

bool mark_has(const Buckets *own, const Place *place, const Delivery *what)
{
    char folder[FOLDER_BYTES];
    Buf text = { 0 };
    mark_folder(place, folder);
    bool same = !own_read(own, folder, what->unit, &text) &&
                slice_is(buf_slice(&text), what->state);
    buf_done(&text);
    return same;
}

Err mark_set(const Buckets *own, const Place *place, const Delivery *what, Error *why)
{
    char folder[FOLDER_BYTES];
    mark_folder(place, folder);
    Err err = own_note(own, folder, what->unit, slice_text(what->state), why);
    return err ? err : own_sync(own, folder, why);
}

/* --- Routes --------------------------------------------------------------------------
 */

bool choice_find(const Buckets *own, const Plan *plan, size_t forward,
                 const Delivery *what, size_t *out_place)
{
    const Forward *of = &plan->forwards[forward];
    char folder[FOLDER_BYTES];
    Buf text = { 0 };
    bool found = false;
    route_folder(forward, folder);
    if (!own_read(own, folder, what->unit, &text)) {
        Slice key = buf_slice(&text);
        Slice state = slice_cut(&key, ' ');
        for (size_t p = 0; p < of->count && !found && slice_is(state, what->state); p++) {
            found = slice_is(key, of->places[p].key);
            *out_place = found ? p : *out_place;
        }
    }
    buf_done(&text);
    return found;
}

Err choice_set(const Buckets *own, size_t forward, const Place *place,
               const Delivery *what, Error *why)
{
    char folder[FOLDER_BYTES];
    char text[DELIVERY_BYTES + PLACE_KEY_BYTES + 1];
    route_folder(forward, folder);
    snprintf(text, sizeof text, "%s %s", what->state, place->key);
    return own_note(own, folder, what->unit, slice_text(text), why);
}

Err choice_sync(const Buckets *own, size_t forward, Error *why)
{
    char folder[FOLDER_BYTES];
    route_folder(forward, folder);
    return own_sync(own, folder, why);
}

/* --- The end of it -------------------------------------------------------------------
 */

static void forget_in(const Buckets *own, const char *folder, const void *unit)
{
    own_remove(own, folder, unit);
}

/* Notes about units that are not in the source any more. */
static void tidy_in(const Buckets *own, const char *folder, const void *source)
{
    char name[UNIT_BYTES_MAX + 1];
    BucketWalk walk = { 0 };
    struct stat found;
    int source_fd = *(const int *)source;
    int dir =
        openat(own->own_fd, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir < 0)
        return;
    while (bucket_walk_next(&walk, dir, name) != WALK_END)
        if (fstatat(source_fd, name, &found, AT_SYMLINK_NOFOLLOW))
            unlinkat(dir, name, 0);
    close(dir);
}

typedef void EachFolder(const Buckets *own, const char *folder, const void *what);

static void each_folder(const Buckets *own, const Plan *plan, EachFolder *each,
                        const void *what)
{
    char folder[FOLDER_BYTES];
    for (size_t f = 0; f < plan->forward_count; f++) {
        const Forward *forward = &plan->forwards[f];
        route_folder(f, folder);
        if (forward->mode != FORWARD_ALL)
            each(own, folder, what);
        for (size_t p = 0; p < forward->count; p++) {
            mark_folder(&forward->places[p], folder);
            each(own, folder, what);
        }
    }
}

void marks_forget(const Buckets *own, const Plan *plan, const char *unit)
{
    each_folder(own, plan, forget_in, unit);
}

void marks_tidy(const Buckets *own, const Plan *plan, int source_fd)
{
    each_folder(own, plan, tidy_in, &source_fd);
}

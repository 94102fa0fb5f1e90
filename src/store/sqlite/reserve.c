/* SPDX-License-Identifier: Apache-2.0 */
/* reserve.c - see reserve.h. */
#include "store/sqlite/reserve.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/times.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define LOOK_MS MS_PER_S

/* True: the file has all its room. */
static bool take_room(const char *path)
{
    struct stat status;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    bool taken = posix_fallocate(fd, 0, RESERVE_BYTES) == 0 && !fstat(fd, &status) &&
                 status.st_blocks * 512 >= RESERVE_BYTES;
    if (!taken && ftruncate(fd, 0))
        log_event(LOG_WARN, "store.reserve", "msg=\"cannot empty %s\"", path);
    close(fd);
    return taken;
}

#define LOW_BYTES ((uint64_t)64 << 20)

static bool disk_has(const char *path, uint64_t bytes)
{
    struct statvfs disk;
    return !statvfs(path, &disk) && disk.f_bavail * disk.f_frsize >= bytes;
}

/* Twice as much, so that it is not taken away and given back again and again. */
static bool disk_has_room(const char *path)
{
    return disk_has(path, 2 * (uint64_t)RESERVE_BYTES);
}

void reserve_init(Reserve *reserve, const char *path)
{
    size_t bytes = strlen(path) + sizeof ".reserve";
    *reserve = (Reserve){ .path = mem_alloc(bytes) };
    snprintf(reserve->path, bytes, "%s.reserve", path);
    pthread_mutex_init(&reserve->lock, NULL);
    reserve->kept = take_room(reserve->path);
    reserve->full = !reserve->kept && !disk_has_room(reserve->path);
}

void reserve_done(Reserve *reserve)
{
    if (!reserve->path)
        return;
    pthread_mutex_destroy(&reserve->lock);
    mem_free(reserve->path);
    *reserve = (Reserve){ .path = NULL };
}

bool reserve_spend(Reserve *reserve)
{
    assert(reserve->path);
    pthread_mutex_lock(&reserve->lock);
    bool spent = reserve->kept && !truncate(reserve->path, 0);
    if (spent)
        reserve->kept = false;
    reserve->full = true;
    reserve->free_bytes = 0;
    reserve->look_boot = clock_now().boot_ms + LOOK_MS;
    pthread_mutex_unlock(&reserve->lock);
    if (spent)
        log_event(LOG_ERROR, "store.full",
                  "msg=\"the disk is full; what was kept for this case is used now, and "
                  "nothing new is accepted\"");
    return spent;
}

bool reserve_low(Reserve *reserve)
{
    int64_t boot_ms = clock_now().boot_ms;
    if (boot_ms >= reserve->low_boot) {
        reserve->low_boot = boot_ms + LOOK_MS;
        reserve->low = !disk_has(reserve->path, LOW_BYTES);
    }
    return reserve->low;
}

bool reserve_needed(const Reserve *reserve)
{
    return !disk_has_room(reserve->path);
}

void reserve_note_free(Reserve *reserve, int64_t bytes)
{
    pthread_mutex_lock(&reserve->lock);
    reserve->free_bytes = bytes;
    pthread_mutex_unlock(&reserve->lock);
}

bool reserve_is_spent(Reserve *reserve)
{
    pthread_mutex_lock(&reserve->lock);
    bool spent = !reserve->kept;
    pthread_mutex_unlock(&reserve->lock);
    return spent;
}

static bool still_full(Reserve *reserve)
{
    if (disk_has_room(reserve->path) && take_room(reserve->path))
        reserve->kept = true;
    int64_t enough = reserve->full ? RESERVE_BYTES / 2 : RESERVE_BYTES / 8;
    return !reserve->kept && reserve->free_bytes < enough;
}

bool reserve_full(Reserve *reserve)
{
    int64_t boot_ms = clock_now().boot_ms;
    pthread_mutex_lock(&reserve->lock);
    bool was_full = reserve->full;
    if (!reserve->kept && boot_ms >= reserve->look_boot) {
        reserve->look_boot = boot_ms + LOOK_MS;
        reserve->full = still_full(reserve);
    }
    bool full = reserve->full;
    pthread_mutex_unlock(&reserve->lock);
    if (was_full && !full)
        log_event(LOG_INFO, "store.room", "msg=\"there is room again\"");
    return full;
}

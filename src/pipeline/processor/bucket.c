/* SPDX-License-Identifier: Apache-2.0 */
/* bucket.c - see bucket.h. */
#include "pipeline/processor/bucket.h"

#include "pipeline/processor/tree.h"
#include "run/files/sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#define SETTLED_MS 50 /* a clock's tick, and more */
#define WALK_REST  20 /* between walks, of what one takes */
#define QUICK_MS   50
#define DIR_MODE   0755
#define LARGE      10000 /* units in a directory that is not counted all the time */

static const char *const paths[BUCKETS] = {
    [IN_RECEIVE] = "input/receive",     [IN_WORK] = "input/work",
    [IN_ACTIVE] = "input/active",       [IN_PROCESSED] = "input/processed",
    [IN_FAILED] = "input/failed",       [OUT_PROCESSING] = "output/processing",
    [OUT_FINISHED] = "output/finished", [OUT_SENT] = "output/sent",
    [OUT_FAILED] = "output/failed",
};

const char *bucket_path(Bucket bucket)
{
    return paths[bucket];
}

/* --- Opening -------------------------------------------------------------------------
 */

/* Makes every folder of a path. */
static Err make_path(const char *path, Error *why)
{
    Buf part = { 0 };
    Err err = ERR_OK;
    for (const char *at = path; at && !err;) {
        at = strchr(at + 1, '/');
        buf_clear(&part);
        buf_add(&part, path, at ? (size_t)(at - path) : strlen(path));
        if (mkdir(buf_cstr(&part), DIR_MODE) && errno != EEXIST)
            err = error_errno(why, "cannot make the directory %s", buf_cstr(&part));
    }
    buf_done(&part);
    return err;
}

static int open_below(int dir, const char *name)
{
    return openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static Err open_one(const char *dir, int top, const char *path, int *out_fd, Error *why)
{
    struct stat root;
    struct stat own;
    if (mkdirat(top, path, DIR_MODE) && errno != EEXIST)
        return error_errno(why, "cannot make the bucket %s/%s", dir, path);
    int fd = open_below(top, path);
    if (fd < 0)
        return error_errno(why, "cannot open the bucket %s/%s", dir, path);
    Err err = ERR_OK;
    if (fstat(top, &root) || fstat(fd, &own))
        err = error_errno(why, "cannot look at the bucket %s/%s", dir, path);
    else if (root.st_dev != own.st_dev)
        err = error_set(why, ERR_UNSUPPORTED,
                        "%s/%s is on another file system than %s; units are renamed "
                        "between buckets, so put all of them on one",
                        dir, path, dir);
    else if (faccessat(fd, ".", R_OK | W_OK | X_OK, AT_EACCESS))
        err = error_errno(why, "the bucket %s/%s cannot be written", dir, path);
    if (err)
        close(fd);
    else
        *out_fd = fd;
    return err;
}

/* One processor for a directory, of this daemon or any other: units would be taken by
 * both. Given back when the descriptor is closed, however that comes about. */
static Err open_own(Buckets *buckets, int top, Error *why)
{
    Err err = open_one(buckets->dir, top, OWN_DIR, &buckets->own_fd, why);
    if (!err && flock(buckets->own_fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
        err = error_set(why, ERR_CONFLICT,
                        "%s is in use by another processor; each has a directory of its "
                        "own",
                        buckets->dir);
    return err;
}

static Err open_all(Buckets *buckets, int top, bool lock, Error *why)
{
    static const char *const halves[] = { "input", "output" };
    for (size_t i = 0; i < 2; i++)
        if (mkdirat(top, halves[i], DIR_MODE) && errno != EEXIST)
            return error_errno(why, "cannot make %s/%s", buckets->dir, halves[i]);
    Err err = ERR_OK;
    for (Bucket bucket = 0; bucket < BUCKETS && !err; bucket++)
        err = open_one(buckets->dir, top, paths[bucket], &buckets->fds[bucket], why);
    if (!err && lock)
        err = open_own(buckets, top, why);
    else if (!err)
        err = open_one(buckets->dir, top, OWN_DIR, &buckets->own_fd, why);
    return err;
}

/* The directory itself, made and found; *out_top is open. */
static Err open_top(Buckets *buckets, const char *dir, int *out_top, Error *why)
{
    *buckets = (Buckets){ .own_fd = -1 };
    for (Bucket bucket = 0; bucket < BUCKETS; bucket++)
        buckets->fds[bucket] = -1;
    if (dir[0] != '/')
        return error_set(why, ERR_INVALID, "%s is no absolute path", dir);
    Err err = make_path(dir, why);
    if (err)
        return err;
    char real[PATH_MAX];
    if (!realpath(dir, real))
        return error_errno(why, "cannot find the directory %s", dir);
    *out_top = open(real, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*out_top < 0)
        return error_errno(why, "cannot open the directory %s", dir);
    buckets->dir = mem_copy(real, strlen(real) + 1);
    return ERR_OK;
}

static Err close_top(Buckets *buckets, int top, Err err, Error *why)
{
    if (!err && fsync(top))
        err = error_errno(why, "cannot sync the directory %s", buckets->dir);
    close(top);
    if (err)
        buckets_close(buckets);
    return err;
}

Err buckets_open(Buckets *buckets, const char *dir, Error *why)
{
    int top = -1;
    Err err = open_top(buckets, dir, &top, why);
    return err ? err : close_top(buckets, top, open_all(buckets, top, true, why), why);
}

Err buckets_peek(Buckets *buckets, const char *dir, Error *why)
{
    int top = -1;
    Err err = open_top(buckets, dir, &top, why);
    return err ? err : close_top(buckets, top, open_all(buckets, top, false, why), why);
}

Err own_open(Buckets *buckets, const char *dir, Error *why)
{
    int top = -1;
    Err err = open_top(buckets, dir, &top, why);
    if (err)
        return err;
    err = open_own(buckets, top, why);
    return close_top(buckets, top, err, why);
}

void buckets_close(Buckets *buckets)
{
    for (Bucket bucket = 0; bucket < BUCKETS; bucket++)
        if (buckets->fds[bucket] >= 0)
            close(buckets->fds[bucket]);
    if (buckets->own_fd >= 0)
        close(buckets->own_fd);
    mem_free(buckets->dir);
    *buckets = (Buckets){ .own_fd = -1 };
    for (Bucket bucket = 0; bucket < BUCKETS; bucket++)
        buckets->fds[bucket] = -1;
}

/* --- Names ----------------------------------------------------------------------------
 */

bool unit_name_valid(Slice name)
{
    return name.bytes > 0 && name.bytes <= UNIT_BYTES_MAX && name.data[0] != '.' &&
           !memchr(name.data, '/', name.bytes) && !memchr(name.data, '\0', name.bytes);
}

static bool ends_with(const char *name, const char *suffix)
{
    size_t bytes = strlen(name);
    size_t end = strlen(suffix);
    return bytes >= end && strcmp(name + bytes - end, suffix) == 0;
}

bool unit_name_ignored(const char *name)
{
    return name[0] == '.' || ends_with(name, "~") || ends_with(name, ".tmp") ||
           ends_with(name, ".part");
}

/* --- Looking and moving ---------------------------------------------------------------
 */

bool bucket_stat(const Buckets *buckets, Bucket bucket, const char *unit,
                 struct stat *out)
{
    return fstatat(buckets->fds[bucket], unit, out, AT_SYMLINK_NOFOLLOW) == 0;
}

bool bucket_has(const Buckets *buckets, Bucket bucket, const char *unit)
{
    struct stat found;
    return bucket_stat(buckets, bucket, unit, &found);
}

/* Where the file system does not know RENAME_NOREPLACE: a look before, which is enough
 * for buckets that only we write. */
static int rename_new(int from, int to, const char *unit)
{
    struct stat there;
    if (renameat2(from, unit, to, unit, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -1;
    if (fstatat(to, unit, &there, AT_SYMLINK_NOFOLLOW) == 0) {
        errno = EEXIST;
        return -1;
    }
    return renameat(from, unit, to, unit);
}

Err bucket_move(Buckets *buckets, const char *unit, Bucket from, Bucket to, Error *why)
{
    if (rename_new(buckets->fds[from], buckets->fds[to], unit)) {
        if (errno == EEXIST || errno == ENOTEMPTY)
            return error_set(why, ERR_CONFLICT,
                             "there is already a unit of this name in %s", paths[to]);
        return error_errno(why, "cannot move the unit from %s to %s", paths[from],
                           paths[to]);
    }
    buckets->dirty[from] = buckets->dirty[to] = true;
    bucket_counted(buckets, from, -1);
    bucket_counted(buckets, to, 1);
    return ERR_OK;
}

Err buckets_sync(Buckets *buckets, Error *why)
{
    for (Bucket bucket = 0; bucket < BUCKETS; bucket++) {
        if (!buckets->dirty[bucket])
            continue;
        if (fsync(buckets->fds[bucket]))
            return error_errno(why, "cannot sync %s/%s", buckets->dir, paths[bucket]);
        buckets->dirty[bucket] = false;
    }
    return ERR_OK;
}

Err bucket_sync_unit(const Buckets *buckets, Bucket bucket, const char *unit, Error *why)
{
    if (!tree_sync(buckets->fds[bucket], unit))
        return error_errno(why, "cannot sync what is in %s", paths[bucket]);
    return ERR_OK;
}

const char *bucket_unit_path(const Buckets *buckets, Bucket bucket, const char *unit,
                             Buf *out)
{
    buf_clear(out);
    buf_add_text(out, buckets->dir);
    buf_add_char(out, '/');
    buf_add_text(out, paths[bucket]);
    buf_add_char(out, '/');
    buf_add_text(out, unit);
    return buf_cstr(out);
}

Err bucket_remove(Buckets *buckets, Bucket bucket, const char *unit, Error *why)
{
    Buf path = { 0 };
    sweep_path(bucket_unit_path(buckets, bucket, unit, &path));
    buf_done(&path);
    buckets->dirty[bucket] = true;
    if (bucket_has(buckets, bucket, unit))
        return error_set(why, ERR_IO, "cannot remove the unit from %s", paths[bucket]);
    bucket_counted(buckets, bucket, -1);
    return ERR_OK;
}

/* --- Walking and counting -------------------------------------------------------------
 */

static bool is_unit(int dir, const struct dirent *entry)
{
    struct stat what;
    if (entry->d_type == DT_REG || entry->d_type == DT_DIR)
        return true;
    if (entry->d_type != DT_UNKNOWN)
        return false;
    return fstatat(dir, entry->d_name, &what, AT_SYMLINK_NOFOLLOW) == 0 &&
           (S_ISREG(what.st_mode) || S_ISDIR(what.st_mode));
}

static bool same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

/* A change within one tick of the clock before a look may not show in the time of the
 * directory: only a time that has settled is trusted. */
static bool settled(struct timespec changed)
{
    int64_t changed_ms = (int64_t)changed.tv_sec * MS_PER_S + changed.tv_nsec / 1000000;
    return clock_now().wall_ms - changed_ms > SETTLED_MS;
}

static void walk_begin(BucketWalk *walk, int dir_fd)
{
    struct stat dir;
    int fd = open_below(dir_fd, ".");
    walk->stream = fd >= 0 ? fdopendir(fd) : NULL;
    if (!walk->stream && fd >= 0)
        close(fd);
    walk->spent_ms = 0;
    walk->settled = fstat(dir_fd, &dir) == 0 && settled(dir.st_mtim);
    walk->changed = dir.st_mtim;
}

static WalkStep walk_next(BucketWalk *walk, int dir_fd, char out_name[UNIT_BYTES_MAX + 1])
{
    if (!walk->stream)
        walk_begin(walk, dir_fd);
    if (!walk->stream)
        return WALK_END;
    for (const struct dirent *entry; (entry = readdir(walk->stream));) {
        bool dots = !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..");
        if (dots || (!walk->all && unit_name_ignored(entry->d_name)))
            continue;
        snprintf(out_name, UNIT_BYTES_MAX + 1, "%s", entry->d_name);
        return is_unit(dir_fd, entry) ? WALK_UNIT : WALK_OTHER;
    }
    bucket_walk_end(walk);
    walk->ended_boot = clock_now().boot_ms;
    return WALK_END;
}

/* A walk may be open for long, an entry now and then: only its own time counts. An entry
 * takes less than a tick; over many the ticks that fall into them add up to the truth. */
WalkStep bucket_walk_next(BucketWalk *walk, int dir_fd, char out_name[UNIT_BYTES_MAX + 1])
{
    int64_t began_boot = clock_now().boot_ms;
    WalkStep step = walk_next(walk, dir_fd, out_name);
    walk->spent_ms += clock_now().boot_ms - began_boot;
    return step;
}

void bucket_walk_end(BucketWalk *walk)
{
    if (walk->stream)
        closedir(walk->stream);
    walk->stream = NULL;
    walk->ended_boot = 0;
}

bool bucket_walk_due(BucketWalk *walk, int dir_fd, int64_t boot_ms)
{
    struct stat dir;
    if (walk->stream || !walk->ended_boot)
        return true;
    int64_t cost_ms = walk->spent_ms;
    int64_t passed_ms = boot_ms - walk->ended_boot;
    int64_t rest_ms = WALK_REST * cost_ms > MS_PER_S ? WALK_REST * cost_ms : MS_PER_S;
    if (passed_ms >= rest_ms)
        return true;
    bool changed =
        fstat(dir_fd, &dir) || !walk->settled || !same_time(dir.st_mtim, walk->changed);
    /* One that is quick is never put off; a busy machine makes all of them slow. */
    return changed && (cost_ms < QUICK_MS || passed_ms >= cost_ms);
}

/* --- Counting -------------------------------------------------------------------------
 */

static void count_again(Buckets *buckets, Bucket bucket, struct timespec changed)
{
    BucketWalk walk = { 0 };
    char name[UNIT_BYTES_MAX + 1];
    int64_t units = 0;
    int64_t began_boot = clock_now().boot_ms;
    for (WalkStep step;
         (step = walk_next(&walk, buckets->fds[bucket], name)) != WALK_END;)
        units += step == WALK_UNIT;
    int64_t ended_boot = clock_now().boot_ms;
    buckets->counts[bucket] = (BucketCount){ .changed = changed,
                                             .counted_boot = ended_boot,
                                             .cost_ms = ended_boot - began_boot,
                                             .units = units,
                                             .settled = settled(changed) };
}

int64_t bucket_count(Buckets *buckets, Bucket bucket, int64_t boot_ms)
{
    const BucketCount *count = &buckets->counts[bucket];
    /* Into these two others rename: our own moves are not all. */
    int64_t times = bucket == IN_WORK || bucket == IN_RECEIVE ? 100 : 500;
    struct stat dir;
    if (fstat(buckets->fds[bucket], &dir))
        return 0;
    bool same = count->settled && same_time(count->changed, dir.st_mtim);
    /* The time that a small one took says more about the machine. */
    bool fresh =
        count->units >= LARGE && boot_ms - count->counted_boot < times * count->cost_ms;
    if (!count->counted_boot || !(same || fresh))
        count_again(buckets, bucket, dir.st_mtim);
    return count->units > 0 ? count->units : 0;
}

int64_t bucket_guess(Buckets *buckets, Bucket bucket, int64_t boot_ms)
{
    const BucketCount *count = &buckets->counts[bucket];
    if (!count->counted_boot || boot_ms - count->counted_boot >= MS_PER_S)
        return bucket_count(buckets, bucket, boot_ms);
    return count->units > 0 ? count->units : 0;
}

void bucket_counted(Buckets *buckets, Bucket bucket, int64_t more)
{
    buckets->counts[bucket].units += more;
}

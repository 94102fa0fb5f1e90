/* SPDX-License-Identifier: Apache-2.0 */
/* identity.c - see identity.h. */
#include "engine/identity.h"

#include "base/lock.h"
#include "base/log.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define IDENTITY_FILE       "identity"
#define IDENTITY_BYTES_MAX  512
#define HOST_NAME_BYTES_MAX 40 /* of the host's name in a sysid */

static Err write_all(int fd, Slice bytes)
{
    while (bytes.bytes) {
        ssize_t written = write(fd, bytes.data, bytes.bytes);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return err_from_errno(errno);
        bytes = slice_of(bytes.data + written, bytes.bytes - (size_t)written);
    }
    return ERR_OK;
}

static Err sync_dir(const char *dir)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_from_errno(errno);
    int failed = fsync(fd);
    close(fd);
    return failed ? ERR_IO : ERR_OK;
}

Err file_draft(FileDraft *draft, const char *dir, const char *name, Error *why)
{
    *draft = (FileDraft){ .dir = dir, .name = name, .fd = -1 };
    char temporary[PATH_MAX];
    snprintf(temporary, sizeof temporary, "%s/.%s.new", dir, name);
    draft->fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (draft->fd < 0)
        return error_errno(why, "cannot write %s", temporary);
    return ERR_OK;
}

Err file_publish(FileDraft *draft, Slice bytes, Error *why)
{
    char path[PATH_MAX];
    char temporary[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", draft->dir, draft->name);
    snprintf(temporary, sizeof temporary, "%s/.%s.new", draft->dir, draft->name);
    Err err = write_all(draft->fd, bytes);
    if (!err && fsync(draft->fd))
        err = ERR_IO;
    close(draft->fd);
    draft->fd = -1;
    if (!err && rename(temporary, path))
        err = err_from_errno(errno);
    if (!err)
        err = sync_dir(draft->dir);
    if (err)
        return error_set(why, err, "cannot write %s: %s", path, err_name(err));
    return ERR_OK;
}

Err file_replace(const char *dir, const char *name, const char *text, Error *why)
{
    FileDraft draft;
    Err err = file_draft(&draft, dir, name, why);
    return err ? err : file_publish(&draft, slice_text(text), why);
}

Err file_make_private(const char *path, Error *why)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_errno(why, "cannot open %s", path);
    int failed = fchmod(fd, 0600);
    close(fd);
    return failed ? error_errno(why, "cannot make %s private", path) : ERR_OK;
}

static uint64_t random_u64(void)
{
    uint64_t value = 0;
    while (getrandom(&value, sizeof value, 0) != (ssize_t)sizeof value)
        ;
    return value;
}

static void make_new(Identity *identity)
{
    char host[HOST_NAME_BYTES_MAX + 1] = "node";
    if (gethostname(host, sizeof host - 1) == 0)
        host[sizeof host - 1] = '\0';
    for (char *at = host; *at; at++)
        if (!name_valid(slice_of(at, 1)))
            *at = '_';
    uint64_t luck = random_u64();
    snprintf(identity->sysid, sizeof identity->sysid, "%s-%04x", host[0] ? host : "node",
             (unsigned)(luck & 0xffff));
    identity->number = 1;
    identity->cluster = random_u64() >> 1; /* stays a positive number everywhere */
}

static Err read_existing(const char *path, Identity *out, bool *out_found, Error *why)
{
    char text[IDENTITY_BYTES_MAX];
    *out_found = false;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? ERR_OK : error_errno(why, "cannot read %s", path);
    ssize_t bytes = read(fd, text, sizeof text - 1);
    close(fd);
    if (bytes < 0)
        return error_errno(why, "cannot read %s", path);
    text[bytes] = '\0';
    unsigned number;
    unsigned long long cluster;
    unsigned long long epoch;
    int fields = sscanf(text, "sysid=%63s number=%u cluster=%llx epoch=%llu", out->sysid,
                        &number, &cluster, &epoch);
    if (fields != 4 || number > 1023)
        return error_set(why, ERR_CORRUPT,
                         "%s is not an identity file; restore it, or move it away to "
                         "start under a new identity with an empty data directory",
                         path);
    out->number = (uint16_t)number;
    out->cluster = cluster;
    out->epoch = epoch;
    *out_found = true;
    return ERR_OK;
}

static Err write_identity(const char *data_dir, const Identity *identity, Error *why)
{
    char text[IDENTITY_BYTES_MAX];
    snprintf(text, sizeof text, "sysid=%s\nnumber=%u\ncluster=%llx\nepoch=%llu\n",
             identity->sysid, identity->number, (unsigned long long)identity->cluster,
             (unsigned long long)identity->epoch);
    return file_replace(data_dir, IDENTITY_FILE, text, why);
}

bool identity_has_begun(const char *data_dir)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/journal", data_dir);
    return access(path, F_OK) == 0;
}

Err identity_number(const char *data_dir, Identity *identity, uint16_t number, Error *why)
{
    if (identity_has_begun(data_dir))
        return error_set(why, ERR_CONFLICT,
                         "this node has given ids as node %u, but the store has it as "
                         "node %u: start it with a new --data, or on its own store",
                         identity->number, number);
    identity->number = number;
    return write_identity(data_dir, identity, why);
}

Err identity_begin(const char *data_dir, Identity *out, Error *why)
{
    char path[PATH_MAX];
    Identity identity = { 0 };
    bool found;
    snprintf(path, sizeof path, "%s/" IDENTITY_FILE, data_dir);
    Err err = read_existing(path, &identity, &found, why);
    if (err)
        return err;
    if (!found)
        make_new(&identity);
    identity.epoch++;
    err = write_identity(data_dir, &identity, why);
    if (err == ERR_FULL && found) {
        /* The count of lives can wait; a daemon that cannot start cannot make room. */
        log_event(LOG_WARN, "daemon.full", "why=%s", LOG_QUOTED(why->text));
        err = ERR_OK;
    }
    if (err)
        return err;
    *out = identity;
    return ERR_OK;
}

Err identity_read(const char *data_dir, Identity *out, Error *why)
{
    char path[PATH_MAX];
    bool found;
    snprintf(path, sizeof path, "%s/" IDENTITY_FILE, data_dir);
    Err err = read_existing(path, out, &found, why);
    if (!err && !found)
        err = error_set(why, ERR_NOT_FOUND, "no daemon has used %s yet", data_dir);
    return err;
}

Err identity_lock(const char *data_dir, int *out_fd, Error *why)
{
    char path[PATH_MAX];
    char text[32] = "";
    snprintf(path, sizeof path, "%s/pawl.lock", data_dir);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_errno(why, "cannot open %s", path);
    if (!lock_soon(fd)) {
        ssize_t bytes = read(fd, text, sizeof text - 1);
        text[bytes > 0 ? bytes : 0] = '\0';
        text[strcspn(text, "\n")] = '\0';
        close(fd);
        return error_set(why, ERR_BUSY,
                         "another daemon (process %s) uses %s; use it, stop it, or give "
                         "this one its own --data",
                         text[0] ? text : "unknown", data_dir);
    }
    int length = snprintf(text, sizeof text, "%ld\n", (long)getpid());
    if (ftruncate(fd, 0) || pwrite(fd, text, (size_t)length, 0) != length) {
        close(fd);
        return error_errno(why, "cannot write %s", path);
    }
    *out_fd = fd;
    return ERR_OK;
}

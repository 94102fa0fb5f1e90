/* SPDX-License-Identifier: Apache-2.0 */
/* move_store.c - see move_store.h. */
#include "move/move_store.h"

#include "base/id.h"
#include "config/config.h"
#include "engine/identity.h"
#include "engine/ingest_thread.h"
#include "move/move_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

/* A store and the data directory that goes with it, both held. */
typedef struct Holding {
    Config config;
    bool loaded;
    Buf url;
    const char *dir;
    int lock_fd;       /* of the data directory; -1: there is none */
    Identity identity; /* number 0: the directory has none */
    char cluster[24];
    Store *store;
    bool used_here;  /* the store has heard of the node of this data directory */
    bool begins_new; /* import: the data directory has no journal yet */
} Holding;

static bool is_file(const Holding *holding)
{
    return slice_starts(buf_slice(&holding->url), SLICE_LITERAL("sqlite:"));
}

static const char *file_of(Holding *holding)
{
    return buf_cstr(&holding->url) + strlen("sqlite:");
}

static void let_go(Holding *holding)
{
    store_close(holding->store);
    if (holding->lock_fd >= 0)
        close(holding->lock_fd);
    if (holding->loaded)
        config_done(&holding->config);
    buf_done(&holding->url);
}

/* `make`: a data directory and an identity that are not there are made. */
static Err hold_data(Holding *holding, bool make, Error *why)
{
    const char *dir = holding->dir;
    if (make && mkdir(dir, 0700) && errno != EEXIST)
        return error_errno(why, "cannot make the data directory %s", dir);
    if (!make && access(dir, F_OK))
        return ERR_OK;
    Err err = identity_lock(dir, &holding->lock_fd, why);
    if (err == ERR_BUSY)
        return error_set(why, ERR_BUSY,
                         "a daemon uses %s: stop it first, for a store in use cannot be "
                         "moved",
                         dir);
    if (err)
        return err;
    err = identity_read(dir, &holding->identity, why);
    if (err == ERR_NOT_FOUND)
        err = make ? identity_begin(dir, &holding->identity, why) : ERR_OK;
    return err;
}

static Err hold_config(Holding *holding, const StoreMove *move, Error *why)
{
    ConfigSources sources = { .file = move->config,
                              .env = (const char *const *)environ,
                              .data = move->data,
                              .stores = &move->store,
                              .store_count = move->store ? 1 : 0,
                              .sections = declare_sections() };
    holding->lock_fd = -1;
    Err err = config_load(&sources, &holding->config, why);
    if (err)
        return err;
    holding->loaded = true;
    holding->dir = holding->config.data;
    config_store_url(&holding->config, &holding->url);
    return ERR_OK;
}

/* Nodes that share the store say in it that they live. */
typedef struct Living {
    Holding *holding;
    char sysid[SYSID_BYTES]; /* of one other that lives; "": none */
    int64_t left_ms;
} Living;

static void look_at_node(void *context, const NodeRow *row)
{
    Living *living = context;
    if (slice_is(row->sysid, living->holding->identity.sysid)) {
        living->holding->used_here = true;
        return;
    }
    if (row->left_ms <= 0 || living->sysid[0])
        return;
    living->left_ms = row->left_ms;
    snprintf(living->sysid, sizeof living->sysid, SLICE_FMT, SLICE_ARG(row->sysid));
}

static Err check_free(Holding *holding, Error *why)
{
    Living living = { .holding = holding };
    if (!holding->store->kind->shared) {
        holding->used_here = holding->identity.number != 0;
        return ERR_OK;
    }
    Err err = holding->store->kind->nodes(holding->store, look_at_node, &living, why);
    if (!err && living.sysid[0])
        err = error_set(why, ERR_BUSY,
                        "node %s uses the store: stop its daemon, and wait until its "
                        "lease is over (%lld s)",
                        living.sysid, (long long)(living.left_ms / MS_PER_S) + 1);
    return err;
}

static Err hold_store(Holding *holding, Error *why)
{
    StoreOptions options = { 0 };
    snprintf(holding->cluster, sizeof holding->cluster, "%llx",
             (unsigned long long)holding->identity.cluster);
    if (is_file(holding) && holding->identity.number)
        options.cluster = holding->cluster;
    Err err = store_open(buf_cstr(&holding->url), &options, &holding->store, why);
    return err ? err : check_free(holding, why);
}

/* --- The journal -------------------------------------------------------------------- */

static void on_durable(void *context, uint64_t position, Err err)
{
    (void)context;
    (void)position;
    (void)err; /* nothing is written */
}

/* NULL without an error: the data directory has none. */
static Err open_journal(const Holding *holding, uint64_t read_point, Journal **out,
                        Error *why)
{
    char dir[PATH_MAX];
    snprintf(dir, sizeof dir, "%s/journal", holding->dir);
    *out = NULL;
    if (access(dir, F_OK))
        return ERR_OK;
    JournalOptions options = {
        .dir = dir,
        .segment_bytes = holding->config.segment_bytes,
        .keep_bytes = holding->config.journal_keep_bytes,
        .keep_ms = holding->config.journal_keep_ms,
        .node = holding->identity.number,
        .epoch = holding->identity.epoch,
        .cluster = holding->identity.cluster,
        .read_point = read_point,
        .on_durable = on_durable,
    };
    return journal_open(&options, out, why);
}

/* What a daemon that was killed had accepted belongs into the export. */
static Err catch_up(const Holding *holding, Error *why)
{
    ReadPoint point = { 0 };
    Journal *journal;
    Store *store = holding->store;
    uint32_t node = holding->identity.number;
    if (!holding->used_here)
        return ERR_OK;
    Err err = store->kind->read_point(store, node, &point, why);
    if (!err)
        err = open_journal(holding, point.position, &journal, why);
    if (err || !journal)
        return err;
    uint64_t applied = point.position;
    err = ingest_thread_catch_up(store, journal, &applied, why);
    if (!err)
        err = store->kind->sync(store, why);
    journal_close(journal);
    return err;
}

/* --- Out ---------------------------------------------------------------------------- */

/* A store that is not there is not made in order to be exported. */
static Err check_there(Holding *holding, Error *why)
{
    Store *store;
    if (is_file(holding))
        return access(file_of(holding), F_OK)
                   ? error_errno(why, "there is no store %s", file_of(holding))
                   : ERR_OK;
    StoreOptions options = { .read_only = true };
    Err err = store_open(buf_cstr(&holding->url), &options, &store, why);
    if (!err)
        store_close(store);
    return err;
}

static Err write_file(const Holding *holding, const char *path, uint64_t *out_rows,
                      Error *why)
{
    char temporary[PATH_MAX];
    snprintf(temporary, sizeof temporary, "%s.new", path);
    unlink(temporary); /* of one that was killed; never followed elsewhere */
    int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    if (!file)
        return error_errno(why, "cannot write %s", temporary);
    Err err = move_file_write(holding->store, file, out_rows, why);
    if (!err && fsync(fd))
        err = error_errno(why, "cannot write %s", temporary);
    if (fclose(file) && !err)
        err = error_errno(why, "cannot write %s", temporary);
    if (!err && rename(temporary, path))
        err = error_errno(why, "cannot name the export %s", path);
    if (err)
        unlink(temporary);
    return err;
}

Err store_export(const StoreMove *move, uint64_t *out_rows, Error *why)
{
    Holding holding = { 0 };
    Err err = hold_config(&holding, move, why);
    if (!err)
        err = hold_data(&holding, false, why);
    if (!err)
        err = check_there(&holding, why);
    if (!err)
        err = hold_store(&holding, why);
    if (!err)
        err = catch_up(&holding, why);
    if (!err)
        err = write_file(&holding, move->file, out_rows, why);
    let_go(&holding);
    return err;
}

/* --- In ----------------------------------------------------------------------------- */

/* What the file says about the data directory it goes to. */
typedef struct Reading {
    Holding *holding;
    uint64_t point;          /* how far the journal of its node was read */
    char job[ID_TEXT_BYTES]; /* one that runs elsewhere; "": none does */
    char sysid[SYSID_BYTES]; /* there */
} Reading;

static void look_at_job(void *context, const Row *row)
{
    Reading *reading = context;
    const Job *job = &row->job;
    if (!(STATE_BIT(job->state) & STATES_OWNED) || reading->job[0] ||
        slice_is(job->lock, reading->holding->identity.sysid))
        return;
    id_text(job->id, reading->job);
    snprintf(reading->sysid, sizeof reading->sysid, SLICE_FMT, SLICE_ARG(job->lock));
}

static bool is_table(const MoveTable *table, const char *name)
{
    return strcmp(table->name, name) == 0;
}

static void look_at_row(void *context, const MoveTable *table, const MoveValue *values)
{
    Reading *reading = context;
    if (is_table(table, "point") &&
        values[0].number == reading->holding->identity.number && !values[1].null)
        reading->point = (uint64_t)values[1].number;
}

/* A journal that has more than the file, or another's, would be told to the store as
 * what comes next. */
static Err check_journal(Reading *reading, Error *why)
{
    Journal *journal;
    Error reason = { 0 };
    Err err = open_journal(reading->holding, reading->point, &journal, &reason);
    if (err == ERR_BUSY || err == ERR_DENIED)
        return error_set(why, err, "%s", reason.text);
    reading->holding->begins_new = !err && !journal;
    if (reading->holding->begins_new)
        return ERR_OK;
    bool goes_with = !err && journal_end(journal) == reading->point;
    if (!err)
        journal_close(journal);
    if (goes_with)
        return ERR_OK;
    return error_set(why, ERR_CONFLICT,
                     "the journal in %s does not end where this export does: it is of "
                     "another node, or has gone on since; export again, or import with "
                     "a new --data",
                     reading->holding->dir);
}

static Err check_file(Holding *holding, Slice text, Error *why)
{
    Reading reading = { .holding = holding };
    uint64_t rows;
    const MoveSink sink = { look_at_job, look_at_row, &reading };
    Err err = move_file_read(text, &sink, &rows, why);
    if (err)
        return err;
    if (reading.job[0])
        return error_set(why, ERR_CONFLICT,
                         "job %s runs at node %s, which is not that of %s: import with "
                         "its --data, or let it end before the export",
                         reading.job, reading.sysid, holding->dir);
    return check_journal(&reading, why);
}

/* On a shared store, a job of a node that is not there would wait for it for ever: the
 * node that imports has them all, and gives to others as they come. Letters between
 * nodes about whose they are do not count any more. */
static void put_job(void *context, const Row *row)
{
    Holding *holding = context;
    Row own = *row;
    if (holding->store->kind->shared && !(STATE_BIT(row->job.state) & STATES_FINAL))
        job_set_owner(&own.job, holding->identity.number);
    move_in_job(holding->store, &own);
}

/* How far a journal was read says nothing about one that is yet to begin: this node's,
 * and those of new nodes that will have the numbers of others. */
static void put_point(const Holding *holding, const MoveTable *table,
                      const MoveValue *values)
{
    MoveValue own[MOVE_COLUMNS_MAX];
    memcpy(own, values, move_columns(table) * sizeof *own);
    if (holding->begins_new)
        own[1] = (MoveValue){ .null = true };
    move_in_row(holding->store, table, own);
}

static void put_row(void *context, const MoveTable *table, const MoveValue *values)
{
    Holding *holding = context;
    if (is_table(table, "point"))
        put_point(holding, table, values);
    else if (!holding->store->kind->shared || !is_table(table, "inbox"))
        move_in_row(holding->store, table, values);
}

static Err move_in(Holding *holding, Slice text, bool replace, uint64_t *out_rows,
                   Error *why)
{
    const MoveSink sink = { put_job, put_row, holding };
    Error ignored = { 0 };
    Error reason = { 0 };
    Err err = move_in_begin(holding->store, replace, &reason);
    if (err)
        return error_set(why, err, "%s%s", reason.text,
                         err == ERR_CONFLICT ? "; --replace empties it first" : "");
    err = move_file_read(text, &sink, out_rows, why);
    Err ended = move_in_end(holding->store, !err, err ? &ignored : why);
    return err ? err : ended;
}

static Err map_file(const char *path, Slice *out, Error *why)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return error_errno(why, "cannot open %s", path);
    void *map = NULL;
    Err err = ERR_OK;
    if (fstat(fd, &status))
        err = error_errno(why, "cannot see %s", path);
    else if (!S_ISREG(status.st_mode))
        err = error_set(why, ERR_INVALID, "%s is not a file", path);
    else if (status.st_size)
        map = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (map == MAP_FAILED)
        err = error_errno(why, "cannot read %s", path);
    close(fd);
    if (!err)
        *out = slice_of(map, map ? (size_t)status.st_size : 0);
    return err;
}

static Err import_text(Holding *holding, Slice text, const StoreMove *move,
                       uint64_t *out_rows, Error *why)
{
    Err err = hold_data(holding, true, why);
    if (!err)
        err = check_file(holding, text, why);
    if (!err && is_file(holding))
        err = file_make_private(file_of(holding), why);
    if (!err)
        err = hold_store(holding, why);
    return err ? err : move_in(holding, text, move->replace, out_rows, why);
}

Err store_import(const StoreMove *move, uint64_t *out_rows, Error *why)
{
    Holding holding = { 0 };
    Slice text = { 0 };
    Err err = hold_config(&holding, move, why);
    if (!err)
        err = map_file(move->file, &text, why);
    if (!err)
        err = import_text(&holding, text, move, out_rows, why);
    if (text.bytes)
        munmap((void *)(uintptr_t)text.data, text.bytes);
    let_go(&holding);
    return err;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* drop_folder.c - see drop_folder.h. */
#include "intake/drop_folder.h"

#include "base/log.h"
#include "intake/control.h"
#include "intake/drop_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#define LOOK_MS     1000
#define KEY_KEPT_MS (30 * MS_PER_DAY) /* a daemon that died is back by then */
#define TENANT      "default"

struct Drop {
    Daemon *daemon;
    DropFiles files;
    char folder[PATH_MAX];
    int notes_fd; /* inotify; -1: there is none to be had */
    int stop_fd;
    pthread_t thread;
    sem_t answered;
};

/* A file on its way. */
typedef struct Parcel {
    Call call; /* must be first: it comes back */
    DropName name;
    Buf document;
    bool sent;
} Parcel;

static void log_refused(const Parcel *parcel, const char *reason)
{
    char name[LOG_QUOTE_BYTES];
    char why[LOG_QUOTE_BYTES];
    log_event(LOG_WARN, "drop.refused", "file=%s why=%s",
              log_quote(slice_text(drop_original(&parcel->name)), name),
              log_quote(slice_text(reason), why));
}

static void log_taken(const Parcel *parcel)
{
    char name[LOG_QUOTE_BYTES];
    char id[ID_TEXT_BYTES];
    const Call *call = &parcel->call;
    log_event(LOG_INFO, "drop.taken", "file=%s job=%s",
              log_quote(slice_text(drop_original(&parcel->name)), name),
              id_text(id_from_count(call->first, call->node), id));
}

static void refuse(Drop *drop, Parcel *parcel, const char *reason)
{
    log_refused(parcel, reason);
    drop_files_fail(&drop->files, &parcel->name, reason);
}

static void on_answer(Call *call)
{
    Drop *drop = call->context;
    sem_post(&drop->answered);
}

static void fill_call(Drop *drop, Parcel *parcel, Job *job)
{
    Call *call = &parcel->call;
    Buf key = { 0 };
    buf_add_text(&key, "drop:");
    buf_add_slice(&key, drop_stamp(&parcel->name));
    call->kind = CALL_EVENT;
    call->done = on_answer;
    call->context = drop;
    call->event = (Event){ .kind = EVENT_ADD,
                           .jobs = job,
                           .count = 1,
                           .tenant = job->tenant,
                           .key = slice_copy(&call->arena, buf_slice(&key)),
                           .key_hash = SLICE_LITERAL("drop"),
                           .key_kept_ms = KEY_KEPT_MS };
    buf_done(&key);
}

/* Reads and checks one file; what is wrong with it is settled here. */
static bool prepare(Drop *drop, Parcel *parcel)
{
    const DaemonFacts *facts = daemon_facts(drop->daemon);
    ControlRules rules = { .tenant = SLICE_LITERAL(TENANT),
                           .modules_root = facts->modules_root,
                           .payload_bytes_max = facts->payload_bytes_max };
    Error why = { 0 };
    Problem problem;
    Err err = drop_files_read(&drop->files, &parcel->name, XML_BYTES_MAX + 1,
                              &parcel->document, &why);
    if (err == ERR_INVALID || err == ERR_DENIED)
        refuse(drop, parcel, why.text);
    else if (err)
        log_refused(parcel, why.text); /* the disk's fault: it stays, for the next look */
    if (err)
        return false;
    Job *job = ARENA_NEW(&parcel->call.arena, Job);
    if (control_read(buf_slice(&parcel->document), &rules, &parcel->call.arena, job,
                     &problem)) {
        refuse(drop, parcel, problem.detail);
        return false;
    }
    fill_call(drop, parcel, job);
    return true;
}

/* Refused for now: it stays in taken/ and is tried again. */
static bool for_now(const Call *call)
{
    switch (call->err) {
    case ERR_UNAVAILABLE:
    case ERR_FULL:
    case ERR_BUSY:
    case ERR_IO:
    case ERR_TIMEOUT:
        return true;
    case ERR_CONFLICT: /* its key is being decided: by ourselves, a moment ago */
        return call->problem && strcmp(call->problem, "idempotency_in_progress") == 0;
    case ERR_OK:
    case ERR_INVALID:
    case ERR_NOT_FOUND:
    case ERR_DENIED:
    case ERR_LIMIT:
    case ERR_CORRUPT:
    case ERR_UNSUPPORTED:
        break;
    }
    return false;
}

static void settle(Drop *drop, Parcel *parcel)
{
    const Call *call = &parcel->call;
    if (!call->err) {
        log_taken(parcel);
        drop_files_done(&drop->files, &parcel->name);
    } else if (!for_now(call)) {
        const char *code = call->problem ? call->problem : problem_code(call->err);
        refuse(drop, parcel, call->why.text[0] ? call->why.text : code);
    }
}

/* Adds what is in names; returns how many became jobs or were refused for good. */
static size_t add_files(Drop *drop, const DropName *names, size_t count)
{
    Parcel *parcels = MEM_ARRAY(Parcel, count);
    size_t settled = 0;
    for (size_t i = 0; i < count; i++) {
        parcels[i].name = names[i];
        parcels[i].sent = prepare(drop, &parcels[i]);
        if (parcels[i].sent)
            daemon_call(drop->daemon, &parcels[i].call);
    }
    for (size_t i = 0; i < count; i++)
        while (parcels[i].sent && sem_wait(&drop->answered) && errno == EINTR)
            continue;
    for (size_t i = 0; i < count; i++) {
        if (parcels[i].sent)
            settle(drop, &parcels[i]);
        settled += !parcels[i].sent || !for_now(&parcels[i].call);
        arena_done(&parcels[i].call.arena);
        buf_done(&parcels[i].document);
    }
    mem_free(parcels);
    return settled;
}

static bool stopping(const Drop *drop)
{
    struct pollfd stop = { .fd = drop->stop_fd, .events = POLLIN };
    return poll(&stop, 1, 0) > 0;
}

/* First what is left over, then what is new, as long as there is some. */
static void look(Drop *drop)
{
    static DropName names[DROP_BATCH]; /* one thread, one folder */
    size_t count = drop_files_taken(&drop->files, names, DROP_BATCH);
    while (count && !stopping(drop)) {
        if (!add_files(drop, names, count))
            return; /* nothing can be added now */
        count = drop_files_taken(&drop->files, names, DROP_BATCH);
    }
    while (!stopping(drop) &&
           (count = drop_files_take(&drop->files, names, DROP_BATCH)) > 0)
        if (!add_files(drop, names, count))
            return;
}

static void forget_notes(const Drop *drop)
{
    char notes[4096];
    while (drop->notes_fd >= 0 && read(drop->notes_fd, notes, sizeof notes) > 0)
        continue;
}

static void *drop_main(void *context)
{
    Drop *drop = context;
    struct pollfd polled[] = { { .fd = drop->stop_fd, .events = POLLIN },
                               { .fd = drop->notes_fd, .events = POLLIN } };
    while (!stopping(drop)) {
        look(drop);
        poll(polled, 2, LOOK_MS);
        forget_notes(drop);
    }
    return NULL;
}

static void watch(Drop *drop)
{
    drop->notes_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (drop->notes_fd < 0 ||
        inotify_add_watch(drop->notes_fd, drop->folder, IN_MOVED_TO | IN_CLOSE_WRITE) < 0)
        log_event(LOG_WARN, "drop.unwatched",
                  "errno=%d msg=\"files are found every second\"", errno);
}

Err drop_open(Daemon *daemon, Drop **out_drop, Error *why)
{
    Drop *drop = MEM_NEW(Drop);
    drop->daemon = daemon;
    snprintf(drop->folder, sizeof drop->folder, "%s/" DROP_FOLDER,
             daemon_facts(daemon)->data_dir);
    Err err = drop_files_open(&drop->files, drop->folder, why);
    if (err) {
        mem_free(drop);
        return err;
    }
    signal(SIGIO, SIG_IGN); /* a lease that someone wants back: it is given at once */
    drop->stop_fd = eventfd(0, EFD_CLOEXEC);
    sem_init(&drop->answered, 0, 0);
    watch(drop);
    int failed = pthread_create(&drop->thread, NULL, drop_main, drop);
    if (!failed) {
        *out_drop = drop;
        return ERR_OK;
    }
    errno = failed;
    err = error_errno(why, "cannot start the thread of the drop folder");
    drop_files_close(&drop->files);
    close(drop->stop_fd);
    if (drop->notes_fd >= 0)
        close(drop->notes_fd);
    sem_destroy(&drop->answered);
    mem_free(drop);
    return err;
}

void drop_close(Drop *drop)
{
    uint64_t one = 1;
    if (!drop)
        return;
    ssize_t put = write(drop->stop_fd, &one, sizeof one);
    (void)put; /* a fresh counter takes it */
    pthread_join(drop->thread, NULL);
    drop_files_close(&drop->files);
    close(drop->stop_fd);
    if (drop->notes_fd >= 0)
        close(drop->notes_fd);
    sem_destroy(&drop->answered);
    mem_free(drop);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* prepare.c - see prepare.h. */
#include "run/process/prepare.h"

#include "launch/policy.h"
#include "run/process/folder.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define MASK_DEFAULT 022

/* Names that a job's own environment cannot set: they are ours to say. */
static bool reserved(Slice name)
{
    return slice_starts(name, SLICE_LITERAL("PAWL_")) ||
           slice_starts(name, SLICE_LITERAL("JQM_"));
}

/* What the daemon itself says to the job of a unit (004). */
static bool names_unit(Slice name)
{
    return slice_is(name, "PAWL_UNIT") || slice_is(name, "PAWL_INPUT") ||
           slice_is(name, "PAWL_OUTPUT");
}

static uint32_t own_mask(void)
{
    /* umask() would have to change it to read it, under the feet of other threads. */
    char text[1024] = "";
    int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return MASK_DEFAULT;
    ssize_t bytes = read(fd, text, sizeof text - 1);
    close(fd);
    const char *at = bytes > 0 ? strstr(text, "\nUmask:") : NULL;
    unsigned mask;
    return at && sscanf(at, "\nUmask: %o", &mask) == 1 ? mask : MASK_DEFAULT;
}

void prepare_base_init(PrepareBase *base, const RunnerOptions *options)
{
    static const char *const names[] = { "PATH", "HOME", "LANG", "TZ", "USER" };
    *base = (PrepareBase){ .mask = own_mask() };
    base->data_dir = mem_copy(options->data_dir, strlen(options->data_dir) + 1);
    buf_add_slice(&base->node, options->node);
    buf_add_slice(&base->api_url, options->api_url);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = getenv(names[i]);
        if (!value)
            continue;
        buf_printf(&base->inherited, "%s=%s", names[i], value);
        buf_add_char(&base->inherited, '\0');
    }
    const char *home = getenv("HOME");
    struct stat dir;
    bool usable = home && home[0] == '/' && stat(home, &dir) == 0 &&
                  S_ISDIR(dir.st_mode) && access(home, X_OK) == 0;
    const char *cwd = usable ? home : "/";
    base->cwd = mem_copy(cwd, strlen(cwd) + 1);
}

void prepare_base_done(PrepareBase *base)
{
    mem_free(base->data_dir);
    mem_free(base->cwd);
    buf_done(&base->node);
    buf_done(&base->api_url);
    buf_done(&base->inherited);
}

static void make_token(char out[RUN_TOKEN_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    unsigned char luck[(RUN_TOKEN_BYTES - 1) / 2];
    ssize_t got = getrandom(luck, sizeof luck, 0);
    assert(got == sizeof luck); /* so few bytes never come short */
    for (size_t i = 0; i < sizeof luck; i++) {
        out[2 * i] = digits[luck[i] >> 4];
        out[2 * i + 1] = digits[luck[i] & 15];
    }
    out[RUN_TOKEN_BYTES - 1] = '\0';
}

static void add_slice(Buf *env, const char *name, Slice value)
{
    buf_add_text(env, name);
    buf_add_char(env, '=');
    buf_add_slice(env, value);
    buf_add_char(env, '\0');
}

static void add_text(Buf *env, const char *name, const char *value)
{
    add_slice(env, name, slice_text(value));
}

static void add_number(Buf *env, const char *name, int64_t value)
{
    buf_printf(env, "%s=%lld", name, (long long)value);
    buf_add_char(env, '\0');
}

static bool has_name(Slice list, Slice name)
{
    for (Slice item; list_next(&list, &item);)
        if (slice_starts(item, name) && item.bytes > name.bytes &&
            item.data[name.bytes] == '=')
            return true;
    return false;
}

/* The daemon's own few, then the job's, which win. */
static void add_inherited(Buf *env, const PrepareBase *base, const Job *job)
{
    Slice item;
    Slice own = job->env;
    bool another = job->user.bytes > 0;
    for (Slice rest = buf_slice(&base->inherited); list_next(&rest, &item);) {
        Slice left = item;
        Slice name = slice_cut(&left, '=');
        bool ours = slice_is(name, "HOME") || slice_is(name, "USER");
        if (has_name(own, name) || (ours && another))
            continue;
        buf_add_slice(env, item);
        buf_add_char(env, '\0');
    }
    for (Slice rest = own; list_next(&rest, &item);) {
        Slice left = item;
        Slice name = slice_cut(&left, '=');
        bool traced = slice_is(name, "TRACEPARENT");
        bool ours = reserved(name) && !(job->flags & JOB_UNIT && names_unit(name));
        if (!name.bytes || name.bytes == item.bytes || ours || traced)
            continue;
        buf_add_slice(env, item);
        buf_add_char(env, '\0');
    }
}

static FolderKind document_kind(const Job *job)
{
    return job->flags & JOB_CONTROL ? FOLDER_CONTROL : FOLDER_DOCUMENT;
}

/* 000: a module is invoked with its control file as the argument. */
static void add_argument(const PrepareBase *base, const Job *job, Buf *argv)
{
    char path[FOLDER_PATH_BYTES];
    if (!(job->flags & JOB_CONTROL) || !(job->flags & JOB_COMMAND))
        return;
    folder_path(base->data_dir, FOLDER_CONTROL, job->id, job->attempt, path);
    buf_add(argv, path, strlen(path) + 1);
}

static void add_folders(Buf *env, const PrepareBase *base, const Job *job)
{
    static const struct {
        const char *name;
        FolderKind kind;
        uint32_t flag; /* 0: always */
    } folders[] = {
        { "PAWL_TEMP_DIR", FOLDER_TEMP, 0 },
        { "PAWL_STATE_DIR", FOLDER_STATE, JOB_KEEP_STATE },
        { "PAWL_FILES_DIR", FOLDER_FILES, JOB_FILES },
    };
    char path[FOLDER_PATH_BYTES];
    add_text(
        env, "PAWL_JOB_FILE",
        folder_path(base->data_dir, document_kind(job), job->id, job->attempt, path));
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        if (!folders[i].flag || (job->flags & folders[i].flag))
            add_text(env, folders[i].name,
                     folder_path(base->data_dir, folders[i].kind, job->id, job->attempt,
                                 path));
}

/* Who it runs as. The launcher decides whether it may; an account that is not there any
 * more is its to refuse. */
static void add_account(const Job *job, Prepared *out)
{
    PolicyAccount account;
    if (!job->user.bytes)
        return;
    buf_add_slice(&out->user, job->tenant);
    buf_add_char(&out->user, '\0');
    buf_add_slice(&out->user, job->user);
    buf_add_char(&out->user, '\0');
    Arena arena = { 0 };
    PolicyAnswer answer = policy_account(slice_cstr(&arena, job->user), &account);
    arena_done(&arena);
    if (answer != POLICY_ALLOWED)
        return;
    out->owner = (FolderOwner){ account.uid, account.gid };
    if (!has_name(job->env, SLICE_LITERAL("HOME")))
        add_text(&out->env, "HOME", account.home);
    if (!has_name(job->env, SLICE_LITERAL("USER")))
        add_text(&out->env, "USER", account.name);
    add_text(&out->env, "LOGNAME", account.name);
}

static void add_environment(const PrepareBase *base, const RunOrder *order, Prepared *out)
{
    const Job *job = order->job;
    Buf *env = &out->env;
    char id[ID_TEXT_BYTES];
    char time[TIME_TEXT_BYTES];
    id_text(job->id, id);
    add_inherited(env, base, job);
    add_account(job, out);
    add_text(env, "PAWL_JOB_ID", id);
    add_slice(env, "PAWL_JOB_TYPE", job->type);
    add_slice(env, "PAWL_TENANT", job->tenant);
    add_slice(env, "PAWL_QUEUE", job->queue);
    add_number(env, "PAWL_PRIORITY", job->priority);
    add_number(env, "PAWL_ATTEMPT", job->attempt);
    add_text(env, "PAWL_TOKEN", out->token);
    add_slice(env, "PAWL_NODE", buf_slice(&base->node));
    if (order->deadline_ms)
        add_text(env, "PAWL_DEADLINE", time_text(order->deadline_ms, time));
    add_folders(env, base, job);
    if (base->api_url.bytes)
        add_slice(env, "PAWL_API_URL", buf_slice(&base->api_url));
    if (job->trace.bytes)
        add_slice(env, "TRACEPARENT", job->trace);
    add_text(env, "JQM_JI_ID", id);
    add_slice(env, "JQM_Q_NAME", job->queue);
    add_slice(env, "JQM_NODE_NAME", buf_slice(&base->node));
    if (job->parent)
        add_text(env, "PAWL_PARENT_ID", id_text(job->parent, id));
    buf_add_slice(env, order->env);
}

/* Relative ones are below the daemon's own. */
static void add_cwd(Buf *out, const PrepareBase *base, Slice cwd)
{
    if (!cwd.bytes || cwd.data[0] != '/')
        buf_add_text(out, base->cwd);
    if (cwd.bytes && cwd.data[0] != '/')
        buf_add_char(out, '/');
    buf_add_slice(out, cwd);
    buf_add_char(out, '\0');
}

void prepare(const PrepareBase *base, const RunOrder *order, Prepared *out)
{
    const Job *job = order->job;
    *out = (Prepared){ .id = job->id,
                       .attempt = job->attempt,
                       .flags = job->flags,
                       .nice = order->nice,
                       .lease_boot = order->lease_boot,
                       .limit_count = order->limit_count };
    assert(order->limit_count <= LAUNCH_RLIMITS_MAX);
    for (uint32_t i = 0; i < order->limit_count; i++)
        out->limits[i] = order->limits[i];
    if (order->children_now)
        out->flags |= PREPARED_CHILDREN_NOW;
    make_token(out->token);
    buf_add_slice(&out->argv, job->command);
    add_argument(base, job, &out->argv);
    buf_add_slice(&out->document, order->document);
    if (job->user.bytes && !job->cwd.bytes)
        buf_add_char(&out->cwd, '\0'); /* the account's own: the launcher finds it */
    else
        add_cwd(&out->cwd, base, job->cwd);
    buf_add_slice(&out->input, job->payload);
    bool open_line =
        job->payload.bytes && job->payload.data[job->payload.bytes - 1] != '\n';
    if (open_line && !(job->flags & JOB_BINARY))
        buf_add_char(&out->input, '\n');
    add_environment(base, order, out);
}

void prepare_context(const PrepareBase *base, const RunBatch *batch, JobId id,
                     Prepared *out)
{
    char path[FOLDER_PATH_BYTES];
    *out = (Prepared){ .id = id };
    make_token(out->token);
    buf_add_slice(&out->argv, batch->argv);
    Job whose = { .tenant = batch->tenant, .user = batch->user, .env = batch->env };
    if (batch->user.bytes && !batch->cwd.bytes)
        buf_add_char(&out->cwd, '\0');
    else
        add_cwd(&out->cwd, base, batch->cwd);
    Buf *env = &out->env;
    add_inherited(env, base, &whose);
    add_account(&whose, out);
    add_slice(env, "PAWL_TENANT", batch->tenant);
    add_text(env, "PAWL_TOKEN", out->token);
    add_slice(env, "PAWL_NODE", buf_slice(&base->node));
    add_text(env, "PAWL_TEMP_DIR", folder_path(base->data_dir, FOLDER_TEMP, id, 0, path));
    add_number(env, "PAWL_REPLY_FD", 3);
    if (base->api_url.bytes)
        add_slice(env, "PAWL_API_URL", buf_slice(&base->api_url));
    add_slice(env, "JQM_NODE_NAME", buf_slice(&base->node));
}

const char *prepared_account(const Prepared *prepared)
{
    const char *tenant = prepared->user.data;
    return prepared->user.bytes ? tenant + strlen(tenant) + 1 : NULL;
}

void prepared_done(Prepared *prepared)
{
    buf_done(&prepared->argv);
    buf_done(&prepared->env);
    buf_done(&prepared->input);
    buf_done(&prepared->document);
    buf_done(&prepared->cwd);
    buf_done(&prepared->user);
}

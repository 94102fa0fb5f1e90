/* SPDX-License-Identifier: Apache-2.0 */
/* client.c - see client.h. How a launcher is found and started is in connect.c. */
#include "launch/client.h"
#include "launch/connect.h"

#include "base/buf.h"
#include "base/times.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define STARTS_MAX 16 /* under way: enough to keep the launcher busy, few descriptors */

struct LaunchPacket {
    LaunchPacket *next;
    LaunchMessage message;
    int fds[LAUNCH_FD_MOST]; /* those of OUT_R and ERR_R are borrowed */
    size_t fd_count;
};

typedef struct PacketQueue {
    LaunchPacket *first;
    LaunchPacket **last;
} PacketQueue;

typedef struct StartKey {
    JobId id; /* 0: free */
    uint32_t attempt;
    int64_t sent_boot;
} StartKey;

struct LaunchClient {
    int fd;
    int32_t pid;
    bool has_cgroups;
    int32_t version;
    bool has_reply;
    PacketQueue starts; /* starts, and what must come after one of them */
    PacketQueue others;
    StartKey under_way[STARTS_MAX];
    Buf spec;
};

const char *launch_step_text(LaunchStep step)
{
    switch (step) {
    case LAUNCH_STEP_NONE:
        return "start";
    case LAUNCH_STEP_PREPARE:
        return "prepare";
    case LAUNCH_STEP_REQUEST:
        return "launcher";
    case LAUNCH_STEP_CLONE:
        return "new process";
    case LAUNCH_STEP_SESSION:
        return "new session";
    case LAUNCH_STEP_STDIO:
        return "standard streams";
    case LAUNCH_STEP_LIMIT:
        return "resource limits";
    case LAUNCH_STEP_CWD:
        return "working directory";
    case LAUNCH_STEP_EXEC:
        return "program";
    case LAUNCH_STEP_USER:
        return "user";
    }
    return "start";
}

Err launch_open(LaunchClient **out_client, const char *data_dir, const char *program,
                Error *why)
{
    LaunchMessage hello;
    int fd;
    Err err = launch_connect(data_dir, program, &fd, &hello, why);
    if (err)
        return err;
    LaunchClient *client = MEM_NEW(LaunchClient);
    client->fd = fd;
    client->pid = hello.pid;
    client->has_cgroups = (hello.flags & LAUNCH_HAS_CGROUPS) != 0;
    client->version = hello.number;
    client->has_reply = (hello.flags & LAUNCH_HAS_REPLY) != 0;
    client->starts.last = &client->starts.first;
    client->others.last = &client->others.first;
    *out_client = client;
    return ERR_OK;
}

void launch_drop(LaunchPacket *packet)
{
    for (size_t i = 0; i < packet->fd_count; i++)
        if (i != LAUNCH_FD_OUT_R && i != LAUNCH_FD_ERR_R)
            close(packet->fds[i]);
    mem_free(packet);
}

static LaunchPacket *queue_take(PacketQueue *queue)
{
    LaunchPacket *packet = queue->first;
    queue->first = packet->next;
    if (!queue->first)
        queue->last = &queue->first;
    return packet;
}

static void queue_put(PacketQueue *queue, LaunchPacket *packet)
{
    *queue->last = packet;
    queue->last = &packet->next;
}

void launch_close(LaunchClient *client)
{
    while (client->starts.first)
        launch_drop(queue_take(&client->starts));
    while (client->others.first)
        launch_drop(queue_take(&client->others));
    buf_done(&client->spec);
    close(client->fd);
    mem_free(client);
}

int launch_fd(const LaunchClient *client)
{
    return client->fd;
}

int32_t launch_pid(const LaunchClient *client)
{
    return client->pid;
}

bool launch_has_cgroups(const LaunchClient *client)
{
    return client->has_cgroups;
}

bool launch_has_reply(const LaunchClient *client)
{
    return client->has_reply;
}

int64_t launch_owes(const LaunchClient *client)
{
    int64_t first_boot = 0;
    for (size_t i = 0; i < STARTS_MAX; i++) {
        const StartKey *key = &client->under_way[i];
        if (key->id && (!first_boot || key->sent_boot < first_boot))
            first_boot = key->sent_boot;
    }
    return first_boot;
}

static StartKey *start_slot(LaunchClient *client, JobId id, uint32_t attempt)
{
    for (size_t i = 0; i < STARTS_MAX; i++) {
        StartKey *key = &client->under_way[i];
        if (key->id == id && (!id || key->attempt == attempt))
            return key;
    }
    return NULL;
}

/* Whether the first of a queue may go now. */
static bool may_send(LaunchClient *client, const PacketQueue *queue)
{
    if (!queue->first)
        return false;
    return queue->first->message.kind != LAUNCH_START || start_slot(client, 0, 0);
}

bool launch_wants_write(const LaunchClient *client)
{
    return client->others.first ||
           (client->starts.first && client->starts.first->message.kind != LAUNCH_START);
}

static bool send_packet(LaunchClient *client, LaunchPacket *packet)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof packet->fds)];
    } control = { 0 };
    struct iovec part = { &packet->message, sizeof packet->message };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
    size_t fd_bytes = packet->fd_count * sizeof(int);
    if (fd_bytes) {
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(fd_bytes);
        control.head.cmsg_level = SOL_SOCKET;
        control.head.cmsg_type = SCM_RIGHTS;
        control.head.cmsg_len = CMSG_LEN(fd_bytes);
        memcpy(CMSG_DATA(&control.head), packet->fds, fd_bytes);
    }
    return sendmsg(client->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

/* What cannot be sent now stays; a dead launcher shows when it is read from. */
static void flush(LaunchClient *client)
{
    PacketQueue *queues[] = { &client->others, &client->starts };
    for (size_t i = 0; i < 2; i++)
        while (may_send(client, queues[i])) {
            LaunchPacket *packet = queues[i]->first;
            if (!send_packet(client, packet))
                return;
            if (packet->message.kind == LAUNCH_START)
                *start_slot(client, 0, 0) =
                    (StartKey){ packet->message.id, packet->message.attempt,
                                clock_now().boot_ms };
            launch_drop(queue_take(queues[i]));
        }
}

static LaunchPacket *packet_new(LaunchKind kind, JobId id, uint32_t attempt)
{
    LaunchPacket *packet = MEM_NEW(LaunchPacket);
    packet->message.magic = LAUNCH_MAGIC;
    packet->message.kind = (uint32_t)kind;
    packet->message.id = id;
    packet->message.attempt = attempt;
    return packet;
}

/* A request about an attempt whose start has not been sent must not overtake it. */
static void put_other(LaunchClient *client, LaunchPacket *packet)
{
    PacketQueue *queue = &client->others;
    for (const LaunchPacket *start = client->starts.first; start; start = start->next)
        if (start->message.id == packet->message.id &&
            start->message.attempt == packet->message.attempt)
            queue = &client->starts;
    queue_put(queue, packet);
    flush(client);
}

void launch_signal(LaunchClient *client, JobId id, uint32_t attempt, int signal_number)
{
    LaunchPacket *packet = packet_new(LAUNCH_SIGNAL, id, attempt);
    packet->message.number = signal_number;
    put_other(client, packet);
}

void launch_list(LaunchClient *client)
{
    put_other(client, packet_new(LAUNCH_LIST, 0, 0));
}

void launch_forget(LaunchClient *client, JobId id, uint32_t attempt)
{
    put_other(client, packet_new(LAUNCH_FORGET, id, attempt));
}

void launch_deadline(LaunchClient *client, JobId id, uint32_t attempt, int64_t boot_ms)
{
    LaunchPacket *packet = packet_new(LAUNCH_DEADLINE, id, attempt);
    packet->message.time_ms = boot_ms;
    put_other(client, packet);
}

void launch_quit(LaunchClient *client)
{
    put_other(client, packet_new(LAUNCH_QUIT, 0, 0));
}

static uint32_t count_items(Slice list)
{
    uint32_t count = 0;
    for (size_t i = 0; i < list.bytes; i++)
        count += list.data[i] == '\0';
    return count;
}

static Err spec_file(LaunchClient *client, const LaunchStart *start, int *out_fd,
                     Error *why)
{
    LaunchSpec spec = { .magic = LAUNCH_MAGIC,
                        .argc = count_items(start->argv),
                        .envc = count_items(start->env),
                        .mask = start->mask,
                        .nice = start->nice,
                        .limit_count = start->limit_count };
    size_t cwd_bytes = strlen(start->cwd) + 1;
    size_t tenant_bytes = start->user ? strlen(start->tenant) + 1 : 0;
    size_t user_bytes = start->user ? strlen(start->user) + 1 : 0;
    spec.string_bytes =
        cwd_bytes + start->argv.bytes + start->env.bytes + tenant_bytes + user_bytes;
    if (spec.string_bytes + sizeof spec > LAUNCH_SPEC_BYTES_MAX ||
        spec.argc + spec.envc > LAUNCH_SPEC_STRINGS_MAX)
        return error_set(why, ERR_LIMIT, "command and environment have %zu bytes",
                         (size_t)spec.string_bytes);
    assert(start->limit_count <= LAUNCH_RLIMITS_MAX);
    for (uint32_t i = 0; i < start->limit_count; i++)
        spec.limits[i] = start->limits[i];
    buf_clear(&client->spec);
    buf_add(&client->spec, &spec, sizeof spec);
    buf_add(&client->spec, start->cwd, cwd_bytes);
    buf_add_slice(&client->spec, start->argv);
    buf_add_slice(&client->spec, start->env);
    buf_add(&client->spec, start->tenant, tenant_bytes);
    buf_add(&client->spec, start->user, user_bytes);

    int fd = memfd_create("pawl-spec", MFD_CLOEXEC);
    if (fd < 0)
        return error_errno(why, "cannot make a memory file");
    ssize_t put = write(fd, client->spec.data, client->spec.bytes);
    if (put == (ssize_t)client->spec.bytes) {
        *out_fd = fd;
        return ERR_OK;
    }
    if (put >= 0)
        errno = ENOMEM;
    Err err = error_errno(why, "cannot fill a memory file");
    close(fd);
    return err;
}

Err launch_prepare(LaunchClient *client, const LaunchStart *start, LaunchPacket **out,
                   Error *why)
{
    int spec = -1;
    bool old = start->user && client->version < 2;
    Err err = old ? error_set(why, ERR_UNSUPPORTED, "the running launcher is too old")
                  : spec_file(client, start, &spec, why);
    if (err) {
        close(start->stdin_fd);
        close(start->out_w);
        close(start->err_w);
        if (start->has_reply)
            close(start->reply_w);
        return err;
    }
    LaunchPacket *packet = packet_new(LAUNCH_START, start->id, start->attempt);
    packet->message.flags = start->flags;
    packet->message.time_ms = start->deadline_boot;
    packet->message.account = start->user != NULL;
    snprintf(packet->message.mark, sizeof packet->message.mark, "%s", start->mark);
    packet->fd_count = start->has_reply ? LAUNCH_FD_MOST : LAUNCH_FD_START;
    packet->fds[LAUNCH_FD_SPEC] = spec;
    packet->fds[LAUNCH_FD_STDIN] = start->stdin_fd;
    packet->fds[LAUNCH_FD_OUT_W] = start->out_w;
    packet->fds[LAUNCH_FD_ERR_W] = start->err_w;
    packet->fds[LAUNCH_FD_OUT_R] = start->out_r;
    packet->fds[LAUNCH_FD_ERR_R] = start->err_r;
    packet->fds[LAUNCH_FD_REPLY] = start->reply_w;
    *out = packet;
    return ERR_OK;
}

void launch_go(LaunchClient *client, LaunchPacket *packet)
{
    queue_put(&client->starts, packet);
    flush(client);
}

Err launch_start(LaunchClient *client, const LaunchStart *start, Error *why)
{
    LaunchPacket *packet = NULL;
    Err err = launch_prepare(client, start, &packet, why);
    if (!err)
        launch_go(client, packet);
    return err;
}

static void answered(LaunchClient *client, const LaunchMessage *message)
{
    StartKey *key =
        message->id ? start_slot(client, message->id, message->attempt) : NULL;
    if (key)
        *key = (StartKey){ 0 };
}

static void handle(LaunchClient *client, const LaunchMessage *message, const int *fds,
                   const LaunchHandlers *handlers, void *context)
{
    switch (message->kind) {
    case LAUNCH_STARTED:
        answered(client, message);
        handlers->started(context, message);
        break;
    case LAUNCH_WAITS:
        answered(client, message);
        if (message->number >= LAUNCH_SLOW_MS)
            handlers->slow(context, message);
        break;
    case LAUNCH_FAILED:
        answered(client, message);
        handlers->failed(context, message);
        break;
    case LAUNCH_EXITED:
        answered(client, message);
        handlers->exited(context, message);
        break;
    case LAUNCH_ITEM:
        handlers->item(context, message, fds[0], fds[1]);
        return;
    case LAUNCH_LIST_END:
        handlers->list_end(context);
        break;
    default: /* of a newer launcher */
        break;
    }
}

Err launch_dispatch(LaunchClient *client, const LaunchHandlers *handlers, void *context)
{
    flush(client);
    for (;;) {
        LaunchMessage message;
        int fds[LAUNCH_FD_ITEM] = { -1, -1 };
        union {
            struct cmsghdr head;
            char bytes[CMSG_SPACE(sizeof fds)];
        } control;
        struct iovec part = { &message, sizeof message };
        struct msghdr packet = { .msg_iov = &part,
                                 .msg_iovlen = 1,
                                 .msg_control = control.bytes,
                                 .msg_controllen = sizeof control.bytes };
        ssize_t got = recvmsg(client->fd, &packet, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == EAGAIN)
            break;
        if (got != sizeof message || message.magic != LAUNCH_MAGIC)
            return ERR_UNAVAILABLE;
        struct cmsghdr *rights = CMSG_FIRSTHDR(&packet);
        if (rights && rights->cmsg_type == SCM_RIGHTS)
            memcpy(fds, CMSG_DATA(rights), rights->cmsg_len - CMSG_LEN(0));
        handle(client, &message, fds, handlers, context);
    }
    flush(client);
    return ERR_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* conn.c - part of the launcher: one daemon at a time, see launcher.h.
 *
 * A daemon that died may have left requests in its connection. They are obeyed before
 * the next daemon is heard: what it asked to start must be in the next one's list, or
 * it would be started twice. */
#include "launch/conn.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

int conn_listen(void)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = LAUNCH_SOCKET };
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    unlink(LAUNCH_SOCKET);
    mode_t old = umask(0177);
    int failed = bind(fd, (struct sockaddr *)&address, sizeof address) || listen(fd, 8);
    umask(old);
    if (!failed)
        return fd;
    int error_number = errno;
    close(fd);
    errno = error_number;
    return -1;
}

static void drop(Launcher *launcher)
{
    close(launcher->conn_fd);
    launcher->conn_fd = -1;
    launcher->listing = false;
    launcher->idle_since = boot_ms();
}

/* False when the socket is full (the rest follows when it has room) or its daemon is
 * dead, which conn_read finds out after the last of its requests. */
static bool tell(Launcher *launcher, LaunchMessage *message, const int *fds, size_t count)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int) * LAUNCH_FD_ITEM)];
    } control = { 0 };
    struct iovec part = { message, sizeof *message };
    struct msghdr packet = { .msg_iov = &part, .msg_iovlen = 1 };
    message->magic = LAUNCH_MAGIC;
    if (count) {
        packet.msg_control = control.bytes;
        packet.msg_controllen = CMSG_SPACE(sizeof(int) * count);
        control.head.cmsg_level = SOL_SOCKET;
        control.head.cmsg_type = SCM_RIGHTS;
        control.head.cmsg_len = CMSG_LEN(sizeof(int) * count);
        memcpy(CMSG_DATA(&control.head), fds, sizeof(int) * count);
    }
    return sendmsg(launcher->conn_fd, &packet, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

/* What the daemon should know by now. */
static Told all_of(const Attempt *attempt)
{
    if (attempt->facts.state != LAUNCH_IS_RUNNING)
        return TOLD_END;
    if (attempt->fault.step)
        return TOLD_NOTHING;
    if (!attempt->begins)
        return TOLD_START;
    int64_t waits_ms = boot_ms() - attempt->begun_ms;
    return waits_ms >= LAUNCH_SLOW_MS    ? TOLD_SLOW
           : waits_ms >= LAUNCH_TAKEN_MS ? TOLD_TAKEN
                                         : TOLD_NOTHING;
}

static bool tell_waits(Launcher *launcher, Attempt *attempt, Told all)
{
    LaunchMessage message = attempt->facts;
    message.kind = LAUNCH_WAITS;
    message.number = all == TOLD_SLOW ? LAUNCH_SLOW_MS : LAUNCH_TAKEN_MS;
    if (!tell(launcher, &message, NULL, 0))
        return false;
    attempt->told = all;
    return true;
}

static bool tell_one(Launcher *launcher, Attempt *attempt)
{
    LaunchMessage message = attempt->facts;
    if (attempt->begins && attempt->facts.state == LAUNCH_IS_RUNNING)
        return tell_waits(launcher, attempt, all_of(attempt));
    if (message.state == LAUNCH_IS_EXITED && message.pid && attempt->told < TOLD_START) {
        message.kind = LAUNCH_STARTED; /* it was quick */
        if (!tell(launcher, &message, NULL, 0))
            return false;
        attempt->told = TOLD_START;
    }
    switch ((LaunchState)attempt->facts.state) {
    case LAUNCH_IS_RUNNING:
        message.kind = LAUNCH_STARTED;
        break;
    case LAUNCH_IS_FAILED:
        message.kind = LAUNCH_FAILED;
        break;
    case LAUNCH_IS_EXITED:
        message.kind = LAUNCH_EXITED;
        break;
    }
    if (!tell(launcher, &message, NULL, 0))
        return false;
    attempt->told = message.kind == LAUNCH_STARTED ? TOLD_START : TOLD_END;
    return true;
}

static bool list_one(Launcher *launcher, Attempt *attempt)
{
    LaunchMessage message = attempt->facts;
    message.kind = LAUNCH_ITEM;
    int fds[LAUNCH_FD_ITEM] = { attempt->out_r, attempt->err_r };
    if (!tell(launcher, &message, fds, attempt->out_r >= 0 ? LAUNCH_FD_ITEM : 0))
        return false;
    attempt->told = all_of(attempt);
    return true;
}

void conn_tell(Launcher *launcher)
{
    if (launcher->conn_fd < 0)
        return;
    while (launcher->listing) {
        if (launcher->list_next == launcher->top) {
            if (!tell(launcher, &(LaunchMessage){ .kind = LAUNCH_LIST_END }, NULL, 0))
                return;
            launcher->listing = false;
            break;
        }
        Attempt *attempt = &launcher->attempts[launcher->list_next];
        if (attempt->facts.state && !list_one(launcher, attempt))
            return;
        launcher->list_next++;
    }
    for (uint32_t i = 0; launcher->untold && i < launcher->top; i++) {
        Attempt *attempt = &launcher->attempts[i];
        if (attempt->facts.state && attempt->told < all_of(attempt) &&
            !tell_one(launcher, attempt))
            return;
    }
    launcher->untold = false;
}

static void obey_start(Launcher *launcher, Attempt *known, const LaunchMessage *request,
                       int fds[LAUNCH_FD_MOST])
{
    if (known) {
        known->told = TOLD_NOTHING;
        launcher->untold = true;
        return;
    }
    LaunchMessage refusal = *request;
    refusal.kind = LAUNCH_FAILED;
    refusal.step = LAUNCH_STEP_REQUEST;
    refusal.number = 0;
    for (int i = 0; i < LAUNCH_FD_START; i++)
        if (fds[i] < 0)
            refusal.number = EMFILE; /* there was no room to receive it */
    if (!refusal.number)
        refusal.number = attempt_start(launcher, request, fds);
    /* The daemon reads all the time and has but a few starts under way. */
    if (refusal.number)
        tell(launcher, &refusal, NULL, 0);
}

static void obey(Launcher *launcher, const LaunchMessage *request,
                 int fds[LAUNCH_FD_MOST])
{
    Attempt *attempt = attempt_find(launcher, request->id, request->attempt);
    switch (request->kind) {
    case LAUNCH_START:
        obey_start(launcher, attempt, request, fds);
        break;
    case LAUNCH_SIGNAL:
        if (attempt && attempt->facts.state == LAUNCH_IS_RUNNING && request->number > 0)
            attempt_signal(launcher, attempt, request->number);
        break;
    case LAUNCH_LIST:
        launcher->listing = true;
        launcher->list_next = 0;
        break;
    case LAUNCH_FORGET:
        if (attempt && attempt->facts.state != LAUNCH_IS_RUNNING)
            attempt_forget(launcher, attempt);
        else if (attempt)
            attempt->unwanted = true;
        break;
    case LAUNCH_DEADLINE:
        if (attempt && attempt->facts.state == LAUNCH_IS_RUNNING)
            attempt_deadline(launcher, attempt, request->time_ms);
        break;
    case LAUNCH_QUIT:
        launcher->quit = true;
        break;
    default: /* of a newer daemon */
        break;
    }
}

void conn_read(Launcher *launcher)
{
    while (launcher->conn_fd >= 0 && !launcher->listing) {
        LaunchMessage request;
        int fds[LAUNCH_FD_MOST] = { -1, -1, -1, -1, -1, -1, -1 };
        union {
            struct cmsghdr head;
            char bytes[CMSG_SPACE(sizeof fds)];
        } control;
        struct iovec part = { &request, sizeof request };
        struct msghdr packet = { .msg_iov = &part,
                                 .msg_iovlen = 1,
                                 .msg_control = control.bytes,
                                 .msg_controllen = sizeof control.bytes };
        ssize_t got =
            recvmsg(launcher->conn_fd, &packet, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        struct cmsghdr *rights = got > 0 ? CMSG_FIRSTHDR(&packet) : NULL;
        if (rights && rights->cmsg_type == SCM_RIGHTS)
            memcpy(fds, CMSG_DATA(rights), rights->cmsg_len - CMSG_LEN(0));
        bool sane = got == sizeof request && request.magic == LAUNCH_MAGIC;
        if (sane)
            obey(launcher, &request, fds);
        for (int i = 0; i < LAUNCH_FD_MOST; i++)
            if (fds[i] >= 0)
                close(fds[i]);
        if (!sane && launcher->conn_fd >= 0)
            drop(launcher);
        conn_tell(launcher);
    }
}

void conn_accept(Launcher *launcher)
{
    int fd = accept4(launcher->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return;
    struct ucred peer;
    socklen_t bytes = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) || peer.uid != geteuid()) {
        close(fd);
        return;
    }
    bool listing = launcher->listing;
    launcher->listing = false; /* else a dead one's requests would wait for ever */
    conn_read(launcher);
    launcher->listing = launcher->listing || (listing && launcher->conn_fd >= 0);
    LaunchMessage hello = { .magic = LAUNCH_MAGIC,
                            .kind = launcher->conn_fd < 0 ? LAUNCH_HELLO : LAUNCH_BUSY,
                            .number = LAUNCH_VERSION,
                            .pid = getpid(),
                            .flags = LAUNCH_HAS_REPLY };
    if (launcher->tree.has_cgroups)
        hello.flags |= LAUNCH_HAS_CGROUPS;
    ssize_t sent = send(fd, &hello, sizeof hello, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (launcher->conn_fd >= 0 || sent != sizeof hello) {
        close(fd);
        return;
    }
    launcher->conn_fd = fd;
    launcher->quit = false;
    /* What is there already is told by LIST only. */
    for (uint32_t i = 0; i < launcher->top; i++)
        launcher->attempts[i].told = all_of(&launcher->attempts[i]);
}

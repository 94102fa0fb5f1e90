/* SPDX-License-Identifier: Apache-2.0 */
/* limits.c - what this machine can do at best: the figures pawl is measured against.
 *
 *     limits sync DIR       appends of 256 bytes, each followed by fdatasync, per second
 *     limits write DIR      sequential write bandwidth, MB/s, synced at the end
 *     limits spawn          posix_spawn of /bin/true and wait, one after the other
 *     limits spawn2         the same, two at a time
 *     limits echo           request-answer round trips over loopback TCP, two processes
 *     limits answers        answers whatever it is sent with 600 bytes of HTTP, at a port
 *                           that it prints, until it is killed: for bench/load
 *
 * Each prints one number. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

#define RUN_SECONDS 2.0

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void die(const char *what)
{
    fprintf(stderr, "limits: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int open_scratch(const char *dir)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/limits.%ld", dir, (long)getpid());
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (fd < 0)
        die(path);
    unlink(path);
    return fd;
}

static double limit_sync(const char *dir)
{
    char record[256];
    static char zeros[1 << 20];
    int fd = open_scratch(dir);
    memset(record, 'x', sizeof record);
    /* Zeros ahead, as the journal has them: no metadata to write per sync. */
    for (int i = 0; i < 8; i++)
        if (write(fd, zeros, sizeof zeros) < 0)
            die("write");
    fsync(fd);
    off_t at = 0;
    double begun = seconds();
    unsigned count = 0;
    for (; seconds() - begun < RUN_SECONDS; count++, at += (off_t)sizeof record)
        if (pwrite(fd, record, sizeof record, at % (8 << 20)) < 0 || fdatasync(fd))
            die("write");
    close(fd);
    return count / (seconds() - begun);
}

static double limit_write(const char *dir)
{
    static char block[1 << 20];
    int fd = open_scratch(dir);
    memset(block, 'x', sizeof block);
    double begun = seconds();
    unsigned count = 0;
    for (; count < 1024 && seconds() - begun < RUN_SECONDS; count++)
        if (write(fd, block, sizeof block) < 0)
            die("write");
    if (fdatasync(fd))
        die("fdatasync");
    close(fd);
    return count / (seconds() - begun);
}

static pid_t spawn_true(void)
{
    static char name[] = "/bin/true";
    char *argv[] = { name, NULL };
    pid_t pid;
    if (posix_spawn(&pid, name, NULL, NULL, argv, environ))
        die("posix_spawn");
    return pid;
}

static double limit_spawn(int at_once)
{
    double begun = seconds();
    unsigned count = 0;
    for (int i = 0; i < at_once; i++)
        spawn_true();
    for (; seconds() - begun < RUN_SECONDS; count++) {
        wait(NULL);
        spawn_true();
    }
    double rate = count / (seconds() - begun);
    while (wait(NULL) > 0)
        ;
    return rate;
}

static void echo_server(int listener)
{
    char byte[256];
    int fd = accept(listener, NULL, NULL);
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    for (ssize_t got; (got = read(fd, byte, sizeof byte)) > 0;)
        if (write(fd, byte, (size_t)got) < 0)
            break;
    _exit(0);
}

static double limit_echo(void)
{
    struct sockaddr_in at = { .sin_family = AF_INET,
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t bytes = sizeof at;
    int on = 1;
    char message[200];
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&at, sizeof at) || listen(listener, 1) ||
        getsockname(listener, (struct sockaddr *)&at, &bytes))
        die("listen");
    pid_t server = fork();
    if (server == 0)
        echo_server(listener);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (struct sockaddr *)&at, sizeof at))
        die("connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    memset(message, 'x', sizeof message);
    double begun = seconds();
    unsigned count = 0;
    for (; seconds() - begun < RUN_SECONDS; count++)
        if (write(fd, message, sizeof message) < 0 ||
            read(fd, message, sizeof message) < 0)
            die("echo");
    double rate = count / (seconds() - begun);
    close(fd);
    waitpid(server, NULL, 0);
    return rate;
}

static void answer_one(int fd)
{
    static const char head[] = "HTTP/1.1 201 Created\r\nContent-Length: 600\r\n\r\n";
    static char answer[sizeof head - 1 + 600];
    char request[4096];
    memcpy(answer, head, sizeof head - 1);
    ssize_t got = read(fd, request, sizeof request);
    if (got > 0 && write(fd, answer, sizeof answer) < 0)
        die("answer");
    if (got <= 0)
        close(fd);
}

static void limit_answers(void)
{
    struct sockaddr_in at = { .sin_family = AF_INET,
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t bytes = sizeof at;
    int on = 1;
    int poll = epoll_create1(0);
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&at, sizeof at) || listen(listener, 512) ||
        getsockname(listener, (struct sockaddr *)&at, &bytes))
        die("listen");
    struct epoll_event event = { .events = EPOLLIN, .data.fd = listener };
    epoll_ctl(poll, EPOLL_CTL_ADD, listener, &event);
    printf("%d\n", ntohs(at.sin_port));
    fflush(stdout);
    for (;;) {
        struct epoll_event events[256];
        int ready = epoll_wait(poll, events, 256, -1);
        for (int i = 0; i < ready; i++) {
            if (events[i].data.fd != listener) {
                answer_one(events[i].data.fd);
                continue;
            }
            event.data.fd = accept(listener, NULL, NULL);
            setsockopt(event.data.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
            epoll_ctl(poll, EPOLL_CTL_ADD, event.data.fd, &event);
        }
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    const char *dir = argc > 2 ? argv[2] : ".";
    if (strcmp(what, "sync") == 0)
        printf("%.1f\n", limit_sync(dir));
    else if (strcmp(what, "write") == 0)
        printf("%.1f\n", limit_write(dir));
    else if (strcmp(what, "spawn") == 0)
        printf("%.1f\n", limit_spawn(1));
    else if (strcmp(what, "spawn2") == 0)
        printf("%.1f\n", limit_spawn(2));
    else if (strcmp(what, "echo") == 0)
        printf("%.1f\n", limit_echo());
    else if (strcmp(what, "answers") == 0)
        limit_answers();
    else
        return 2;
    return 0;
}

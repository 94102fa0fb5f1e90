/* SPDX-License-Identifier: Apache-2.0 */
/* fake_job_test.c - a program that acts as jobs do at their worst; run by the tests of
 * launcher and runner, no test by itself. */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char own[4096];

static void print_fds(void)
{
    const char *before = "";
    for (int fd = 0; fd < 1024; fd++)
        if (fcntl(fd, F_GETFD) >= 0) {
            printf("%s%d", before, fd);
            before = " ";
        }
    printf("\n");
}

static void print_signals(void)
{
    sigset_t mask;
    int blocked = 0, ignored = 0;
    sigprocmask(SIG_SETMASK, NULL, &mask);
    for (int number = 1; number < NSIG; number++) {
        struct sigaction action;
        blocked += sigismember(&mask, number) == 1;
        ignored += sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
    }
    printf("blocked %d ignored %d\n", blocked, ignored);
}

static void say_no(int number)
{
    (void)number;
    if (write(1, "no\n", 3) != 3)
        _exit(1);
}

/* A grandchild in a session of its own that holds on to the pipes; prints its pid. */
static void escape(bool clean)
{
    int told[2];
    if (pipe(told))
        _exit(1);
    if (fork() == 0) {
        setsid();
        if (fork() == 0) {
            char text[32];
            int bytes = snprintf(text, sizeof text, "%d\n", (int)getpid());
            signal(SIGTERM, SIG_IGN);
            signal(SIGHUP, SIG_IGN);
            if (write(1, text, (size_t)bytes) < 0 || write(told[1], "", 1) < 0)
                _exit(1);
            char *const argv[] = { own, (char[]){ "sleep" }, NULL };
            char *const none[] = { NULL };
            if (clean)
                execve(own, argv, none);
            for (;;)
                pause();
        }
        _exit(0);
    }
    char byte;
    if (read(told[0], &byte, 1) != 1)
        _exit(1);
}

/* A child that keeps the pipes open; prints its pid before its parent goes on. */
static void hold_pipe(void)
{
    int told[2];
    char byte;
    if (pipe(told))
        _exit(1);
    if (fork() == 0) {
        printf("%d\n", (int)getpid());
        fflush(stdout);
        if (write(told[1], "", 1) < 0)
            _exit(1);
        for (;;)
            pause();
    }
    if (read(told[0], &byte, 1) != 1)
        _exit(1);
}

static void storm(void)
{
    for (int i = 0; i < 20; i++)
        if (fork() == 0)
            for (;;) {
                if (write(1, "x", 1) != 1)
                    _exit(0);
                if (fork() > 0)
                    _exit(0);
                setsid();
            }
    usleep(50000);
    _exit(0);
}

/* Lines of log, `bytes` in all. */
static void flood(long bytes)
{
    static char lines[1 << 16];
    for (size_t i = 0; i < sizeof lines; i++)
        lines[i] = i % 64 == 63 ? '\n' : (char)('a' + i % 26);
    while (bytes > 0) {
        ssize_t put = write(1, lines, sizeof lines);
        if (put <= 0)
            _exit(1);
        bytes -= put;
    }
}

static void say(const char *text)
{
    if (write(1, text, strlen(text)) < 0)
        _exit(1);
}

/* Things that must be heard although megabytes of log come between and after. */
static void talk(void)
{
    say("J: first|1\nP: 10 begun\n");
    flood(3 << 20);
    say("R: 201 <<7\nline\nJ:\nJ: second|2\nJ!: now|3\n");
    flood(3 << 20);
    say("P: 90 nearly\nJ: third|4");
}

static int act(const char *what)
{
    if (strcmp(what, "fds") == 0) {
        print_fds();
    } else if (strcmp(what, "signals") == 0) {
        print_signals();
    } else if (strcmp(what, "session") == 0) {
        if (getsid(0) == getpid() && getpgrp() == getpid())
            printf("leads session and group\n");
    } else if (strcmp(what, "ignore-term") == 0) {
        signal(SIGTERM, say_no);
        printf("ready\n");
        for (;;)
            pause();
    } else if (strcmp(what, "tick") == 0) {
        for (;; usleep(1000))
            printf("tick\n");
    } else if (strcmp(what, "escape") == 0) {
        escape(false);
    } else if (strcmp(what, "escape-clean") == 0) {
        escape(true);
    } else if (strcmp(what, "hold-pipe") == 0) {
        hold_pipe();
    } else if (strcmp(what, "orphan-of-its-own") == 0) {
        escape(false);
        for (;;)
            pause();
    } else if (strcmp(what, "sleep") == 0) {
        for (;;)
            pause();
    } else if (strcmp(what, "flood") == 0) {
        flood(24 << 20);
        say("the end\n");
    } else if (strcmp(what, "talk") == 0) {
        talk();
    } else if (strcmp(what, "talk-and-wait") == 0) {
        talk();
        say("\nready\n");
        for (;;)
            pause();
    } else if (strcmp(what, "close") == 0) {
        say("before");
        close(1);
        close(2);
        usleep(30000);
        return 7;
    } else if (strcmp(what, "nows") == 0) {
        for (int i = 0; i < 200000; i++)
            printf("J!: now|%d\n", i);
    } else if (strcmp(what, "storm") == 0) {
        storm();
    } else {
        return 2;
    }
    return 0;
}

int main(int argc, char **argv)
{
    ssize_t bytes = readlink("/proc/self/exe", own, sizeof own - 1);
    if (argc < 2 || bytes < 0)
        return 2;
    setvbuf(stdout, NULL, _IOLBF, 0);
    return act(argv[1]);
}

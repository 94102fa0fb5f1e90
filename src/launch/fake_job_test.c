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
        if (fork() == 0) {
            printf("%d\n", (int)getpid());
            for (;;)
                pause();
        }
        usleep(20000);
    } else if (strcmp(what, "orphan-of-its-own") == 0) {
        escape(false);
        for (;;)
            pause();
    } else if (strcmp(what, "sleep") == 0) {
        for (;;)
            pause();
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

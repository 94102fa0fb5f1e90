/* SPDX-License-Identifier: Apache-2.0 */
/* start.c - see start.h. */
#include "cli/start.h"

#include "cli/client.h"
#include "cli/place.h"

#include "base/times.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define READY_WITHIN_MS 10000
#define READY_POLL_MS   20
#define LOG_TAIL_BYTES  300 /* of daemon.log, told when it did not start */

extern char **environ;

Err start_make_dir(const char *path, Error *why)
{
    Buf part = { 0 };
    Err err = ERR_OK;
    for (const char *at = path; !err; at++) {
        if (at > path && (*at == '/' || !*at)) {
            buf_clear(&part);
            buf_add(&part, path, (size_t)(at - path));
            if (mkdir(buf_cstr(&part), 0700) && errno != EEXIST)
                err = error_errno(why, "cannot make the directory %s", buf_cstr(&part));
        }
        if (!*at)
            break;
    }
    buf_done(&part);
    return err;
}

static bool is_ready(Client *client)
{
    Response response = { 0 };
    Error why;
    Request request = { .method = "GET", .path = "/readyz", .timeout_ms = 2000 };
    Err err = client_call(client, &request, &response, &why);
    bool ready = !err && response.status == 200;
    response_done(&response);
    return ready;
}

/* The end of the daemon's log is the best reason there is. */
static Err not_started(const char *log_path, const char *how, Error *why)
{
    char tail[LOG_TAIL_BYTES + 1] = "";
    int fd = open(log_path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        off_t end = lseek(fd, 0, SEEK_END);
        off_t from = end > LOG_TAIL_BYTES ? end - LOG_TAIL_BYTES : 0;
        ssize_t got = pread(fd, tail, LOG_TAIL_BYTES, from);
        close(fd);
        while (got > 0 && (tail[got - 1] == '\n'))
            got--;
        tail[got > 0 ? got : 0] = '\0';
    }
    char *line = strrchr(tail, '\n');
    return error_set(why, ERR_UNAVAILABLE, "the private daemon %s: %s", how,
                     line ? line + 1 : tail);
}

static Err spawn_daemon(const char *data_dir, const char *log_path, pid_t *out_pid,
                        Error *why)
{
    char self[4096];
    ssize_t bytes = readlink("/proc/self/exe", self, sizeof self - 1);
    if (bytes < 0)
        return error_errno(why, "cannot find my own program");
    self[bytes] = '\0';
    char program[] = "pawl";
    char serve[] = "serve";
    char private[] = "--private";
    char data[] = "--data";
    char *directory = mem_copy(data_dir, strlen(data_dir) + 1);
    char *argv[] = { program, serve, private, data, directory, NULL };

    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 1, log_path, O_WRONLY | O_CREAT | O_APPEND,
                                     0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    /* It must hold nothing of ours: not the shell's pipes, not the directory. */
    posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    posix_spawn_file_actions_addchdir_np(&actions, "/");
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
    int error = posix_spawn(out_pid, self, &actions, &attributes, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    mem_free(directory);
    errno = error;
    return error ? error_errno(why, "cannot start %s", self) : ERR_OK;
}

static Err wait_ready(Client *client, pid_t pid, const char *log_path, Error *why)
{
    int64_t deadline = clock_now().boot_ms + READY_WITHIN_MS;
    while (!is_ready(client)) {
        int status;
        char how[64];
        if (pid > 0 && waitpid(pid, &status, WNOHANG) == pid) {
            bool killed = WIFSIGNALED(status);
            snprintf(how, sizeof how, "ended at once with %s %d",
                     killed ? "signal" : "exit code",
                     killed ? WTERMSIG(status) : WEXITSTATUS(status));
            return not_started(log_path, how, why);
        }
        if (clock_now().boot_ms > deadline)
            return not_started(log_path, "is not ready after 10 s", why);
        nanosleep(&(struct timespec){ .tv_nsec = READY_POLL_MS * 1000000L }, NULL);
    }
    return ERR_OK;
}

/* Holds the lock: nobody else starts one meanwhile. */
static Err start_locked(const char *data_dir, bool *out_started, Error *why)
{
    Buf server = { 0 };
    Buf log_path = { 0 };
    buf_printf(&server, "unix:%s/pawl.sock", data_dir);
    buf_printf(&log_path, "%s/daemon.log", data_dir);
    Client client;
    pid_t pid = 0;
    Err err = client_init(&client, buf_cstr(&server), why);
    bool listens = !err && place_listens(client.socket);
    if (!err && !listens)
        err = spawn_daemon(data_dir, buf_cstr(&log_path), &pid, why);
    if (!err)
        err = wait_ready(&client, pid, buf_cstr(&log_path), why);
    if (!err)
        *out_started = !listens;
    client_done(&client);
    buf_done(&server);
    buf_done(&log_path);
    return err;
}

Err start_private(const char *data_dir, bool *out_started, Error *why)
{
    Err err = start_make_dir(data_dir, why);
    if (err)
        return err;
    Buf path = { 0 };
    buf_printf(&path, "%s/start.lock", data_dir);
    int lock = open(buf_cstr(&path), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (lock < 0) {
        err = error_errno(why, "cannot open %s", buf_cstr(&path));
    } else {
        while (flock(lock, LOCK_EX) && errno == EINTR)
            continue;
        err = start_locked(data_dir, out_started, why);
        close(lock);
    }
    buf_done(&path);
    return err;
}

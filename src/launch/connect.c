/* SPDX-License-Identifier: Apache-2.0 */
/* connect.c - see connect.h.
 *
 * A launcher that leaves at this moment closes the connection without a word, or still
 * holds its lock: both mean to try again. */
#include "launch/connect.h"

#include "base/buf.h"
#include "base/times.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CONNECT_MS_MAX 30000 /* a new launcher may have to wait for leftovers to die */
#define HELLO_MS_MAX   10000
#define RETRY_NAP_NS   10000000
#define EXIT_TAKEN     3

extern char **environ;

static bool runnable(const char *path)
{
    return access(path, X_OK) == 0;
}

/* The launcher's program: beside this one, or where packages put helpers. */
static Err find_program(const char *given, char out[PATH_MAX], Error *why)
{
    static const char *const places[] = { "pawl-launch", "launch/pawl-launch",
                                          "../libexec/pawl/pawl-launch" };
    const char *named = given ? given : getenv("PAWL_LAUNCHER");
    if (named) {
        snprintf(out, PATH_MAX, "%s", named);
        return runnable(out) ? ERR_OK : error_errno(why, "cannot run %s", out);
    }
    char self[PATH_MAX];
    ssize_t bytes = readlink("/proc/self/exe", self, sizeof self - 1);
    if (bytes < 0)
        return error_errno(why, "cannot read /proc/self/exe");
    self[bytes] = '\0';
    char *slash = strrchr(self, '/');
    *slash = '\0';
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        if (snprintf(out, PATH_MAX, "%s/%s", self, places[i]) < PATH_MAX && runnable(out))
            return ERR_OK;
    return error_set(why, ERR_NOT_FOUND, "no pawl-launch beside %s/pawl", self);
}

/* Returns when the launcher listens, or another one has the directory. */
static Err start_launcher(const char *program, const char *data_dir, Error *why)
{
    char found[PATH_MAX];
    Err err = find_program(program, found, why);
    if (err)
        return err;
    char name[] = "pawl-launch";
    Buf dir = { 0 };
    buf_add(&dir, data_dir, strlen(data_dir) + 1);
    char *argv[] = { name, dir.data, NULL };
    pid_t pid;
    errno = posix_spawn(&pid, found, NULL, NULL, argv, environ);
    buf_done(&dir);
    if (errno)
        return error_errno(why, "cannot start %s", found);
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFEXITED(status) &&
        (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == EXIT_TAKEN))
        return ERR_OK;
    return error_set(why, ERR_UNAVAILABLE, "%s %s ended with status %d", found, data_dir,
                     WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

/* Through the directory's descriptor: a path of any length fits. */
static int try_connect(int dir)
{
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%s", dir,
             LAUNCH_SOCKET);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    int error_number = errno;
    close(fd);
    errno = error_number;
    return -1;
}

static bool read_hello(int fd, LaunchMessage *out)
{
    struct pollfd wait = { .fd = fd, .events = POLLIN };
    while (poll(&wait, 1, HELLO_MS_MAX) < 0 && errno == EINTR)
        ;
    return recv(fd, out, sizeof *out, MSG_DONTWAIT) == sizeof *out &&
           out->magic == LAUNCH_MAGIC;
}

/* One try. ERR_TIMEOUT: there may be a launcher at the next one. */
static Err connect_once(int dir, int *out_fd, LaunchMessage *out_hello, Error *why)
{
    int fd = try_connect(dir);
    if (fd < 0 && (errno == ENOENT || errno == ECONNREFUSED || errno == EAGAIN))
        return ERR_TIMEOUT;
    if (fd < 0)
        return error_errno(why, "cannot connect to %s", LAUNCH_SOCKET);
    LaunchMessage hello;
    if (!read_hello(fd, &hello)) {
        close(fd);
        return ERR_TIMEOUT;
    }
    if (hello.kind != LAUNCH_HELLO) {
        close(fd);
        return error_set(why, ERR_BUSY,
                         "another daemon is connected to launcher %d of this directory",
                         (int)hello.pid);
    }
    *out_hello = hello;
    *out_fd = fd;
    return ERR_OK;
}

Err launch_connect(const char *data_dir, const char *program, int *out_fd,
                   LaunchMessage *out_hello, Error *why)
{
    int dir = open(data_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return error_errno(why, "cannot open %s", data_dir);
    int64_t give_up_ms = clock_now().boot_ms + CONNECT_MS_MAX;
    Err err;
    while ((err = connect_once(dir, out_fd, out_hello, why)) == ERR_TIMEOUT) {
        if (clock_now().boot_ms >= give_up_ms) {
            err = error_set(why, ERR_UNAVAILABLE, "the launcher of %s does not answer",
                            data_dir);
            break;
        }
        err = start_launcher(program, data_dir, why);
        if (err)
            break;
        nanosleep(&(struct timespec){ .tv_nsec = RETRY_NAP_NS }, NULL);
    }
    close(dir);
    return err;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* listen.c - see listen.h. */
#include "http/listen.h"

#include "base/slice.h"
#include "base/text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

typedef union Address {
    struct sockaddr any;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
} Address;

static bool host_address(Slice host, uint16_t port, Address *out, socklen_t *out_bytes)
{
    char text[INET6_ADDRSTRLEN + 2];
    bool bracketed = host.bytes > 2 && host.data[0] == '[';
    if (bracketed && host.data[host.bytes - 1] == ']')
        host = slice_of(host.data + 1, host.bytes - 2);
    if (host.bytes >= sizeof text)
        return false;
    memcpy(text, host.data, host.bytes);
    text[host.bytes] = '\0';
    *out = (Address){ 0 };
    if (bracketed) {
        out->six.sin6_family = AF_INET6;
        out->six.sin6_port = htons(port);
        *out_bytes = sizeof out->six;
        return inet_pton(AF_INET6, text, &out->six.sin6_addr) == 1;
    }
    out->four.sin_family = AF_INET;
    out->four.sin_port = htons(port);
    out->four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    *out_bytes = sizeof out->four;
    return strcmp(text, "localhost") == 0 ||
           inet_pton(AF_INET, text, &out->four.sin_addr) == 1;
}

static Err parse(const char *text, Address *out, socklen_t *out_bytes, Error *why)
{
    const char *colon = strrchr(text, ':');
    int64_t port = -1;
    if (colon && !int_parse(slice_text(colon + 1), &port) && port >= 0 && port <= 65535 &&
        colon[1] != '+' && colon[1] != '-' &&
        host_address(slice_of(text, (size_t)(colon - text)), (uint16_t)port, out,
                     out_bytes))
        return ERR_OK;
    return error_set(why, ERR_INVALID,
                     "cannot listen on %s: it is not ADDRESS:PORT, as in 127.0.0.1:7420",
                     text);
}

bool listen_beyond(const char *text)
{
    Address address = { 0 };
    socklen_t bytes = 0;
    Error why;
    if (!text || !text[0] || parse(text, &address, &bytes, &why))
        return false;
    return address.any.sa_family == AF_INET6
               ? !IN6_IS_ADDR_LOOPBACK(&address.six.sin6_addr)
               : ntohl(address.four.sin_addr.s_addr) >> 24 != IN_LOOPBACKNET;
}

static void bound_text(int fd, char out[LISTEN_TEXT_BYTES])
{
    Address address = { 0 };
    socklen_t bytes = sizeof address;
    char host[INET6_ADDRSTRLEN] = "";
    getsockname(fd, &address.any, &bytes);
    if (address.any.sa_family == AF_INET6) {
        inet_ntop(AF_INET6, &address.six.sin6_addr, host, sizeof host);
        snprintf(out, LISTEN_TEXT_BYTES, "[%s]:%u", host, ntohs(address.six.sin6_port));
        return;
    }
    inet_ntop(AF_INET, &address.four.sin_addr, host, sizeof host);
    snprintf(out, LISTEN_TEXT_BYTES, "%s:%u", host, ntohs(address.four.sin_port));
}

Err listen_tcp(const char *text, int *out_fd, char out_text[LISTEN_TEXT_BYTES],
               Error *why)
{
    Address address = { 0 };
    socklen_t bytes = 0;
    Err err = parse(text, &address, &bytes, why);
    if (err)
        return err;
    int fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return error_errno(why, "cannot listen on %s", text);
    int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, &address.any, bytes) || listen(fd, SOMAXCONN)) {
        err = error_errno(why, "cannot listen on %s", text);
        close(fd);
        return err;
    }
    bound_text(fd, out_text);
    *out_fd = fd;
    return ERR_OK;
}

/* --- Unix ------------------------------------------------------------------------- */

/* A path may be longer than sun_path: the folder is then named by a descriptor. */
static Err unix_address(const char *path, int *out_folder_fd, struct sockaddr_un *out,
                        Error *why)
{
    *out = (struct sockaddr_un){ .sun_family = AF_UNIX };
    *out_folder_fd = -1;
    if (strlen(path) < sizeof out->sun_path) {
        memcpy(out->sun_path, path, strlen(path) + 1);
        return ERR_OK;
    }
    const char *slash = strrchr(path, '/');
    char folder[PATH_MAX];
    if (!slash || (size_t)(slash - path) >= sizeof folder)
        return error_set(why, ERR_LIMIT, "the path of the socket is too long: %s", path);
    memcpy(folder, path, (size_t)(slash - path));
    folder[slash - path] = '\0';
    int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return error_errno(why, "cannot open %s", folder);
    int need =
        snprintf(out->sun_path, sizeof out->sun_path, "/proc/self/fd/%d%s", fd, slash);
    if (need >= (int)sizeof out->sun_path) {
        close(fd);
        return error_set(why, ERR_LIMIT, "the name of the socket is too long: %s", slash);
    }
    *out_folder_fd = fd;
    return ERR_OK;
}

/* Removes a socket on which no one listens; anything else is left alone. */
static Err remove_stale(const char *path, const struct sockaddr_un *address, Error *why)
{
    struct stat found;
    if (lstat(address->sun_path, &found))
        return errno == ENOENT ? ERR_OK : error_errno(why, "cannot look at %s", path);
    if (!S_ISSOCK(found.st_mode))
        return error_set(why, ERR_CONFLICT, "%s is there and is no socket", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return error_errno(why, "cannot make a socket");
    int failed = connect(fd, (const struct sockaddr *)address, sizeof *address);
    int reason = errno;
    close(fd);
    if (!failed)
        return error_set(why, ERR_BUSY, "another process listens on %s", path);
    if (reason != ECONNREFUSED)
        return error_set(why, ERR_BUSY, "%s is in use", path);
    if (unlink(address->sun_path) && errno != ENOENT)
        return error_errno(why, "cannot remove the old socket %s", path);
    return ERR_OK;
}

static Err bind_unix(const char *path, const struct sockaddr_un *address, int *out_fd,
                     Error *why)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return error_errno(why, "cannot listen on %s", path);
    /* On Linux the mode of the socket becomes that of its file: there is no moment in
     * which another user could connect. */
    if (fchmod(fd, 0600) || bind(fd, (const struct sockaddr *)address, sizeof *address) ||
        chmod(address->sun_path, 0600) || listen(fd, SOMAXCONN)) {
        Err err = error_errno(why, "cannot listen on %s", path);
        close(fd);
        return err;
    }
    *out_fd = fd;
    return ERR_OK;
}

Err listen_unix(const char *path, int *out_fd, Error *why)
{
    struct sockaddr_un address;
    int folder_fd;
    Err err = unix_address(path, &folder_fd, &address, why);
    if (err)
        return err;
    err = remove_stale(path, &address, why);
    if (!err)
        err = bind_unix(path, &address, out_fd, why);
    if (folder_fd >= 0)
        close(folder_fd);
    return err;
}

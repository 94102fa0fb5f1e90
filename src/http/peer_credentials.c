/* SPDX-License-Identifier: Apache-2.0 */
/* peer_credentials.c - see peer_credentials.h.
 *
 * TCP: one question to the kernel about exactly this connection (sock_diag). Reading
 * /proc/net/tcp is the way round where that is missing; it costs a line per connection
 * of the whole machine. */
#include "http/peer_credentials.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Both ends as seen from the other side: `theirs` is the local end of its socket. */
typedef struct Ends {
    int family;
    uint32_t theirs[4];
    uint32_t ours[4];
    in_port_t theirs_port; /* network order, as the addresses */
    in_port_t ours_port;
} Ends;

static bool one_end(const struct sockaddr_storage *address, uint32_t words[4],
                    in_port_t *out_port)
{
    if (address->ss_family == AF_INET) {
        const struct sockaddr_in *four = (const void *)address;
        words[0] = four->sin_addr.s_addr;
        *out_port = four->sin_port;
        return true;
    }
    if (address->ss_family == AF_INET6) {
        const struct sockaddr_in6 *six = (const void *)address;
        memcpy(words, &six->sin6_addr, 16);
        *out_port = six->sin6_port;
        return true;
    }
    return false;
}

static bool both_ends(int fd, Ends *out)
{
    struct sockaddr_storage theirs = { 0 };
    struct sockaddr_storage ours = { 0 };
    socklen_t bytes = sizeof theirs;
    *out = (Ends){ 0 };
    if (getpeername(fd, (struct sockaddr *)&theirs, &bytes))
        return false;
    bytes = sizeof ours;
    if (getsockname(fd, (struct sockaddr *)&ours, &bytes))
        return false;
    out->family = theirs.ss_family;
    return one_end(&theirs, out->theirs, &out->theirs_port) &&
           one_end(&ours, out->ours, &out->ours_port);
}

/* --- sock_diag --------------------------------------------------------------------- */

typedef struct DiagRequest {
    struct nlmsghdr head;
    struct inet_diag_req_v2 body;
} DiagRequest;

static bool read_answer(const char *bytes, size_t count, const Ends *ends, uid_t *out_uid)
{
    const struct nlmsghdr *head = (const void *)bytes;
    if (count < sizeof *head || head->nlmsg_type != SOCK_DIAG_BY_FAMILY ||
        head->nlmsg_len < NLMSG_LENGTH(sizeof(struct inet_diag_msg)) ||
        head->nlmsg_len > count)
        return false;
    const struct inet_diag_msg *answer = (const void *)(bytes + NLMSG_HDRLEN);
    /* Without the connection the kernel would show a listener of that port. */
    bool same = answer->id.idiag_sport == ends->theirs_port &&
                answer->id.idiag_dport == ends->ours_port;
    if (!same || !answer->idiag_inode)
        return false;
    *out_uid = answer->idiag_uid;
    return true;
}

/* False with *out_asked false: the kernel cannot be asked this way. */
static bool uid_by_diag(const Ends *ends, uid_t *out_uid, bool *out_asked)
{
    DiagRequest request = {
        .head = { .nlmsg_len = sizeof request,
                  .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                  .nlmsg_flags = NLM_F_REQUEST },
        .body = { .sdiag_family = (uint8_t)ends->family,
                  .sdiag_protocol = IPPROTO_TCP,
                  .idiag_states = UINT32_MAX,
                  .id = { .idiag_sport = ends->theirs_port,
                          .idiag_dport = ends->ours_port,
                          .idiag_cookie = { INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE } } },
    };
    memcpy(request.body.id.idiag_src, ends->theirs, sizeof ends->theirs);
    memcpy(request.body.id.idiag_dst, ends->ours, sizeof ends->ours);
    *out_asked = false;
    int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (fd < 0)
        return false;
    _Alignas(struct nlmsghdr) char answer[4096];
    struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
    ssize_t count = -1;
    if (sendto(fd, &request, sizeof request, 0, (const struct sockaddr *)&kernel,
               sizeof kernel) == (ssize_t)sizeof request)
        count = recv(fd, answer, sizeof answer, MSG_DONTWAIT);
    close(fd);
    if (count < (ssize_t)sizeof(struct nlmsghdr))
        return false;
    const struct nlmsghdr *head = (const void *)answer;
    if (head->nlmsg_type == NLMSG_ERROR) {
        struct nlmsgerr error = { 0 };
        if ((size_t)count >= NLMSG_HDRLEN + sizeof error)
            memcpy(&error, answer + NLMSG_HDRLEN, sizeof error);
        *out_asked = error.error == -ENOENT; /* it looked, and found none */
        return false;
    }
    *out_asked = true;
    return read_answer(answer, (size_t)count, ends, out_uid);
}

/* --- /proc/net --------------------------------------------------------------------- */

#define END_BYTES 48 /* 32 digits, a colon, 4 digits */

static void end_text(const uint32_t words[4], int count, in_port_t port,
                     char out[END_BYTES])
{
    int at = 0;
    for (int i = 0; i < count; i++)
        at += snprintf(out + at, END_BYTES - (size_t)at, "%08X", words[i]);
    snprintf(out + at, END_BYTES - (size_t)at, ":%04X", ntohs(port));
}

static bool line_matches(const char *line, const char *theirs, const char *ours,
                         uid_t *out_uid)
{
    char local[END_BYTES];
    char remote[END_BYTES];
    unsigned uid;
    unsigned long long inode;
    if (sscanf(line, " %*d: %47s %47s %*x %*s %*s %*s %u %*d %llu", local, remote, &uid,
               &inode) != 4)
        return false;
    if (strcmp(local, theirs) != 0 || strcmp(remote, ours) != 0 || !inode)
        return false;
    *out_uid = uid;
    return true;
}

static bool uid_in_file(const char *path, const uint32_t *words[2], int count,
                        const Ends *ends, uid_t *out_uid)
{
    char theirs[END_BYTES];
    char ours[END_BYTES];
    end_text(words[0], count, ends->theirs_port, theirs);
    end_text(words[1], count, ends->ours_port, ours);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    char line[512];
    bool found = false;
    while (!found && fgets(line, sizeof line, file))
        found = line_matches(line, theirs, ours, out_uid);
    fclose(file);
    return found;
}

static bool uid_by_proc(const Ends *ends, uid_t *out_uid)
{
    const uint32_t *plain[2] = { ends->theirs, ends->ours };
    if (ends->family == AF_INET6)
        return uid_in_file("/proc/net/tcp6", plain, 4, ends, out_uid);
    if (uid_in_file("/proc/net/tcp", plain, 1, ends, out_uid))
        return true;
    /* The other end may be an IPv6 socket that speaks IPv4. */
    uint32_t theirs[4] = { 0, 0, htonl(0xffff), ends->theirs[0] };
    uint32_t ours[4] = { 0, 0, htonl(0xffff), ends->ours[0] };
    const uint32_t *mapped[2] = { theirs, ours };
    return uid_in_file("/proc/net/tcp6", mapped, 4, ends, out_uid);
}

bool peer_uid_by_proc(int fd, uid_t *out_uid)
{
    Ends ends;
    return both_ends(fd, &ends) && uid_by_proc(&ends, out_uid);
}

static bool uid_of_unix(int fd, uid_t *out_uid)
{
    struct ucred peer;
    socklen_t bytes = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes))
        return false;
    *out_uid = peer.uid;
    return true;
}

bool peer_uid(int fd, uid_t *out_uid)
{
    int family = 0;
    socklen_t bytes = sizeof family;
    if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &bytes))
        return false;
    if (family == AF_UNIX)
        return uid_of_unix(fd, out_uid);
    Ends ends;
    if (!both_ends(fd, &ends))
        return false;
    bool asked;
    if (uid_by_diag(&ends, out_uid, &asked))
        return true;
    return !asked && uid_by_proc(&ends, out_uid);
}

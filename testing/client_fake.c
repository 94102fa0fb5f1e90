/* SPDX-License-Identifier: Apache-2.0 */
/* client_fake.c - see client_fake.h. */
#include "testing/client_fake.h"

#include "base/text.h"
#include "base/times.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static void must(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "client: %s: %s\n", what, strerror(errno));
    abort();
}

void client_tcp(Client *client, const char *address)
{
    *client = (Client){ .fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) };
    const char *colon = strrchr(address, ':');
    int64_t port = 0;
    must(colon && !int_parse(slice_text(colon + 1), &port), "address");
    struct sockaddr_in to = { .sin_family = AF_INET,
                              .sin_port = htons((uint16_t)port),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    must(!connect(client->fd, (const struct sockaddr *)&to, sizeof to), "connect");
    int on = 1;
    setsockopt(client->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    snprintf(client->host, sizeof client->host, "%.60s", address);
}

void client_unix(Client *client, const char *path)
{
    *client = (Client){ .fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) };
    struct sockaddr_un to = { .sun_family = AF_UNIX };
    snprintf(to.sun_path, sizeof to.sun_path, "%s", path);
    must(!connect(client->fd, (const struct sockaddr *)&to, sizeof to), "connect");
    snprintf(client->host, sizeof client->host, "localhost");
}

void client_close(Client *client)
{
    close(client->fd);
    buf_done(&client->in);
}

void client_reset(Client *client)
{
    struct linger now = { .l_onoff = 1, .l_linger = 0 };
    setsockopt(client->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    client_close(client);
}

void client_send(Client *client, Slice bytes)
{
    while (bytes.bytes) {
        ssize_t sent = send(client->fd, bytes.data, bytes.bytes, MSG_NOSIGNAL);
        if (sent < 0)
            return; /* the answer, or its absence, will tell */
        bytes = slice_from(bytes, (size_t)sent);
    }
}

/* False at the end of the stream. */
static bool more(Client *client)
{
    struct pollfd fd = { .fd = client->fd, .events = POLLIN };
    must(poll(&fd, 1, CLIENT_WAIT_MS) == 1, "no answer");
    ssize_t bytes = recv(client->fd, buf_room(&client->in, 65536), 65536, 0);
    if (bytes <= 0)
        return false;
    client->in.bytes += (size_t)bytes;
    return true;
}

bool client_closed(Client *client, int wait_ms)
{
    int64_t until = clock_now().boot_ms + wait_ms;
    for (;;) {
        int64_t left = until - clock_now().boot_ms;
        struct pollfd fd = { .fd = client->fd, .events = POLLIN };
        if (left <= 0 || poll(&fd, 1, (int)left) != 1)
            return false;
        char byte[256];
        if (recv(client->fd, byte, sizeof byte, 0) <= 0)
            return true;
    }
}

const char *reply_header(Reply *reply, const char *name)
{
    Slice rest = buf_slice(&reply->head);
    size_t bytes = strlen(name);
    while (rest.data) {
        Slice line = slice_cut(&rest, '\n');
        if (line.bytes <= bytes + 1 || strncasecmp(line.data, name, bytes) != 0 ||
            line.data[bytes] != ':')
            continue;
        line = slice_from(line, bytes + 1);
        while (line.bytes && line.data[0] == ' ')
            line = slice_from(line, 1);
        while (line.bytes && line.data[line.bytes - 1] == '\r')
            line.bytes--;
        return slice_cstr(&reply->arena, line);
    }
    return NULL;
}

static void take(Client *client, size_t bytes, Buf *out)
{
    buf_add(out, client->in.data, bytes);
    buf_drop(&client->in, bytes);
}

/* Bytes up to and with `mark`; 0 if the stream ended before. */
static size_t up_to(Client *client, const char *mark)
{
    for (;;) {
        const char *at = client->in.bytes ? memmem(client->in.data, client->in.bytes,
                                                   mark, strlen(mark))
                                          : NULL;
        if (at)
            return (size_t)(at - client->in.data) + strlen(mark);
        if (!more(client))
            return 0;
    }
}

void client_read_head(Client *client, Reply *out)
{
    *out = (Reply){ 0 };
    for (;;) {
        size_t bytes = up_to(client, "\r\n\r\n");
        if (!bytes)
            return;
        buf_clear(&out->head);
        take(client, bytes, &out->head);
        must(sscanf(buf_cstr(&out->head), "HTTP/1.%*d %d", &out->status) == 1, "status");
        if (out->status != 100)
            return;
    }
}

bool client_read_chunk(Client *client, Buf *out)
{
    size_t line = up_to(client, "\r\n");
    if (!line)
        return false;
    size_t bytes = strtoul(client->in.data, NULL, 16);
    buf_drop(&client->in, line);
    while (client->in.bytes < bytes + 2)
        if (!more(client))
            return false;
    take(client, bytes, out);
    buf_drop(&client->in, 2);
    return bytes > 0;
}

void client_read(Client *client, bool no_body, Reply *out)
{
    client_read_head(client, out);
    const char *length = reply_header(out, "Content-Length");
    const char *coding = reply_header(out, "Transfer-Encoding");
    if (out->status == 0 || out->status == 204 || no_body)
        return;
    if (coding && strcmp(coding, "chunked") == 0) {
        while (client_read_chunk(client, &out->body))
            ;
    } else {
        size_t bytes = length ? strtoul(length, NULL, 10) : SIZE_MAX;
        while (client->in.bytes < bytes && more(client))
            ;
        take(client, bytes < client->in.bytes ? bytes : client->in.bytes, &out->body);
    }
    const char *type = reply_header(out, "Content-Type");
    if (type && strstr(type, "json") && !strstr(type, "ndjson") &&
        json_in_load(buf_slice(&out->body), &out->arena, &out->json, NULL))
        out->json = NULL;
}

void client_ask(Client *client, const Ask *ask, Reply *out)
{
    Buf text = { 0 };
    buf_printf(&text, "%s %s HTTP/1.1\r\nHost: %s\r\n%s", ask->method, ask->path,
               client->host, ask->headers ? ask->headers : "");
    if (ask->body.bytes)
        buf_printf(&text, "Content-Length: %zu\r\n", ask->body.bytes);
    buf_add_text(&text, "\r\n");
    buf_add_slice(&text, ask->body);
    client_send(client, buf_slice(&text));
    buf_done(&text);
    client_read(client, strcmp(ask->method, "HEAD") == 0, out);
}

void reply_done(Reply *reply)
{
    buf_done(&reply->head);
    buf_done(&reply->body);
    arena_done(&reply->arena);
}

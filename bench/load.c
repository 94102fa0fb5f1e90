/* SPDX-License-Identifier: Apache-2.0 */
/* load.c - a load generator: many keep-alive connections, one request each at a time.
 *
 *     load PORT CONNECTIONS COUNT METHOD PATH CONTENT-TYPE BODY-FILE [RATE]
 *
 * Sends COUNT requests in all and prints: requests per second, p50 and p99 in
 * microseconds, and how many answers were not 2xx. With RATE, requests start at that many
 * per second instead of as fast as answers come. The text @NOW............... (19
 * characters) in the body is replaced by the time of sending in nanoseconds. */
#include "base/mem.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define HEAD_BYTES  2048
#define PIECE_BYTES (256 * 1024)

typedef struct Conn {
    int fd;
    double sent_at;
    size_t sent;
    size_t got;
    bool busy;
    char head[HEAD_BYTES]; /* the beginning of the answer */
} Conn;

static char *request;
static size_t request_bytes;
static char *stamp_at;
static double *latencies;
static unsigned long answered, failed;

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void die(const char *what)
{
    fprintf(stderr, "load: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* The digits at the start of a text, after spaces. */
static unsigned long number(const char *text)
{
    unsigned long value = 0;
    while (*text == ' ')
        text++;
    for (; *text >= '0' && *text <= '9'; text++)
        value = value * 10 + (unsigned long)(*text - '0');
    return value;
}

static void make_request(char **argv)
{
    struct stat status;
    int fd = open(argv[7], O_RDONLY);
    if (fd < 0 || fstat(fd, &status))
        die(argv[7]);
    size_t body = (size_t)status.st_size;
    request = mem_alloc(body + 1024);
    int head = snprintf(request, 1024,
                        "%s %s HTTP/1.1\r\nHost: 127.0.0.1:%s\r\nContent-Type: %s\r\n"
                        "Content-Length: %zu\r\n\r\n",
                        argv[4], argv[5], argv[1], argv[6], body);
    if (read(fd, request + head, body) != (ssize_t)body)
        die("read");
    close(fd);
    request_bytes = (size_t)head + body;
    stamp_at = memmem(request, request_bytes, "@NOW", 4);
}

static void push(Conn *conn)
{
    while (conn->sent < request_bytes) {
        ssize_t put = write(conn->fd, request + conn->sent, request_bytes - conn->sent);
        if (put < 0 && errno == EAGAIN)
            return;
        if (put < 0)
            die("write");
        conn->sent += (size_t)put;
    }
}

/* One request at a time is stamped: use it with a rate, not with many connections. */
static void stamp(void)
{
    struct timespec now;
    char text[20];
    if (!stamp_at)
        return;
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(text, sizeof text, "%010lld%09ld", (long long)now.tv_sec, now.tv_nsec);
    memcpy(stamp_at, text, 19);
}

static void begin(Conn *conn)
{
    stamp();
    conn->sent_at = seconds();
    conn->sent = conn->got = 0;
    conn->head[0] = '\0';
    conn->busy = true;
    push(conn);
}

/* Bytes of the whole answer once its head is there, 0 before; chunked ones have no
 * length and end with an empty chunk. */
static size_t whole_length(const Conn *conn)
{
    const char *end = strstr(conn->head, "\r\n\r\n");
    const char *length = strcasestr(conn->head, "\r\ncontent-length:");
    if (!end || !length || length > end)
        return 0;
    return (size_t)(end - conn->head) + 4 + number(length + 17);
}

static bool complete(const Conn *conn, const char *last, size_t bytes)
{
    size_t whole = whole_length(conn);
    if (whole)
        return conn->got >= whole;
    return bytes >= 5 && memcmp(last + bytes - 5, "0\r\n\r\n", 5) == 0;
}

static bool receive(Conn *conn)
{
    static char piece[PIECE_BYTES];
    for (;;) {
        ssize_t got = read(conn->fd, piece, sizeof piece);
        if (got < 0 && errno == EAGAIN)
            return false;
        if (got <= 0)
            die("read");
        size_t room =
            HEAD_BYTES - 1 - (conn->got < HEAD_BYTES ? conn->got : HEAD_BYTES - 1);
        size_t keep = (size_t)got < room ? (size_t)got : room;
        if (keep) {
            memcpy(conn->head + conn->got, piece, keep);
            conn->head[conn->got + keep] = '\0';
        }
        conn->got += (size_t)got;
        if (complete(conn, piece, (size_t)got))
            break;
    }
    latencies[answered++] = seconds() - conn->sent_at;
    if (conn->head[9] != '2' && !failed++)
        fprintf(stderr, "load: %.200s\n", conn->head);
    conn->busy = false;
    return true;
}

static int by_value(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;
    return (left > right) - (left < right);
}

static void open_conn(Conn *conn, int port, int poll)
{
    struct sockaddr_in at = { .sin_family = AF_INET,
                              .sin_port = htons((uint16_t)port),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int on = 1;
    conn->fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(conn->fd, (struct sockaddr *)&at, sizeof at))
        die("connect");
    setsockopt(conn->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    fcntl(conn->fd, F_SETFL, O_NONBLOCK);
    struct epoll_event event = { .events = EPOLLIN | EPOLLOUT | EPOLLET,
                                 .data.ptr = conn };
    epoll_ctl(poll, EPOLL_CTL_ADD, conn->fd, &event);
}

typedef struct Plan {
    unsigned long count;
    unsigned long sent;
    double rate;
    double begun;
} Plan;

static bool may_send(const Plan *plan)
{
    if (plan->sent >= plan->count)
        return false;
    return plan->rate == 0 || seconds() - plan->begun >= (double)plan->sent / plan->rate;
}

static void run(Conn *conns, unsigned conn_count, int poll, Plan *plan)
{
    struct epoll_event events[256];
    plan->begun = seconds();
    while (answered < plan->count) {
        for (unsigned i = 0; i < conn_count && may_send(plan); i++) {
            if (conns[i].busy)
                continue;
            plan->sent++;
            begin(&conns[i]);
        }
        int ready = epoll_wait(poll, events, 256, plan->rate > 0 ? 1 : 1000);
        for (int i = 0; i < ready; i++) {
            Conn *conn = events[i].data.ptr;
            if (!conn->busy)
                continue;
            push(conn);
            if (receive(conn) && may_send(plan)) {
                plan->sent++;
                begin(conn);
            }
        }
    }
}

int main(int argc, char **argv)
{
    if (argc < 8)
        return 2;
    unsigned conn_count = (unsigned)number(argv[2]);
    Plan plan = { .count = number(argv[3]),
                  .rate = argc > 8 ? (double)number(argv[8]) : 0 };
    make_request(argv);
    latencies = MEM_ARRAY(double, plan.count + conn_count);
    int poll = epoll_create1(0);
    Conn *conns = MEM_ARRAY(Conn, conn_count);
    for (unsigned i = 0; i < conn_count; i++)
        open_conn(&conns[i], (int)number(argv[1]), poll);
    run(conns, conn_count, poll, &plan);
    double taken = seconds() - plan.begun;
    qsort(latencies, answered, sizeof *latencies, by_value);
    printf("%.1f %.0f %.0f %lu\n", (double)answered / taken,
           latencies[answered / 2] * 1e6, latencies[answered * 99 / 100] * 1e6, failed);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* watch.c - see watch.h. */
#include "store/postgres/watch.h"

#include "base/log.h"
#include "base/text.h"
#include "base/times.h"
#include "store/postgres/connection.h"

#include <poll.h>
#include <stdlib.h>
#include <time.h>

#define CONNECT_MS 15000 /* and for the first answer */
#define RETRY_MS   2000
#define POOLED_MS  (10 * MS_PER_MIN) /* the pooler may have gone */
#define NS_PER_MS  1000000

/* --- What is said
 * ------------------------------------------------------------------------
 */

void pghints_add(PgHints *hints, uint32_t node)
{
    for (size_t i = 0; i < hints->count; i++)
        if (hints->nodes[i] == node)
            return;
    if (node == PG_HINT_ALL || hints->count == sizeof hints->nodes / sizeof(uint32_t))
        hints->all = true;
    else
        hints->nodes[hints->count++] = node;
}

void pghints_text(const PgHints *hints, Buf *out)
{
    if (hints->all)
        buf_add_text(out, "*");
    for (size_t i = 0; i < hints->count && !hints->all; i++)
        buf_printf(out, i ? " %u" : "%u", hints->nodes[i]);
}

bool pghints_name(const char *text, uint32_t node)
{
    Slice rest = slice_text(text);
    int64_t number;
    while (rest.bytes) {
        Slice word = slice_cut(&rest, ' ');
        if (slice_is(word, "*") || (!int_parse(word, &number) && number == node))
            return true;
    }
    return false;
}

/* --- The connection ------------------------------------------------------------------
 */

void pgwatch_close(PgWatch *watch)
{
    PQfinish(watch->conn);
    *watch = (PgWatch){ .polls = watch->polls };
}

static void give_up(PgWatch *watch, int64_t pause_ms)
{
    pgwatch_close(watch);
    watch->until_boot = clock_now().boot_ms + pause_ms;
}

static void connect_to(PgWatch *watch, const char *url)
{
    Error why = { 0 };
    if (link_start(url, &watch->conn, &why)) {
        give_up(watch, RETRY_MS);
        return;
    }
    watch->state = WATCH_CONNECTING;
    watch->writes = true;
    watch->until_boot = clock_now().boot_ms + CONNECT_MS;
}

static void go_on_connecting(PgWatch *watch)
{
    PostgresPollingStatusType status = PQconnectPoll(watch->conn);
    watch->writes = status == PGRES_POLLING_WRITING;
    if (status == PGRES_POLLING_FAILED) {
        give_up(watch, RETRY_MS);
        return;
    }
    if (status != PGRES_POLLING_OK)
        return;
    watch->state = WATCH_ASKING;
    if (!PQsendQuery(watch->conn, "LISTEN pawl; SELECT pg_backend_pid()"))
        give_up(watch, RETRY_MS);
}

/* A pooler is told of once, however often it is met. */
static void tell(PgWatch *watch, bool polls)
{
    int pid = PQbackendPID(watch->conn);
    if (polls && !watch->polls)
        log_event(LOG_INFO, "store.polls", "pid=%d", pid);
    else if (!polls)
        log_event(LOG_INFO, "store.listens", "pid=%d", pid);
    watch->polls = polls;
}

/* What has come of the answer; true: all of it. PQgetResult would wait for the rest. */
static bool take_answer(PgWatch *watch)
{
    while (!PQisBusy(watch->conn)) {
        PGresult *result = PQgetResult(watch->conn);
        if (!result)
            return true;
        ExecStatusType status = PQresultStatus(result);
        if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
            watch->failed = true;
        if (status == PGRES_TUPLES_OK && PQntuples(result))
            watch->pid = (int)strtol(PQgetvalue(result, 0, 0), NULL, 10);
        PQclear(result);
    }
    return false;
}

/* The answer says which process of the server it came from: through a pooler that is
 * not the one that the connection began with. True: it listens now. */
static bool judge(PgWatch *watch)
{
    bool good = !watch->failed;
    if (good && watch->pid == PQbackendPID(watch->conn)) {
        tell(watch, false);
        watch->state = WATCH_LISTENING;
        return true;
    }
    if (good)
        tell(watch, true);
    give_up(watch, good ? POOLED_MS : RETRY_MS);
    return false;
}

static bool hear(PgWatch *watch, uint32_t node)
{
    bool heard = false;
    PGnotify *notify = PQnotifies(watch->conn);
    for (; notify; notify = PQnotifies(watch->conn)) {
        heard = heard || pghints_name(notify->extra, node);
        PQfreemem(notify);
    }
    return heard;
}

/* Something has come. True: a hint, or the beginning of them: some may have been missed.
 */
static bool take_step(PgWatch *watch, uint32_t node)
{
    if (watch->state == WATCH_CONNECTING) {
        go_on_connecting(watch);
        return false;
    }
    if (!PQconsumeInput(watch->conn)) {
        give_up(watch, RETRY_MS);
        return false;
    }
    if (watch->state == WATCH_LISTENING)
        return hear(watch, node);
    if (PQflush(watch->conn) || !take_answer(watch))
        return false;
    return judge(watch);
}

static void pause_ms(int64_t ms)
{
    struct timespec pause = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * NS_PER_MS };
    nanosleep(&pause, NULL);
}

bool pgwatch_wait(PgWatch *watch, const char *url, uint32_t node, int timeout_ms)
{
    int64_t until = clock_now().boot_ms + timeout_ms;
    for (;;) {
        int64_t now = clock_now().boot_ms;
        int64_t left = until - now;
        if (left <= 0)
            return false;
        if (watch->state == WATCH_OFF && now >= watch->until_boot)
            connect_to(watch, url);
        else if (watch->state != WATCH_LISTENING && watch->state != WATCH_OFF &&
                 now >= watch->until_boot)
            give_up(watch, RETRY_MS);
        if (watch->state == WATCH_OFF) {
            int64_t pause = watch->until_boot - now;
            pause_ms(pause < left ? pause : left);
            continue;
        }
        short events =
            watch->state == WATCH_CONNECTING && watch->writes ? POLLOUT : POLLIN;
        struct pollfd wanted = { .fd = PQsocket(watch->conn), .events = events };
        if (poll(&wanted, 1, (int)left) > 0 && take_step(watch, node))
            return true;
    }
}

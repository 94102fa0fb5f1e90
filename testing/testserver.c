/* SPDX-License-Identifier: Apache-2.0 */
/* testserver.c - see testserver.h. */
#include "testing/testserver.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <libpq-fe.h>
#include <pwd.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define BIN         "/usr/lib/postgresql/15/bin/"
#define START_TRIES 1200 /* of 50 ms */
#define FILES_OPEN  16
#define PAUSE_NS    50000000

static struct {
    pid_t pid; /* of the server; 0: there is none */
    pid_t owner;
    char directory[64];
    char url[160];
    char answer[256];
    PGconn *conn;
} server;

static void become_postgres(void)
{
    const struct passwd *user = geteuid() == 0 ? getpwnam("postgres") : NULL;
    prctl(PR_SET_PDEATHSIG, SIGQUIT);
    if (user && (initgroups("postgres", user->pw_gid) || setgid(user->pw_gid) ||
                 setuid(user->pw_uid)))
        _exit(126);
    prctl(PR_SET_PDEATHSIG, SIGQUIT); /* a change of user clears it */
    int log = open("server.log", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    dup2(open("/dev/null", O_RDWR | O_CLOEXEC), 0);
    dup2(log, 1);
    dup2(log, 2);
}

static pid_t start(const char *const *command)
{
    pid_t pid = fork();
    if (pid)
        return pid;
    if (chdir(server.directory))
        _exit(126);
    become_postgres();
    execv(command[0], (char *const *)(uintptr_t)command); /* it changes nothing */
    _exit(127);
}

static int remove_one(const char *path, const struct stat *status, int kind,
                      struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    remove(path);
    return 0;
}

static void stop(void)
{
    if (!server.pid || server.owner != getpid())
        return;
    PQfinish(server.conn);
    kill(server.pid, SIGQUIT);
    waitpid(server.pid, NULL, 0);
    nftw(server.directory, remove_one, FILES_OPEN, FTW_DEPTH | FTW_PHYS);
    server.pid = 0;
}

static void make_directory(void)
{
    const char *base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(server.directory, sizeof server.directory, "%s/pawl-pg-XXXXXX", base);
    const struct passwd *user = geteuid() == 0 ? getpwnam("postgres") : NULL;
    if (!mkdtemp(server.directory))
        fail_msg("cannot make %s", server.directory);
    if (user && chown(server.directory, user->pw_uid, user->pw_gid))
        fail_msg("cannot give %s to postgres", server.directory);
}

static void run(const char *const *command)
{
    int status = 0;
    waitpid(start(command), &status, 0);
    if (status)
        fail_msg("%s failed; see %s/server.log", command[0], server.directory);
}

static void connect_to(void)
{
    const struct timespec pause = { .tv_nsec = PAUSE_NS };
    for (int tries = 0; tries < START_TRIES; tries++) {
        server.conn = PQconnectdb(server.url);
        if (PQstatus(server.conn) == CONNECTION_OK)
            return;
        PQfinish(server.conn);
        server.conn = NULL;
        if (waitpid(server.pid, NULL, WNOHANG))
            break;
        nanosleep(&pause, NULL);
    }
    fail_msg("the server did not start; see %s/server.log", server.directory);
}

static void ensure(void)
{
    if (server.pid)
        return;
    make_directory();
    server.owner = getpid();
    run((const char *[]){ BIN "initdb", "-D", "data", "-U", "pawl", "-A", "trust", "-N",
                          "--locale=C", "-E", "UTF8", NULL });
    server.pid = start((const char *[]){
        BIN "postgres", "-D", "data", "-k", server.directory, "-c",
        "listen_addresses=", "-c", "fsync=off", "-c", "full_page_writes=off", "-c",
        "max_connections=40", "-c", "autovacuum=off", NULL });
    atexit(stop);
    snprintf(server.url, sizeof server.url, "postgresql://pawl@/postgres?host=%s",
             server.directory);
    connect_to();
}

const char *testserver_directory(void)
{
    ensure();
    return server.directory;
}

const char *testserver_url(void)
{
    ensure();
    return server.url;
}

const char *testserver_ask(const char *sql)
{
    ensure();
    PGresult *result = PQexec(server.conn, sql);
    ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
        fail_msg("%s: %s", sql, PQerrorMessage(server.conn));
    bool any = status == PGRES_TUPLES_OK && PQntuples(result) && PQnfields(result);
    snprintf(server.answer, sizeof server.answer, "%s",
             any ? PQgetvalue(result, 0, 0) : "");
    PQclear(result);
    return server.answer;
}

const char *testserver_fresh(void)
{
    testserver_ask("SET client_min_messages = error;"
                   "DROP SCHEMA IF EXISTS pawl CASCADE");
    return server.url;
}

void testserver_empty(void)
{
    static const char *const tables[] = {
        "name",       "lane",          "lane_count",        "job_live",    "job_done",
        "job_dead",   "attempt",       "payload",           "result",      "slot",
        "booking",    "resource_item", "definition",        "idempotency", "node",
        "point",      "rollup",        "job_wait",          "job_ended",   "job_group",
        "job_unique", "inbox",         "definition_change",
    };
    Buf sql = { 0 };
    buf_add_text(&sql, "SELECT pawl.parts_gone_drop(true);"
                       "DELETE FROM pawl.meta WHERE key NOT LIKE 'schema%'");
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        buf_printf(&sql, "; DELETE FROM pawl.%s", tables[i]);
    testserver_ask(buf_cstr(&sql));
    buf_done(&sql);
}

void testserver_cut(void)
{
    testserver_ask("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                   " WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'");
}

/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_doctor.c - pawl doctor: what could be wrong here, and what to do about it.
 *
 * Nothing is changed; the one file it writes, to measure the disk, is removed again. */
#include "cli/command.h"

#include "cli/place.h"
#include "cli/safe.h"

#include "base/json_out.h"
#include "base/times.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#define SYNC_ROUNDS     15
#define SYNC_BYTES      4096
#define SYNC_SLOW_US    20000 /* fifty jobs a second for one client that waits */
#define FREE_BYTES_WARN (1024LL << 20)
#define FREE_BYTES_BAD  (100LL << 20)
#define FILES_MIN       4096
#define TEXT_BYTES      320

typedef enum Health {
    HEALTH_GOOD,
    HEALTH_WARNING,
    HEALTH_BAD,
} Health;

typedef struct Checkup {
    Cli *cli;
    JsonOut json;
    bool reachable;
    int64_t daemon_pid; /* of a daemon on this machine; 0: unknown */
    size_t warnings;
    size_t bad;
} Checkup;

static const char *health_name(Health health)
{
    switch (health) {
    case HEALTH_GOOD:
        return "ok";
    case HEALTH_WARNING:
        return "warning";
    case HEALTH_BAD:
        return "bad";
    }
    return "?";
}

static Colour health_colour(Health health)
{
    switch (health) {
    case HEALTH_GOOD:
        return COLOUR_GREEN;
    case HEALTH_WARNING:
        return COLOUR_YELLOW;
    case HEALTH_BAD:
        return COLOUR_RED;
    }
    return COLOUR_PLAIN;
}

/* One finding: `fix` says what to do, or is NULL. */
typedef struct Finding {
    Health health;
    const char *check;
    const char *fix;
} Finding;

static void find(Checkup *checkup, Finding finding, const char *format, ...)
    PRINTF_LIKE(3, 4);

static void find(Checkup *checkup, Finding finding, const char *format, ...)
{
    char text[TEXT_BYTES];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    checkup->warnings += finding.health == HEALTH_WARNING;
    checkup->bad += finding.health == HEALTH_BAD;
    if (checkup->cli->json) {
        json_object(&checkup->json, NULL);
        json_cstr(&checkup->json, "check", finding.check);
        json_cstr(&checkup->json, "status", health_name(finding.health));
        json_cstr(&checkup->json, "text", text);
        json_cstr(&checkup->json, "fix", finding.fix);
        json_object_end(&checkup->json);
        return;
    }
    const Term *term = &checkup->cli->out;
    Colour colour = health_colour(finding.health);
    Buf line = { 0 };
    buf_printf(&line, "%s%-8s%s", term_on(term, colour), health_name(finding.health),
               term_off(term, colour));
    safe_add(&line, slice_text(text));
    if (finding.fix)
        buf_printf(&line, "\n        fix: %s", finding.fix);
    buf_add_char(&line, '\n');
    cli_print(&line);
    fflush(stdout);
    buf_done(&line);
}

static void check_daemon(Checkup *checkup)
{
    Cli *cli = checkup->cli;
    Response response = { 0 };
    Error why;
    Finding bad = { HEALTH_BAD, "daemon",
                    "pawl serve    (pawl run starts a private one)" };
    Request request = { .method = "GET", .path = "/readyz", .timeout_ms = 5000 };
    Err err = client_call(&cli->client, &request, &response, &why);
    checkup->reachable = !err;
    if (err) {
        find(checkup, bad, "no daemon answers at %s", why.text);
    } else if (response.status == 200) {
        find(checkup, (Finding){ HEALTH_GOOD, "daemon", NULL },
             "the daemon at %s is ready", buf_cstr(&cli->server));
    } else {
        bad.fix = "see the daemon's log";
        find(checkup, bad, "the daemon at %s is not ready: %.200s",
             buf_cstr(&cli->server), buf_cstr(&response.body));
    }
    response_done(&response);
}

static bool is_here(const Cli *cli)
{
    return cli->client.socket || strstr(cli->client.url, "://127.") ||
           strstr(cli->client.url, "://localhost");
}

/* What the daemon says wins over what would have been used here. */
static void use_data(Cli *cli, Slice path)
{
    if (!path.bytes)
        return;
    buf_clear(&cli->data_dir);
    buf_add_slice(&cli->data_dir, path);
}

/* The daemon's own words about itself; also finds its pid where it is on this machine. */
static void check_version(Checkup *checkup)
{
    Response response = { 0 };
    Doc *nodes = NULL;
    Error why;
    Request request = { .method = "GET", .path = "/api/v1/nodes", .timeout_ms = 5000 };
    if (client_call(&checkup->cli->client, &request, &response, &why) ||
        response.status != 200 || doc_parse(buf_slice(&response.body), &nodes, NULL)) {
        find(checkup, (Finding){ HEALTH_BAD, "version", "is a token needed? PAWL_TOKEN" },
             "the daemon does not tell about itself (HTTP %d)", response.status);
        response_done(&response);
        return;
    }
    const Doc *items = doc_get(nodes, "items");
    for (const Doc *node = doc_first(items); node; node = doc_next(node)) {
        Slice version = doc_text(node, "version");
        if (doc_count(items) == 1 && is_here(checkup->cli)) {
            checkup->daemon_pid = doc_int(node, "pid", 0);
            use_data(checkup->cli, doc_text(node, "data"));
        }
        if (slice_is(version, PAWL_VERSION))
            find(checkup, (Finding){ HEALTH_GOOD, "version", NULL },
                 "the daemon and this program are both version %s", PAWL_VERSION);
        else
            find(checkup, (Finding){ HEALTH_WARNING, "version", "restart the daemon" },
                 "the daemon is version " SLICE_FMT ", this program %s",
                 SLICE_ARG(version), PAWL_VERSION);
    }
    doc_free(nodes);
    response_done(&response);
}

static bool check_directory(Checkup *checkup, const char *path)
{
    struct stat facts;
    if (stat(path, &facts)) {
        find(checkup, (Finding){ HEALTH_WARNING, "data", NULL },
             "the data directory %s cannot be seen: %s", path, strerror(errno));
        return false;
    }
    if (facts.st_mode & 077)
        find(checkup, (Finding){ HEALTH_WARNING, "data", "chmod 700 on it" },
             "others may look into the data directory %s (mode %03o)", path,
             (unsigned)facts.st_mode & 0777);
    else if (access(path, W_OK))
        find(checkup, (Finding){ HEALTH_WARNING, "data", NULL },
             "the data directory %s is another user's", path);
    else
        find(checkup, (Finding){ HEALTH_GOOD, "data", NULL },
             "the data directory %s is yours alone", path);
    return true;
}

static void check_room(Checkup *checkup, const char *path)
{
    struct statvfs facts;
    if (statvfs(path, &facts))
        return;
    int64_t free_bytes = (int64_t)(facts.f_bavail * facts.f_frsize);
    int64_t all_bytes = (int64_t)(facts.f_blocks * facts.f_frsize);
    Finding finding = { HEALTH_GOOD, "disk", NULL };
    if (free_bytes < FREE_BYTES_WARN)
        finding = (Finding){ HEALTH_WARNING, "disk",
                             "make room: new jobs are refused "
                             "when the disk is full" };
    if (free_bytes < FREE_BYTES_BAD)
        finding.health = HEALTH_BAD;
    find(checkup, finding, "%lld MiB of %lld MiB are free on its disk",
         (long long)(free_bytes >> 20), (long long)(all_bytes >> 20));
}

static int64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static int compare(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a;
    int64_t right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

/* What an acknowledged job costs at least: an append that is on the disk. */
static void check_sync(Checkup *checkup, const char *path)
{
    Buf name = { 0 };
    static const char block[SYNC_BYTES];
    int64_t took_us[SYNC_ROUNDS];
    size_t rounds = 0;
    buf_printf(&name, "%s/.doctor-%ld", path, (long)getpid());
    int fd = open(buf_cstr(&name), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    while (fd >= 0 && rounds < SYNC_ROUNDS) {
        int64_t began_us = now_us();
        if (write(fd, block, sizeof block) != (ssize_t)sizeof block || fdatasync(fd))
            break;
        took_us[rounds++] = now_us() - began_us;
    }
    int error = errno;
    if (fd >= 0) {
        close(fd);
        unlink(buf_cstr(&name));
    }
    buf_done(&name);
    if (rounds < SYNC_ROUNDS) {
        find(checkup, (Finding){ HEALTH_WARNING, "sync", NULL },
             "cannot write to the data directory: %s", strerror(error));
        return;
    }
    qsort(took_us, rounds, sizeof *took_us, compare);
    int64_t median_us = took_us[rounds / 2];
    Finding finding = { HEALTH_GOOD, "sync", NULL };
    if (median_us > SYNC_SLOW_US)
        finding = (Finding){ HEALTH_WARNING, "sync",
                             "a faster disk; or add jobs in bulk (pawl add --ndjson)" };
    find(checkup, finding,
         "fdatasync takes %lld.%03lld ms there (median of %d, worst %lld.%03lld)",
         (long long)median_us / 1000, (long long)median_us % 1000, SYNC_ROUNDS,
         (long long)took_us[rounds - 1] / 1000, (long long)took_us[rounds - 1] % 1000);
}

/* The daemon's limit where it can be read, else the one it would get from here. */
static void check_files(Checkup *checkup)
{
    struct rlimit limit = { 0 };
    char path[64];
    char line[256];
    long long files = -1;
    snprintf(path, sizeof path, "/proc/%lld/limits", (long long)checkup->daemon_pid);
    FILE *file = checkup->daemon_pid ? fopen(path, "re") : NULL;
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "Max open files", 14) == 0)
            files = strtoll(line + 14, NULL, 10);
    if (file)
        fclose(file);
    bool of_daemon = files > 0;
    if (!of_daemon && getrlimit(RLIMIT_NOFILE, &limit) == 0)
        files = limit.rlim_max > INT32_MAX ? INT32_MAX : (long long)limit.rlim_max;
    Finding finding = { HEALTH_GOOD, "files", NULL };
    if (files < FILES_MIN)
        finding = (Finding){ HEALTH_WARNING, "files",
                             "LimitNOFILE=65536 in the unit, or ulimit -n 65536" };
    find(checkup, finding, "%s may open %lld files",
         of_daemon ? "the daemon" : "a daemon started here", files);
}

static void check_all(Checkup *checkup)
{
    check_daemon(checkup);
    if (checkup->reachable)
        check_version(checkup);
    /* Not before: the daemon may have told of another directory. */
    const char *path = buf_cstr(&checkup->cli->data_dir);
    if (*path && check_directory(checkup, path)) {
        check_room(checkup, path);
        check_sync(checkup, path);
    }
    check_files(checkup);
}

int cmd_doctor(Cli *cli)
{
    Buf out = { 0 };
    Checkup checkup = { .cli = cli, .json = { .out = &out } };
    int code = cli_connect(cli);
    if (code)
        return code;
    json_object(&checkup.json, NULL);
    json_array(&checkup.json, "checks");
    check_all(&checkup);
    json_array_end(&checkup.json);
    json_int(&checkup.json, "warnings", (int64_t)checkup.warnings);
    json_int(&checkup.json, "bad", (int64_t)checkup.bad);
    json_object_end(&checkup.json);
    if (cli->json)
        cli_print_json(buf_slice(&out));
    else
        printf("%zu bad, %zu warning%s\n", checkup.bad, checkup.warnings,
               checkup.warnings == 1 ? "" : "s");
    buf_done(&out);
    return checkup.bad ? CLI_FAILED : CLI_DONE;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* doctor.c - pawl doctor: what could be wrong here, and what to do about it.
 *
 * Nothing is changed; the one file it writes, to measure the disk, is removed again. */
#include "cli/command.h"

#include "cli/place.h"
#include "cli/print/safe.h"

#include "base/finding.h"
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

typedef struct Checkup {
    Cli *cli;
    JsonOut json;
    Findings findings;
    bool reachable;
    int64_t daemon_pid; /* of a daemon on this machine; 0: unknown */
    size_t warnings;
    size_t bad;
} Checkup;

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

static void show(void *context, const Finding *finding, const char *text)
{
    Checkup *checkup = context;
    checkup->warnings += finding->health == HEALTH_WARNING;
    checkup->bad += finding->health == HEALTH_BAD;
    if (checkup->cli->json) {
        json_object(&checkup->json, NULL);
        json_cstr(&checkup->json, "check", finding->check);
        json_cstr(&checkup->json, "status", health_name(finding->health));
        json_cstr(&checkup->json, "text", text);
        json_cstr(&checkup->json, "why", finding->why);
        json_cstr(&checkup->json, "fix", finding->fix);
        json_object_end(&checkup->json);
        return;
    }
    const Term *term = &checkup->cli->out;
    Colour colour = health_colour(finding->health);
    Buf line = { 0 };
    buf_printf(&line, "%s%-8s%s", term_on(term, colour), health_name(finding->health),
               term_off(term, colour));
    safe_add(&line, slice_text(text));
    if (finding->why)
        buf_printf(&line, "\n        why: %s", finding->why);
    if (finding->fix)
        buf_printf(&line, "\n        fix: %s", finding->fix);
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
    Finding bad = { HEALTH_BAD, "daemon", "no job is accepted and none runs",
                    "pawl serve    (pawl run starts a private one)" };
    Request request = { .method = "GET", .path = "/readyz", .timeout_ms = 5000 };
    Err err = client_call(&cli->client, &request, &response, &why);
    checkup->reachable = !err;
    if (err) {
        finding_tell(&checkup->findings, bad, "no daemon answers at %s", why.text);
    } else if (response.status == 200 &&
               memmem(response.body.data, response.body.bytes, "starts_hang", 11)) {
        finding_tell(&checkup->findings,
                     (Finding){ HEALTH_WARNING, "starts",
                                "they hold their slots until they run or are killed",
                                "pawl ls state:running    (their message says it)" },
                     "jobs hang before their program runs: the file system of their "
                     "program or working directory, or what knows their account, does "
                     "not answer");
    } else if (response.status == 200) {
        finding_tell(&checkup->findings, finding_good("daemon"),
                     "the daemon at %s is ready", buf_cstr(&cli->server));
    } else {
        bad.fix = "see the daemon's log";
        finding_tell(&checkup->findings, bad, "the daemon at %s is not ready: %.200s",
                     buf_cstr(&cli->server), buf_cstr(&response.body));
    }
    response_done(&response);
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
        finding_tell(&checkup->findings,
                     (Finding){ HEALTH_BAD, "version",
                                "nothing else can be checked of it",
                                "is a token needed? PAWL_TOKEN" },
                     "the daemon does not tell about itself (HTTP %d)", response.status);
        response_done(&response);
        return;
    }
    const Doc *items = doc_get(nodes, "items");
    for (const Doc *node = doc_first(items); node; node = doc_next(node)) {
        Slice version = doc_text(node, "version");
        Slice name = doc_text(node, "sysid");
        /* Only the one that answers tells of its directory. */
        if (doc_get(node, "data") && client_is_local(&checkup->cli->client)) {
            checkup->daemon_pid = doc_int(node, "pid", 0);
            use_data(checkup->cli, doc_text(node, "data"));
        }
        if (slice_is(version, PAWL_VERSION))
            finding_tell(&checkup->findings, finding_good("version"),
                         "node " SLICE_FMT " and this program are both version %s",
                         SLICE_ARG(name), PAWL_VERSION);
        else
            finding_tell(&checkup->findings,
                         (Finding){ HEALTH_WARNING, "version",
                                    "one may not know what the other says",
                                    "restart the daemon" },
                         "node " SLICE_FMT " is version " SLICE_FMT ", this program %s",
                         SLICE_ARG(name), SLICE_ARG(version), PAWL_VERSION);
    }
    doc_free(nodes);
    response_done(&response);
}

static bool check_directory(Checkup *checkup, const char *path)
{
    struct stat facts;
    if (stat(path, &facts)) {
        finding_tell(&checkup->findings,
                     (Finding){ HEALTH_WARNING, "data", "jobs and journal are kept there",
                                "pawl doctor --data DIR" },
                     "the data directory %s cannot be seen: %s", path, strerror(errno));
        return false;
    }
    if (facts.st_mode & 077)
        finding_tell(&checkup->findings,
                     (Finding){ HEALTH_WARNING, "data",
                                "payloads, results and logs of jobs are in it",
                                "chmod 700 on it" },
                     "others may look into the data directory %s (mode %03o)", path,
                     (unsigned)facts.st_mode & 0777);
    else if (access(path, W_OK))
        finding_tell(&checkup->findings,
                     (Finding){ HEALTH_WARNING, "data", "its disk cannot be measured",
                                "run pawl doctor as that user or as root" },
                     "the data directory %s is another user's", path);
    else
        finding_tell(&checkup->findings, finding_good("data"),
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
    Finding finding = finding_good("disk");
    if (free_bytes < FREE_BYTES_WARN)
        finding = (Finding){ HEALTH_WARNING, "disk",
                             "new jobs are refused when the disk is full",
                             "make room, or move the data directory" };
    if (free_bytes < FREE_BYTES_BAD)
        finding.health = HEALTH_BAD;
    finding_tell(&checkup->findings, finding, "%lld MiB of %lld MiB are free on its disk",
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
        finding_tell(&checkup->findings,
                     (Finding){ HEALTH_WARNING, "sync",
                                "jobs are acknowledged once they are written there",
                                "see the kernel's log, and mount and quota of its disk" },
                     "cannot write to the data directory: %s", strerror(error));
        return;
    }
    qsort(took_us, rounds, sizeof *took_us, compare);
    int64_t median_us = took_us[rounds / 2];
    Finding finding = finding_good("sync");
    if (median_us > SYNC_SLOW_US)
        finding = (Finding){ HEALTH_WARNING, "sync", "whoever adds a job waits for it",
                             "a faster disk; or add jobs in bulk (pawl add --ndjson)" };
    finding_tell(&checkup->findings, finding,
                 "fdatasync takes %lld.%03lld ms there (median of %d, worst %lld.%03lld)",
                 (long long)median_us / 1000, (long long)median_us % 1000, SYNC_ROUNDS,
                 (long long)took_us[rounds - 1] / 1000,
                 (long long)took_us[rounds - 1] % 1000);
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
    Finding finding = finding_good("files");
    if (files < FILES_MIN)
        finding = (Finding){ HEALTH_WARNING, "files",
                             "every connection and every running job needs some",
                             "LimitNOFILE=65536 in the unit, or ulimit -n 65536" };
    finding_tell(&checkup->findings, finding, "%s may open %lld files",
                 of_daemon ? "the daemon" : "a daemon started here", files);
}

static void check_token(Checkup *checkup)
{
    const char *path = args_value(&checkup->cli->args, "token-file");
    struct stat facts;
    if (!path || stat(path, &facts))
        return;
    unsigned mode = (unsigned)facts.st_mode & 0777;
    if (mode & 077)
        finding_tell(&checkup->findings,
                     (Finding){ HEALTH_WARNING, "token",
                                "whoever has the token may do what you may",
                                "chmod 600 on it" },
                     "others may read the token in %s (mode %03o)", path, mode);
    else
        finding_tell(&checkup->findings, finding_good("token"),
                     "the token in %s is yours alone", path);
}

/* What its configuration opens to others, and its store. */
static void check_config(Checkup *checkup)
{
    Cli *cli = checkup->cli;
    bool elsewhere = checkup->reachable && !checkup->daemon_pid;
    CheckupAsk ask = { .data = buf_cstr(&cli->data_dir),
                       .store = args_value(&cli->args, "store"),
                       .daemon_pid = checkup->daemon_pid,
                       .store_only = elsewhere };
    if (cli->hooks->checkup)
        cli->hooks->checkup(&ask, &checkup->findings);
    if (elsewhere && !ask.store)
        finding_tell(&checkup->findings,
                     (Finding){ HEALTH_WARNING, "config",
                                "its addresses, keys and store are not checked",
                                "run pawl doctor on its machine; or pawl doctor --store "
                                "URL" },
                     "the configuration of the daemon cannot be seen from here");
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
    check_token(checkup);
    check_config(checkup);
}

int cmd_doctor(Cli *cli)
{
    Buf out = { 0 };
    Checkup checkup = { .cli = cli, .json = { .out = &out } };
    checkup.findings = (Findings){ show, &checkup };
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

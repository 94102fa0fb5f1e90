/* SPDX-License-Identifier: Apache-2.0 */
/* checkup.c - see checkup.h. */
#include "engine/checkup.h"

#include "base/mem.h"
#include "base/times.h"
#include "engine/serve.h"
#include "http/tls.h"
#include "store/postgres/checkup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_BYTES_MAX (4 << 20) /* of a process's words or environment */
#define CERTIFICATE_MS (14 * MS_PER_DAY)

extern char **environ;

/* --- How a daemon was started ------------------------------------------------------- */

typedef struct Texts {
    Buf bytes;    /* each ends with a zero */
    char **items; /* and a NULL */
    size_t count;
} Texts;

static void texts_done(Texts *texts)
{
    buf_done(&texts->bytes);
    mem_free(texts->items);
}

/* The texts of /proc/PID/cmdline and the like. */
static Err texts_read(int64_t pid, const char *name, Texts *out, Error *why)
{
    char path[64];
    char piece[4096];
    ssize_t got = 0;
    snprintf(path, sizeof path, "/proc/%lld/%s", (long long)pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return error_errno(why, "%s", path);
    while (out->bytes.bytes < FILE_BYTES_MAX && (got = read(fd, piece, sizeof piece)) > 0)
        buf_add(&out->bytes, piece, (size_t)got);
    Err err = got < 0 ? error_errno(why, "%s", path) : ERR_OK;
    close(fd);
    buf_add_char(&out->bytes, '\0');
    size_t capacity = 0;
    for (size_t at = 0; at + 1 < out->bytes.bytes;) {
        char *text = out->bytes.data + at;
        MEM_PUSH(out->items, out->count, capacity) = text;
        at += strlen(text) + 1;
    }
    size_t ends = out->count;
    MEM_PUSH(out->items, ends, capacity) = NULL;
    return err;
}

/* What another process was started with, as far as it can be seen. */
typedef struct Seen {
    Texts words;
    Texts env;
    char cwd[4096];
} Seen;

static Err see(int64_t pid, Seen *out, Error *why)
{
    char path[64];
    Err err = texts_read(pid, "cmdline", &out->words, why);
    if (!err)
        err = texts_read(pid, "environ", &out->env, why);
    if (err)
        return err;
    snprintf(path, sizeof path, "/proc/%lld/cwd", (long long)pid);
    ssize_t length = readlink(path, out->cwd, sizeof out->cwd - 1);
    if (length < 0)
        return error_errno(why, "%s", path);
    out->cwd[length] = '\0';
    if (out->words.count < 2 || strcmp(out->words.items[1], "serve") != 0)
        return error_set(why, ERR_NOT_FOUND, "process %lld is not pawl serve",
                         (long long)pid);
    return ERR_OK;
}

/* *out_hidden: it could not be seen, which says nothing about the configuration. */
static Err load_running(int64_t pid, Config *out, bool *out_hidden, Error *why)
{
    Seen seen = { 0 };
    Err err = see(pid, &seen, why);
    *out_hidden = err != ERR_OK;
    if (!err) {
        ServeStart start = { .argc = (int)seen.words.count - 1,
                             .argv = seen.words.items + 1,
                             .env = (const char *const *)seen.env.items,
                             .cwd = seen.cwd };
        err = serve_config(&start, out, why);
    }
    texts_done(&seen.words);
    texts_done(&seen.env);
    return err;
}

static Err load_here(const char *data, Config *out, Error *why)
{
    Buf words = { 0 };
    buf_printf(&words, "--data=%s", data);
    buf_add_char(&words, '\0');
    char *argv[] = { (char[]){ "serve" }, words.data, NULL };
    ServeStart start = { .argc = *data ? 2 : 1,
                         .argv = argv,
                         .env = (const char *const *)environ };
    Err err = serve_config(&start, out, why);
    buf_done(&words);
    return err;
}

/* --- What is open to others --------------------------------------------------------- */

static void check_listen(const Config *config, const Findings *findings)
{
    const Address *address = &config->listen;
    Finding good = finding_good("listen");
    if (!address->on)
        finding_tell(findings, good, "it listens at its Unix socket alone");
    else if (!address->beyond)
        finding_tell(findings, good, "only this machine reaches %s:%u%s", address->host,
                     (unsigned)address->port, config->tls_key[0] ? ", by TLS" : "");
    else /* both are conditions of its start */
        finding_tell(findings, good,
                     "other machines reach %s:%u: by TLS and with a token only",
                     address->host, (unsigned)address->port);
}

static void check_certificate(const Config *config, const Findings *findings)
{
    Error why = { 0 };
    int64_t ends_ms;
    char when[TIME_TEXT_BYTES];
    Finding finding = finding_good("tls");
    if (tls_check(config->tls_certificate, config->tls_key, &why) ||
        tls_ends(config->tls_certificate, &ends_ms, &why)) {
        finding = (Finding){ HEALTH_BAD, "tls",
                             "no daemon starts with it; one that runs keeps the one it "
                             "has",
                             "mend tls.certificate and tls.key; pawl serve --check" };
        finding_tell(findings, finding, "%s", why.text);
        return;
    }
    int64_t now_ms = clock_now().wall_ms;
    if (ends_ms < now_ms + CERTIFICATE_MS)
        finding = (Finding){ ends_ms < now_ms ? HEALTH_BAD : HEALTH_WARNING, "tls",
                             "from then on nobody trusts it",
                             "put a new one in its place: it is taken by itself" };
    finding_tell(findings, finding, "the certificate %s is valid until %s",
                 config->tls_certificate, time_text(ends_ms, when));
}

static void check_key(const Config *config, const Findings *findings)
{
    struct stat facts;
    if (stat(config->tls_key, &facts))
        return; /* told with the certificate */
    unsigned mode = (unsigned)facts.st_mode & 0777;
    if (mode & 027)
        finding_tell(findings,
                     (Finding){ HEALTH_WARNING, "key",
                                "whoever has the key can pass for this daemon",
                                "chmod 600 on it" },
                     "others may use the key %s (mode %03o)", config->tls_key, mode);
    else
        finding_tell(findings, finding_good("key"), "others cannot use the key %s",
                     config->tls_key);
}

/* A password in the url of the store: on a command line everyone sees it. */
static void check_password(const Config *config, const Findings *findings)
{
    static const char fix[] = "keep it in ~/.pgpass (mode 600) or in $PGPASSWORD";
    static const char why[] = "whoever has it can read and change all jobs";
    const char *origin = config->origins[CONFIG_STORES];
    struct stat facts;
    Buf shown = { 0 };
    Buf path = { 0 };
    store_url_shown(config->store, &shown);
    bool secret = strcmp(buf_cstr(&shown), config->store) != 0;
    Slice place = slice_text(origin);
    buf_add_slice(&path, slice_cut(&place, ':'));
    if (secret && strncmp(origin, "--", 2) == 0)
        finding_tell(findings, (Finding){ HEALTH_WARNING, "password", why, fix },
                     "everyone on this machine sees the password of the store in the "
                     "list of processes (%s)",
                     origin);
    else if (secret && origin[0] == '/' && !stat(buf_cstr(&path), &facts) &&
             facts.st_mode & 077)
        finding_tell(findings, (Finding){ HEALTH_WARNING, "password", why, fix },
                     "others may read the password of the store in %s (mode %03o)",
                     buf_cstr(&path), (unsigned)facts.st_mode & 0777);
    buf_done(&shown);
    buf_done(&path);
}

/* --- All of it ---------------------------------------------------------------------- */

void checkup_store(const char *url, const Findings *findings)
{
    if (url && postgres_is_url(url))
        postgres_checkup(url, findings);
    else if (url)
        finding_tell(findings, finding_good("store"), "the store is %s", url);
}

static void tell_unknown(bool hidden, const Error *why, const Findings *findings)
{
    if (hidden)
        finding_tell(findings,
                     (Finding){ HEALTH_WARNING, "config",
                                "its addresses, keys and store are not checked",
                                "run pawl doctor as the daemon's user or as root; or "
                                "pawl doctor --store URL" },
                     "how the daemon was started cannot be seen: %s", why->text);
    else
        finding_tell(findings,
                     (Finding){ HEALTH_BAD, "config", "no daemon starts with it",
                                "mend what it names; pawl serve --check" },
                     "the configuration is wrong: %s", why->text);
}

void checkup_config(const Checkup *what, const Findings *findings)
{
    Config config;
    Error why = { 0 };
    Buf url = { 0 };
    bool hidden = false;
    Err err = what->daemon_pid ? load_running(what->daemon_pid, &config, &hidden, &why)
                               : load_here(what->data, &config, &why);
    if (err) {
        tell_unknown(hidden, &why, findings);
        return;
    }
    check_listen(&config, findings);
    if (config.tls_key[0] || config.tls_certificate[0]) {
        check_certificate(&config, findings);
        check_key(&config, findings);
    }
    check_password(&config, findings);
    config_store_url(&config, &url);
    if (what->with_store)
        checkup_store(buf_cstr(&url), findings);
    buf_done(&url);
    config_done(&config);
}

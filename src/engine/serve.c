/* SPDX-License-Identifier: Apache-2.0 */
/* serve.c - see serve.h: options, configuration, and a word on where to go next. */
#include "engine/serve.h"

#include "base/log.h"
#include "cluster/cluster.h"
#include "config/config.h"
#include "config/in_force.h"
#include "engine/daemon.h"
#include "http/tls.h"

#include <assert.h>
#include <getopt.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define EXIT_USAGE      2
#define PRIVATE_IDLE_MS (10 * MS_PER_MIN)
#define SETS_MAX        64

typedef struct ServeOptions {
    ConfigSources sources;
    const char *sets[SETS_MAX];
    const char *stores[8];
    bool check;
    bool private_one;
    bool help;
} ServeOptions;

extern char **environ;

static const char usage[] =
    "usage: pawl serve [options]\n"
    "\n"
    "  pawl serve --data ./data --slots 8\n"
    "\n"
    "  --data DIR           where jobs, journal and logs are kept\n"
    "  --listen ADDR:PORT   HTTP address (127.0.0.1:7420); others need TLS and a "
    "token\n"
    "  --config FILE        configuration file (YAML)\n"
    "  --store URL          sqlite:, sqlite:PATH or postgresql://HOST/DATABASE\n"
    "  --slots N            jobs that run at the same time\n"
    "  --set KEY=VALUE      any value of the configuration, e.g. daemon.slots=8\n"
    "  --check              check the configuration and exit\n"
    "  --private            Unix socket only; leave after 10 minutes with nothing to "
    "do\n";

enum {
    OPT_DATA = 256,
    OPT_LISTEN,
    OPT_CONFIG,
    OPT_STORE,
    OPT_SLOTS,
    OPT_SET,
    OPT_CHECK,
    OPT_PRIVATE,
    OPT_HELP
};

static bool take_option(int option, const char *value, ServeOptions *out)
{
    switch (option) {
    case OPT_DATA:
        out->sources.data = value;
        return true;
    case OPT_LISTEN:
        out->sources.listen = value;
        return true;
    case OPT_CONFIG:
        out->sources.file = value;
        return true;
    case OPT_STORE:
        if (out->sources.store_count >= sizeof out->stores / sizeof *out->stores)
            return false;
        out->stores[out->sources.store_count++] = value;
        return true;
    case OPT_SLOTS:
        out->sources.slots = value;
        return true;
    case OPT_SET:
        if (out->sources.set_count >= SETS_MAX)
            return false;
        out->sets[out->sources.set_count++] = value;
        return true;
    case OPT_CHECK:
        out->check = true;
        return true;
    case OPT_PRIVATE:
        out->private_one = true;
        return true;
    case OPT_HELP:
        out->help = true;
        return true;
    default:
        return false;
    }
}

static bool parse(int argc, char **argv, ServeOptions *out)
{
    static const struct option options[] = {
        { "data", required_argument, NULL, OPT_DATA },
        { "listen", required_argument, NULL, OPT_LISTEN },
        { "config", required_argument, NULL, OPT_CONFIG },
        { "store", required_argument, NULL, OPT_STORE },
        { "slots", required_argument, NULL, OPT_SLOTS },
        { "set", required_argument, NULL, OPT_SET },
        { "check", no_argument, NULL, OPT_CHECK },
        { "private", no_argument, NULL, OPT_PRIVATE },
        { "help", no_argument, NULL, OPT_HELP },
        { NULL, 0, NULL, 0 },
    };
    int option;
    optind = 1;
    while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1)
        if (!take_option(option == 'h' ? OPT_HELP : option, optarg, out))
            return false;
    if (optind < argc) {
        fprintf(stderr, "pawl: serve takes no argument: \"%s\" [usage]\n", argv[optind]);
        return false;
    }
    out->sources.sets = out->sets;
    out->sources.stores = out->stores;
    out->sources.env = (const char *const *)environ;
    out->sources.sections = declare_sections();
    return true;
}

/* What the configuration names must be there and make sense. */
static size_t check_files(const ServeOptions *options)
{
    Config config;
    Error why = { 0 };
    if (config_load(&options->sources, &config, &why))
        return 1; /* told before */
    bool tls = config.tls_key[0] || config.tls_certificate[0];
    Err err = tls ? tls_check(config.tls_certificate, config.tls_key, &why) : ERR_OK;
    if (err)
        fprintf(stderr, "tls: %s\n", why.text);
    config_done(&config);
    return err != ERR_OK;
}

static int check(const ServeOptions *options)
{
    Buf lines = { 0 };
    size_t errors = config_check(&options->sources, &lines);
    if (lines.bytes)
        fwrite(lines.data, 1, lines.bytes, stderr);
    buf_done(&lines);
    if (!errors)
        errors = check_files(options);
    if (!errors)
        printf("the configuration is good\n");
    return errors ? 1 : 0;
}

typedef struct Reload {
    const ServeOptions *options;
    Config *config;
} Reload;

/* A setting that an API call has set wins over the file: nothing comes of the change. */
static void log_changes(const ConfigDiff *diff, uint32_t stored)
{
    for (size_t i = 0; i < diff->count; i++) {
        char name[CONFIG_NAME_BYTES];
        char applied[120] = "applied=true";
        const ConfigChange *change = &diff->changes[i];
        const Setting *setting = in_force_setting(change->key);
        if (!change->live)
            snprintf(applied, sizeof applied, "applied=false needs=restart");
        else if (setting && (stored & setting_bit(slice_text(setting->name))))
            snprintf(applied, sizeof applied,
                     "applied=false msg=\"`pawl config set %s` is in force\"",
                     setting->name);
        log_event(LOG_INFO, "config.reloaded", "key=%s before=%s after=%s %s",
                  config_name(change->key, name), LOG_QUOTED(change->before),
                  LOG_QUOTED(change->after), applied);
    }
}

/* SIGHUP: all or nothing. Settings that were changed through the API live in the store
 * and are applied over these at the next start. */
static bool reload(void *context, uint32_t stored, NodeSettings *settings)
{
    Reload *reload = context;
    Config loaded;
    Error why;
    if (config_load(&reload->options->sources, &loaded, &why)) {
        log_event(LOG_ERROR, "config.refused", "why=%s msg=\"nothing was changed\"",
                  LOG_QUOTED(why.text));
        return false;
    }
    ConfigDiff diff;
    config_diff(reload->config, &loaded, &diff);
    log_changes(&diff, stored);
    if (!diff.count)
        log_event(LOG_INFO, "config.unchanged", "msg=\"nothing to apply\"");
    config_diff_done(&diff);
    config_adopt(reload->config, &loaded);
    log_level_set(reload->config->log_level);
    *settings = reload->config->node;
    return true;
}

static DaemonOptions daemon_options(const Config *config)
{
    return (DaemonOptions){
        .data_dir = config->data,
        .modules_root = config->modules_root,
        .tls_certificate = config->tls_certificate,
        .tls_key = config->tls_key,
        .audit_keep_ms = config->audit_keep_ms,
        .forget_ms = config->forget_ms,
        .ack_store = config->ack == ACK_STORE,
        .settings = config->node,
        .segment_bytes = config->segment_bytes,
        .journal_keep_bytes = config->journal_keep_bytes,
        .journal_keep_ms = config->journal_keep_ms,
        .journal_lag_max = config->max_lag_bytes,
        .body_bytes_max = config->body_bytes,
        .payload_bytes_max = config->payload_bytes,
        .output_bytes_max = config->output_bytes,
        .result_bytes_max = config->result_bytes,
        .allow_private = config->allow_private,
        .context_jobs = config->context_jobs,
        .context_idle_ms = config->context_idle_ms,
        .context_age_ms = config->context_age_ms,
        .header_bytes_max = config->header_bytes,
        .connections_max = config->connections,
        .idle_ms = config->idle_ms,
        .legacy = config->legacy,
        .drain_ms = config->drain_ms,
    };
}

/* A word as a shell takes it. */
static void add_shell_word(Buf *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789/._-+:@%,=";
    if (*word && strspn(word, plain) == strlen(word)) {
        buf_add_text(out, word);
        return;
    }
    buf_add_char(out, '\'');
    for (; *word; word++)
        if (*word == '\'')
            buf_add_text(out, "'\\''");
        else
            buf_add_char(out, *word);
    buf_add_char(out, '\'');
}

/* The command works as it stands, from any directory and whatever other daemons there
 * are. */
static void greet(const Daemon *daemon)
{
    const DaemonFacts *facts = daemon_facts(daemon);
    char self[4096] = "pawl";
    Buf command = { 0 };
    ssize_t bytes = readlink("/proc/self/exe", self, sizeof self - 1);
    if (bytes > 0)
        self[bytes] = '\0';
    add_shell_word(&command, self);
    buf_add_text(&command, " --data ");
    add_shell_word(&command, facts->data_dir);
    printf("pawl " PAWL_VERSION " is ready on %s, data in %s\n", facts->api_url,
           facts->data_dir);
    printf("try:  %s run --wait -- sh -c 'echo hello; exit 3'\n", buf_cstr(&command));
    buf_done(&command);
    fflush(stdout);
    if (geteuid() == 0)
        log_event(LOG_WARN, "daemon.root", "msg=\"jobs run as root\"");
}

/* Large buffers come and go with bulk requests. Kept apart from small memory and given
 * back when they are freed, they leave the daemon as small as it was. One arena for all
 * threads: the allocator never gives back the end of another. */
static void keep_memory_small(void)
{
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_MMAP_THRESHOLD, 4 << 20);
    mallopt(M_TRIM_THRESHOLD, 16 << 20);
}

/* The store may go away while it is asked for all that a start needs: that is waited for,
 * as it is when it is not there at all. A node that was given up by the others (`again`)
 * comes back whatever keeps it from it. */
static Err open_daemon(const DaemonOptions *options, bool again, Daemon **out, Error *why)
{
    for (;;) {
        Err err = daemon_open(options, out, why);
        if (!err || (err != ERR_UNAVAILABLE && !again))
            return err;
        log_event(LOG_ERROR, "node.waiting", "why=%s", LOG_QUOTED(why->text));
        sleep(1);
    }
}

static int serve(const ServeOptions *options, Config *config)
{
    Error why = { 0 };
    Reload context = { options, config };
    Daemon *daemon;
    Buf url = { 0 };
    char listen[ADDRESS_HOST_BYTES + 16] = "";
    const Address *address = &config->listen;
    if (address->on && !options->private_one)
        snprintf(listen, sizeof listen, strchr(address->host, ':') ? "[%s]:%u" : "%s:%u",
                 address->host, address->port);
    config_store_url(config, &url);
    DaemonOptions daemon_with = daemon_options(config);
    daemon_with.listen = listen;
    daemon_with.store_url = buf_cstr(&url);
    daemon_with.private_one = options->private_one;
    daemon_with.private_idle_ms = PRIVATE_IDLE_MS;
    daemon_with.reload = reload;
    daemon_with.config = config;
    daemon_with.reload_context = &context;
    daemon_with.declared = &config->declared;
    Err err = open_daemon(&daemon_with, false, &daemon, &why);
    if (err) {
        buf_done(&url);
        fprintf(stderr, "pawl: %s [%s]\n", why.text, err_name(err));
        return 1;
    }
    greet(daemon);
    int status = daemon_run(daemon);
    while (status == DAEMON_AGAIN) {
        snprintf(listen, sizeof listen, "%s", daemon_facts(daemon)->listen);
        daemon_close(daemon);
        err = open_daemon(&daemon_with, true, &daemon, &why);
        assert(!err);
        status = daemon_run(daemon);
    }
    daemon_close(daemon);
    buf_done(&url);
    return status;
}

Err serve_config(const ServeStart *start, Config *out, Error *why)
{
    ServeOptions options = { 0 };
    Buf file = { 0 };
    int said = opterr;
    opterr = 0; /* these are not the words of our user */
    bool good = parse(start->argc, start->argv, &options);
    opterr = said;
    if (!good)
        return error_set(why, ERR_INVALID, "its options are of another version");
    options.sources.env = start->env;
    options.sources.cwd = start->cwd;
    if (start->cwd && options.sources.file && options.sources.file[0] != '/') {
        buf_printf(&file, "%s/%s", start->cwd, options.sources.file);
        options.sources.file = buf_cstr(&file);
    }
    Err err = config_load(&options.sources, out, why);
    buf_done(&file);
    if (!err && options.private_one)
        out->listen.on = false;
    return err;
}

int serve_main(int argc, char **argv)
{
    ServeOptions options = { 0 };
    Config config;
    Error why = { 0 };
    if (!parse(argc, argv, &options)) {
        fputs(usage, stderr);
        return EXIT_USAGE;
    }
    if (options.help) {
        fputs(usage, stdout);
        return 0;
    }
    if (options.check)
        return check(&options);
    if (config_load(&options.sources, &config, &why)) {
        fprintf(stderr, "pawl: %s [%s]\n", why.text, err_name(why.code));
        return EXIT_USAGE;
    }
    log_level_set(config.log_level);
    keep_memory_small();
    int status = serve(&options, &config);
    config_done(&config);
    return status;
}

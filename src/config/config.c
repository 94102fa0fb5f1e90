/* SPDX-License-Identifier: Apache-2.0 */
/* config.c - see config.h: the table, and every source but the files. */
#include "config/config.h"

#include "base/text.h"
#include "base/times.h"
#include "config/loader.h"
#include "config/settings.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#define KIB (1LL << 10)
#define MIB (1LL << 20)
#define GIB (1LL << 30)
#define TIB (1LL << 40)

#define COUNT(min, max)                                                                  \
    {                                                                                    \
        VALUE_COUNT, (min), (max)                                                        \
    }
#define DURATION(min, max)                                                               \
    {                                                                                    \
        VALUE_DURATION, (min), (max)                                                     \
    }
#define SIZE(min, max)                                                                   \
    {                                                                                    \
        VALUE_SIZE, (min), (max)                                                         \
    }
#define ONE(kind)                                                                        \
    {                                                                                    \
        (kind), 0, 0                                                                     \
    }
#define AT(field) offsetof(Config, field)

#define LIVE    true
#define RESTART false

#define SLOTS_MAX 100000               /* processes; far above what a machine can run */
#define AGE_MAX   (36500 * MS_PER_DAY) /* "for ever" in days that a date can hold */

static const ConfigField fields[CONFIG_KEYS] = {
    [CONFIG_DAEMON_LISTEN] = { "daemon", "listen", ONE(VALUE_ADDRESS), AT(listen),
                               "127.0.0.1:7420", RESTART,
                               "HTTP address; beyond loopback only with `tls` and a "
                               "token; `off`: Unix socket only" },
    [CONFIG_DAEMON_DATA] = { "daemon", "data", ONE(VALUE_PATH), AT(data), NULL, RESTART,
                             "data directory" },
    [CONFIG_DAEMON_SLOTS] = { "daemon", "slots", COUNT(0, SLOTS_MAX), AT(node.slots),
                              NULL, LIVE, "jobs that run at once on this node" },
    [CONFIG_DAEMON_LEGACY] = { "daemon", "legacy", ONE(VALUE_BOOL), AT(legacy), "off",
                               RESTART, "serve `/add`, `/start`, `/stop`, `/quit` too" },
    [CONFIG_DAEMON_GRACE] = { "daemon", "grace", DURATION(0, MS_PER_DAY),
                              AT(node.grace_ms), NULL, LIVE,
                              "between SIGTERM and SIGKILL of a job" },
    [CONFIG_DAEMON_DRAIN] = { "daemon", "drain", DURATION(0, MS_PER_HOUR), AT(drain_ms),
                              "PT0S", RESTART,
                              "how long a daemon that was told to stop still answers, "
                              "with `/readyz` at 503, so that balancers turn away" },
    [CONFIG_DAEMON_LOG_LEVEL] = { "daemon", "log_level", ONE(VALUE_LEVEL), AT(log_level),
                                  "info", LIVE, "least level that is logged" },
    [CONFIG_DAEMON_MODULES_ROOT] = { "daemon", "modules_root", ONE(VALUE_PATH),
                                     AT(modules_root), NULL, RESTART,
                                     "where control files' modules are, unless they "
                                     "say" },
    [CONFIG_TLS_CERTIFICATE] = { "tls", "certificate", ONE(VALUE_FILE),
                                 AT(tls_certificate), "off", RESTART,
                                 "certificate of the HTTP address and those above it, "
                                 "PEM; read again on SIGHUP" },
    [CONFIG_TLS_KEY] = { "tls", "key", ONE(VALUE_FILE), AT(tls_key), "off", RESTART,
                         "its key, PEM without a password; read again on SIGHUP" },
    [CONFIG_AUDIT_KEEP] = { "audit", "keep", DURATION(MS_PER_HOUR, AGE_MAX),
                            AT(audit_keep_ms), "90d", RESTART,
                            "how long who changed what is remembered" },
    [CONFIG_STORES] = { "stores", NULL, ONE(VALUE_STORE), AT(store), "sqlite:", RESTART,
                        "where jobs are kept: a list of one; `sqlite:` is `pawl.db` in "
                        "the data directory, `sqlite:PATH` another file, "
                        "`postgresql://HOST/DATABASE` a server" },
    [CONFIG_JOURNAL_SEGMENT] = { "journal", "segment", SIZE(64 * KIB, 4 * GIB),
                                 AT(segment_bytes), "64M", RESTART,
                                 "size of one journal file" },
    [CONFIG_JOURNAL_KEEP] = { "journal", "keep", DURATION(0, AGE_MAX),
                              AT(journal_keep_ms), "PT10M", RESTART,
                              "how long files are kept once the store has them" },
    [CONFIG_JOURNAL_KEEP_BYTES] = { "journal", "keep_bytes", SIZE(0, 1024 * TIB),
                                    AT(journal_keep_bytes), "1G", RESTART,
                                    "and at most so much of them" },
    [CONFIG_JOURNAL_MAX_LAG] = { "journal", "max_lag", SIZE(MIB, 1024 * TIB),
                                 AT(max_lag_bytes), "4G", RESTART,
                                 "journal ahead of its store by more: adds get 503" },
    [CONFIG_JOURNAL_ACK] = { "journal", "ack", ONE(VALUE_ACK), AT(ack), "journal",
                             RESTART,
                             "acknowledge an add when the `journal` has it, or the "
                             "`store` too" },
    [CONFIG_LIMITS_BODY] = { "limits", "body", SIZE(KIB, 4 * GIB), AT(body_bytes), "64M",
                             RESTART, "body of one request" },
    [CONFIG_LIMITS_PAYLOAD] = { "limits", "payload", SIZE(0, GIB), AT(payload_bytes),
                                "16M", RESTART, "payload of one job" },
    [CONFIG_LIMITS_CONNECTIONS] = { "limits", "connections", COUNT(1, 1000000),
                                    AT(connections), "10000", RESTART,
                                    "open HTTP connections" },
    [CONFIG_LIMITS_OUTPUT] = { "limits", "output", SIZE(KIB, TIB), AT(output_bytes), "8M",
                               RESTART, "output kept of one attempt; the tail is kept" },
    [CONFIG_LIMITS_RESULT] = { "limits", "result", SIZE(0, GIB), AT(result_bytes), "16M",
                               RESTART, "result kept of one job" },
    [CONFIG_LIMITS_HEADER] = { "limits", "header", SIZE(KIB, MIB), AT(header_bytes),
                               "16K", RESTART, "header of one request" },
    [CONFIG_LIMITS_IDLE] = { "limits", "idle", DURATION(MS_PER_S, MS_PER_DAY),
                             AT(idle_ms), "PT1M", RESTART,
                             "silent connections are closed after it" },
    [CONFIG_HTTP_ALLOW_PRIVATE] = { "http", "allow_private", ONE(VALUE_RANGES),
                                    AT(allow_private), "", RESTART,
                                    "private addresses that `http` handlers may call: "
                                    "a list of ranges such as `10.0.0.0/8`" },
    [CONFIG_CONTEXTS_JOBS] = { "contexts", "jobs", COUNT(1, 1000000000), AT(context_jobs),
                               "1000", RESTART,
                               "jobs that one warm context serves (`context-jobs`)" },
    [CONFIG_CONTEXTS_IDLE] = { "contexts", "idle", DURATION(MS_PER_S, AGE_MAX),
                               AT(context_idle_ms), "PT1M", RESTART,
                               "one without a job leaves after it (`context-idle`)" },
    [CONFIG_CONTEXTS_AGE] = { "contexts", "age", DURATION(MS_PER_S, AGE_MAX),
                              AT(context_age_ms), "PT1H", RESTART,
                              "one this old gets no more jobs" },
    [CONFIG_SCHEDULING_LEASE] = { "scheduling", "lease",
                                  DURATION(MS_PER_S, 7 * MS_PER_DAY), AT(node.lease_ms),
                                  NULL, LIVE,
                                  "a job without a sign of life for so long is lost "
                                  "(`job_stale_interval`)" },
    [CONFIG_SCHEDULING_POLL] = { "scheduling", "poll", DURATION(100, 10 * MS_PER_MIN),
                                 AT(node.poll_ms), NULL, LIVE,
                                 "the scheduler passes over all queues at least this "
                                 "often; what happens makes it do so at once" },
    [CONFIG_SCHEDULING_CHAIN] = { "scheduling", "chain_max", COUNT(0, 1000000000),
                                  AT(node.chain_max), NULL, LIVE,
                                  "`then` steps in a row, so that a circle of handlers "
                                  "ends; 0: any number" },
    [CONFIG_SCHEDULING_FORGET] = { "scheduling", "forget", DURATION(MS_PER_S, AGE_MAX),
                                   AT(forget_ms), "30d", RESTART,
                                   "a node that was lost so long ago and has no jobs "
                                   "left is gone for good: it is shown no more" },
    [CONFIG_SCHEDULING_ENABLED] = { "scheduling", "enabled", ONE(VALUE_BOOL),
                                    AT(node.enabled), NULL, LIVE,
                                    "`off`: accept jobs, start none" },
    [CONFIG_SCHEDULING_RETRY_DELAY] = { "scheduling", "retry_delay", DURATION(0, AGE_MAX),
                                        AT(node.retry_delay_ms), NULL, LIVE,
                                        "before the first retry; doubles each time" },
    [CONFIG_SCHEDULING_RETRY_DELAY_MAX] = { "scheduling", "retry_delay_max",
                                            DURATION(0, AGE_MAX),
                                            AT(node.retry_delay_max_ms), NULL, LIVE,
                                            "... up to this" },
    [CONFIG_SCHEDULING_RETRY_WINDOW] = { "scheduling", "retry_window",
                                         DURATION(0, AGE_MAX), AT(node.retry_window_ms),
                                         NULL, LIVE,
                                         "from the end of a job's first attempt; then "
                                         "`rejected`" },
    [CONFIG_SCHEDULING_KEEP_DONE] = { "scheduling", "keep_done", DURATION(0, AGE_MAX),
                                      AT(node.keep_done_ms), NULL, LIVE,
                                      "done jobs are deleted after it" },
    [CONFIG_SCHEDULING_KEEP_OTHER] = { "scheduling", "keep_other", DURATION(0, AGE_MAX),
                                       AT(node.keep_other_ms), NULL, LIVE,
                                       "and failed, rejected and cancelled ones" },
    [CONFIG_SCHEDULING_FAIRNESS] = { "scheduling", "fairness", ONE(VALUE_FAIRNESS),
                                     AT(node.fair_tenants), NULL, LIVE,
                                     "who takes turns: each queue of each tenant "
                                     "(`lane`), or each tenant (`tenant`)" },
};

/* In the contract, but not in this version: refused, so that nobody believes that they
 * work. */
static const char *const later_sections[] = {
    "tenants",   "queues",     "resources", "handlers",
    "schedules", "processors", "brokers",   "alerts",
};

const ConfigField *config_field(ConfigKey key)
{
    return &fields[key];
}

char *config_name(ConfigKey key, char out[CONFIG_NAME_BYTES])
{
    const ConfigField *field = &fields[key];
    snprintf(out, CONFIG_NAME_BYTES, "%s%s%s", field->section, field->name ? "." : "",
             field->name ? field->name : "");
    return out;
}

char *config_env_name(ConfigKey key, char out[CONFIG_NAME_BYTES])
{
    char name[CONFIG_NAME_BYTES - 5];
    snprintf(name, sizeof name, "%s", config_name(key, out));
    snprintf(out, CONFIG_NAME_BYTES, "PAWL_%s", name);
    for (char *at = out; *at; at++)
        *at = (char)(*at == '.' ? '_' : *at >= 'a' && *at <= 'z' ? *at - 'a' + 'A' : *at);
    return out;
}

static void *field_at(Config *config, ConfigKey key)
{
    return (char *)config + fields[key].offset;
}

bool loader_later_section(Slice section)
{
    for (size_t i = 0; i < sizeof later_sections / sizeof *later_sections; i++)
        if (slice_is(section, later_sections[i]))
            return true;
    return false;
}

void loader_words(const char *section, const char *words[LOADER_WORDS_MAX])
{
    size_t count = 0;
    for (ConfigKey key = 0; key < CONFIG_KEYS; key++) {
        const ConfigField *field = &fields[key];
        if (section && strcmp(section, field->section) == 0)
            words[count++] = field->name;
        else if (!section && (!count || strcmp(words[count - 1], field->section) != 0))
            words[count++] = field->section;
    }
    for (size_t i = 0; !section && i < sizeof later_sections / sizeof *later_sections;
         i++)
        words[count++] = later_sections[i];
    assert(count < LOADER_WORDS_MAX);
    words[count] = NULL;
}

void loader_suggest(Slice word, const char *const *words, Buf *out)
{
    const char *near = nearest_word(word, words);
    if (near) {
        buf_printf(out, "; did you mean \"%s\"?", near);
        return;
    }
    buf_add_text(out, "; known are ");
    for (size_t i = 0; words[i]; i++)
        buf_printf(out, "%s%s", i ? ", " : "", words[i]);
}

bool loader_error(Loader *loader, const char *place, const char *format, ...)
{
    if (loader->errors >= CONFIG_ERRORS_MAX)
        return false;
    char text[ERROR_TEXT_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (!loader->errors)
        error_set(&loader->first, ERR_INVALID, "%s: %s", place, text);
    buf_printf(&loader->lines, "%s: %s\n", place, text);
    if (++loader->errors < CONFIG_ERRORS_MAX)
        return true;
    buf_printf(&loader->lines, "%s: and so on: more than %d errors\n", place,
               CONFIG_ERRORS_MAX);
    return false;
}

static const char *absolute(Loader *loader, const char *folder, const char *path)
{
    Buf whole = { 0 };
    if (path[0] != '/')
        buf_printf(&whole, "%s/", folder);
    buf_add_text(&whole, path);
    while (whole.bytes > 1 && whole.data[whole.bytes - 1] == '/')
        whole.bytes--;
    const char *kept = slice_cstr(&loader->config->arena, buf_slice(&whole));
    buf_done(&whole);
    return kept;
}

void loader_set(Loader *loader, ConfigKey key, Slice text, Place place)
{
    Error why = { 0 };
    Config *config = loader->config;
    const ValueRule *rule = &fields[key].rule;
    if (value_parse(rule, text, &config->arena, field_at(config, key), &why)) {
        char name[CONFIG_NAME_BYTES];
        loader_error(loader, place.text, "%s%s%s",
                     place.names_key ? "" : config_name(key, name),
                     place.names_key ? "" : ": ", why.text);
        return;
    }
    const char **path = field_at(config, key);
    if (rule->kind == VALUE_PATH || (rule->kind == VALUE_FILE && **path)) {
        *path = absolute(loader, place.folder, *path);
    }
    config->origins[key] = place.text;
}

const char *loader_env(const Loader *loader, const char *name)
{
    size_t bytes = strlen(name);
    const char *const *env = loader->sources->env;
    for (size_t i = 0; env && env[i]; i++)
        if (strncmp(env[i], name, bytes) == 0 && env[i][bytes] == '=')
            return env[i][bytes + 1] ? env[i] + bytes + 1 : NULL;
    return NULL;
}

static const char *keep_text(Loader *loader, const char *before, const char *text)
{
    Buf whole = { 0 };
    buf_printf(&whole, "%s%s", before, text);
    const char *kept = slice_cstr(&loader->config->arena, buf_slice(&whole));
    buf_done(&whole);
    return kept;
}

/* --- Defaults ------------------------------------------------------------------- */

static void default_data(Loader *loader)
{
    const char *state = loader_env(loader, "XDG_STATE_HOME");
    const char *home = loader_env(loader, "HOME");
    if (state && state[0] == '/')
        loader->config->data = keep_text(loader, state, "/pawl");
    else if (home)
        loader->config->data = keep_text(loader, home, "/.local/state/pawl");
}

static void set_defaults(Loader *loader)
{
    Config *config = loader->config;
    config->node = node_settings_default();
    for (ConfigKey key = 0; key < CONFIG_KEYS; key++) {
        Place place = { .text = "default" };
        if (fields[key].initial)
            loader_set(loader, key, slice_text(fields[key].initial), place);
        config->origins[key] = place.text;
    }
    assert(!loader->errors);
    default_data(loader);
}

/* --- Environment ----------------------------------------------------------------- */

static void set_env(Loader *loader, ConfigKey key, const char *name)
{
    const char *value = loader_env(loader, name);
    Place place = { keep_text(loader, "$", name), loader->cwd, true };
    if (value)
        loader_set(loader, key, slice_text(value), place);
}

/* PAWL_<SECTION>_... where the section is ours; other PAWL_ variables are for clients
 * and jobs. */
static bool env_in_section(Slice name, const char *section)
{
    size_t bytes = strlen(section);
    if (name.bytes < 5 + bytes || !slice_starts(name, SLICE_LITERAL("PAWL_")))
        return false;
    for (size_t i = 0; i < bytes; i++)
        if (name.data[5 + i] != section[i] - 'a' + 'A')
            return false;
    return name.bytes == 5 + bytes || name.data[5 + bytes] == '_';
}

static void no_such_setting(Loader *loader, const char *place, const char *near)
{
    loader_error(loader, place, "no such setting%s%s%s", near ? "; did you mean " : "",
                 near ? near : "", near ? "?" : "");
}

static void check_env_name(Loader *loader, Slice name)
{
    char names[CONFIG_KEYS][CONFIG_NAME_BYTES];
    const char *words[CONFIG_KEYS + 1] = { NULL };
    const char *sections[LOADER_WORDS_MAX];
    char place[LOG_QUOTE_BYTES];
    size_t section = 0;
    loader_words(NULL, sections);
    while (sections[section] && !env_in_section(name, sections[section]))
        section++;
    if (!sections[section])
        return;
    for (ConfigKey key = 0; key < CONFIG_KEYS; key++) {
        words[key] = config_env_name(key, names[key]);
        if (slice_is(name, words[key]))
            return;
    }
    snprintf(place, sizeof place, "$" SLICE_FMT, SLICE_ARG(name));
    if (declare_section_find(loader->sources->sections, slice_text(sections[section])))
        loader_error(loader, place, "definitions stand in a file");
    else if (loader_later_section(slice_text(sections[section])))
        loader_error(loader, place, "not supported by this version");
    else
        no_such_setting(loader, place, nearest_word(name, words));
}

static void read_env(Loader *loader)
{
    char name[CONFIG_NAME_BYTES];
    const char *const *env = loader->sources->env;
    for (size_t i = 0; env && env[i]; i++) {
        Slice rest = slice_text(env[i]);
        check_env_name(loader, slice_cut(&rest, '='));
    }
    set_env(loader, CONFIG_DAEMON_DATA, "PAWL_DATA"); /* clients look there too */
    for (ConfigKey key = 0; key < CONFIG_KEYS; key++)
        set_env(loader, key, config_env_name(key, name));
}

/* --- Options --------------------------------------------------------------------- */

static void unknown_set(Loader *loader, const char *place, Slice name)
{
    char names[CONFIG_KEYS][CONFIG_NAME_BYTES];
    const char *words[CONFIG_KEYS + 1] = { NULL };
    const char *own = NULL; /* the key whose section was forgotten */
    Slice rest = name;
    Slice section = slice_cut(&rest, '.');
    if (declare_section_find(loader->sources->sections, section)) {
        loader_error(loader, place, "definitions stand in a file");
        return;
    }
    if (loader_later_section(section)) {
        loader_error(loader, place, "not supported by this version");
        return;
    }
    for (ConfigKey key = 0; key < CONFIG_KEYS; key++) {
        words[key] = config_name(key, names[key]);
        if (!own && fields[key].name && slice_is(name, fields[key].name))
            own = words[key];
    }
    no_such_setting(loader, place, own ? own : nearest_word(name, words));
}

static void read_set(Loader *loader, const char *set)
{
    char known[CONFIG_NAME_BYTES];
    Slice value = slice_text(set);
    Slice name = slice_cut(&value, '=');
    Arena *arena = &loader->config->arena;
    Place place = { .folder = loader->cwd, .names_key = true };
    place.text = keep_text(loader, "--set ", slice_cstr(arena, name));
    if (!value.data) {
        loader_error(loader, place.text, "a value is missing: --set daemon.slots=8");
        return;
    }
    for (ConfigKey key = 0; key < CONFIG_KEYS; key++) {
        if (!slice_is(name, config_name(key, known)))
            continue;
        loader_set(loader, key, value, place);
        return;
    }
    unknown_set(loader, place.text, name);
}

static void read_option(Loader *loader, ConfigKey key, const char *option,
                        const char *value)
{
    Place place = { option, loader->cwd, true };
    if (value)
        loader_set(loader, key, slice_text(value), place);
}

static void read_options(Loader *loader)
{
    const ConfigSources *sources = loader->sources;
    for (size_t i = 0; i < sources->set_count; i++)
        read_set(loader, sources->sets[i]);
    read_option(loader, CONFIG_DAEMON_LISTEN, "--listen", sources->listen);
    read_option(loader, CONFIG_DAEMON_DATA, "--data", sources->data);
    read_option(loader, CONFIG_DAEMON_SLOTS, "--slots", sources->slots);
    if (sources->store_count > 1)
        loader_error(loader, "--store", "this version takes one store");
    for (size_t i = 0; i < sources->store_count; i++)
        read_option(loader, CONFIG_STORES, "--store", sources->stores[i]);
}

/* --- All of it ------------------------------------------------------------------- */

/* Nothing listens beyond this machine in the clear; that there is a token, too, is known
 * when the store is open. */
static void check_tls(Loader *loader)
{
    const Config *config = loader->config;
    if (config->listen.beyond && !config->tls_key[0])
        loader_error(loader, config->origins[CONFIG_DAEMON_LISTEN],
                     "%s is not a loopback address: it needs TLS (tls.certificate, "
                     "tls.key) and a token (pawl token create)",
                     config->listen.host);
}

/* What no value can know alone. */
static void check_whole(Loader *loader)
{
    Error why = { 0 };
    Config *config = loader->config;
    if (config->data && !config->modules_root)
        config->modules_root = keep_text(loader, config->data, "/modules");
    if (!config->data)
        loader_error(loader, "daemon.data",
                     "no data directory: set HOME or PAWL_DATA, or say --data DIR");
    check_tls(loader);
    if (!settings_check(&config->node, &why))
        return;
    const char *place = config->origins[CONFIG_SCHEDULING_RETRY_DELAY];
    if (strcmp(place, "default") == 0)
        place = config->origins[CONFIG_SCHEDULING_RETRY_DELAY_MAX];
    loader_error(loader, place, "scheduling: %s", why.text);
}

static void load(Loader *loader)
{
    char *cwd = NULL;
    loader->cwd = loader->sources->cwd;
    if (!loader->cwd) {
        cwd = get_current_dir_name();
        loader->cwd = cwd ? cwd : ".";
    }
    set_defaults(loader);
    loader_read_files(loader);
    read_env(loader);
    read_options(loader);
    if (!loader->errors)
        check_whole(loader);
    mem_free(cwd);
}

Err config_load(const ConfigSources *sources, Config *out, Error *why)
{
    Config config = { 0 };
    Loader loader = { .sources = sources, .config = &config };
    load(&loader);
    buf_done(&loader.lines);
    if (!loader.errors) {
        *out = config;
        return ERR_OK;
    }
    config_done(&config);
    if (loader.errors == 1)
        return error_set(why, ERR_INVALID, "%s", loader.first.text);
    return error_set(why, ERR_INVALID, "%.440s (and %zu more)", loader.first.text,
                     loader.errors - 1);
}

size_t config_check(const ConfigSources *sources, Buf *out_lines)
{
    Config config = { 0 };
    Loader loader = { .sources = sources, .config = &config };
    load(&loader);
    buf_add_slice(out_lines, buf_slice(&loader.lines));
    buf_done(&loader.lines);
    config_done(&config);
    return loader.errors;
}

void config_done(Config *config)
{
    arena_done(&config->arena);
    arena_done(&config->declared_arena);
    *config = (Config){ 0 };
}

void config_store_url(const Config *config, Buf *out)
{
    if (strncmp(config->store, "sqlite:", strlen("sqlite:")) != 0) {
        buf_add_text(out, config->store);
        return;
    }
    const char *path = config->store + strlen("sqlite:");
    buf_add_text(out, "sqlite:");
    if (path[0] != '/')
        buf_printf(out, "%s/", config->data);
    buf_add_text(out, path[0] ? path : "pawl.db");
}

/* SPDX-License-Identifier: Apache-2.0 */
/* config.h - the configuration of a daemon: where each value comes from, and its checks.
 *
 * One table (config_field) says of every key its section, kind, range, default and
 * whether a reload applies it. Later sources win: built-in defaults, the file, the files
 * of pawl.d beside it in the order of their names, the environment (PAWL_DAEMON_SLOTS),
 * --set daemon.slots=8, the options that have a name of their own (--slots 8).
 *
 * What must hold:
 *   C1  a Config is whole: a load with any error gives none.
 *   C2  nothing is ignored: what is unknown, misplaced, given twice or only known to
 *       later versions is an error with its place.
 *   C3  what config_show prints is a configuration with the same values. */
#ifndef CONFIG_CONFIG_H
#define CONFIG_CONFIG_H

#include "base/log.h"
#include "config/declare.h"
#include "config/value.h"
#include "core/node/node.h"

typedef enum ConfigKey {
    CONFIG_DAEMON_LISTEN,
    CONFIG_DAEMON_DATA,
    CONFIG_DAEMON_SLOTS,
    CONFIG_DAEMON_LEGACY,
    CONFIG_DAEMON_GRACE,
    CONFIG_DAEMON_DRAIN,
    CONFIG_DAEMON_LOG_LEVEL,
    CONFIG_DAEMON_MODULES_ROOT,
    CONFIG_TLS_CERTIFICATE,
    CONFIG_TLS_KEY,
    CONFIG_AUDIT_KEEP,
    CONFIG_STORES,
    CONFIG_JOURNAL_SEGMENT,
    CONFIG_JOURNAL_KEEP,
    CONFIG_JOURNAL_KEEP_BYTES,
    CONFIG_JOURNAL_MAX_LAG,
    CONFIG_JOURNAL_ACK,
    CONFIG_LIMITS_BODY,
    CONFIG_LIMITS_PAYLOAD,
    CONFIG_LIMITS_CONNECTIONS,
    CONFIG_LIMITS_OUTPUT,
    CONFIG_LIMITS_RESULT,
    CONFIG_LIMITS_HEADER,
    CONFIG_LIMITS_IDLE,
    CONFIG_HTTP_ALLOW_PRIVATE,
    CONFIG_CONTEXTS_JOBS,
    CONFIG_CONTEXTS_IDLE,
    CONFIG_CONTEXTS_AGE,
    CONFIG_SCHEDULING_LEASE,
    CONFIG_SCHEDULING_POLL,
    CONFIG_SCHEDULING_CHAIN,
    CONFIG_SCHEDULING_FORGET,
    CONFIG_SCHEDULING_ENABLED,
    CONFIG_SCHEDULING_RETRY_DELAY,
    CONFIG_SCHEDULING_RETRY_DELAY_MAX,
    CONFIG_SCHEDULING_RETRY_WINDOW,
    CONFIG_SCHEDULING_KEEP_DONE,
    CONFIG_SCHEDULING_KEEP_OTHER,
    CONFIG_SCHEDULING_FAIRNESS,
} ConfigKey;
#define CONFIG_KEYS (CONFIG_SCHEDULING_FAIRNESS + 1)

typedef struct Config {
    /* daemon */
    Address listen;
    const char *data; /* absolute */
    bool legacy;
    int64_t drain_ms;
    LogLevel log_level;
    const char *modules_root; /* absolute */
    /* tls: "" if there is none */
    const char *tls_certificate;
    const char *tls_key;
    /* audit */
    int64_t audit_keep_ms;
    /* scheduling, beside `node` */
    int64_t forget_ms;
    /* stores: this version takes one */
    const char *store; /* as written: see config_store_url */
    /* journal */
    uint64_t segment_bytes;
    int64_t journal_keep_ms;
    uint64_t journal_keep_bytes;
    uint64_t max_lag_bytes; /* ahead of its store by more, adds are refused */
    Ack ack;
    /* limits */
    uint64_t body_bytes;
    uint64_t payload_bytes;
    uint32_t connections;
    uint64_t output_bytes; /* kept of each attempt */
    uint64_t result_bytes;
    uint64_t header_bytes; /* of one request */
    int64_t idle_ms;       /* a connection without a request */
    /* http */
    const char *allow_private; /* ranges that http handlers may call */
    /* contexts: when a warm one is replaced */
    uint32_t context_jobs;
    int64_t context_idle_ms;
    int64_t context_age_ms;
    /* daemon.slots, daemon.grace and scheduling: the first values of settings.h */
    NodeSettings node;
    /* handlers, ...: definitions that stand in the file */
    Declared *declared;
    Arena declared_arena; /* of their own: a reload changes all of them */

    /* Where each value comes from: "default", "/etc/pawl/pawl.yaml:3:10",
     * "$PAWL_DAEMON_SLOTS", "--set daemon.slots", "--slots". */
    const char *origins[CONFIG_KEYS];
    Arena arena; /* holds all texts */
} Config;

typedef struct ConfigSources {
    const char *file;        /* --config: must exist; NULL: the usual one, if it exists */
    const char *const *env;  /* as environ; NULL: none */
    const char *const *sets; /* "daemon.slots=8" */
    size_t set_count;
    const char *listen; /* options; NULL: not given */
    const char *data;
    const char *slots;
    const char *const *stores;
    size_t store_count;
    const char *cwd;                /* for relative paths; NULL: the process's own */
    const DeclareSection *sections; /* what may be declared; NULL: nothing */
} ConfigSources;

/* Reads everything. *why is the first error, with the number of the others. config_done
 * frees what a successful load filled. */
MUST_CHECK Err config_load(const ConfigSources *sources, Config *out, Error *why);
void config_done(Config *config);

/* Reads everything and adds every error to *out_lines, one on a line:
 * "file:line:column: message". Returns how many there are. */
size_t config_check(const ConfigSources *sources, Buf *out_lines);

/* The store's URL with its path: "sqlite:" is pawl.db in the data directory, a relative
 * path is below that directory. */
void config_store_url(const Config *config, Buf *out);

/* --- The table ------------------------------------------------------------------ */

typedef struct ConfigField {
    const char *section;
    const char *name; /* NULL: the section is the value */
    ValueRule rule;
    size_t offset;       /* in Config */
    const char *initial; /* NULL: node_settings_default(), or found out at the start */
    bool live;           /* a reload applies it; else it needs a restart */
    const char *help;
} ConfigField;

const ConfigField *config_field(ConfigKey key);

#define CONFIG_NAME_BYTES 40
char *config_name(ConfigKey key, char out[CONFIG_NAME_BYTES]);     /* daemon.slots */
char *config_env_name(ConfigKey key, char out[CONFIG_NAME_BYTES]); /* PAWL_DAEMON_SLOTS */

static inline const void *config_at(const Config *config, ConfigKey key)
{
    return (const char *)config + config_field(key)->offset;
}

/* --- Showing and reloading -------------------------------------------------------- */

/* The effective configuration as YAML, with the origins as comments where asked. */
void config_show(const Config *config, bool with_origin, Buf *out);

typedef struct ConfigChange {
    ConfigKey key;
    const char *before; /* texts in the diff's arena */
    const char *after;
    bool live;
} ConfigChange;

typedef struct ConfigDiff {
    ConfigChange changes[CONFIG_KEYS];
    size_t count;
    size_t restart_count; /* of them need a restart */
    Arena arena;
} ConfigDiff;

/* What a reload would change. A reload is: config_load (an error changes nothing),
 * config_diff for the log, config_adopt. */
void config_diff(const Config *before, const Config *after, ConfigDiff *out);
void config_diff_done(ConfigDiff *diff);

/* *running takes the live values and the definitions of *loaded and keeps its own of
 * those that need a restart; *loaded is left empty. Texts in *running stay where they
 * are. */
void config_adopt(Config *running, Config *loaded);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* file_test.c - files of a configuration: good ones, and every kind of error with
 * its exact place. */
#include "config/testing.h"

#include "base/rng.h"

/* A file with every key of this version. */
static const char full[] =
    "# all keys\n"
    "daemon:   { listen: \"127.0.0.1:7421\", data: /var/lib/pawl, slots: 8, legacy: on,\n"
    "            grace: 20s, drain: 5s, log_level: debug, modules_root: /modules }\n"
    "stores:   [ \"sqlite:other.db\" ]\n"
    "journal:\n"
    "  segment: 8MiB\n"
    "  keep: 1h\n"
    "  keep_bytes: 2G\n"
    "  max_lag: 512M\n"
    "  ack: store\n"
    "tls: { certificate: /c.pem, key: /k.pem }\n"
    "audit: { keep: 1d }\n"
    "limits:   { body: 32M, payload: 4M, connections: 500, output: 1M, result: 2M,\n"
    "            header: 8K, idle: 30s }\n"
    "http: { allow_private: [\"10.0.0.0/8\", 127.0.0.1] }\n"
    "contexts: { jobs: 50, idle: 30s, age: 10m }\n"
    "scheduling:\n"
    "  lease: PT1M\n"
    "  poll: 3s\n"
    "  chain_max: 9\n"
    "  forget: 2d\n"
    "  enabled: off\n"
    "  retry_delay: 2s\n"
    "  retry_delay_max: 10m\n"
    "  retry_window: 12h\n"
    "  keep_done: 7d\n"
    "  keep_other: 1w\n"
    "  fairness: tenant\n";

static void a_full_file_sets_every_key(void **state)
{
    const Folder *folder = *state;
    ConfigSources sources = folder_sources(folder);
    Config config;
    Error why = { 0 };
    folder_write(folder, "pawl.yaml", full);
    if (config_load(&sources, &config, &why))
        fail_msg("%s", why.text);
    assert_int_equal(config.listen.port, 7421);
    assert_string_equal(config.data, "/var/lib/pawl");
    assert_int_equal(config.node.slots, 8);
    assert_true(config.legacy);
    assert_int_equal(config.node.grace_ms, 20000);
    assert_int_equal(config.drain_ms, 5000);
    assert_int_equal(config.log_level, LOG_DEBUG);
    assert_string_equal(config.modules_root, "/modules");
    assert_string_equal(config.store, "sqlite:other.db");
    assert_int_equal(config.segment_bytes, 8 << 20);
    assert_int_equal(config.journal_keep_ms, MS_PER_HOUR);
    assert_int_equal(config.journal_keep_bytes, 2LL << 30);
    assert_int_equal(config.max_lag_bytes, 512 << 20);
    assert_int_equal(config.ack, ACK_STORE);
    assert_int_equal(config.body_bytes, 32 << 20);
    assert_int_equal(config.payload_bytes, 4 << 20);
    assert_int_equal(config.connections, 500);
    assert_int_equal(config.output_bytes, 1 << 20);
    assert_int_equal(config.result_bytes, 2 << 20);
    assert_int_equal(config.header_bytes, 8 << 10);
    assert_int_equal(config.idle_ms, 30000);
    assert_string_equal(config.allow_private, "10.0.0.0/8, 127.0.0.1");
    assert_int_equal(config.context_jobs, 50);
    assert_int_equal(config.context_idle_ms, 30000);
    assert_int_equal(config.context_age_ms, 600000);
    assert_int_equal(config.node.lease_ms, 60000);
    assert_int_equal(config.node.poll_ms, 3000);
    assert_int_equal(config.node.chain_max, 9);
    assert_int_equal(config.forget_ms, 2 * MS_PER_DAY);
    assert_false(config.node.enabled);
    assert_int_equal(config.node.retry_delay_ms, 2000);
    assert_int_equal(config.node.retry_delay_max_ms, 600000);
    assert_int_equal(config.node.retry_window_ms, 12 * MS_PER_HOUR);
    assert_int_equal(config.node.keep_done_ms, 7 * MS_PER_DAY);
    assert_int_equal(config.node.keep_other_ms, 7 * MS_PER_DAY);
    assert_true(config.node.fair_tenants);
    for (ConfigKey key = 0; key < CONFIG_KEYS; key++)
        assert_memory_equal(config.origins[key], folder->file, strlen(folder->file));
    config_done(&config);
}

static const char *const good[] = {
    "",
    "# nothing\n",
    "---\n...\n",
    "daemon:\n",
    "stores:\n# - sqlite:\n",
    "daemon: {}\n",
    "daemon: { slots: \"4\" }\n",
    "daemon: { listen: off }\n",
    "daemon: { slots: 0 }\n",
    "stores:\n  - 'sqlite:'\n",
    "%YAML 1.1\n---\ndaemon:\n    legacy: true\n",
    "\xef\xbb\xbf# a byte order mark\ndaemon:\n  slots: 2\nlimits:\n  idle: 5\n",
};

static void good_files_have_no_errors(void **state)
{
    const Folder *folder = *state;
    ConfigSources sources = folder_sources(folder);
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        Buf lines = { 0 };
        folder_write(folder, "pawl.yaml", good[i]);
        if (config_check(&sources, &lines))
            fail_msg("%s\n%s", good[i], buf_cstr(&lines));
        buf_done(&lines);
    }
}

typedef struct Bad {
    const char *text;
    const char *errors; /* each line without the path and its colon */
} Bad;

static const Bad bad[] = {
    /* Unknown names, with the nearest. */
    { "daemon:\n  slotz: 4\n",
      "2:3: unknown key \"slotz\" in daemon; did you mean \"slots\"?\n" },
    { "daemon: { listen: off, log-level: info }\n",
      "1:24: unknown key \"log-level\" in daemon; did you mean \"log_level\"?\n" },
    { "journal:\n  colour: blue\n",
      "2:3: unknown key \"colour\" in journal; known are segment, keep, keep_bytes, "
      "max_lag, ack\n" },
    { "deamon:\n  slots: 4\n", "1:1: unknown section \"deamon\"; did you mean "
                               "\"daemon\"?\n" },
    { "slots: 4\n", "1:1: unknown section \"slots\"; did you mean daemon.slots?\n" },
    { "elsewhere: 4\n",
      "1:1: unknown section \"elsewhere\"; known are daemon, tls, audit, stores, "
      "journal, "
      "limits, "
      "http, contexts, scheduling, tenants, queues, resources, handlers, schedules, "
      "processors, brokers, alerts\n" },
    { "daemon: {<<: 1}\n",
      "1:10: unknown key \"<<\" in daemon; known are listen, data, slots, legacy, grace, "
      "drain, log_level, modules_root\n" },
    { "daemon: {\"a\\e[31m\": 1}\n",
      "1:10: unknown key \"a\\x1b[31m\" in daemon; known are listen, data, slots, "
      "legacy, grace, drain, log_level, modules_root\n" },
    /* Sections of later versions. */
    { "queues:\n  - { name: default, slots: 4 }\n",
      "1:1: \"queues\" is not supported by this version\n" },
    { "resources: []\nhandlers: []\nschedules: []\nprocessors: []\nbrokers: []\n"
      "alerts: []\n",
      "1:1: \"resources\" is not supported by this version\n"
      "2:1: \"handlers\" is not supported by this version\n"
      "3:1: \"schedules\" is not supported by this version\n"
      "4:1: \"processors\" is not supported by this version\n"
      "5:1: \"brokers\" is not supported by this version\n"
      "6:1: \"alerts\" is not supported by this version\n" },
    /* Ranges of addresses. */
    { "http: { allow_private: [10.0.0.0/33] }\n",
      "1:24: http.allow_private: \"10.0.0.0/33\": the prefix is 0 to 32\n" },
    { "http: { allow_private: [[x]] }\n",
      "1:25: http.allow_private: a list of address ranges such as 10.0.0.0/8 is "
      "expected, not a list\n" },
    { "http: { allow_private: {} }\n",
      "1:24: http.allow_private: a list of address ranges such as 10.0.0.0/8 is "
      "expected, not a mapping\n" },
    /* Wrong types. */
    { "daemon:\n  slots: [4]\n",
      "2:10: daemon.slots: a whole number is expected, not a list\n" },
    { "daemon:\n  slots: { a: 4 }\n",
      "2:10: daemon.slots: a whole number is expected, not a mapping\n" },
    { "daemon:\n  slots:\n", "2:9: daemon.slots: a whole number is expected, not "
                             "nothing\n" },
    { "daemon:\n  legacy: ~\n",
      "2:11: daemon.legacy: on or off is expected, not nothing\n" },
    { "daemon: 4\n", "1:9: daemon: a mapping of keys is expected, not a single value\n" },
    { "limits:\n  - body\n", "2:3: limits: a mapping of keys is expected, not a list\n" },
    { "stores: \"sqlite:\"\n",
      "1:9: stores: a list of stores is expected, not a single value\n" },
    { "- daemon\n", "1:1: sections are expected (daemon:, stores:, ...), not a list\n" },
    { "hello\n",
      "1:1: sections are expected (daemon:, stores:, ...), not a single value\n" },
    /* Bad values. */
    { "daemon:\n  slots: four\n",
      "2:10: daemon.slots: \"four\" is not a whole number\n" },
    { "daemon:\n  slots: 100001\n",
      "2:10: daemon.slots: \"100001\" is out of range: 0 to 100000\n" },
    { "daemon:\n  legacy: yes\n", "2:11: daemon.legacy: \"yes\" is not on or off\n" },
    { "daemon:\n  grace: 1 month\n",
      "2:10: daemon.grace: \"1 month\" is no duration: unknown unit (90s, 1h30m, 200ms, "
      "PT20M)\n" },
    { "daemon:\n  log_level: loud\n",
      "2:14: daemon.log_level: \"loud\" is not debug, info, warn or error\n" },
    { "daemon:\n  listen: 0.0.0.0:7420\n",
      "2:11: 0.0.0.0 is not a loopback address: it needs TLS (tls.certificate, "
      "tls.key) and a token (pawl token create)\n" },
    { "daemon:\n  data: ~/pawl\n",
      "2:9: daemon.data: \"~\" is not expanded: write the path of the home directory\n" },
    { "journal: { segment: 64MB, ack: none }\n",
      "1:21: journal.segment: \"64MB\" is not a size such as 64M, 8MiB or a number of "
      "bytes\n"
      "1:32: journal.ack: \"none\" is not journal or store\n" },
    { "scheduling: { lease: 10ms }\n",
      "1:22: scheduling.lease: \"10ms\" is out of range: PT1S to PT168H\n" },
    { "stores: []\n", "1:9: stores: the list is empty\n" },
    { "stores: [ \"mysql://db1/pawl\" ]\n",
      "1:11: stores: a store \"mysql:\" is not supported: only sqlite: and "
      "postgresql:\n" },
    { "stores: [ \"sqlite:\", \"sqlite:b\" ]\n",
      "1:22: stores: this version takes one store\n" },
    { "stores:\n  - sqlite:\n",
      "2:5: stores: the address of a store in quotes is expected, not a mapping\n" },
    { "stores: [ [] ]\n",
      "1:11: stores: the address of a store such as sqlite: is expected, not a list\n" },
    /* Twice. */
    { "daemon:\n  slots: 4\n  slots: 5\n",
      "3:3: daemon.slots is set twice, first in line 2\n" },
    { "daemon: {}\nlimits: {}\ndaemon: {}\n",
      "3:1: section daemon stands twice, first in line 1\n" },
    { "stores: [ \"sqlite:\" ]\nstores: [ \"sqlite:\" ]\n",
      "2:1: section stores stands twice, first in line 1\n" },
    /* Together. */
    { "scheduling:\n  retry_delay: 10m\n",
      "2:16: scheduling: retry_delay (PT10M) is longer than retry_delay_max (PT5M)\n" },
    { "scheduling:\n  retry_delay_max: 1s\n",
      "2:20: scheduling: retry_delay (PT5S) is longer than retry_delay_max (PT1S)\n" },
    /* No YAML. */
    { "daemon: {\n", "2:1: not valid YAML: while parsing a flow node, did not find "
                     "expected node content\n" },
    /* Every error, not only the first. */
    { "daemon:\n  slotz: 4\n  grace: never\nqueues: []\nlimits:\n  body: [1]\n",
      "2:3: unknown key \"slotz\" in daemon; did you mean \"slots\"?\n"
      "3:10: daemon.grace: \"never\" is no duration: a number is missing (90s, 1h30m, "
      "200ms, PT20M)\n"
      "4:1: \"queues\" is not supported by this version\n"
      "6:9: limits.body: a size such as 64M, 8MiB or a number of bytes is expected, not "
      "a list\n" },
};

static void every_error_has_its_place(void **state)
{
    const Folder *folder = *state;
    ConfigSources sources = folder_sources(folder);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        Buf lines = { 0 };
        Buf expected = { 0 };
        size_t count = 0;
        for (Slice rest = slice_text(bad[i].errors); rest.bytes; count++) {
            Slice line = slice_cut(&rest, '\n');
            buf_printf(&expected, "%s:" SLICE_FMT "\n", folder->file, SLICE_ARG(line));
        }
        folder_write(folder, "pawl.yaml", bad[i].text);
        assert_int_equal(config_check(&sources, &lines), count);
        assert_string_equal(buf_cstr(&lines), buf_cstr(&expected));
        buf_done(&lines);
        buf_done(&expected);
    }
}

static void a_load_gives_the_first_error_and_their_number(void **state)
{
    const Folder *folder = *state;
    ConfigSources sources = folder_sources(folder);
    Config config = { .connections = 77 };
    Error why = { 0 };
    char expected[300];
    folder_write(folder, "pawl.yaml", "daemon: { slots: x }\nqueues: []\nalerts: []\n");
    assert_int_equal(config_load(&sources, &config, &why), ERR_INVALID);
    snprintf(expected, sizeof expected,
             "%s:1:18: daemon.slots: \"x\" is not a whole number (and 2 more)",
             folder->file);
    assert_string_equal(why.text, expected);
    assert_int_equal(config.connections, 77); /* untouched */
}

static void a_file_of_another_kind_is_not_listed_line_by_line(void **state)
{
    const Folder *folder = *state;
    ConfigSources sources = folder_sources(folder);
    Buf text = { 0 };
    Buf lines = { 0 };
    for (int i = 0; i < 5000; i++)
        buf_printf(&text, "word%d: x\n", i);
    folder_write(folder, "pawl.yaml", buf_cstr(&text));
    assert_int_equal(config_check(&sources, &lines), 100);
    assert_non_null(strstr(buf_cstr(&lines), "and so on: more than 100 errors\n"));
    buf_done(&text);
    buf_done(&lines);
}

static void check_alone(const Folder *folder, const char *file, const char *expected)
{
    Buf lines = { 0 };
    ConfigSources sources = folder_sources(folder);
    sources.file = file;
    assert_int_equal(config_check(&sources, &lines), 1);
    assert_string_equal(buf_cstr(&lines), expected);
    buf_done(&lines);
}

static void files_that_cannot_be_read_are_named(void **state)
{
    const Folder *folder = *state;
    char expected[200];
    snprintf(expected, sizeof expected,
             "%s: cannot be opened: No such file or directory\n", folder->file);
    check_alone(folder, folder->file, expected);
    snprintf(expected, sizeof expected, "%s: cannot be read: Is a directory\n",
             folder->path);
    check_alone(folder, folder->path, expected);
    Buf large = { 0 };
    memset(buf_room(&large, 2u << 20), '\n', 2u << 20);
    large.bytes = 2u << 20;
    folder_write_bytes(folder, "pawl.yaml", buf_slice(&large));
    snprintf(expected, sizeof expected, "%s: larger than 1048576 bytes\n", folder->file);
    check_alone(folder, folder->file, expected);
    buf_done(&large);
}

static void drop_ins_follow_in_the_order_of_their_names(void **state)
{
    const Folder *folder = *state;
    ConfigSources sources = folder_sources(folder);
    Config config;
    Error why = { 0 };
    char origin[200];
    folder_dir(folder, "pawl.d");
    folder_write(folder, "pawl.yaml", "daemon: { slots: 1, grace: 1s, data: d }\n");
    folder_write(folder, "pawl.d/10-a.yaml", "daemon: { slots: 2, grace: 2s }\n");
    folder_write(folder, "pawl.d/9-b.yaml", "\ndaemon: { slots: 3, data: e }\n");
    folder_write(folder, "pawl.d/.x.yaml", "not read");
    folder_write(folder, "pawl.d/note.txt", "not read");
    if (config_load(&sources, &config, &why))
        fail_msg("%s", why.text);
    assert_int_equal(config.node.slots, 3);
    assert_int_equal(config.node.grace_ms, 2000);
    snprintf(origin, sizeof origin, "%s/pawl.d/9-b.yaml:2:18", folder->path);
    assert_string_equal(config.origins[CONFIG_DAEMON_SLOTS], origin);
    snprintf(origin, sizeof origin, "%s/pawl.d/10-a.yaml:1:28", folder->path);
    assert_string_equal(config.origins[CONFIG_DAEMON_GRACE], origin);
    snprintf(origin, sizeof origin, "%s/pawl.d/e", folder->path);
    assert_string_equal(config.data, origin); /* relative to the file that says it */
    config_done(&config);
}

static void an_error_in_one_file_does_not_hide_those_in_another(void **state)
{
    const Folder *folder = *state;
    ConfigSources sources = folder_sources(folder);
    Buf lines = { 0 };
    Buf expected = { 0 };
    folder_dir(folder, "pawl.d");
    folder_write(folder, "pawl.yaml", "daemon: [\n");
    folder_write(folder, "pawl.d/10-a.yaml", "alerts: []\n");
    folder_write(folder, "pawl.d/c.yml", "daemon: {}\n");
    buf_printf(&expected,
               "%s:2:1: not valid YAML: while parsing a flow node, did not find expected "
               "node content\n"
               "%s/pawl.d/10-a.yaml:1:1: \"alerts\" is not supported by this version\n"
               "%s/pawl.d/c.yml: only *.yaml is read here: rename it\n",
               folder->file, folder->path, folder->path);
    assert_int_equal(config_check(&sources, &lines), 3);
    assert_string_equal(buf_cstr(&lines), buf_cstr(&expected));
    buf_done(&lines);
    buf_done(&expected);
}

static void the_usual_file_is_read_if_it_exists(void **state)
{
    const Folder *folder = *state;
    ConfigSources sources = { .env = folder->env, .cwd = "/nowhere" };
    Config config;
    Error why = { 0 };
    assert_int_equal(config_load(&sources, &config, &why), ERR_OK);
    assert_int_equal(config.node.slots, 4);
    config_done(&config);

    folder_dir(folder, ".config");
    folder_dir(folder, ".config/pawl");
    folder_dir(folder, ".config/pawl/pawl.d");
    folder_write(folder, ".config/pawl/pawl.d/a.yaml", "daemon: { slots: 5 }\n");
    assert_int_equal(config_load(&sources, &config, &why), ERR_OK);
    assert_int_equal(config.node.slots, 5); /* also without the file beside it */
    config_done(&config);

    folder_write(folder, ".config/pawl/pawl.yaml", "daemon: { slots: 6, grace: 3s }\n");
    assert_int_equal(config_load(&sources, &config, &why), ERR_OK);
    assert_int_equal(config.node.slots, 5);
    assert_int_equal(config.node.grace_ms, 3000);
    config_done(&config);

    char xdg[200];
    snprintf(xdg, sizeof xdg, "XDG_CONFIG_HOME=%s/.config", folder->path);
    const char *env[] = { "HOME=/nowhere", xdg, NULL };
    sources.env = env;
    assert_int_equal(config_load(&sources, &config, &why), ERR_OK);
    assert_int_equal(config.node.slots, 5);
    config_done(&config);
}

static void mutate(Rng *rng, Buf *text)
{
    static const char letters[] = "\n\t :-[]{},'\"#&*!|>%@`~?\\aZ09\xff\xc3\xa4\x01";
    size_t at = (size_t)rng_below(rng, text->bytes);
    size_t from = (size_t)rng_below(rng, text->bytes);
    size_t bytes = (size_t)rng_below(rng, 12);
    switch (rng_below(rng, 4)) {
    case 0: /* another byte, NUL among them */
        text->data[at] = letters[rng_below(rng, sizeof letters)];
        return;
    case 1: /* cut */
        text->bytes = at + 1;
        return;
    case 2: /* a piece over another */
        if (at + bytes < text->bytes && from + bytes < text->bytes)
            memmove(text->data + at, text->data + from, bytes);
        return;
    default: /* a piece again at the end */
        if (from + bytes >= text->bytes)
            return;
        buf_room(text, bytes); /* first: it may move the text */
        buf_add(text, text->data + from, bytes);
        return;
    }
}

/* Whatever a file holds: it loads whole, or its errors have places. */
static void no_mutation_of_a_file_does_harm(void **state)
{
    const Folder *folder = *state;
    ConfigSources sources = folder_sources(folder);
    Rng rng = { 20240611 };
    size_t loaded = 0;
    for (int round = 0; round < 1000; round++) {
        Buf text = { 0 };
        Buf lines = { 0 };
        buf_add_text(&text, full);
        for (uint64_t n = 1 + rng_below(&rng, 4); n; n--)
            mutate(&rng, &text);
        folder_write_bytes(folder, "pawl.yaml", buf_slice(&text));
        Config config;
        Error why = { 0 };
        size_t errors = config_check(&sources, &lines);
        Err err = config_load(&sources, &config, &why);
        assert_int_equal(err == ERR_OK, errors == 0);
        if (!err)
            config_done(&config);
        loaded += !err;
        for (Slice rest = buf_slice(&lines); rest.bytes; slice_cut(&rest, '\n'))
            assert_true(slice_starts(rest, slice_text(folder->file)) ||
                        rest.data[0] == ' ');
        buf_done(&text);
        buf_done(&lines);
    }
    assert_in_range(loaded, 50, 950); /* both ways are really taken */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        folder_test(a_full_file_sets_every_key),
        folder_test(good_files_have_no_errors),
        folder_test(every_error_has_its_place),
        folder_test(a_load_gives_the_first_error_and_their_number),
        folder_test(a_file_of_another_kind_is_not_listed_line_by_line),
        folder_test(files_that_cannot_be_read_are_named),
        folder_test(drop_ins_follow_in_the_order_of_their_names),
        folder_test(an_error_in_one_file_does_not_hide_those_in_another),
        folder_test(the_usual_file_is_read_if_it_exists),
        folder_test(no_mutation_of_a_file_does_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* config_test.c - where values come from, and which source wins. */
#include "config/testing.h"

#include "base/times.h"

static Config must_load(const ConfigSources *sources)
{
    Config config;
    Error why = { 0 };
    if (config_load(sources, &config, &why))
        fail_msg("%s", why.text);
    return config;
}

static void must_fail(const ConfigSources *sources, const char *errors)
{
    Buf lines = { 0 };
    config_check(sources, &lines);
    assert_string_equal(buf_cstr(&lines), errors);
    buf_done(&lines);
}

/* The reference names these. */
static void defaults_are_those_of_the_contract(void **state)
{
    (void)state;
    const char *env[] = { "HOME=/home/me", NULL };
    Config config = must_load(&(ConfigSources){ .env = env });
    assert_string_equal(config.listen.host, "127.0.0.1");
    assert_int_equal(config.listen.port, 7420);
    assert_string_equal(config.data, "/home/me/.local/state/pawl");
    assert_string_equal(config.store, "sqlite:");
    assert_false(config.legacy);
    assert_int_equal(config.log_level, LOG_INFO);
    assert_int_equal(config.segment_bytes, 64 << 20);
    assert_int_equal(config.journal_keep_ms, 10 * MS_PER_MIN);
    assert_int_equal(config.journal_keep_bytes, 1 << 30);
    assert_int_equal(config.ack, ACK_JOURNAL);
    assert_int_equal(config.body_bytes, 64 << 20);
    assert_int_equal(config.payload_bytes, 16 << 20);
    assert_int_equal(config.connections, 10000);
    assert_int_equal(config.output_bytes, 8 << 20);
    assert_int_equal(config.result_bytes, 16 << 20);
    assert_int_equal(config.node.slots, 4);
    assert_true(config.node.enabled);
    assert_int_equal(config.node.grace_ms, 10 * MS_PER_S);
    assert_int_equal(config.node.lease_ms, 30 * MS_PER_S);
    assert_int_equal(config.node.retry_delay_ms, 5 * MS_PER_S);
    assert_int_equal(config.node.retry_delay_max_ms, 5 * MS_PER_MIN);
    assert_int_equal(config.node.retry_window_ms, 6 * MS_PER_HOUR);
    assert_int_equal(config.node.keep_done_ms, 14 * MS_PER_DAY);
    assert_int_equal(config.node.keep_other_ms, 30 * MS_PER_DAY);
    for (ConfigKey key = 0; key < CONFIG_KEYS; key++)
        assert_string_equal(config.origins[key], "default");
    config_done(&config);
}

static void later_sources_win(void **state)
{
    Folder *folder = *state;
    const char *set = "daemon.slots=5";
    const char *twice[] = { "daemon.slots=5", "daemon.slots=6" };
    ConfigSources sources = folder_sources(folder);
    Config config;

    folder_write(folder, "pawl.yaml", "daemon:\n  slots: 2\n");
    config = must_load(&sources);
    assert_int_equal(config.node.slots, 2);
    config_done(&config);

    folder_dir(folder, "pawl.d");
    folder_write(folder, "pawl.d/10-a.yaml", "daemon:\n  slots: 3\n");
    config = must_load(&sources);
    assert_int_equal(config.node.slots, 3);
    config_done(&config);

    folder->env[1] = "PAWL_DAEMON_SLOTS=4";
    config = must_load(&sources);
    assert_int_equal(config.node.slots, 4);
    assert_string_equal(config.origins[CONFIG_DAEMON_SLOTS], "$PAWL_DAEMON_SLOTS");
    config_done(&config);

    sources.sets = &set;
    sources.set_count = 1;
    config = must_load(&sources);
    assert_int_equal(config.node.slots, 5);
    assert_string_equal(config.origins[CONFIG_DAEMON_SLOTS], "--set daemon.slots");
    config_done(&config);

    sources.sets = twice;
    sources.set_count = 2;
    config = must_load(&sources);
    assert_int_equal(config.node.slots, 6); /* the last one said */
    config_done(&config);

    sources.slots = "7";
    config = must_load(&sources);
    assert_int_equal(config.node.slots, 7);
    assert_string_equal(config.origins[CONFIG_DAEMON_SLOTS], "--slots");
    config_done(&config);
}

/* A value that sets each key to something else than its default. */
static const char *const others[CONFIG_KEYS] = {
    [CONFIG_DAEMON_LISTEN] = "[::1]:80",
    [CONFIG_DAEMON_DATA] = "/else",
    [CONFIG_DAEMON_SLOTS] = "9",
    [CONFIG_DAEMON_LEGACY] = "on",
    [CONFIG_DAEMON_GRACE] = "PT1S",
    [CONFIG_DAEMON_DRAIN] = "PT2S",
    [CONFIG_DAEMON_LOG_LEVEL] = "warn",
    [CONFIG_DAEMON_MODULES_ROOT] = "/modules",
    [CONFIG_TLS_CERTIFICATE] = "/c.pem",
    [CONFIG_TLS_KEY] = "/k.pem",
    [CONFIG_AUDIT_KEEP] = "PT24H",
    [CONFIG_STORES] = "sqlite:x",
    [CONFIG_JOURNAL_SEGMENT] = "1M",
    [CONFIG_JOURNAL_KEEP] = "PT0S",
    [CONFIG_JOURNAL_KEEP_BYTES] = "0",
    [CONFIG_JOURNAL_MAX_LAG] = "7M",
    [CONFIG_JOURNAL_ACK] = "store",
    [CONFIG_LIMITS_BODY] = "1M",
    [CONFIG_LIMITS_PAYLOAD] = "1K",
    [CONFIG_LIMITS_CONNECTIONS] = "10",
    [CONFIG_LIMITS_OUTPUT] = "2K",
    [CONFIG_LIMITS_RESULT] = "3K",
    [CONFIG_LIMITS_HEADER] = "4K",
    [CONFIG_LIMITS_IDLE] = "PT5S",
    [CONFIG_HTTP_ALLOW_PRIVATE] = "10.0.0.0/8, ::1",
    [CONFIG_CONTEXTS_JOBS] = "10",
    [CONFIG_CONTEXTS_IDLE] = "PT5S",
    [CONFIG_CONTEXTS_AGE] = "PT5M",
    [CONFIG_SCHEDULING_LEASE] = "PT6S",
    [CONFIG_SCHEDULING_POLL] = "PT2S",
    [CONFIG_SCHEDULING_CHAIN] = "50",
    [CONFIG_SCHEDULING_FORGET] = "PT48H",
    [CONFIG_SCHEDULING_ENABLED] = "off",
    [CONFIG_SCHEDULING_RETRY_DELAY] = "PT7S",
    [CONFIG_SCHEDULING_RETRY_DELAY_MAX] = "PT8S",
    [CONFIG_SCHEDULING_RETRY_WINDOW] = "PT9S",
    [CONFIG_SCHEDULING_KEEP_DONE] = "PT10S",
    [CONFIG_SCHEDULING_FAIRNESS] = "tenant",
    [CONFIG_SCHEDULING_KEEP_OTHER] = "PT11S",
};

static void expect_only(const Config *config, ConfigKey changed, const char *origin)
{
    for (ConfigKey key = 0; key < CONFIG_KEYS; key++) {
        Buf text = { 0 };
        value_text(&config_field(key)->rule, config_at(config, key), &text);
        bool other = slice_is(buf_slice(&text), others[key]);
        assert_int_equal(other, key == changed);
        assert_string_equal(config->origins[key], key == changed ? origin : "default");
        buf_done(&text);
    }
}

static void every_key_has_a_variable_and_a_set(void **state)
{
    (void)state;
    for (ConfigKey key = 0; key < CONFIG_KEYS; key++) {
        char name[CONFIG_NAME_BYTES];
        char set[100];
        char origin[100];
        const char *env[] = { "HOME=/home/me", set, NULL };
        const char *sets[] = { set };
        snprintf(set, sizeof set, "%s=%s", config_env_name(key, name), others[key]);
        snprintf(origin, sizeof origin, "$%s", name);
        Config config = must_load(&(ConfigSources){ .env = env });
        expect_only(&config, key, origin);
        config_done(&config);

        env[1] = NULL;
        snprintf(set, sizeof set, "%s=%s", config_name(key, name), others[key]);
        snprintf(origin, sizeof origin, "--set %s", name);
        config = must_load(&(ConfigSources){ .env = env, .sets = sets, .set_count = 1 });
        expect_only(&config, key, origin);
        config_done(&config);
    }
}

static void names_are_as_documented(void **state)
{
    (void)state;
    char name[CONFIG_NAME_BYTES];
    assert_string_equal(config_env_name(CONFIG_DAEMON_SLOTS, name), "PAWL_DAEMON_SLOTS");
    assert_string_equal(config_env_name(CONFIG_STORES, name), "PAWL_STORES");
    assert_string_equal(config_env_name(CONFIG_SCHEDULING_RETRY_DELAY_MAX, name),
                        "PAWL_SCHEDULING_RETRY_DELAY_MAX");
    assert_string_equal(config_name(CONFIG_SCHEDULING_RETRY_DELAY_MAX, name),
                        "scheduling.retry_delay_max");
}

static void the_environment_is_checked_too(void **state)
{
    (void)state;
    const char *env[] = {
        "HOME=/home/me",       "PAWL_DAEMON_SLOTS=many", "PAWL_DAEMON_SLOTZ=4",
        "PAWL_LIMITS_COLOR=1", "PAWL_BROKERS_X=1",       NULL,
    };
    must_fail(&(ConfigSources){ .env = env },
              "$PAWL_DAEMON_SLOTZ: no such setting; did you mean PAWL_DAEMON_SLOTS?\n"
              "$PAWL_LIMITS_COLOR: no such setting\n"
              "$PAWL_BROKERS_X: not supported by this version\n"
              "$PAWL_DAEMON_SLOTS: \"many\" is not a whole number\n");
}

/* Variables of clients and of jobs are none of ours: a job may start a daemon. */
static void other_variables_are_left_alone(void **state)
{
    (void)state;
    const char *env[] = {
        "HOME=/home/me",           "PAWL_SERVER=unix:/x", "PAWL_TOKEN=t",
        "PAWL_JOB_ID=1",           "PAWL_QUEUE=q",        "PAWL_PRIORITY=5",
        "PAWL_RESOURCE_A_ITEMS=a", "PAWL_API_URL=u",      "PAWL_DAEMONS=x",
        "PAWL_DAEMON_SLOTS=",      "PAWL_BIN=p",          NULL,
    };
    Config config = must_load(&(ConfigSources){ .env = env });
    assert_int_equal(config.node.slots, 4); /* an empty variable is an unset one */
    config_done(&config);
}

static void sets_and_options_are_checked_too(void **state)
{
    (void)state;
    const char *env[] = { "HOME=/home/me", NULL };
    const char *sets[] = {
        "daemon.slots", "daemon.slotz=4", "slots=4", "queues.a=1", "=", "daemon.grace=x=y"
    };
    const char *stores[] = { "sqlite:a", "mysql:b" };
    must_fail(
        &(ConfigSources){ .env = env,
                          .sets = sets,
                          .set_count = 6,
                          .slots = "x",
                          .data = "",
                          .listen = "0.0.0.0:1",
                          .stores = stores,
                          .store_count = 2 },
        "--set daemon.slots: a value is missing: --set daemon.slots=8\n"
        "--set daemon.slotz: no such setting; did you mean daemon.slots?\n"
        "--set slots: no such setting; did you mean daemon.slots?\n"
        "--set queues.a: not supported by this version\n"
        "--set : no such setting\n"
        "--set daemon.grace: \"x=y\" is no duration: a number is missing (90s, 1h30m, "
        "200ms, PT20M)\n"
        "--data: \"\" is not a path\n"
        "--slots: \"x\" is not a whole number\n"
        "--store: this version takes one store\n"
        "--store: a store \"mysql:\" is not supported: only sqlite: and postgresql:\n");
}

static void expect_data(const ConfigSources *sources, const char *data,
                        const char *origin)
{
    Config config = must_load(sources);
    assert_string_equal(config.data, data);
    assert_string_equal(config.origins[CONFIG_DAEMON_DATA], origin);
    config_done(&config);
}

static void the_data_directory_is_found(void **state)
{
    (void)state;
    const char *env[] = { "HOME=/home/me", "PAWL_DATA=", "XDG_STATE_HOME=", NULL };
    ConfigSources sources = { .env = env, .cwd = "/srv" };
    expect_data(&sources, "/home/me/.local/state/pawl", "default");
    env[2] = "XDG_STATE_HOME=relative";
    expect_data(&sources, "/home/me/.local/state/pawl", "default");
    env[2] = "XDG_STATE_HOME=/state";
    expect_data(&sources, "/state/pawl", "default");
    env[1] = "PAWL_DATA=here/";
    expect_data(&sources, "/srv/here", "$PAWL_DATA");
    sources.data = "./there";
    expect_data(&sources, "/srv/./there", "--data");
    sources.data = "/";
    expect_data(&sources, "/", "--data");
    must_fail(&(ConfigSources){ .cwd = "/srv" },
              "daemon.data: no data directory: set HOME or PAWL_DATA, or say --data "
              "DIR\n");
}

static void expect_store(const char *store, const char *url)
{
    Buf text = { 0 };
    Config config =
        must_load(&(ConfigSources){ .data = "/d", .stores = &store, .store_count = 1 });
    config_store_url(&config, &text);
    assert_string_equal(buf_cstr(&text), url);
    assert_string_equal(config.origins[CONFIG_STORES], "--store");
    buf_done(&text);
    config_done(&config);
}

static void a_store_has_its_file_in_the_data_directory(void **state)
{
    (void)state;
    expect_store("sqlite:", "sqlite:/d/pawl.db");
    expect_store("sqlite:a/b.db", "sqlite:/d/a/b.db");
    expect_store("sqlite:/x/b.db", "sqlite:/x/b.db");
    expect_store("postgresql://db/pawl", "postgresql://db/pawl");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_those_of_the_contract),
        folder_test(later_sources_win),
        cmocka_unit_test(every_key_has_a_variable_and_a_set),
        cmocka_unit_test(names_are_as_documented),
        cmocka_unit_test(the_environment_is_checked_too),
        cmocka_unit_test(other_variables_are_left_alone),
        cmocka_unit_test(sets_and_options_are_checked_too),
        cmocka_unit_test(the_data_directory_is_found),
        cmocka_unit_test(a_store_has_its_file_in_the_data_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

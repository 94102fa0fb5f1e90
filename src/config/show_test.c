/* SPDX-License-Identifier: Apache-2.0 */
/* show_test.c - showing a configuration, and what a reload does with another. */
#include "config/testing.h"

#include "base/times.h"
#include "config/settings.h"

#define SETS(...)                                                                        \
    (const char *const[]){ __VA_ARGS__ },                                                \
        sizeof((const char *const[]){ __VA_ARGS__ }) / sizeof(char *)

static Config load_sets(const char *const *sets, size_t count)
{
    static const char *const env[] = { "HOME=/home/me", NULL };
    Config config;
    Error why = { 0 };
    ConfigSources sources = { .env = env, .sets = sets, .set_count = count };
    if (config_load(&sources, &config, &why))
        fail_msg("%s", why.text);
    return config;
}

/* Something else than the default for each key: one set can change them all. */
static const char *const changed[] = {
    "daemon.listen=off",
    "daemon.data=/a \"b\"",
    "daemon.slots=9",
    "daemon.legacy=on",
    "daemon.grace=1500ms",
    "daemon.drain=2500ms",
    "daemon.log_level=warn",
    "tls.certificate=/c.pem",
    "tls.key=/k.pem",
    "audit.keep=1d",
    "stores=sqlite:x # y",
    "journal.segment=70001",
    "journal.keep=0",
    "journal.keep_bytes=0",
    "journal.max_lag=3G",
    "journal.ack=store",
    "limits.body=5K",
    "limits.payload=1025",
    "limits.connections=3",
    "limits.output=6K",
    "limits.result=7K",
    "limits.header=9K",
    "limits.idle=90s",
    "http.allow_private=10.0.0.0/8,::1",
    "contexts.jobs=7",
    "contexts.idle=90s",
    "contexts.age=90s",
    "scheduling.lease=31s",
    "scheduling.poll=2500ms",
    "scheduling.chain_max=7",
    "scheduling.forget=2d",
    "scheduling.enabled=off",
    "scheduling.retry_delay=0",
    "scheduling.retry_delay_max=1m",
    "scheduling.retry_window=1d",
    "scheduling.keep_done=36500d",
    "scheduling.keep_other=1w",
    "scheduling.fairness=tenant",
};
#define CHANGED (sizeof changed / sizeof *changed)

static void what_is_shown_is_a_configuration_with_the_same_values(void **state)
{
    const Folder *folder = *state;
    Buf shown = { 0 };
    Config config = load_sets(changed, CHANGED);
    config_show(&config, true, &shown);
    folder_write(folder, "pawl.yaml", buf_cstr(&shown));

    Config again;
    Error why = { 0 };
    ConfigSources sources = folder_sources(folder);
    if (config_load(&sources, &again, &why))
        fail_msg("%s\n%s", why.text, buf_cstr(&shown));
    ConfigDiff diff;
    config_diff(&config, &again, &diff);
    assert_int_equal(diff.count, 0);
    for (ConfigKey key = 0; key < CONFIG_KEYS; key++)
        assert_memory_equal(again.origins[key], folder->file, strlen(folder->file));
    config_diff_done(&diff);
    config_done(&config);
    config_done(&again);
    buf_done(&shown);
}

static void origins_are_shown_where_asked(void **state)
{
    (void)state;
    Buf shown = { 0 };
    Config config = load_sets(SETS("daemon.slots=8"));
    config_show(&config, true, &shown);
    assert_memory_equal(
        shown.data,
        "daemon:\n"
        "  listen: \"127.0.0.1:7420\"                   # default\n"
        "  data: \"/home/me/.local/state/pawl\"         # default\n"
        "  slots: 8                                   # --set daemon.slots\n"
        "  legacy: off                                # default\n",
        200);
    assert_non_null(strstr(buf_cstr(&shown), "\nstores: [\"sqlite:\"]       "));
    buf_clear(&shown);
    config_show(&config, false, &shown);
    assert_null(strchr(buf_cstr(&shown), '#'));
    assert_non_null(strstr(buf_cstr(&shown), "\n  retry_delay_max: PT5M\n"));
    config_done(&config);
    buf_done(&shown);
}

static const ConfigChange *find_change(const ConfigDiff *diff, ConfigKey key)
{
    for (size_t i = 0; i < diff->count; i++)
        if (diff->changes[i].key == key)
            return &diff->changes[i];
    return NULL;
}

static void a_diff_says_what_changed_and_what_needs_a_restart(void **state)
{
    (void)state;
    ConfigDiff diff;
    Config before = load_sets(NULL, 0);
    Config after = load_sets(SETS("daemon.slots=8", "journal.segment=1M",
                                  "daemon.grace=10s", "scheduling.enabled=off"));
    config_diff(&before, &after, &diff);
    assert_int_equal(diff.count, 3); /* the grace is the same in other words */
    assert_int_equal(diff.restart_count, 1);
    const ConfigChange *slots = find_change(&diff, CONFIG_DAEMON_SLOTS);
    assert_string_equal(slots->before, "4");
    assert_string_equal(slots->after, "8");
    assert_true(slots->live);
    const ConfigChange *segment = find_change(&diff, CONFIG_JOURNAL_SEGMENT);
    assert_string_equal(segment->before, "64M");
    assert_string_equal(segment->after, "1M");
    assert_false(segment->live);
    assert_true(find_change(&diff, CONFIG_SCHEDULING_ENABLED)->live);
    config_diff_done(&diff);
    config_done(&before);
    config_done(&after);
}

static void a_diff_sees_every_key(void **state)
{
    (void)state;
    ConfigDiff diff;
    Config before = load_sets(NULL, 0);
    Config after = load_sets(changed, CHANGED);
    config_diff(&before, &after, &diff);
    assert_int_equal(diff.count, CONFIG_KEYS);
    config_diff_done(&diff);
    config_done(&before);
    config_done(&after);
}

static void adopting_takes_what_is_live_and_keeps_the_rest(void **state)
{
    (void)state;
    Config running = load_sets(SETS("daemon.data=/first", "daemon.slots=3"));
    Config loaded = load_sets(changed, CHANGED);
    Config expected = load_sets(changed, CHANGED);
    Config first = load_sets(SETS("daemon.data=/first", "daemon.slots=3"));
    const char *data = running.data;
    config_adopt(&running, &loaded);
    assert_ptr_equal(running.data, data);
    assert_null(loaded.data);
    for (ConfigKey key = 0; key < CONFIG_KEYS; key++) {
        const ConfigField *field = config_field(key);
        const Config *from = field->live ? &expected : &first;
        assert_true(
            value_equal(&field->rule, config_at(&running, key), config_at(from, key)));
        assert_string_equal(running.origins[key], from->origins[key]);
    }
    assert_int_equal(running.node.slots, 9);
    config_done(&running);
    config_done(&expected);
    config_done(&first);
}

static void the_same_value_from_elsewhere_is_no_change_but_a_new_origin(void **state)
{
    (void)state;
    ConfigDiff diff;
    Config running = load_sets(NULL, 0);
    Config loaded = load_sets(SETS("daemon.slots=4", "limits.body=64M"));
    config_diff(&running, &loaded, &diff);
    assert_int_equal(diff.count, 0);
    config_adopt(&running, &loaded);
    assert_string_equal(running.origins[CONFIG_DAEMON_SLOTS], "--set daemon.slots");
    assert_string_equal(running.origins[CONFIG_LIMITS_BODY], "--set limits.body");
    config_diff_done(&diff);
    config_done(&running);
}

/* --- The manual ------------------------------------------------------------------ */

static void limit_text(const ValueRule *rule, int64_t limit, Buf *out)
{
    uint32_t count = (uint32_t)limit;
    if (rule->kind == VALUE_COUNT)
        value_text(rule, &count, out);
    else
        value_text(rule, &limit, out);
}

static void rule_text(const ValueRule *rule, Buf *out)
{
    if (rule->kind != VALUE_COUNT && rule->kind != VALUE_DURATION &&
        rule->kind != VALUE_SIZE) {
        buf_add_text(out, value_expected(rule->kind));
        return;
    }
    buf_add_text(out, rule->kind == VALUE_COUNT      ? "number, "
                      : rule->kind == VALUE_DURATION ? "duration, "
                                                     : "size, ");
    limit_text(rule, rule->min, out);
    buf_add_text(out, " to ");
    limit_text(rule, rule->max, out);
}

static void config_row(const Config *config, ConfigKey key, Buf *out)
{
    const ConfigField *field = config_field(key);
    char name[CONFIG_NAME_BYTES];
    buf_printf(out, "| `%s` | ", config_name(key, name));
    rule_text(&field->rule, out);
    buf_add_text(out, " | ");
    if (key == CONFIG_DAEMON_DATA)
        buf_add_text(out, "see below");
    else if (key == CONFIG_DAEMON_MODULES_ROOT)
        buf_add_text(out, "`modules` in the data directory");
    else
        value_text(&field->rule, config_at(config, key), out);
    buf_printf(out, " | %s | %s |\n", field->live ? "yes" : "restart", field->help);
}

static void setting_row(const Setting *setting, Buf *out)
{
    NodeSettings initial = node_settings_default();
    char name[CONFIG_NAME_BYTES];
    buf_printf(out, "| `%s` | ", setting->name);
    setting_text(setting, &initial, out);
    if (setting->key == CONFIG_KEYS)
        buf_add_text(out, " | ");
    else
        buf_printf(out, " | `%s`", config_name(setting->key, name));
    buf_printf(out, " | %s |\n", setting->help);
}

/* docs/reference/configuration.md, found beside this file. */
static bool read_manual(char *out, size_t out_bytes)
{
    char path[300];
    const char *here = strstr(__FILE__, "src/config/");
    assert_non_null(here);
    snprintf(path, sizeof path, "%.*sdocs/reference/configuration.md",
             (int)(here - __FILE__), __FILE__);
    FILE *file = fopen(path, "r");
    if (!file)
        return false;
    size_t bytes = fread(out, 1, out_bytes - 1, file);
    out[bytes] = '\0';
    return fclose(file) == 0;
}

/* The rows of the manual are those of the tables. */
static void the_manual_says_the_same(void **state)
{
    (void)state;
    static char manual[100000];
    if (!read_manual(manual, sizeof manual))
        skip(); /* not run in the build folder */
    Buf rows = { 0 };
    Config config = load_sets(NULL, 0);
    const Setting *setting;
    for (ConfigKey key = 0; key < CONFIG_KEYS; key++)
        config_row(&config, key, &rows);
    for (size_t i = 0; (setting = setting_number(i)); i++)
        setting_row(setting, &rows);
    config_done(&config);
    size_t missing = 0;
    for (Slice rest = buf_slice(&rows); rest.bytes;) {
        Slice row = slice_cut(&rest, '\n');
        if (memmem(manual, strlen(manual), row.data, row.bytes + 1))
            continue;
        fprintf(stderr, SLICE_FMT "\n", SLICE_ARG(row));
        missing++;
    }
    buf_done(&rows);
    if (missing)
        fail_msg("docs/reference/configuration.md lacks %zu rows", missing);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        folder_test(what_is_shown_is_a_configuration_with_the_same_values),
        cmocka_unit_test(origins_are_shown_where_asked),
        cmocka_unit_test(a_diff_says_what_changed_and_what_needs_a_restart),
        cmocka_unit_test(a_diff_sees_every_key),
        cmocka_unit_test(adopting_takes_what_is_live_and_keeps_the_rest),
        cmocka_unit_test(the_same_value_from_elsewhere_is_no_change_but_a_new_origin),
        cmocka_unit_test(the_manual_says_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

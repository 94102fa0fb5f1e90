/* SPDX-License-Identifier: Apache-2.0 */
/* in_force_test.c - which value counts, where it comes from, and what is not shown. */
#include "config/in_force.h"

#include "config/testing.h"

static void shown(const char *url, Buf *out)
{
    (void)url;
    buf_add_text(out, "a store without its password");
}

static void what_a_call_has_set_hides_the_file(void **state)
{
    const Folder *folder = *state;
    Config config;
    Error why = { 0 };
    Buf out = { 0 };
    JsonOut json = { .out = &out };
    const char *sets[] = { "daemon.slots=8" };
    const char *stores[] = { "postgresql://me:secret@host/pawl" };
    ConfigSources sources = folder_sources(folder);
    folder_write(folder, "pawl.yaml", "");
    sources.sets = sets;
    sources.set_count = 1;
    sources.stores = stores;
    sources.store_count = 1;
    assert_int_equal(config_load(&sources, &config, &why), ERR_OK);
    NodeSettings settings = config.node;
    assert_int_equal(settings_apply(&settings, SLICE_LITERAL("daemon.slots"),
                                    SLICE_LITERAL("3"), &why),
                     ERR_OK);
    InForce from = { &config, &settings,
                     setting_bit(SLICE_LITERAL("max_concurrent_jobs")), shown };
    json_object(&json, NULL);
    in_force_json(&json, &from);
    json_object_end(&json);
    assert_non_null(strstr(buf_cstr(&out),
                           "\"daemon.slots\":{\"value\":\"3\",\"origin\":\"pawl config "
                           "set\",\"setting\":\"max_concurrent_jobs\",\"configured\":"
                           "\"8\"}"));
    assert_non_null(strstr(buf_cstr(&out), "\"stores\":{\"value\":\"a store without"));
    assert_null(strstr(buf_cstr(&out), "secret"));
    assert_non_null(strstr(buf_cstr(&out), "\"on_error\":{\"value\":\"keep\",\"origin\":"
                                           "\"default\""));
    config_done(&config);
    buf_done(&out);
}

static void every_key_has_at_most_one_setting(void **state)
{
    (void)state;
    assert_string_equal(in_force_setting(CONFIG_DAEMON_SLOTS)->name,
                        "max_concurrent_jobs");
    assert_null(in_force_setting(CONFIG_DAEMON_LISTEN));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        folder_test(what_a_call_has_set_hides_the_file),
        cmocka_unit_test(every_key_has_at_most_one_setting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

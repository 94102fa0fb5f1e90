/* SPDX-License-Identifier: Apache-2.0 */
/* settings_xml_test.c - the settings and the lock as 000 writes them. */
#include "intake/settings_xml.h"

#include "config/settings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define HEAD "<batch-config xmlns=\"urn://batch-master\">"
#define TAIL "</batch-config>"

static Err apply(const char *text, NodeSettings *settings, Problem *why)
{
    Arena arena = { 0 };
    const JsonIn *object = NULL;
    NodeSettings first = *settings;
    Error reason = { 0 };
    Err err = settings_xml_read(slice_text(text), &arena, &object, why);
    for (const JsonIn *at = err ? NULL : json_in_first(object); at && !err; at = at->next)
        err = settings_apply_json(settings, at, &first, &reason);
    arena_done(&arena);
    return err;
}

static void the_founding_document_sets_all_of_it(void **state)
/* S0.14, S0.15, S0.16, S0.17, S0.18, S0.19 */
{
    (void)state;
    NodeSettings settings = node_settings_default();
    Problem why;
    const char *text =
        HEAD "\n<enabled>false</enabled>\n<max-concurrent-jobs>7</max-concurrent-jobs>\n"
             "<job-stale-interval>T30M</job-stale-interval>\n"
             "<controller-stale-interval>T2M</controller-stale-interval>\n"
             "<error-handler-job>trouble</error-handler-job>\n" TAIL;
    assert_int_equal(apply(text, &settings, &why), ERR_OK);
    assert_false(settings.enabled);
    assert_int_equal(settings.slots, 7);
    assert_int_equal(settings.lease_ms, 30 * MS_PER_MIN);
    assert_int_equal(settings.controller_stale_ms, 2 * MS_PER_MIN);
    assert_string_equal(settings.error_handler, "trouble");
}

static void what_is_left_out_stays(void **state)
{
    (void)state;
    NodeSettings settings = node_settings_default();
    settings.slots = 3;
    Problem why;
    assert_int_equal(apply(HEAD "<error-handler-job><batch-job><module>type:x.y</module>"
                                "</batch-job></error-handler-job>" TAIL,
                           &settings, &why),
                     ERR_OK);
    assert_int_equal(settings.slots, 3);
    assert_string_equal(settings.error_handler, "x.y");
    assert_int_equal(apply(HEAD "<error-handler-job/>" TAIL, &settings, &why), ERR_OK);
    assert_string_equal(settings.error_handler, "");
    assert_int_equal(apply(HEAD TAIL, &settings, &why), ERR_OK);
}

static void what_is_written_is_read_back(void **state)
{
    (void)state;
    NodeSettings settings = node_settings_default();
    settings.slots = 11;
    settings.enabled = false;
    memcpy(settings.error_handler, "a", 2);
    Buf text = { 0 };
    Problem why;
    settings_xml_write(&text, &settings);
    NodeSettings back = node_settings_default();
    assert_int_equal(apply(buf_cstr(&text), &back, &why), ERR_OK);
    assert_int_equal(back.slots, 11);
    assert_false(back.enabled);
    assert_string_equal(back.error_handler, "a");
    assert_int_equal(back.lease_ms, settings.lease_ms);
    buf_done(&text);
}

static void other_documents_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *words;
    } rows[] = {
        { "<batch-config/>", "line 1, column 1" },
        { HEAD "\n<slots>1</slots>" TAIL, "line 2, column 1: <slots>" },
        { HEAD "<enabled>true</enabled>\n<enabled>true</enabled>" TAIL, "twice" },
        { HEAD "<enabled><x/></enabled>" TAIL, "elements" },
        { "<!DOCTYPE x>" HEAD TAIL, "DTD" },
        { HEAD "<enabled>TRUE</enabled>" TAIL, "line 1, column 42: <enabled> is true" },
        { HEAD "<enabled value=\"false\">true</enabled>" TAIL, "no attributes" },
        { HEAD "hello<enabled>true</enabled>" TAIL, "no text" },
        { "<batch-config xmlns=\"urn://batch-master\" id=\"1\">" TAIL, "attributes" },
        { HEAD "<error-handler-job><module>type:a</module><x/></error-handler-job>" TAIL,
          "names one type" },
        { HEAD "<error-handler-job>a<module>type:b</module></error-handler-job>" TAIL,
          "names one type" },
    };
    NodeSettings settings = node_settings_default();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Problem why = { 0 };
        assert_int_not_equal(apply(rows[i].text, &settings, &why), ERR_OK);
        assert_non_null(strstr(why.detail, rows[i].words));
    }
    Problem why;
    assert_int_not_equal(apply(HEAD "<enabled>perhaps</enabled>" TAIL, &settings, &why),
                         ERR_OK);
}

static void the_lock_has_version_and_timestamp(void **state) /* S0.24, S0.25, S0.26 */
{
    (void)state;
    Buf text = { 0 };
    batch_lock_write(&text, 1, 1280492614000);
    assert_string_equal(buf_cstr(&text),
                        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                        "<batch-controller-lock xmlns=\"urn://batch-master\">\n"
                        "    <version>1</version>\n"
                        "    <timestamp>2010-07-30T12:23:34.000Z</timestamp>\n"
                        "</batch-controller-lock>\n");
    buf_done(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_founding_document_sets_all_of_it),
        cmocka_unit_test(what_is_left_out_stays),
        cmocka_unit_test(what_is_written_is_read_back),
        cmocka_unit_test(other_documents_are_refused),
        cmocka_unit_test(the_lock_has_version_and_timestamp),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* meters_test.c - what a scrape sees of processors. */
#include "pipeline/processor/meters.h"

#include "pipeline/rig_test.h"

static void a_processor_is_metered(void **state)
{
    Rig *rig = *state;
    Buf out = { 0 };
    Processor *processor = MEM_NEW(Processor);
    processor->plan = (Plan){ .name = SLICE_LITERAL("ocr"), .slots = 3 };
    processor->buckets = rig->buckets;
    processor->open = processor->monitor = true;
    processor->done = 7;
    processor->unit_ms_sum = 1500;
    rig_put(rig, IN_WORK, "a", "x");
    rig_put(rig, IN_WORK, "b", "x");
    meters_write(&out, processor, NULL, 2000);
    static const char *const wanted[] = {
        "# TYPE pawl_processor_completed_total counter\n",
        "pawl_processor_completed_total{processor=\"ocr\"} 7\n",
        "pawl_processor_unit_seconds_total{processor=\"ocr\"} 1.5\n",
        "pawl_processor_waiting_seconds_total{processor=\"ocr\"} 2\n", /* up to now */
        "pawl_processor_off_seconds_total{processor=\"ocr\"} 0\n",
        "pawl_processor_processing{processor=\"ocr\"} 1\n",
        "pawl_processor_forwarding{processor=\"ocr\"} 0\n",
        "pawl_processor_uptime_seconds{processor=\"ocr\"} 2\n",
        "pawl_processor_slots{processor=\"ocr\"} 3\n",
        "pawl_processor_units{processor=\"ocr\",bucket=\"input/work\"} 2\n",
        "pawl_processor_units{processor=\"ocr\",bucket=\"output/sent\"} 0\n",
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (!strstr(buf_cstr(&out), wanted[i]))
            fail_msg("no %s in:\n%s", wanted[i], buf_cstr(&out));
    buf_done(&out);
    mem_free(processor);
}

static void labels_are_bounded(void **state)
{
    (void)state;
    enum { MANY = METERS_MAX + 20 };
    Buf out = { 0 };
    Processor *all = MEM_ARRAY(Processor, MANY);
    char names[MANY][16];
    for (size_t i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof names[i], "p%zu", i);
        all[i].plan.name = slice_text(names[i]);
        all[i].done = 2;
        all[i].next = i + 1 < MANY ? &all[i + 1] : NULL;
    }
    meters_write(&out, all, NULL, 0);
    assert_non_null(strstr(buf_cstr(&out), "completed_total{processor=\"p99\"} 2\n"));
    assert_null(strstr(buf_cstr(&out), "completed_total{processor=\"p100\"}"));
    assert_non_null(strstr(buf_cstr(&out), "completed_total{processor=\"other\"} 40\n"));
    buf_done(&out);
    mem_free(all);
}

/* A dashboard made before the first processor knows all names. */
static void without_processors_the_metrics_are_named(void **state)
{
    (void)state;
    Buf out = { 0 };
    meters_write(&out, NULL, NULL, 0);
    assert_non_null(strstr(buf_cstr(&out), "# TYPE pawl_processor_units gauge\n"));
    assert_non_null(strstr(buf_cstr(&out), "# TYPE pawl_broker_divided_total counter\n"));
    assert_null(strchr(buf_cstr(&out), '{'));
    buf_done(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(a_processor_is_metered),
        cmocka_unit_test(labels_are_bounded),
        cmocka_unit_test(without_processors_the_metrics_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

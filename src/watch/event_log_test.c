/* SPDX-License-Identifier: Apache-2.0 */
/* event_log_test.c - events of jobs are kept, and let go. */
#include "watch/event_log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void add(EventLog *log, JobId id)
{
    Effect effect = { .kind = EFFECT_CHANGED, .id = id, .state = JOB_READY };
    event_log_add(log, &effect, 1790000000000);
}

static void events_are_found_one_behind_the_other(void **state)
{
    (void)state;
    EventLog log;
    event_log_init(&log, 7, "node-1");
    EventCursor cursor = event_log_now(&log);
    assert_null(event_log_behind(&log, cursor));
    add(&log, 4711);
    add(&log, 4712);
    assert_int_equal(event_log_behind(&log, cursor)->id, 4711);
    cursor.number++;
    assert_int_equal(event_log_behind(&log, cursor)->id, 4712);
    cursor.number++;
    assert_null(event_log_behind(&log, cursor));
    assert_int_equal(event_log_now(&log).number, cursor.number);
    event_log_done(&log);
}

static void what_is_not_kept_is_known(void **state)
{
    (void)state;
    EventLog log;
    event_log_init(&log, 7, "node-1");
    for (JobId id = 1; id <= EVENT_LOG_ROWS + 10; id++)
        add(&log, id);
    assert_int_equal(event_log_first(&log).number, 10);
    assert_int_equal(event_log_behind(&log, event_log_first(&log))->id, 11);
    assert_true(event_log_keeps(&log, event_log_first(&log)));
    assert_true(event_log_keeps(&log, event_log_now(&log)));
    assert_false(event_log_keeps(&log, (EventCursor){ 7, 9 }));      /* just gone */
    assert_false(event_log_keeps(&log, (EventCursor){ 6, 16000 }));  /* another start */
    assert_false(event_log_keeps(&log, (EventCursor){ 7, 999999 })); /* never was */
    event_log_done(&log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_are_found_one_behind_the_other),
        cmocka_unit_test(what_is_not_kept_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

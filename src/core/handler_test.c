/* SPDX-License-Identifier: Apache-2.0 */
/* handler_test.c - languages, the packed form, and who says what a job left open. */
#include "core/handler.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* S2.2, S2.100 */
static void every_language_has_a_name(void **state)
{
    (void)state;
    static const struct {
        Lang lang;
        const char *name;
        bool scripted;
    } table[LANGS] = {
        { LANG_EXEC, "exec", false },    { LANG_SH, "sh", false },
        { LANG_BASH, "bash", false },    { LANG_NODE, "node", true },
        { LANG_PYTHON, "python", true }, { LANG_PERL, "perl", true },
        { LANG_PHP, "php", true },       { LANG_RUBY, "ruby", true },
        { LANG_LUA, "lua", true },       { LANG_HTTP, "http", false },
        { LANG_PULL, "pull", false },
    };
    for (size_t i = 0; i < LANGS; i++) {
        Lang parsed = LANG_EXEC;
        assert_string_equal(lang_name(table[i].lang), table[i].name);
        assert_int_equal(lang_parse(slice_text(table[i].name), &parsed), ERR_OK);
        assert_int_equal(parsed, table[i].lang);
        assert_int_equal(lang_scripted(table[i].lang), table[i].scripted);
        Handler handler = { .lang = table[i].lang };
        assert_int_equal(handler_warm(&handler), table[i].scripted);
        handler.batch = 10;
        assert_true(handler_warm(&handler));
    }
    static const char *const bad[] = { "", "SH", "she", "python3", "exe" };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        Lang parsed = LANG_LUA;
        assert_int_equal(lang_parse(slice_text(bad[i]), &parsed), ERR_INVALID);
        assert_int_equal(parsed, LANG_LUA);
    }
}

static Handler full_handler(void)
{
    return (Handler){
        .tenant = SLICE_LITERAL("acme"),
        .type = SLICE_LITERAL("resize"),
        .version = 7,
        .created_ms = 1790000000000,
        .disabled = true,
        .deleted = true,
        .lang = LANG_BASH,
        .eid = SLICE_LITERAL("e"),
        .before = SLICE_LITERAL("b"),
        .before_each = SLICE_LITERAL("be"),
        .body = SLICE_LITERAL("echo\0\xff"),
        .after_each = SLICE_LITERAL("ae"),
        .queue = SLICE_LITERAL("pictures"),
        .has_priority = true,
        .priority = -4,
        .max_run_ms = 1000,
        .service_ms = 2000,
        .has_max_retries = true,
        .max_retries = 3,
        .retry_delay_ms = 4000,
        .retry_window_ms = -1,
        .resources = SLICE_LITERAL("k=1\0"),
        .highlander = true,
        .user = SLICE_LITERAL("nobody"),
        .env = SLICE_LITERAL("A=1\0"),
        .cwd = SLICE_LITERAL("/"),
        .then = SLICE_LITERAL("next"),
        .on_error = SLICE_LITERAL("alarm"),
        .batch = 5,
        .exit_map = SLICE_LITERAL("3=400\0"),
        .drop_result = true,
        .keep_state = true,
        .files = true,
        .children = SLICE_LITERAL("immediate"),
    };
}

/* Packing what was unpacked gives the same bytes, and no field is lost on the way: one
 * that is cleared makes the bytes fewer. */
static void every_field_survives_packing(void **state)
{
    (void)state;
    Handler handler = full_handler();
    Buf packed = { 0 };
    Buf again = { 0 };
    handler_pack(&packed, &handler);
    Handler back = { 0 };
    assert_int_equal(handler_unpack(buf_slice(&packed), &back), ERR_OK);
    assert_true(slice_equal(back.body, handler.body));
    assert_int_equal(back.lang, LANG_BASH);
    assert_int_equal(back.version, 7);
    assert_true(back.deleted);
    assert_true(back.disabled);
    assert_true(back.priority == -4);
    assert_true(back.retry_window_ms == -1);
    Arena arena = { 0 };
    Handler copy = handler_copy(&arena, &back);
    memset(packed.data, 'x', packed.bytes); /* the copy has bytes of its own */
    handler_pack(&again, &copy);
    buf_clear(&packed);
    handler_pack(&packed, &handler);
    assert_true(slice_equal(buf_slice(&packed), buf_slice(&again)));
    arena_done(&arena);
    buf_done(&packed);
    buf_done(&again);
}

static void damage_is_told(void **state)
{
    (void)state;
    Handler handler = full_handler();
    Buf packed = { 0 };
    handler_pack(&packed, &handler);
    Handler back = { .version = 42 };
    Slice cut = slice_of(packed.data, packed.bytes - 1);
    assert_int_equal(handler_unpack(cut, &back), ERR_CORRUPT);
    assert_int_equal(back.version, 42);
    handler.lang = (Lang)LANGS;
    buf_clear(&packed);
    handler_pack(&packed, &handler);
    assert_int_equal(handler_unpack(buf_slice(&packed), &back), ERR_CORRUPT);
    buf_done(&packed);
}

static Job open_job(void)
{
    Job job = job_default();
    job.type = SLICE_LITERAL("resize");
    job.priority = PRIORITY_UNSET;
    job.max_retries = RETRIES_OPEN;
    return job;
}

static void a_job_gets_what_it_does_not_say_itself(void **state)
{
    (void)state;
    Handler handler = full_handler();
    Job job = open_job();
    handler_defaults(&handler, &job);
    assert_true(slice_is(job.queue, "pictures"));
    assert_true(job.priority == -4);
    assert_int_equal(job.max_retries, 3);
    assert_true(job.max_run_ms == 1000);
    assert_true(job.service_ms == 2000);
    assert_true(job.retry_delay_ms == 4000);
    assert_true(job.retry_window_ms == -1);
    assert_true(slice_is(job.then, "next"));
    assert_true(slice_is(job.on_error, "alarm"));
    assert_true(slice_is(job.children, "immediate"));
    assert_int_equal(job.flags, JOB_FILES | JOB_KEEP_STATE);

    Job own = open_job();
    own.queue = SLICE_LITERAL("mine");
    own.priority = 0;
    own.max_retries = RETRIES_UNSET;
    own.max_run_ms = 7;
    own.retry_delay_ms = 8;
    own.retry_window_ms = 9;
    own.then = SLICE_LITERAL("other");
    handler_defaults(&handler, &own);
    assert_true(slice_is(own.queue, "mine"));
    assert_true(own.priority == 0);
    assert_int_equal(own.max_retries, RETRIES_UNSET);
    assert_true(own.max_run_ms == 7);
    assert_true(own.retry_delay_ms == 8);
    assert_true(own.retry_window_ms == 9);
    assert_true(slice_is(own.then, "other"));
}

static void without_a_handler_the_general_defaults_hold(void **state)
{
    (void)state;
    const Handler silent = { .lang = LANG_SH };
    const Handler *const handlers[] = { NULL, &silent };
    for (size_t i = 0; i < 2; i++) {
        Job job = open_job();
        handler_defaults(handlers[i], &job);
        assert_true(slice_is(job.queue, "default"));
        assert_true(job.priority == PRIORITY_DEFAULT);
        assert_int_equal(job.max_retries, RETRIES_UNSET);
        assert_int_equal(job.flags, 0);
    }
    Job command = open_job();
    command.flags = JOB_COMMAND;
    handler_defaults(NULL, &command);
    assert_int_equal(command.max_retries, 0);
}

/* A job that came before its handler is treated as one that came after it. */
static void the_first_handler_says_what_was_left_open(void **state)
{
    (void)state;
    Handler handler = full_handler();
    for (int named = 0; named < 2; named++) {
        Job job = open_job();
        if (named) {
            job.queue = SLICE_LITERAL("mine");
            job.priority = 2;
            job.max_retries = 1;
        }
        handler_later(&job);
        assert_true(slice_is(job.queue, named ? "mine" : "default"));
        assert_true(job.priority == (named ? 2 : PRIORITY_DEFAULT));
        assert_true(handler_arrives(&handler, &job));
        assert_true(slice_is(job.queue, named ? "mine" : "pictures"));
        assert_true(job.priority == (named ? 2 : -4));
        assert_int_equal(job.max_retries, named ? 1 : 3);
        assert_true(slice_is(job.then, "next"));
        assert_int_equal(job.flags, JOB_FILES | JOB_KEEP_STATE);
        handler.queue = SLICE_LITERAL("later"); /* only the first one counts */
        assert_false(handler_arrives(&handler, &job));
        assert_true(slice_is(job.queue, named ? "mine" : "pictures"));
        handler.queue = SLICE_LITERAL("pictures");
    }
}

static void an_exit_map_is_asked_for_a_status(void **state)
{
    (void)state;
    Slice map = SLICE_LITERAL("0=201\0"
                              "3=400\0"
                              "44=100\0"
                              "bad\0");
    static const struct {
        int32_t status;
        int32_t exitcode;
    } table[] = { { 0, 201 }, { 3, 400 }, { 44, 100 }, { 4, 0 }, { -1, 0 } };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        assert_int_equal(exit_map_find(map, table[i].status), table[i].exitcode);
    assert_int_equal(exit_map_find((Slice){ NULL, 0 }, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_language_has_a_name),
        cmocka_unit_test(every_field_survives_packing),
        cmocka_unit_test(damage_is_told),
        cmocka_unit_test(a_job_gets_what_it_does_not_say_itself),
        cmocka_unit_test(without_a_handler_the_general_defaults_hold),
        cmocka_unit_test(the_first_handler_says_what_was_left_open),
        cmocka_unit_test(an_exit_map_is_asked_for_a_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

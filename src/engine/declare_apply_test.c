/* SPDX-License-Identifier: Apache-2.0 */
/* declare_apply_test.c - what has to be defined when a file changed. */
#include "engine/declare_apply.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define ITEMS_MAX 4

/* "name=value ..." as the file's list; the value may be empty for "-". */
static Declared *list_of(Declared items[ITEMS_MAX], const char *text)
{
    size_t count = 0;
    for (Slice rest = slice_text(text); rest.bytes; count++) {
        Slice value = slice_cut(&rest, ' ');
        items[count] = (Declared){ .section = declare_section_find(
                                       declare_sections(), SLICE_LITERAL("handlers")),
                                   .tenant = SLICE_LITERAL("t") };
        items[count].name = slice_cut(&value, '=');
        items[count].value = value;
        if (count)
            items[count - 1].next = &items[count];
    }
    return count ? items : NULL;
}

static void write_change(void *context, const DeclareChange *change)
{
    assert_true(slice_is(change->table, "handler"));
    assert_true(slice_is(change->tenant, "t"));
    if (change->mark_only)
        buf_add_text(context, "mark:");
    buf_printf(context, change->value.data ? SLICE_FMT "=" SLICE_FMT " " : SLICE_FMT " ",
               SLICE_ARG(change->name), SLICE_ARG(change->value));
}

static void check_changes(Declares *declares, const char *expected)
{
    Buf out = { 0 };
    assert_true(declares_pending(declares));
    declares_changes(declares, write_change, &out);
    assert_false(declares_pending(declares));
    assert_string_equal(out.bytes ? buf_cstr(&out) : "", expected);
    buf_done(&out);
}

/* The file has this list now ("": none), and so much has to be defined. */
static void file_says(Declares *declares, const char *text, const char *expected)
{
    Declared items[ITEMS_MAX];
    declares_set(declares, list_of(items, text));
    check_changes(declares, expected);
}

static void stored(Declares *declares, const char *key, const char *value)
{
    Definition definition = { .tenant = SLICE_LITERAL("t"),
                              .key = slice_text(key),
                              .value = slice_text(value) };
    declares_stored(declares, &definition);
}

static bool has(Declares *declares, const char *name)
{
    return declares_has(declares, SLICE_LITERAL("handler"), SLICE_LITERAL("t"),
                        slice_text(name));
}

static void only_what_differs_from_the_store_is_defined(void **state)
{
    Declared items[ITEMS_MAX];
    Declares *declares = declares_new();
    (void)state;
    stored(declares, "handler same", "1");
    stored(declares, "handler other", "1");
    stored(declares, "handler gone", "1");
    declares_set(declares, list_of(items, "same=1 other=2 new=3"));
    assert_true(has(declares, "new"));
    assert_false(has(declares, "gone"));
    check_changes(declares, "gone new=3 other=2 ");
    declares_free(declares);
}

static void each_reload_starts_where_the_last_one_ended(void **state)
{
    Declared items[ITEMS_MAX];
    Declares *declares = declares_new();
    (void)state;
    stored(declares, "handler x", "1");
    file_says(declares, "", "x ");
    file_says(declares, "x=1", "x=1 ");
    file_says(declares, "x=1", "");
    /* Two before the first was told: the second counts, from where the store is. */
    declares_set(declares, list_of(items, "y=1"));
    declares_set(declares, list_of(items, "x=1 z=1"));
    assert_false(has(declares, "y"));
    check_changes(declares, "z=1 ");
    declares_free(declares);
}

static void what_another_file_has_too_stays(void **state)
{
    Declares *declares = declares_new();
    (void)state;
    declares_home(declares, SLICE_LITERAL("me"));
    stored(declares, "@me handler mine", "1");
    stored(declares, "@me handler both", "1");
    stored(declares, "@you handler both", "1");
    stored(declares, "@you handler yours", "1");
    stored(declares, "@you handler same", "1");
    stored(declares, "@you handler other", "1");
    assert_true(has(declares, "yours"));
    file_says(declares, "same=1 other=2", "mark:both mine other=2 mark:same=1 ");

    /* The other one takes it out of its file: now it is ours alone. */
    declares_heard(declares, &(Definition){ .tenant = SLICE_LITERAL("t"),
                                            .key = SLICE_LITERAL("@you handler same") });
    declares_heard(declares, &(Definition){ .tenant = SLICE_LITERAL("t"),
                                            .key = SLICE_LITERAL("@you handler new"),
                                            .value = SLICE_LITERAL("1") });
    assert_true(has(declares, "new"));
    /* It is gone for good: what only its file had is no one's. */
    declares_gone(declares, &(Definition){ .key = SLICE_LITERAL("you"),
                                           .value = SLICE_LITERAL("1") });
    assert_false(has(declares, "new"));
    declares_gone(declares, &(Definition){ .key = SLICE_LITERAL("you") });
    assert_true(has(declares, "new"));
    file_says(declares, "", "mark:other same ");
    declares_free(declares);
}

/* A store that was copied here: marks of those who had it are no one's. */
static void marks_of_another_store_are_taken_over(void **state)
{
    Declares *declares = declares_new();
    Buf key = { 0 };
    (void)state;
    stored(declares, "@you handler same", "1");
    stored(declares, "@you handler left", "1");
    assert_false(has(declares, "left"));
    file_says(declares, "same=1", "mark:same=1 ");
    file_says(declares, "", "same ");
    DeclareChange change = { .table = SLICE_LITERAL("handler"),
                             .name = SLICE_LITERAL("x") };
    declares_mark(declares, &change, &key);
    assert_string_equal(buf_cstr(&key), "handler x");
    buf_clear(&key);
    declares_home(declares, SLICE_LITERAL("me"));
    declares_mark(declares, &change, &key);
    assert_string_equal(buf_cstr(&key), "@me handler x");
    buf_done(&key);
    declares_free(declares);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_differs_from_the_store_is_defined),
        cmocka_unit_test(each_reload_starts_where_the_last_one_ended),
        cmocka_unit_test(what_another_file_has_too_stays),
        cmocka_unit_test(marks_of_another_store_are_taken_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

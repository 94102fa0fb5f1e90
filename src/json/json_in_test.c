/* SPDX-License-Identifier: Apache-2.0 */
/* json_in_test.c - both readers agree; what is wrong is refused at the right place. */
#include "json/json_in.h"

#include "base/buf.h"
#include "base/rng.h"
#include "json/json_fast.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static bool same_text(Slice ours, json_t *theirs)
{
    return ours.bytes == json_string_length(theirs) &&
           memcmp(ours.data ? ours.data : "", json_string_value(theirs), ours.bytes) == 0;
}

static bool same(const JsonIn *ours, json_t *theirs);

static bool same_items(const JsonIn *ours, json_t *theirs)
{
    size_t count = 0;
    for (const JsonIn *at = json_in_first(ours); at; at = at->next, count++) {
        Arena arena = { 0 };
        json_t *item = ours->kind == JSON_IN_LIST
                           ? json_array_get(theirs, count)
                           : json_object_get(theirs, slice_cstr(&arena, at->key));
        bool equal = item && same(at, item);
        arena_done(&arena);
        if (!equal)
            return false;
    }
    size_t size =
        ours->kind == JSON_IN_LIST ? json_array_size(theirs) : json_object_size(theirs);
    return size == count && count == ours->as.items.count;
}

static bool same(const JsonIn *ours, json_t *theirs)
{
    switch (ours->kind) {
    case JSON_IN_NULL:
        return json_is_null(theirs);
    case JSON_IN_BOOL:
        return json_is_boolean(theirs) && ours->as.truth == json_is_true(theirs);
    case JSON_IN_INT:
        return json_is_integer(theirs) && ours->as.integer == json_integer_value(theirs);
    case JSON_IN_REAL:
        return json_is_real(theirs);
    case JSON_IN_TEXT:
        return json_is_string(theirs) && same_text(ours->as.text, theirs);
    case JSON_IN_LIST:
        return json_is_array(theirs) && same_items(ours, theirs);
    case JSON_IN_OBJECT:
        return json_is_object(theirs) && same_items(ours, theirs);
    }
    return false;
}

/* Whatever the fast reader takes whole, jansson must take too, to the same values. */
static bool agree(Slice text, bool *out_fast)
{
    Arena arena = { 0 };
    JsonIn value;
    Slice rest = text;
    bool fast = json_fast_take(&rest, &arena, &value) && !rest.bytes;
    bool good = true;
    if (fast) {
        json_t *tree =
            json_loadb(text.data, text.bytes,
                       JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
        good = tree && same(&value, tree);
        json_decref(tree);
    }
    arena_done(&arena);
    *out_fast = fast;
    return good;
}

static const char *const plain_texts[] = {
    "{\"type\":\"mail.send\",\"payload\":\"to=a@b\",\"priority\":-7,\"held\":false}",
    " [ 1 , -2 , 0, -0, 123456789012345678, [ ], { } , null , true ] ",
    "{\"a\":{\"b\":[\"x\\n\\t\\\"y\\\\\\/\\b\\f\\r\"]},\"\":\"\"}",
    "{\"\xc3\xa4\":\"\xe2\x82\xac\"}",
    "\"lone\"",
    "42",
    "null",
};

static const char *const other_texts[] = {
    "[1.5, 2e3, -0.0, 1E-2, 9223372036854775807, -9223372036854775808]",
    "{\"a\":\"\\u0041\\u00e9\\ud83d\\ude00\\u0000\"}",
};

static void both_readers_agree(void **state)
{
    (void)state;
    bool fast;
    for (size_t i = 0; i < sizeof plain_texts / sizeof *plain_texts; i++) {
        assert_true(agree(slice_text(plain_texts[i]), &fast));
        assert_true(fast);
    }
    for (size_t i = 0; i < sizeof other_texts / sizeof *other_texts; i++) {
        assert_true(agree(slice_text(other_texts[i]), &fast));
        assert_false(fast);
    }
}

static void mutate(Rng *rng, Buf *text)
{
    static const char bytes[] = "{}[]\",:\\ \n\tntfu0159-.eE\xc3\xa4\xff\x01\x00/ab";
    for (uint64_t left = 1 + rng_below(rng, 3); left && text->bytes; left--) {
        size_t at = rng_below(rng, text->bytes);
        char c = bytes[rng_below(rng, sizeof bytes - 1)];
        if (rng_percent(rng, 40)) {
            text->data[at] = c;
        } else if (rng_percent(rng, 50)) {
            memmove(text->data + at, text->data + at + 1, text->bytes - at - 1);
            text->bytes--;
        } else {
            buf_add_char(text, '\0');
            memmove(text->data + at + 1, text->data + at, text->bytes - at - 1);
            text->data[at] = c;
        }
    }
}

static void both_readers_agree_on_damaged_texts(void **state)
{
    (void)state;
    Rng rng = { .state = 7 };
    size_t fast_count = 0;
    for (int round = 0; round < 60000; round++) {
        Buf text = { 0 };
        buf_add_text(
            &text,
            plain_texts[rng_below(&rng, sizeof plain_texts / sizeof *plain_texts)]);
        mutate(&rng, &text);
        bool fast = false;
        if (!agree(buf_slice(&text), &fast))
            fail_msg("round %d: readers differ on %.*s", round, (int)text.bytes,
                     text.data);
        fast_count += fast;
        buf_done(&text);
    }
    assert_true(fast_count > 5000);  /* else nothing was compared */
    assert_true(fast_count < 55000); /* else nothing was damaged */
}

static void values_are_read(void **state)
{
    (void)state;
    Arena arena = { 0 };
    const JsonIn *value;
    Slice text = SLICE_LITERAL("{\"n\": 9223372036854775807, \"t\": \"a\\u0000b\", "
                               "\"r\": 2.5, \"l\": [1, 2], \"b\": true, \"z\": null}");
    assert_int_equal(json_in_load(text, &arena, &value, NULL), ERR_OK);
    assert_true(json_in_int_of(value, "n", 0) == INT64_MAX);
    assert_true(slice_equal(json_in_text_of(value, "t"), SLICE_LITERAL("a\0b")));
    double real = 0;
    assert_int_equal(json_in_real(json_in_find(value, "r"), &real), ERR_OK);
    assert_true(real == 2.5);
    assert_true(json_in_bool_of(value, "b", false));
    assert_int_equal(json_in_find(value, "l")->as.items.count, 2);
    assert_int_equal(json_in_first(json_in_find(value, "l"))->next->as.integer, 2);
    assert_int_equal(json_in_find(value, "z")->kind, JSON_IN_NULL);
    assert_null(json_in_find(value, "nothing"));
    int64_t number;
    assert_int_equal(json_in_int(json_in_find(value, "t"), &number), ERR_INVALID);
    assert_int_equal(json_in_int_of(value, "t", -3), -3);
    arena_done(&arena);
}

static void what_is_wrong_is_told_with_its_place(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t bytes;
        const char *code;
        unsigned line;
    } cases[] = {
        { "", 0, "malformed_json", 1 },
        { "{\"a\":1", 6, "malformed_json", 1 },
        { "{\n\"a\":1,\n}", 10, "malformed_json", 3 },
        { "[1 2]", 5, "malformed_json", 1 },
        { "[01]", 4, "malformed_json", 1 },
        { "{'a':1}", 7, "malformed_json", 1 },
        { "[1]x", 4, "malformed_json", 1 },
        { "[1,]", 4, "malformed_json", 1 },
        { "\"a\nb\"", 5, "malformed_json", 1 },
        { "\"a\0b\"", 5, "malformed_json", 1 },
        { "nul", 3, "malformed_json", 1 },
        { "\"\\ud800\"", 8, "malformed_json", 1 },
        { "\xef\xbb\xbf{}", 5, "malformed_json", 1 },
        { "\"\xff\"", 3, "invalid_utf8", 1 },
        { "\"\xc0\xaf\"", 4, "invalid_utf8", 1 },
        { "\"\xed\xa0\x80\"", 5, "invalid_utf8", 1 },
        { "{\"a\":1,\"a\":2}", 13, "duplicate_key", 1 },
        { "[9223372036854775808]", 21, "number_too_large", 1 },
        { "[1e999]", 7, "number_too_large", 1 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Arena arena = { 0 };
        const JsonIn *value;
        JsonFault why = { 0 };
        Err err =
            json_in_load(slice_of(cases[i].text, cases[i].bytes), &arena, &value, &why);
        assert_int_not_equal(err, ERR_OK);
        assert_string_equal(why.code, cases[i].code);
        assert_int_equal(why.line, cases[i].line);
        assert_true(why.text[0] != '\0');
        arena_done(&arena);
    }
}

static Err load_nested(unsigned depth, const char *inside, JsonFault *why)
{
    Buf text = { 0 };
    for (unsigned i = 0; i < depth; i++)
        buf_add_char(&text, '[');
    buf_add_text(&text, inside);
    for (unsigned i = 0; i < depth; i++)
        buf_add_char(&text, ']');
    Arena arena = { 0 };
    const JsonIn *value;
    Err err = json_in_load(buf_slice(&text), &arena, &value, why);
    arena_done(&arena);
    buf_done(&text);
    return err;
}

static void depth_is_bounded(void **state)
{
    (void)state;
    JsonFault why = { 0 };
    assert_int_equal(load_nested(JSON_DEPTH_MAX, "1", &why), ERR_OK);
    assert_int_equal(load_nested(JSON_DEPTH_MAX, "1.5", &why), ERR_OK);
    assert_int_equal(load_nested(JSON_DEPTH_MAX + 1, "1", &why), ERR_LIMIT);
    assert_string_equal(why.code, "too_deep");
    assert_int_equal(load_nested(5000000, "", &why), ERR_LIMIT);
    assert_string_equal(why.code, "too_deep");
}

static void number_of_values_is_bounded(void **state)
{
    (void)state;
    Buf text = { 0 };
    buf_add_text(&text, "[0");
    for (int i = 0; i < JSON_VALUES_MAX + 10; i++)
        buf_add_text(&text, ",0");
    buf_add_text(&text, "]");
    Arena arena = { 0 };
    const JsonIn *value;
    JsonFault why = { 0 };
    assert_int_equal(json_in_load(buf_slice(&text), &arena, &value, &why), ERR_LIMIT);
    assert_string_equal(why.code, "too_many_values");
    arena_done(&arena);
    buf_done(&text);
}

static void items_are_taken_one_by_one(void **state)
{
    (void)state;
    Slice rest = SLICE_LITERAL(" {\"a\":[1,2]} , 1.5 ,\"x]\" , [\"\\u005d\", {}] ] tail");
    static const JsonKind kinds[] = { JSON_IN_OBJECT, JSON_IN_REAL, JSON_IN_TEXT,
                                      JSON_IN_LIST };
    Arena arena = { 0 };
    for (size_t i = 0; i < 4; i++) {
        const JsonIn *value;
        assert_int_equal(json_in_take(&rest, &arena, &value, NULL), ERR_OK);
        assert_int_equal(value->kind, kinds[i]);
        assert_true(rest.bytes > 0);
        assert_int_equal(rest.data[0], i < 3 ? ',' : ']');
        rest = slice_from(rest, 1);
    }
    assert_true(slice_is(rest, " tail"));
    JsonFault why = { 0 };
    const JsonIn *value;
    assert_int_equal(json_in_take(&rest, &arena, &value, &why), ERR_INVALID);
    arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_readers_agree),
        cmocka_unit_test(both_readers_agree_on_damaged_texts),
        cmocka_unit_test(values_are_read),
        cmocka_unit_test(what_is_wrong_is_told_with_its_place),
        cmocka_unit_test(depth_is_bounded),
        cmocka_unit_test(number_of_values_is_bounded),
        cmocka_unit_test(items_are_taken_one_by_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* noun_test.c - a small noun: every type of field in and out, packed and patched. */
#include "noun/field.h"
#include "noun/testing.h"

typedef struct Pond {
    Slice label;
    Slice fish; /* each ended by NUL */
    int64_t depth_ms;
    int64_t since_ms;
    bool has_ducks;
    uint32_t ducks;
    bool frozen;
    uint32_t flags;
    uint32_t colour;
} Pond;

static const char *const colours[] = { "green", "blue", NULL };

#define AT(tag, member, kind) STORED(Pond, tag, member, kind)

static const Field fields[] = {
    { .name = "name", .type = AS_OWN_NAME, .use = USE_SHOWN, .meaning = "of the pond" },
    { .name = "label",
      .stored = AT(40, label, FIELD_SLICE),
      .type = AS_TEXT,
      .use = USE_BOTH,
      .most = 8,
      .meaning = "what the sign says" },
    { .name = "fish",
      .stored = AT(41, fish, FIELD_SLICE),
      .type = AS_LIST,
      .use = USE_BOTH,
      .most = 2,
      .meaning = "who lives there" },
    { .name = "depth",
      .stored = AT(3, depth_ms, FIELD_64),
      .type = AS_WINDOW,
      .use = USE_BOTH,
      .meaning = "how long a stone falls" },
    { .name = "since",
      .stored = AT(2, since_ms, FIELD_64),
      .type = AS_TIME,
      .use = USE_BOTH,
      .meaning = "when it was dug" },
    { .stored = AT(4, has_ducks, FIELD_BOOL) },
    { .name = "ducks",
      .stored = AT(5, ducks, FIELD_32),
      .type = AS_COUNT,
      .use = USE_BOTH,
      .least = 1,
      .most = 9,
      .has = HAS(Pond, has_ducks),
      .meaning = "that swim on it" },
    { .name = "open",
      .stored = AT(6, frozen, FIELD_BOOL),
      .type = AS_NOT,
      .use = USE_BOTH,
      .meaning = "whether one can swim" },
    { .name = "salty",
      .stored = AT(7, flags, FIELD_32),
      .type = AS_FLAG,
      .use = USE_BOTH,
      .most = 4,
      .meaning = "whether it tastes so" },
    { .name = "colour",
      .stored = AT(1, colour, FIELD_32),
      .type = AS_ENUM,
      .use = USE_BOTH,
      .words = colours,
      .meaning = "of the water" },
    { .name = "visitors",
      .type = AS_FACT,
      .use = USE_SHOWN,
      .schema = "\"type\":\"integer\"",
      .meaning = "of today" },
};
NOUN_STORED(pond, fields, NULL)

static const Pond usual = { .ducks = 1, .colour = 1 };

static const Noun pond_noun = { .name = "pond",
                                .a = "a pond",
                                .plural = "ponds",
                                .fields = fields,
                                .count = NOUN_COUNT(fields),
                                .bytes = sizeof(Pond),
                                .defaults = &usual,
                                .stored = &pond_stored };

static Err read_text(const char *text, bool patch, Pond *pond, Problem *why)
{
    static Arena arena; /* what is read borrows from it */
    NounIn in = noun_in(&pond_noun, "p", pond, &arena, why);
    in.patch = patch;
    return noun_read(&in, json_of_text(text, &arena));
}

static void assert_shown(const Pond *pond, const char *text)
{
    Buf out = { 0 };
    JsonOut json = { .out = &out };
    const NounView view = { &pond_noun, pond, { NULL, 0 }, SLICE_LITERAL("p"), false };
    json_object(&json, NULL);
    noun_members(&json, &view);
    json_object_end(&json);
    assert_string_equal(buf_cstr(&out), text);
    buf_done(&out);
}

#define FULL                                                                             \
    "{\"name\":\"p\",\"label\":\"keep off\",\"fish\":[\"a\",\"b\"],\"depth\":\"none\","  \
    "\"since\":\"2026-01-02T00:00:00.000Z\",\"ducks\":3,\"open\":false,\"salty\":true,"  \
    "\"colour\":\"green\"}"
#define EMPTY                                                                            \
    "{\"name\":\"p\",\"label\":null,\"fish\":[],\"depth\":null,\"since\":null,"          \
    "\"ducks\":null,\"open\":true,\"salty\":false,\"colour\":\"blue\"}"

static void what_is_shown_can_be_sent_back(void **state)
{
    (void)state;
    Pond pond;
    Problem why = { 0 };
    assert_int_equal(read_text(FULL, false, &pond, &why), ERR_OK);
    assert_shown(&pond, FULL);
    assert_int_equal(read_text("{}", false, &pond, &why), ERR_OK);
    assert_shown(&pond, EMPTY);
    assert_int_equal(read_text(EMPTY, false, &pond, &why), ERR_OK);
    assert_shown(&pond, EMPTY);
}

static void a_patch_changes_what_it_names_and_null_is_the_default(void **state)
{
    (void)state;
    Pond pond;
    Problem why = { 0 };
    assert_int_equal(read_text(FULL, false, &pond, &why), ERR_OK);
    assert_int_equal(read_text("{\"ducks\":4}", true, &pond, &why), ERR_OK);
    assert_int_equal(pond.ducks, 4);
    assert_true(slice_is(pond.label, "keep off"));
    assert_int_equal(read_text("{\"name\":\"p\",\"label\":null,\"fish\":null,\"depth\":"
                               "null,\"since\":null,\"ducks\":null,\"open\":null,"
                               "\"salty\":null,\"colour\":null}",
                               true, &pond, &why),
                     ERR_OK);
    assert_shown(&pond, EMPTY);
}

static void a_patch_of_one_flag_leaves_the_others(void **state)
{
    (void)state;
    Problem why = { 0 };
    Pond pond = { .flags = 1 | 4 | 8 };
    assert_int_equal(read_text("{\"salty\":false}", true, &pond, &why), ERR_OK);
    assert_int_equal(pond.flags, 1 | 8);
    pond.flags |= 4;
    assert_int_equal(read_text("{\"salty\":null}", true, &pond, &why), ERR_OK);
    assert_int_equal(pond.flags, 1 | 8);
}

static void what_is_wrong_has_its_code_and_pointer(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *code;
        const char *pointer;
    } rows[] = {
        { "[]", "wrong_type", "" },
        { "{\"labl\":\"x\"}", "unknown_field", "/labl" },
        { "{\"label\":\"nine char\"}", "invalid_value", "/label" },
        { "{\"label\":\"a\\u0007\"}", "invalid_value", "/label" },
        { "{\"label\":7}", "wrong_type", "/label" },
        { "{\"fish\":\"a\"}", "wrong_type", "/fish" },
        { "{\"fish\":[\"a\",7]}", "wrong_type", "/fish/1" },
        { "{\"fish\":[\"a\",\"b\",\"c\"]}", "invalid_value", "/fish" },
        { "{\"depth\":\"deep\"}", "invalid_value", "/depth" },
        { "{\"depth\":[]}", "wrong_type", "/depth" },
        { "{\"since\":\"then\"}", "invalid_value", "/since" },
        { "{\"ducks\":0}", "invalid_value", "/ducks" },
        { "{\"ducks\":\"4\"}", "wrong_type", "/ducks" },
        { "{\"open\":1}", "wrong_type", "/open" },
        { "{\"colour\":\"red\"}", "invalid_value", "/colour" },
        { "{\"name\":\"q\"}", "conflicting_fields", "/name" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Pond pond;
        Problem why = { 0 };
        assert_int_equal(read_text(rows[i].text, false, &pond, &why), ERR_INVALID);
        assert_string_equal(why.kind->code, rows[i].code);
        assert_string_equal(why.pointer, rows[i].pointer);
    }
}

static void near_misses_are_named(void **state)
{
    (void)state;
    Pond pond;
    Problem why = { 0 };
    assert_int_equal(read_text("{\"colr\":\"blue\"}", false, &pond, &why), ERR_INVALID);
    assert_string_equal(why.hint, "did you mean 'colour'?");
    assert_int_equal(read_text("{\"colour\":\"blu\"}", false, &pond, &why), ERR_INVALID);
    assert_string_equal(why.hint, "did you mean 'blue'?");
}

/* The bytes are those of a table in the order of its tags, whatever order is shown. */
static void packed_bytes_are_in_the_order_of_tags(void **state)
{
    (void)state;
    Pond pond;
    Pond back;
    Problem why = { 0 };
    Buf packed = { 0 };
    uint32_t last = 0;
    PackField in;
    assert_int_equal(read_text(FULL, false, &pond, &why), ERR_OK);
    noun_pack(&packed, &pond_noun, &pond);
    for (Slice rest = buf_slice(&packed); pack_next(&rest, &in); last = in.tag)
        assert_true(in.tag > last);
    assert_int_equal(last, 41);
    assert_int_equal(noun_unpack(buf_slice(&packed), &pond_noun, &back), ERR_OK);
    assert_shown(&back, FULL);
    pond.colour = 2;
    buf_clear(&packed);
    noun_pack(&packed, &pond_noun, &pond);
    assert_int_equal(noun_unpack(buf_slice(&packed), &pond_noun, &back), ERR_CORRUPT);
    buf_done(&packed);
}

static void parameters_stand_for_numbers_and_truths(void **state)
{
    (void)state;
    Arena arena = { 0 };
    Pond pond;
    Problem why = { 0 };
    NounIn in = noun_in(&pond_noun, "p", &pond, &arena, &why);
    assert_int_equal(noun_read(&in, json_of_text("{}", &arena)), ERR_OK);
    assert_int_equal(noun_read_param(&in, SLICE_LITERAL("ducks"), SLICE_LITERAL("5")),
                     ERR_OK);
    assert_int_equal(noun_read_param(&in, SLICE_LITERAL("open"), SLICE_LITERAL("0")),
                     ERR_OK);
    assert_int_equal(pond.ducks, 5);
    assert_true(pond.frozen);
    assert_true(noun_seen(&in, "ducks"));
    assert_false(noun_seen(&in, "salty"));
    assert_int_equal(noun_read_param(&in, SLICE_LITERAL("geese"), SLICE_LITERAL("1")),
                     ERR_INVALID);
    assert_string_equal(why.kind->code, "unknown_parameter");
    arena_done(&arena);
}

static void the_schema_lists_every_field(void **state)
{
    (void)state;
    Buf out = { 0 };
    JsonOut json = { .out = &out };
    Arena arena = { 0 };
    const JsonIn *schema;
    json_object(&json, NULL);
    noun_schema(&json, "Pond", &pond_noun, SCHEMA_SHOWN);
    json_object_end(&json);
    schema = json_in_find(json_of_text(buf_cstr(&out), &arena), "Pond");
    const JsonIn *properties = json_in_find(schema, "properties");
    assert_int_equal(properties->as.items.count, 10);
    assert_true(json_in_bool_of(json_in_find(properties, "visitors"), "readOnly", false));
    assert_int_equal(
        json_in_find(json_in_find(properties, "colour"), "enum")->as.items.count, 2);
    buf_done(&out);
    arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_shown_can_be_sent_back),
        cmocka_unit_test(a_patch_changes_what_it_names_and_null_is_the_default),
        cmocka_unit_test(a_patch_of_one_flag_leaves_the_others),
        cmocka_unit_test(what_is_wrong_has_its_code_and_pointer),
        cmocka_unit_test(near_misses_are_named),
        cmocka_unit_test(packed_bytes_are_in_the_order_of_tags),
        cmocka_unit_test(parameters_stand_for_numbers_and_truths),
        cmocka_unit_test(the_schema_lists_every_field),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* resource_test.c - what may be written about resources, and what is refused. */
#include "noun/resource.h"

#include "noun/testing.h"
#include "noun/work.h"

/* The list with its NULs shown as ';'. */
static const char *shown(Slice list, Arena *arena)
{
    char *text = slice_cstr(arena, list);
    for (size_t i = 0; i < list.bytes; i++)
        if (!text[i])
            text[i] = ';';
    return text;
}

/* S3.20 to S3.23, S3.31, S3.44 */
static void what_a_job_wants_in_every_spelling(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        const char *list; /* NULL: refused */
        const char *code;
    } table[] = {
        { "{}", "", NULL },
        { "{\"gpu\":2}", "gpu=2;", NULL },
        { "{\"gpu\":0,\"lic\":\"3\"}", "gpu=0;lic=3;", NULL },
        { "{\"com.enioka.jqm.rm.thread.consumption\":2}", "thread=2;", NULL },
        { "{\"com.enioka.jqm.rm.quantity.thread.consumption\":4,\"thread\":2}",
          "thread=4;", NULL },
        { "{\"thread\":2,\"com.enioka.jqm.rm.quantity.thread.consumption\":4}",
          "thread=4;", NULL },
        { "{\"com.enioka.jqm.rm.discrete.consumption\":1}", "*discrete=1;", NULL },
        { "{\"*quantity\":1}", "*quantity=1;", NULL },
        { "{\"com.enioka.jqm.rm.thread.quantity\":2}", NULL, "invalid_value" },
        { "{\"com.enioka.jqm.rm.discrete.list\":\"a\"}", NULL, "invalid_value" },
        { "{\"gpu\":-1}", NULL, "invalid_value" },
        { "{\"gpu\":1.5}", NULL, "wrong_type" },
        { "{\"a b\":1}", NULL, "invalid_name" },
        { "[\"gpu\"]", NULL, "wrong_type" },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        Arena arena = { 0 };
        Problem why = { 0 };
        Slice list = { NULL, 0 };
        Err err = wants_read(json_of_text(table[i].json, &arena), &arena, &list, &why);
        assert_int_equal(err != ERR_OK, table[i].list == NULL);
        if (err)
            assert_string_equal(why.kind->code, table[i].code);
        else
            assert_string_equal(shown(list, &arena), table[i].list);
        arena_done(&arena);
    }
}

/* S3.28, S3.39, S3.43: and the defaults where nothing is said. */
static void a_manager_is_read_with_its_defaults(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        const char *out;  /* NULL: refused */
        const char *code; /* then */
    } table[] = {
        { "{}",
          "\"key\":\"k\",\"kind\":\"quantity\",\"scope\":\"node\",\"quantity\":10,"
          "\"consumption\":1",
          NULL },
        { "{\"kind\":\"com.enioka.jqm.tools.QuantityResourceManager\","
          "\"com.enioka.jqm.rm.quantity.quantity\":4,\"scope\":\"cluster\"}",
          "\"key\":\"k\",\"kind\":\"quantity\",\"scope\":\"cluster\",\"quantity\":4,"
          "\"consumption\":1",
          NULL },
        { "{\"list\":[\"a\",\"b\"],\"consumption\":1}",
          "\"key\":\"k\",\"kind\":\"discrete\",\"scope\":\"node\",\"list\":[\"a\",\"b\"],"
          "\"consumption\":1",
          NULL },
        { "{\"kind\":\"discrete\",\"com.enioka.jqm.rm.discrete.list\":\"8080, 8081\"}",
          "\"key\":\"k\",\"kind\":\"discrete\",\"scope\":\"node\",\"list\":[\"8080\","
          "\"8081\"],\"consumption\":0",
          NULL },
        { "{\"kind\":\"highlander\"}",
          "\"key\":\"k\",\"kind\":\"highlander\",\"scope\":\"cluster\"", NULL },
        { "{\"kind\":\"pile\"}", NULL, "invalid_value" },
        { "{\"scope\":\"world\"}", NULL, "invalid_value" },
        { "{\"quantity\":-1}", NULL, "invalid_value" },
        { "{\"quantity\":2,\"consumption\":3}", NULL, "invalid_value" },
        { "{\"kind\":\"highlander\",\"quantity\":1}", NULL, "conflicting_fields" },
        { "{\"kind\":\"quantity\",\"list\":[\"a\"]}", NULL, "conflicting_fields" },
        { "{\"list\":[\"a\",\"a\"]}", NULL, "invalid_value" },
        { "{\"list\":[\"#1\"]}", NULL, "invalid_value" },
        { "{\"list\":[1]}", NULL, "invalid_value" },
        { "{\"quantitty\":1}", NULL, "unknown_field" },
        { "{\"com.enioka.jqm.rm.other.quantity\":1}", NULL, "invalid_value" },
        { "3", NULL, "wrong_type" },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        Arena arena = { 0 };
        Problem why = { 0 };
        ResourceDef def;
        NounIn in = noun_in(&resource_noun, "k", &def, &arena, &why);
        Err err = noun_read(&in, json_of_text(table[i].json, &arena));
        assert_int_equal(err != ERR_OK, table[i].out == NULL);
        if (err) {
            assert_string_equal(why.kind->code, table[i].code);
        } else {
            Buf out = { 0 };
            JsonOut json = { .out = &out };
            json_object(&json, NULL);
            noun_members(
                &json,
                &(NounView){ .noun = &resource_noun, .object = &def, .name = def.key });
            json_object_end(&json);
            char *text = slice_cstr(&arena, buf_slice(&out));
            text[strlen(text) - 1] = '\0';
            assert_string_equal(text + 1, table[i].out);
            buf_done(&out);
        }
        arena_done(&arena);
    }
}

/* A set of one field leaves the others: 2 units do not become 10. */
static void a_patch_of_the_scope_keeps_the_quantity(void **state)
{
    (void)state;
    Arena arena = { 0 };
    Problem why = { 0 };
    ResourceDef def = { .key = SLICE_LITERAL("k"), .quantity = 2, .consumption = 1 };
    NounIn in = noun_in(&resource_noun, "k", &def, &arena, &why);
    in.patch = true;
    assert_int_equal(noun_read(&in, json_of_text("{\"scope\":\"cluster\"}", &arena)),
                     ERR_OK);
    assert_int_equal(def.quantity, 2);
    assert_int_equal(def.scope, SCOPE_CLUSTER);
    assert_int_equal(noun_read(&in, json_of_text("{\"kind\":\"discrete\"}", &arena)),
                     ERR_OK);
    assert_int_equal(resource_capacity(&def), 10); /* another kind, its own defaults */
    assert_int_equal(def.scope, SCOPE_CLUSTER);
    assert_int_equal(noun_read(&in, json_of_text("{\"quantity\":1}", &arena)),
                     ERR_INVALID);
    assert_string_equal(why.kind->code, "conflicting_fields");
    arena_done(&arena);
}

static void the_default_list_is_called_yes(void **state)
{
    (void)state;
    Arena arena = { 0 };
    Error why = { 0 };
    Slice list;
    assert_int_equal(resource_list_parse(SLICE_LITERAL("yes"), &arena, &list, &why),
                     ERR_OK);
    assert_memory_equal(list.data, "item01\0item02", 14);
    assert_int_equal(resource_list_parse(SLICE_LITERAL("a,,b"), &arena, &list, &why),
                     ERR_INVALID);
    arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_job_wants_in_every_spelling),
        cmocka_unit_test(a_manager_is_read_with_its_defaults),
        cmocka_unit_test(a_patch_of_the_scope_keeps_the_quantity),
        cmocka_unit_test(the_default_list_is_called_yes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

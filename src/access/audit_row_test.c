/* SPDX-License-Identifier: Apache-2.0 */
/* audit_row_test.c - rows of the audit, packed and shown, and what they leave out. */
#include "access/audit_row.h"

#include "access/token.h"
#include "core/handler.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define NOW_MS 1700000000000

static void a_row_is_read_back_and_shown(void **state)
{
    (void)state;
    const AuditRow row = { .at_ms = NOW_MS,
                           .who = SLICE_LITERAL("token:ci"),
                           .from = SLICE_LITERAL("unix"),
                           .action = SLICE_LITERAL("put"),
                           .kind = SLICE_LITERAL("queue"),
                           .tenant = SLICE_LITERAL("acme"),
                           .target = SLICE_LITERAL("mail"),
                           .count = 1,
                           .after = SLICE_LITERAL("{\"slots\":2}") };
    Buf packed = { 0 };
    Buf shown = { 0 };
    AuditRow back;
    JsonOut json = { .out = &shown };
    audit_row_pack(&packed, &row);
    assert_int_equal(audit_row_unpack(buf_slice(&packed), &back), ERR_OK);
    audit_row_json(&json, SLICE_LITERAL("k"), &back);
    assert_string_equal(
        buf_cstr(&shown),
        "{\"id\":\"k\",\"at\":\"2023-11-14T22:13:20.000Z\",\"who\":\"token:ci\",\"from\":"
        "\"unix\",\"action\":\"put\",\"kind\":\"queue\",\"tenant\":\"acme\",\"target\":"
        "\"mail\",\"count\":1,\"before\":null,\"after\":{\"slots\":2}}");
    assert_int_equal(audit_row_unpack(slice_of(packed.data, packed.bytes - 1), &back),
                     ERR_CORRUPT);
    buf_done(&packed);
    buf_done(&shown);
}

static void keys_are_in_the_order_of_time(void **state)
{
    (void)state;
    char one[AUDIT_KEY_BYTES];
    char two[AUDIT_KEY_BYTES];
    char three[AUDIT_KEY_BYTES];
    char table[AUDIT_HOUR_BYTES];
    audit_key(NOW_MS, 7, 9, one);
    audit_key(NOW_MS, 7, 10, two);
    audit_key(NOW_MS + 1, 1, 0, three);
    assert_true(strcmp(one, two) < 0);
    assert_true(strcmp(two, three) < 0);
    audit_hour_table(audit_hour(NOW_MS), table);
    assert_string_equal(table, "audit_hour:0000472222");
}

static void nothing_secret_is_shown(void **state)
{
    (void)state;
    static const char hash[TOKEN_HASH_BYTES] = "hash-hash-hash";
    Token token = { .name = SLICE_LITERAL("ci"),
                    .scopes = SCOPE_BIT(SCOPE_READ),
                    .hash = { hash, sizeof hash } };
    Handler handler = { 0 };
    Buf packed = { 0 };
    Buf shown = { 0 };
    token_pack(&packed, &token);
    audit_definition_json(&shown, SLICE_LITERAL(TOKEN_TABLE), token.name,
                          buf_slice(&packed));
    assert_non_null(strstr(buf_cstr(&shown), "\"scopes\":[\"read\"]"));
    assert_null(strstr(buf_cstr(&shown), "hash"));
    buf_clear(&packed);
    buf_clear(&shown);
    handler.type = SLICE_LITERAL("mail");
    handler.env = SLICE_LITERAL("PASSWORD=hunter2\0");
    handler_pack(&packed, &handler);
    audit_definition_json(&shown, SLICE_LITERAL(HANDLER_TABLE), handler.type,
                          buf_slice(&packed));
    assert_non_null(strstr(buf_cstr(&shown), "mail"));
    assert_null(strstr(buf_cstr(&shown), "hunter2"));
    buf_done(&packed);
    buf_done(&shown);
}

static void only_what_people_define_is_watched(void **state)
{
    (void)state;
    const char *kind;
    assert_true(audit_watches(SLICE_LITERAL("config"), &kind));
    assert_string_equal(kind, "setting");
    assert_false(audit_watches(SLICE_LITERAL(TOKEN_USES), &kind));
    assert_false(audit_watches(SLICE_LITERAL(AUDIT_TABLE), &kind));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_is_read_back_and_shown),
        cmocka_unit_test(keys_are_in_the_order_of_time),
        cmocka_unit_test(nothing_secret_is_shown),
        cmocka_unit_test(only_what_people_define_is_watched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* token_test.c - tokens as they are stored and asked for, and who is let in by them. */
#include "access/tokens.h"

#include <setjmp.h>
#include <sodium.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define NOW_MS 1700000000000

static void what_is_packed_is_read_back(void **state)
{
    (void)state;
    const char hash[TOKEN_HASH_BYTES] = "0123456789abcdef";
    Token token = { .name = SLICE_LITERAL("ci"),
                    .tenant = SLICE_LITERAL("acme"),
                    .scopes = SCOPE_BIT(SCOPE_READ) | SCOPE_BIT(SCOPE_WORK),
                    .created_ms = NOW_MS,
                    .expires_ms = NOW_MS + 5,
                    .hash = slice_of(hash, sizeof hash),
                    .by = SLICE_LITERAL("uid:0") };
    Buf packed = { 0 };
    Token back;
    token_pack(&packed, &token);
    assert_int_equal(token_unpack(buf_slice(&packed), &back), ERR_OK);
    assert_true(slice_equal(back.name, token.name));
    assert_true(slice_equal(back.tenant, token.tenant));
    assert_true(slice_equal(back.hash, token.hash));
    assert_true(slice_equal(back.by, token.by));
    assert_int_equal(back.scopes, token.scopes);
    assert_int_equal(back.created_ms, token.created_ms);
    assert_int_equal(back.expires_ms, token.expires_ms);
    assert_int_equal(token_unpack(slice_of(packed.data, packed.bytes - 1), &back),
                     ERR_CORRUPT);
    buf_done(&packed);
}

static void two_secrets_are_never_the_same(void **state)
{
    (void)state;
    char one[TOKEN_SECRET_BYTES];
    char two[TOKEN_SECRET_BYTES];
    token_secret(one);
    token_secret(two);
    assert_string_not_equal(one, two);
    assert_true(token_formed(slice_text(one)));
    assert_int_equal(strlen(one), TOKEN_SECRET_BYTES - 1);
    assert_false(token_formed(SLICE_LITERAL("pawl_short")));
    assert_false(token_formed((Slice){ NULL, 0 }));
}

static Err read_text(const char *text, Arena *arena, Token *out, Problem *why)
{
    const JsonIn *object;
    JsonFault fault;
    assert_int_equal(json_in_load(slice_text(text), arena, &object, &fault), ERR_OK);
    return token_read(object, NOW_MS, out, why);
}

static void a_token_is_of_one_tenant_unless_it_says_so(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *tenant; /* "": all */
        Scopes scopes;
    } cases[] = {
        { "{\"name\":\"a\",\"scopes\":[\"read\"]}", "default", SCOPE_BIT(SCOPE_READ) },
        { "{\"name\":\"a\",\"scopes\":\"read,work\",\"tenant\":\"acme\"}", "acme",
          SCOPE_BIT(SCOPE_READ) | SCOPE_BIT(SCOPE_WORK) },
        { "{\"name\":\"a\",\"scopes\":[\"admin\"]}", "", SCOPE_BIT(SCOPE_ADMIN) },
        { "{\"name\":\"a\",\"scopes\":[\"admin\"],\"tenant\":\"acme\"}", "acme",
          SCOPE_BIT(SCOPE_ADMIN) },
        { "{\"name\":\"a\",\"scopes\":[\"read\"],\"tenant\":\"*\"}", "",
          SCOPE_BIT(SCOPE_READ) },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Arena arena = { 0 };
        Token token;
        Problem why;
        assert_int_equal(read_text(cases[i].text, &arena, &token, &why), ERR_OK);
        assert_true(slice_is(token.tenant, cases[i].tenant));
        assert_int_equal(token.scopes, cases[i].scopes);
        arena_done(&arena);
    }
}

static void what_makes_no_sense_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *code;
    } cases[] = {
        { "[]", "wrong_type" },
        { "{\"scopes\":[\"read\"]}", "missing_field" },
        { "{\"name\":\"a\"}", "missing_field" },
        { "{\"name\":\"a\",\"scopes\":[]}", "missing_field" },
        { "{\"name\":\"a b\",\"scopes\":[\"read\"]}", "invalid_name" },
        { "{\"name\":\"a\",\"scopes\":[\"root\"]}", "invalid_value" },
        { "{\"name\":\"a\",\"scopes\":[1]}", "wrong_type" },
        { "{\"name\":\"a\",\"scopes\":7}", "wrong_type" },
        { "{\"name\":\"a\",\"scopes\":\"read\",\"tenant\":\"../x\"}", "invalid_name" },
        { "{\"name\":\"a\",\"scopes\":\"read\",\"expires_in\":\"soon\"}",
          "invalid_value" },
        { "{\"name\":\"a\",\"scopes\":\"read\",\"expires_in\":\"PT0S\"}",
          "invalid_value" },
        { "{\"name\":\"a\",\"scopes\":\"read\",\"expires_at\":"
          "\"2001-01-01T00:00:00Z\"}",
          "invalid_value" },
        { "{\"name\":\"a\",\"scope\":\"read\"}", "unknown_field" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Arena arena = { 0 };
        Token token;
        Problem why;
        assert_int_equal(read_text(cases[i].text, &arena, &token, &why), ERR_INVALID);
        assert_string_equal(why.kind->code, cases[i].code);
        arena_done(&arena);
    }
}

/* Puts a token into the gate; returns its secret. */
static void define(Tokens *tokens, const char *name, const char *tenant,
                   int64_t expires_ms, char secret[TOKEN_SECRET_BYTES])
{
    unsigned char hash[TOKEN_HASH_BYTES];
    Buf packed = { 0 };
    token_secret(secret);
    token_hash(slice_text(secret), hash);
    Token token = { .name = slice_text(name),
                    .tenant = slice_text(tenant),
                    .scopes = SCOPE_BIT(SCOPE_READ),
                    .created_ms = NOW_MS,
                    .expires_ms = expires_ms,
                    .hash = slice_of((const char *)hash, sizeof hash) };
    token_pack(&packed, &token);
    tokens_defined(tokens, SLICE_LITERAL(TOKEN_TABLE), slice_text(name),
                   buf_slice(&packed));
    buf_done(&packed);
}

static void only_a_token_that_holds_is_let_in(void **state)
{
    (void)state;
    Tokens *tokens = tokens_new();
    char ours[TOKEN_SECRET_BYTES];
    char brief[TOKEN_SECRET_BYTES];
    char strange[TOKEN_SECRET_BYTES];
    Caller caller = { .from = "unix" };
    bool save;
    assert_false(tokens_closed(tokens));
    define(tokens, "ours", "acme", 0, ours);
    define(tokens, "brief", "", NOW_MS + 10, brief);
    token_secret(strange);
    assert_true(tokens_closed(tokens));
    assert_true(tokens_admit(tokens, slice_text(ours), NOW_MS, &caller, &save));
    assert_true(save);
    assert_true(caller.bound);
    assert_string_equal(caller.tenant, "acme");
    assert_string_equal(caller.who, "token:ours");
    assert_true(tokens_admit(tokens, slice_text(ours), NOW_MS + 1, &caller, &save));
    assert_false(save);
    assert_true(tokens_admit(tokens, slice_text(brief), NOW_MS + 9, &caller, &save));
    assert_false(caller.bound);
    assert_false(tokens_admit(tokens, slice_text(brief), NOW_MS + 10, &caller, &save));
    assert_false(tokens_admit(tokens, slice_text(strange), NOW_MS, &caller, &save));
    assert_false(tokens_admit(tokens, slice_of(ours, 20), NOW_MS, &caller, &save));
    tokens_defined(tokens, SLICE_LITERAL(TOKEN_TABLE), SLICE_LITERAL("ours"),
                   (Slice){ NULL, 0 });
    assert_false(tokens_admit(tokens, slice_text(ours), NOW_MS, &caller, &save));
    assert_true(tokens_closed(tokens)); /* one that has expired is one, too */
    tokens_free(tokens);
}

static void a_name_is_given_once(void **state)
{
    (void)state;
    Tokens *tokens = tokens_new();
    char secret[TOKEN_SECRET_BYTES];
    assert_true(tokens_reserve(tokens, SLICE_LITERAL("ci")));
    assert_false(tokens_reserve(tokens, SLICE_LITERAL("ci")));
    assert_false(tokens_closed(tokens)); /* a name is no token */
    tokens_release(tokens, SLICE_LITERAL("ci"));
    assert_true(tokens_reserve(tokens, SLICE_LITERAL("ci")));
    define(tokens, "ci", "", 0, secret);
    tokens_release(tokens, SLICE_LITERAL("ci")); /* it is taken for good */
    assert_false(tokens_reserve(tokens, SLICE_LITERAL("ci")));
    assert_int_equal(tokens_count(tokens), 1);
    tokens_free(tokens);
}

static bool add_name(void *context, const Token *token, const TokenUse *use)
{
    Buf *names = context;
    buf_printf(names, SLICE_FMT ":%lld ", SLICE_ARG(token->name), (long long)use->at_ms);
    return true;
}

static void they_are_listed_by_name_with_their_last_use(void **state)
{
    (void)state;
    Tokens *tokens = tokens_new();
    char secret[TOKEN_SECRET_BYTES];
    Buf names = { 0 };
    Buf packed = { 0 };
    define(tokens, "b", "", 0, secret);
    define(tokens, "c", "", 0, secret);
    define(tokens, "a", "", 0, secret);
    TokenUse use = { NOW_MS + 7, SLICE_LITERAL("unix") };
    token_use_pack(&packed, &use);
    tokens_defined(tokens, SLICE_LITERAL(TOKEN_USES), SLICE_LITERAL("b"),
                   buf_slice(&packed));
    tokens_list(tokens, (Slice){ NULL, 0 }, add_name, &names);
    assert_string_equal(buf_cstr(&names), "a:0 b:1700000000007 c:0 ");
    buf_clear(&names);
    tokens_list(tokens, SLICE_LITERAL("a"), add_name, &names);
    assert_string_equal(buf_cstr(&names), "b:1700000000007 c:0 ");
    buf_done(&names);
    buf_done(&packed);
    tokens_free(tokens);
}

static void admin_has_every_scope_in_it(void **state)
{
    (void)state;
    for (Scope needed = SCOPE_NONE; needed < SCOPES; needed++) {
        Scope found;
        assert_true(scopes_allow(SCOPE_BIT(SCOPE_ADMIN), needed));
        assert_int_equal(scopes_allow(SCOPE_BIT(SCOPE_READ), needed),
                         needed == SCOPE_NONE || needed == SCOPE_READ);
        assert_int_equal(scope_find(slice_text(scope_name(needed)), &found),
                         needed != SCOPE_NONE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_packed_is_read_back),
        cmocka_unit_test(two_secrets_are_never_the_same),
        cmocka_unit_test(a_token_is_of_one_tenant_unless_it_says_so),
        cmocka_unit_test(what_makes_no_sense_is_refused),
        cmocka_unit_test(only_a_token_that_holds_is_let_in),
        cmocka_unit_test(a_name_is_given_once),
        cmocka_unit_test(they_are_listed_by_name_with_their_last_use),
        cmocka_unit_test(admin_has_every_scope_in_it),
    };
    return sodium_init() < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}

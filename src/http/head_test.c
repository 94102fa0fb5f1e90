/* SPDX-License-Identifier: Apache-2.0 */
/* head_test.c - heads of requests as they should be, and as they must not be. */
#include "http/head.h"

#include "base/buf.h"
#include "base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define TEXT(text)                                                                       \
    {                                                                                    \
        "" text, sizeof(text) - 1                                                        \
    } /* of static tables */

/* Parsed from a copy that ends exactly where the text does. */
static bool parse(Slice text, Arena *arena, HttpHead *out, HeadFault *fault)
{
    assert_int_equal(head_length(text), text.bytes);
    char *copy = arena_copy(arena, text.data, text.bytes);
    return head_parse(copy, text.bytes, arena, out, fault);
}

static void a_head_is_read(void **state)
{
    (void)state;
    Arena arena = { 0 };
    HttpHead head;
    HeadFault fault;
    Slice text = SLICE_LITERAL("POST /a%20b?c=\xc3\xbc HTTP/1.1\r\nHost: x\r\n"
                               "X-Empty:\r\nconnection:\t Upgrade ,close \t\r\n"
                               "x-EMPTY: later\r\n\r\n");
    assert_true(parse(text, &arena, &head, &fault));
    assert_true(slice_is(head.method, "POST"));
    assert_string_equal(head.target.data, "/a%20b?c=\xc3\xbc");
    assert_false(head.old);
    assert_int_equal(head.field_count, 4);
    assert_string_equal(head_field(&head, "HOST").data, "x");
    assert_int_equal(head_field(&head, "x-empty").bytes, 0);
    assert_non_null(head_field(&head, "x-empty").data);
    assert_null(head_field(&head, "x-emptyy").data);
    assert_int_equal(head_field_count(&head, "X-Empty"), 2);
    assert_string_equal(head_field(&head, "Connection").data, "Upgrade ,close");
    assert_true(head_field_has(&head, "Connection", "close"));
    assert_true(head_field_has(&head, "Connection", "upgrade"));
    assert_false(head_field_has(&head, "Connection", "clo"));
    assert_true(parse(SLICE_LITERAL("GET / HTTP/1.0\r\n\r\n"), &arena, &head, &fault));
    assert_true(head.old);
    assert_int_equal(head.field_count, 0);
    arena_done(&arena);
}

/* RFC 9112, 3.2.2 */
static void a_whole_url_is_a_target(void **state)
{
    (void)state;
    static const struct {
        Slice text;
        const char *authority;
        const char *target;
    } cases[] = {
        { TEXT("GET http://localhost/a?b HTTP/1.1\r\n\r\n"), "localhost", "/a?b" },
        { TEXT("GET HTTPS://[::1]:80/ HTTP/1.1\r\n\r\n"), "[::1]:80", "/" },
        { TEXT("GET http://x HTTP/1.1\r\n\r\n"), "x", "/" },
        { TEXT("GET http://x?a=/b@c HTTP/1.1\r\n\r\n"), "x", "/?a=/b@c" },
        { TEXT("GET http://x//y HTTP/1.1\r\n\r\n"), "x", "//y" },
        { TEXT("GET /http://x/y HTTP/1.1\r\n\r\n"), NULL, "/http://x/y" },
        { TEXT("GET http:// HTTP/1.1\r\n\r\n"), NULL, "http://" },
        { TEXT("GET ftp://x/y HTTP/1.1\r\n\r\n"), NULL, "ftp://x/y" },
    };
    Arena arena = { 0 };
    HttpHead head;
    HeadFault fault;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_true(parse(cases[i].text, &arena, &head, &fault));
        assert_string_equal(head.target.data, cases[i].target);
        assert_int_equal(strlen(head.target.data), head.target.bytes);
        if (cases[i].authority)
            assert_true(slice_is(head.authority, cases[i].authority));
        else
            assert_null(head.authority.data);
    }
    arena_done(&arena);
}

static void a_head_ends_at_its_empty_line(void **state)
{
    (void)state;
    static const char text[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\nGET /next";
    size_t end = sizeof text - sizeof "GET /next";
    for (size_t bytes = 0; bytes < sizeof text; bytes++)
        assert_int_equal(head_length(slice_of(text, bytes)), bytes < end ? 0 : end);
}

static void what_could_be_read_in_two_ways_is_refused(void **state)
{
    (void)state;
    static const struct {
        Slice text;
        const char *code;
    } cases[] = {
        { TEXT("GET /\r\n\r\n"), "bad_request" },
        { TEXT("GET  / HTTP/1.1\r\n\r\n"), "bad_request" },
        { TEXT("GET / HTTP/1.1 \r\n\r\n"), "bad_request" },
        { TEXT("GET / HTTP/1\r\n\r\n"), "bad_request" },
        { TEXT("GET / FTP/1.1\r\n\r\n"), "bad_request" },
        { TEXT("GET / http/1.1\r\n\r\n"), "bad_request" },
        { TEXT("GET / HTTP/2.0\r\n\r\n"), "version_not_supported" },
        { TEXT("GET / HTTP/0.9\r\n\r\n"), "version_not_supported" },
        { TEXT(" / HTTP/1.1\r\n\r\n"), "bad_request" },
        { TEXT("G{T / HTTP/1.1\r\n\r\n"), "bad_request" },
        { TEXT("GET /\x01 HTTP/1.1\r\n\r\n"), "bad_request" },
        { TEXT("GET /\0 HTTP/1.1\r\n\r\n"), "bad_request" },
        { TEXT("GET http:///a HTTP/1.1\r\n\r\n"), "bad_request" },
        { TEXT("GET http://a@b/c HTTP/1.1\r\n\r\n"), "bad_request" },
        { TEXT("GET / HTTP/1.1\n\r\n"), "bad_request" },
        { TEXT("GET / HTTP/1.1\r\n\n"), "bad_request" },
        { TEXT("GET / HTTP/1.1\r\nHost: x\n\r\n"), "bad_request" },
        { TEXT("GET / HTTP/1.1\r\nHost: x\r\n\n"), "bad_request" },
        { TEXT("GET / HTTP/1.1\r\nHost: x\ry\r\n\r\n"), "bad_request" },
        { TEXT("GET / HTTP/1.1\r\nHost: x\0y\r\n\r\n"), "bad_request" },
        { TEXT("GET / HTTP/1.1\r\nHost : x\r\n\r\n"), "bad_request" },
        { TEXT("GET / HTTP/1.1\r\n: x\r\n\r\n"), "bad_request" },
        { TEXT("GET / HTTP/1.1\r\nHost\r\n\r\n"), "bad_request" },
        { TEXT("GET / HTTP/1.1\r\nA: b\r\n folded\r\n\r\n"), "bad_request" },
        { TEXT("GET / HTTP/1.1\r\nA: b\x7f\r\n\r\n"), "bad_request" },
    };
    Arena arena = { 0 };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        HttpHead head;
        HeadFault fault = { 0 };
        if (parse(cases[i].text, &arena, &head, &fault))
            fail_msg("taken: %.*s", SLICE_ARG(cases[i].text));
        assert_string_equal(fault.code, cases[i].code);
        assert_true(fault.detail[0]);
    }
    arena_done(&arena);
}

static void too_many_and_too_long_is_told(void **state)
{
    (void)state;
    Arena arena = { 0 };
    for (size_t count = HEAD_FIELDS_MAX; count <= HEAD_FIELDS_MAX + 1; count++) {
        Buf text = { 0 };
        HttpHead head;
        HeadFault fault = { 0 };
        buf_add_text(&text, "GET / HTTP/1.1\r\n");
        for (size_t i = 0; i < count; i++)
            buf_add_text(&text, "a:\r\n");
        buf_add_text(&text, "\r\n");
        bool taken = parse(buf_slice(&text), &arena, &head, &fault);
        buf_done(&text);
        assert_int_equal(taken, count == HEAD_FIELDS_MAX);
        if (!taken)
            assert_string_equal(fault.code, "header_too_large");
    }
    assert_string_equal(head_too_long(SLICE_LITERAL("GET /aaaaaaaa\r\n"), 8).code,
                        "uri_too_long");
    assert_string_equal(head_too_long(SLICE_LITERAL("GET /\r\nbbbbb"), 8).code,
                        "header_too_large");
    arena_done(&arena);
}

static void a_length_is_digits(void **state)
{
    (void)state;
    static const char *const none[] = { "", "-1", "+1", "1 2", "0x10", "1,1", "12a" };
    uint64_t bytes = 7;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_false(head_content_length(slice_text(none[i]), &bytes));
    assert_true(head_content_length(SLICE_LITERAL("0"), &bytes));
    assert_int_equal(bytes, 0);
    assert_true(head_content_length(SLICE_LITERAL("999999999999999999"), &bytes));
    assert_int_equal(bytes, 999999999999999999);
    assert_true(head_content_length(SLICE_LITERAL("99999999999999999999999"), &bytes));
    assert_true(bytes == UINT64_MAX);
}

static void spoil(char *text, size_t bytes, Rng *luck)
{
    static const char put[] = "\r\n: \t,/\x7f\xff\0aH1";
    for (uint64_t i = rng_below(luck, 4); i; i--)
        text[rng_below(luck, bytes)] = put[rng_below(luck, sizeof put - 1)];
}

/* What a head that was taken must be, whatever it was made of. */
static void check_taken(const HttpHead *head, const char *text, size_t bytes)
{
    assert_true(head->method.bytes > 0);
    assert_int_equal(strlen(head->target.data), head->target.bytes);
    for (size_t i = 0; i < head->field_count; i++) {
        const HeadField *field = &head->fields[i];
        assert_true(field->name.bytes > 0);
        assert_true(field->value.data > text && field->value.data < text + bytes);
        assert_int_equal(strlen(field->value.data), field->value.bytes);
        assert_null(strpbrk(field->value.data, "\r\n\x7f"));
    }
}

/* A head ends at the same byte however many of them have come, and one that is spoilt is
 * refused with a reason or taken without anything in it that has two meanings. */
static void spoilt_heads_do_no_harm(void **state)
{
    (void)state;
    static const char good[] = "POST /a?b=c HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n"
                               "Transfer-Encoding: chunked\r\nX:\r\n\r\nnext one";
    Rng luck = { 20260731 };
    unsigned taken = 0;
    for (int round = 0; round < 20000; round++) {
        Arena arena = { 0 };
        HttpHead head;
        HeadFault fault = { 0 };
        char text[sizeof good];
        memcpy(text, good, sizeof good);
        spoil(text, sizeof text - 1, &luck);
        size_t end = head_length(slice_of(text, sizeof text - 1));
        size_t come = rng_below(&luck, sizeof text);
        assert_int_equal(head_length(slice_of(text, come)), end && come >= end ? end : 0);
        char *copy = end ? arena_copy(&arena, text, end) : NULL;
        if (end && head_parse(copy, end, &arena, &head, &fault)) {
            check_taken(&head, copy, end);
            taken++;
        } else if (end) {
            assert_true(fault.code && fault.detail);
        }
        arena_done(&arena);
    }
    assert_in_range(taken, 1000, 19999); /* some of each */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_head_is_read),
        cmocka_unit_test(a_whole_url_is_a_target),
        cmocka_unit_test(a_head_ends_at_its_empty_line),
        cmocka_unit_test(what_could_be_read_in_two_ways_is_refused),
        cmocka_unit_test(too_many_and_too_long_is_told),
        cmocka_unit_test(a_length_is_digits),
        cmocka_unit_test(spoilt_heads_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* xml_in_test.c - small documents are read whole, and bombs not at all. */
#include "intake/xml_in.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static XmlFault fault;
static Arena arena;
static const XmlIn *root;

static Err load(const char *text)
{
    arena_done(&arena);
    arena = (Arena){ 0 };
    fault = (XmlFault){ 0 };
    return xml_load(slice_text(text), &arena, &root, &fault);
}

static void elements_come_with_texts_and_places(void **state)
{
    (void)state;
    assert_int_equal(load("<?xml version=\"1.0\"?>\n<a xmlns=\"u:x\" k=\"v\">\n"
                          "  <b> one &amp; two </b><c/>\n <d>x<e>y</e>z</d></a>"),
                     ERR_OK);
    assert_true(slice_is(root->name, "a"));
    assert_true(slice_is(root->space, "u:x"));
    assert_true(slice_is(root->attributes->name, "k"));
    assert_true(slice_is(root->attributes->text, "v"));
    const XmlIn *b = root->first;
    assert_true(slice_is(b->text, "one & two"));
    assert_true(slice_is(b->inner, " one &amp; two "));
    assert_int_equal(b->line, 3);
    assert_int_equal(b->column, 3);
    const XmlIn *c = b->next;
    assert_true(slice_is(c->name, "c"));
    assert_int_equal(c->inner.bytes, 0);
    const XmlIn *d = c->next;
    assert_true(slice_is(d->text, "xz"));
    assert_true(slice_is(d->inner, "x<e>y</e>z"));
    assert_true(slice_is(d->first->text, "y"));
    assert_null(d->next);
}

static void a_prefix_is_as_good_as_a_default(void **state)
{
    (void)state;
    assert_int_equal(load("<p:a xmlns:p=\"u:x\"><p:b/><b/></p:a>"), ERR_OK);
    assert_true(slice_is(root->space, "u:x"));
    assert_true(slice_is(root->first->space, "u:x"));
    assert_int_equal(root->first->next->space.bytes, 0);
}

static void document_types_are_refused_where_they_begin(void **state)
{
    (void)state;
    assert_int_equal(load("<?xml version=\"1.0\"?>\n<!DOCTYPE a [<!ENTITY l \"lol\">]>\n"
                          "<a>&l;</a>"),
                     ERR_INVALID);
    assert_int_equal(fault.line, 2);
    assert_non_null(strstr(fault.text, "DTD"));
    assert_int_equal(load("<!DOCTYPE a SYSTEM \"file:///etc/passwd\"><a/>"), ERR_INVALID);
    assert_int_equal(load("<a>&lol;</a>"), ERR_INVALID); /* never defined */
}

static void other_encodings_are_refused(void **state)
{
    (void)state;
    assert_int_equal(load("<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><a/>"),
                     ERR_INVALID);
    assert_int_equal(load("<?xml version=\"1.0\" encoding=\"utf-8\"?><a/>"), ERR_OK);
    assert_int_equal(load("<a>\n<b>\xc3\xa9</b><c>caf\xe9</c></a>"), ERR_INVALID);
    assert_int_equal(fault.line, 2);
    assert_int_equal(fault.column, 15); /* in characters, as an editor shows it */
    assert_non_null(strstr(fault.text, "0xe9"));
    assert_int_equal(xml_load(slice_of("<\0a\0/\0>\0", 8), &arena, &root, &fault),
                     ERR_INVALID);
    assert_non_null(strstr(fault.text, "UTF-16"));
}

static Err load_repeated(const char *before, const char *after, size_t count)
{
    Buf text = { 0 };
    if (before[1] != '/')
        buf_add_text(&text, "<r>");
    for (size_t i = 0; i < count; i++)
        buf_add_text(&text, before);
    for (size_t i = 0; i < count; i++)
        buf_add_text(&text, after);
    buf_add_text(&text, "</r>");
    Err err = load(buf_cstr(&text));
    buf_done(&text);
    return err;
}

static void deep_and_rich_and_large_documents_are_refused(void **state)
{
    (void)state;
    assert_int_equal(load_repeated("<d>", "</d>", XML_DEPTH_MAX - 1), ERR_OK);
    assert_int_equal(load_repeated("<d>", "</d>", XML_DEPTH_MAX), ERR_LIMIT);
    assert_int_equal(load_repeated("<d>", "</d>", 100000), ERR_LIMIT);
    assert_int_equal(load_repeated("<d/>", "", XML_NODES_MAX - 1), ERR_OK);
    assert_int_equal(load_repeated("<d/>", "", XML_NODES_MAX), ERR_LIMIT);
    assert_int_equal(load_repeated("xxxxxxxxxxxxxxxx", "", XML_BYTES_MAX / 16),
                     ERR_LIMIT);
}

static void what_is_no_xml_has_a_place(void **state)
{
    (void)state;
    assert_int_equal(load(""), ERR_INVALID);
    assert_int_equal(load("<a>\n<b></a>"), ERR_INVALID);
    assert_int_equal(fault.line, 2);
    assert_int_equal(load("<a/><b/>"), ERR_INVALID);
    assert_int_equal(load("{}"), ERR_INVALID);
}

static void escaped_text_is_read_back_equal(void **state)
{
    (void)state;
    Buf text = { 0 };
    buf_add_text(&text, "<a>");
    xml_escape(&text, SLICE_LITERAL("a<b>&\"c\"\x01"));
    buf_add_text(&text, "</a>");
    assert_int_equal(load(buf_cstr(&text)), ERR_OK);
    assert_true(slice_is(root->text, "a<b>&\"c\"\xef\xbf\xbd"));
    buf_done(&text);
}

static int close_arena(void **state)
{
    (void)state;
    arena_done(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_come_with_texts_and_places),
        cmocka_unit_test(a_prefix_is_as_good_as_a_default),
        cmocka_unit_test(document_types_are_refused_where_they_begin),
        cmocka_unit_test(other_encodings_are_refused),
        cmocka_unit_test(deep_and_rich_and_large_documents_are_refused),
        cmocka_unit_test(what_is_no_xml_has_a_place),
        cmocka_unit_test(escaped_text_is_read_back_equal),
    };
    return cmocka_run_group_tests(tests, NULL, close_arena);
}

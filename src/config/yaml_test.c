/* SPDX-License-Identifier: Apache-2.0 */
/* yaml_test.c - YAML texts and the places in them. */
#include "config/yaml.h"

#include "base/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void print_tree(const YamlNode *node, Buf *out)
{
    if (node->key)
        buf_printf(out, SLICE_FMT "@%u:%u=", SLICE_ARG(node->key->text), node->key->line,
                   node->key->column);
    if (node->kind == YAML_TEXT)
        buf_printf(out, node->null ? "null" : "'" SLICE_FMT "'", SLICE_ARG(node->text));
    else
        buf_add_char(out, node->kind == YAML_LIST ? '[' : '{');
    for (const YamlNode *child = node->first; child; child = child->next) {
        print_tree(child, out);
        if (child->next)
            buf_add_char(out, ' ');
    }
    if (node->kind != YAML_TEXT)
        buf_add_char(out, node->kind == YAML_LIST ? ']' : '}');
    buf_printf(out, "@%u:%u", node->line, node->column);
}

typedef struct Row {
    const char *text;
    const char *tree; /* or the fault */
} Row;

static const Row rows[] = {
    { "", "nothing" },
    { "# only a comment\n", "nothing" },
    { "---\n", "null@2:1" },
    { "a: 1\nb:\n  - x\n  - ~\n", "{a@1:1='1'@1:4 b@2:1=['x'@3:5 null@4:5]@3:3}@1:1" },
    { "{a: {b: [c, 'null']}}", "{a@1:2={b@1:6=['c'@1:10 'null'@1:13]@1:9}@1:5}@1:1" },
    { "a:\nb: \"\"\n", "{a@1:1=null@1:3 b@2:1=''@2:4}@1:1" },
    { "\xef\xbb\xbf"
      "a: 1\nb: 2\n",
      "{a@1:1='1'@1:4 b@2:1='2'@2:4}@1:1" },
    { "\xc3\xa4\xc3\xb6: {x}\n", "{\xc3\xa4\xc3\xb6@1:1={x@1:6=null@1:7}@1:5}@1:1" },
};

static void every_node_knows_its_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Arena arena = { 0 };
        Buf out = { 0 };
        YamlNode *root = NULL;
        YamlFault why = { 0 };
        if (yaml_read(slice_text(rows[i].text), &arena, &root, &why))
            fail_msg("%s: %s", rows[i].text, why.text);
        if (root)
            print_tree(root, &out);
        else
            buf_add_text(&out, "nothing");
        assert_string_equal(buf_cstr(&out), rows[i].tree);
        buf_done(&out);
        arena_done(&arena);
    }
}

static const Row faults[] = {
    { "a: 1\nb: [1, 2\nc: 3\n",
      "3:2: not valid YAML: while parsing a flow sequence, did not find expected ',' or "
      "']'" },
    { "a: 1\n  b: 2\n",
      "2:4: not valid YAML: mapping values are not allowed in this context" },
    { "a: 'x\n", "2:1: not valid YAML: while scanning a quoted scalar, found unexpected "
                 "end of stream" },
    { "a:\n\t- x\n", "2:1: not valid YAML: while scanning for the next token, found "
                     "character that cannot start any token" },
    { "a: &x 1\n", "1:4: anchors (&name) are not supported" },
    { "a: 1\nb: *x\n", "2:4: aliases (*name) are not supported" },
    { "a: &x [1]\n", "1:4: anchors (&name) are not supported" },
    { "a: !!int 1\n", "1:4: tags (!name) are not supported" },
    { "!x {a: 1}\n", "1:1: tags (!name) are not supported" },
    { "a: 1\n---\nb: 2\n", "2:1: only one document in a file" },
    { "? [a]\n: 1\n", "1:3: a key must be a single word" },
    { "[[[[[[[[[[[[[[[[[1", "1:17: nested too deep" },
    { "a: 1\nb: x\xff\n", "2:5: not valid UTF-8" },
    { "\xc3\xa4: \xe2\x82\n", "1:4: not valid UTF-8" },
    { "a: 1\nb: \x01\n", "2:4: not valid YAML: control characters are not allowed" },
};

static void faults_say_where(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        Arena arena = { 0 };
        Buf out = { 0 };
        YamlNode *root = NULL;
        YamlFault why = { 0 };
        if (!yaml_read(slice_text(faults[i].text), &arena, &root, &why))
            fail_msg("accepted: %s", faults[i].text);
        assert_null(root);
        buf_printf(&out, "%u:%u: %s", why.line, why.column, why.text);
        assert_string_equal(buf_cstr(&out), faults[i].tree);
        buf_done(&out);
        arena_done(&arena);
    }
}

/* 1 MiB of opening brackets, of empty items, of keys: each is read or refused at once. */
static void hostile_texts_are_cheap(void **state)
{
    (void)state;
    static const char *const parts[] = {
        "[", "{", "- ", "a: ", "? ", "[],", "\n\n", "'"
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        Arena arena = { 0 };
        Buf text = { 0 };
        YamlNode *root = NULL;
        YamlFault why = { 0 };
        while (text.bytes < 1u << 20)
            buf_add_text(&text, parts[i]);
        Err err = yaml_read(buf_slice(&text), &arena, &root, &why);
        assert_true(err == ERR_OK || why.line > 0);
        buf_done(&text);
        arena_done(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_node_knows_its_place),
        cmocka_unit_test(faults_say_where),
        cmocka_unit_test(hostile_texts_are_cheap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

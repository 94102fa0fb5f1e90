/* SPDX-License-Identifier: Apache-2.0 */
/* testing.h - for tests of nouns: an object out of a text. */
#ifndef NOUN_TESTING_H
#define NOUN_TESTING_H

#include "noun/noun.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static inline const JsonIn *json_of_text(const char *text, Arena *arena)
{
    const JsonIn *value = NULL;
    assert_int_equal(json_in_load(slice_text(text), arena, &value, NULL), ERR_OK);
    return value;
}

/* The text as the object of a noun that is called `name`, of tenant t. */
static inline NounIn noun_in(const Noun *noun, const char *name, void *object,
                             Arena *arena, Problem *why)
{
    return (NounIn){ .noun = noun,
                     .object = object,
                     .tenant = SLICE_LITERAL("t"),
                     .name = slice_text(name),
                     .arena = arena,
                     .why = why };
}

#endif

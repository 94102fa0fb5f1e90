/* SPDX-License-Identifier: Apache-2.0 */
/* options.c - see options.h. */
#include "cli/options.h"

#include "base/text.h"
#include "base/times.h"

#include <assert.h>

#define NAMES_MAX 64

static const Option *find_name(const Args *args, Slice name)
{
    for (size_t table = 0; args->tables[table]; table++)
        for (const Option *option = args->tables[table]; option->name; option++)
            if (slice_is(name, option->name))
                return option;
    return NULL;
}

static const Option *find_letter(const Args *args, char letter)
{
    for (size_t table = 0; args->tables[table]; table++)
        for (const Option *option = args->tables[table]; option->name; option++)
            if (option->letter == letter)
                return option;
    return NULL;
}

static Err unknown(const Args *args, Slice name, Error *why)
{
    const char *names[NAMES_MAX + 1] = { NULL };
    size_t count = 0;
    for (size_t table = 0; args->tables[table]; table++)
        for (const Option *option = args->tables[table]; option->name; option++)
            if (count < NAMES_MAX)
                names[count++] = option->name;
    const char *near = nearest_word(name, names);
    if (!near)
        return error_set(why, ERR_INVALID, "unknown option --" SLICE_FMT,
                         SLICE_ARG(name));
    return error_set(why, ERR_INVALID,
                     "unknown option --" SLICE_FMT "; did you mean --%s?",
                     SLICE_ARG(name), near);
}

static void give(Args *args, const Option *option, const char *value)
{
    MEM_PUSH(args->given, args->given_count, args->given_capacity) =
        (Given){ option, value };
}

/* words[*at] begins with two dashes. */
static Err take_long(Args *args, int count, char **words, int *at, Error *why)
{
    Slice rest = slice_text(words[*at] + 2);
    Slice name = slice_cut(&rest, '=');
    bool has_value = rest.data != NULL;
    const Option *option = find_name(args, name);
    if (!option)
        return unknown(args, name, why);
    if (!option->value) {
        if (has_value)
            return error_set(why, ERR_INVALID, "--%s takes no value", option->name);
        give(args, option, NULL);
        return ERR_OK;
    }
    if (!has_value && ++*at >= count)
        return error_set(why, ERR_INVALID, "--%s needs a value: %s", option->name,
                         option->value);
    give(args, option, has_value ? rest.data : words[*at]);
    return ERR_OK;
}

/* words[*at] begins with one dash and a letter; flags may stand together. */
static Err take_letters(Args *args, int count, char **words, int *at, Error *why)
{
    for (const char *letter = words[*at] + 1; *letter; letter++) {
        const Option *option = find_letter(args, *letter);
        if (!option)
            return error_set(why, ERR_INVALID, "unknown option -%c", *letter);
        if (!option->value) {
            give(args, option, NULL);
            continue;
        }
        if (!letter[1] && ++*at >= count)
            return error_set(why, ERR_INVALID, "-%c needs a value: %s", *letter,
                             option->value);
        give(args, option, letter[1] ? letter + 1 : words[*at]);
        return ERR_OK;
    }
    return ERR_OK;
}

static void add_operand(Args *args, char *word)
{
    MEM_PUSH(args->operands, args->operand_count, args->operand_capacity) = word;
}

/* A query may say -tag:test. */
static bool is_term(const Args *args, const char *word)
{
    return args->terms && word[1] != '-' && strchr(word, ':');
}

Err args_parse(Args *args, int count, char **words, Error *why)
{
    bool ended = false;
    for (int at = 0; at < count; at++) {
        char *word = words[at];
        Err err = ERR_OK;
        if (!ended && strcmp(word, "--") == 0) {
            ended = true;
        } else if (ended || word[0] != '-' || !word[1] || is_term(args, word)) {
            add_operand(args, word);
            ended = ended || args->first_ends;
        } else if (word[1] == '-') {
            err = take_long(args, count, words, &at, why);
        } else {
            err = take_letters(args, count, words, &at, why);
        }
        if (err)
            return err;
    }
    return ERR_OK;
}

void args_done(Args *args)
{
    mem_free(args->given);
    mem_free(args->operands);
    *args = (Args){ 0 };
}

const char *args_next(const Args *args, const char *name, size_t *at)
{
    assert(find_name(args, slice_text(name)));
    while (*at < args->given_count) {
        const Given *given = &args->given[(*at)++];
        if (strcmp(given->option->name, name) == 0)
            return given->value ? given->value : "";
    }
    return NULL;
}

bool args_flag(const Args *args, const char *name)
{
    return args_value(args, name) != NULL;
}

const char *args_value(const Args *args, const char *name)
{
    const char *last = NULL;
    const char *value;
    for (size_t at = 0; (value = args_next(args, name, &at));)
        last = value;
    return last;
}

Err args_int(const Args *args, const char *name, int64_t fallback, int64_t *out_value,
             Error *why)
{
    const char *value = args_value(args, name);
    *out_value = fallback;
    if (!value)
        return ERR_OK;
    int64_t number;
    if (int_parse(slice_text(value), &number))
        return error_set(why, ERR_INVALID, "--%s: \"%s\" is not a whole number", name,
                         value);
    *out_value = number;
    return ERR_OK;
}

Err args_duration(const Args *args, const char *name, int64_t *out_ms, Error *why)
{
    const char *value = args_value(args, name);
    *out_ms = -1;
    if (!value)
        return ERR_OK;
    int64_t duration_ms;
    Err err = duration_parse(slice_text(value), &duration_ms, why);
    if (!err)
        *out_ms = duration_ms;
    return err;
}

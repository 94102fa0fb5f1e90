/* SPDX-License-Identifier: Apache-2.0 */
/* noun_options.c - see noun_options.h. */
#include "cli/commands/noun_options.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>

Err options_pairs(const Args *args, const char *option, const Field *field, JsonOut *json,
                  Error *why)
{
    bool numbers = field->type == AS_AMOUNTS;
    const char *pair;
    json_object(json, field->name);
    for (size_t at = 0; (pair = args_next(args, option, &at));) {
        Slice value = slice_text(pair);
        Slice name = slice_cut(&value, '=');
        int64_t number = 1;
        if (!name.bytes || (!numbers && !value.data))
            return error_set(why, ERR_INVALID, "--%s %s: write NAME=%s", option, pair,
                             numbers ? "N" : "VALUE");
        bool again = false;
        const char *other;
        for (size_t later = at; (other = args_next(args, option, &later));) {
            Slice rest = slice_text(other);
            again = again || slice_equal(slice_cut(&rest, '='), name);
        }
        if (again)
            continue;
        if (numbers && value.data && int_parse(value, &number))
            return error_set(why, ERR_INVALID, "--%s %s: \"%s\" is no whole number",
                             option, pair, value.data);
        if (numbers) {
            Arena arena = { 0 };
            json_int(json, slice_cstr(&arena, name), number);
            arena_done(&arena);
        } else {
            json_text_key(json, name, value);
        }
    }
    json_object_end(json);
    return ERR_OK;
}

Err options_check(const Args *args, Error *why)
{
    for (size_t i = 0; i < args->given_count; i++) {
        const Given *given = &args->given[i];
        if (given->value && strcmp(given->option->value, "FILE") != 0 &&
            !utf8_valid(slice_text(given->value)))
            return error_set(why, ERR_INVALID, "--%s: the value is not UTF-8",
                             given->option->name);
    }
    return ERR_OK;
}

static Fault usage(void)
{
    return (Fault){ CLI_USAGE, "usage", NULL };
}

static int add_number(Cli *cli, const char *option, const Field *field, JsonOut *json)
{
    int64_t number;
    const char *text = args_value(&cli->args, option);
    if (int_parse(slice_text(text), &number))
        return cli_fail(cli, usage(), "--%s takes a number or none, not \"%s\"", option,
                        text);
    json_int(json, field->name, number);
    return CLI_DONE;
}

/* A number if it is one: the daemon knows what the field takes. */
static int add_custom(Cli *cli, const char *option, const Field *field, JsonOut *json)
{
    const char *text = args_value(&cli->args, option);
    char *end = NULL;
    double value = strtod(text, &end);
    if (*text && !*end)
        json_double(json, field->name, value);
    else
        json_cstr(json, field->name, text);
    return CLI_DONE;
}

static int add_duration(Cli *cli, const char *option, const Field *field, JsonOut *json)
{
    int64_t duration_ms;
    Error why;
    if (args_duration(&cli->args, option, &duration_ms, &why))
        return cli_misused(cli, &why);
    json_duration(json, field->name, duration_ms);
    return CLI_DONE;
}

/* Values that may stand several times, or with commas between them. */
static int add_list(Cli *cli, const char *option, const Field *field, JsonOut *json)
{
    const char *list;
    json_array(json, field->name);
    for (size_t at = 0; (list = args_next(&cli->args, option, &at));) {
        Slice rest = slice_text(list);
        while (rest.bytes)
            json_text(json, NULL, slice_cut(&rest, ','));
    }
    json_array_end(json);
    return CLI_DONE;
}

static int add_pairs(Cli *cli, const char *option, const Field *field, JsonOut *json)
{
    Error why;
    if (options_pairs(&cli->args, option, field, json, &why))
        return cli_misused(cli, &why);
    return CLI_DONE;
}

static int add_value(Cli *cli, const char *option, const Field *field, JsonOut *json)
{
    switch (field->type) {
    case AS_COUNT:
        return add_number(cli, option, field, json);
    case AS_DURATION:
        return add_duration(cli, option, field, json);
    case AS_BOOL:
    case AS_NOT:
    case AS_FLAG:
        json_bool(json, field->name, true);
        return CLI_DONE;
    case AS_LIST:
        return add_list(cli, option, field, json);
    case AS_PAIRS:
    case AS_AMOUNTS:
        return add_pairs(cli, option, field, json);
    case AS_CUSTOM:
        return add_custom(cli, option, field, json);
    case AS_TEXT:
    case AS_LONG:
    case AS_NAME:
    case AS_QUEUE:
    case AS_WINDOW:
    case AS_ENUM:
    case AS_TIME:
    case AS_ID:
    case AS_TENANT:
    case AS_OWN_NAME:
    case AS_FACT:
        break;
    }
    json_cstr(json, field->name, args_value(&cli->args, option));
    return CLI_DONE;
}

/* Whether --no-OPTION was given: the command may not know it. */
static bool denied(const Args *args, const char *option)
{
    for (size_t i = 0; i < args->given_count; i++) {
        const char *name = args->given[i].option->name;
        if (strncmp(name, "no-", 3) == 0 && strcmp(name + 3, option) == 0)
            return true;
    }
    return false;
}

static bool given(const Args *args, const char *option)
{
    for (size_t i = 0; i < args->given_count; i++)
        if (strcmp(args->given[i].option->name, option) == 0)
            return true;
    return false;
}

static int add_option(Cli *cli, const Field *field, JsonOut *json)
{
    const char *option = field->option;
    if (denied(&cli->args, option)) {
        json_bool(json, field->name, false);
        return CLI_DONE;
    }
    if (!given(&cli->args, option))
        return CLI_DONE;
    const char *text = args_value(&cli->args, option);
    if (text && strcmp(text, "none") == 0 && field->type != AS_WINDOW) {
        json_null(json, field->name);
        return CLI_DONE;
    }
    return add_value(cli, option, field, json);
}

int noun_options(Cli *cli, const Noun *noun, JsonOut *json)
{
    Error why;
    if (options_check(&cli->args, &why))
        return cli_misused(cli, &why);
    for (size_t i = 0; i < noun->count; i++) {
        int code =
            noun->fields[i].option ? add_option(cli, &noun->fields[i], json) : CLI_DONE;
        if (code)
            return code;
    }
    return CLI_DONE;
}

int verb_set(Cli *cli, const VerbSet *set, Slice body)
{
    Buf path = { 0 };
    Response response = { 0 };
    Error why = { 0 };
    verb_path(&path, cli, set, "");
    Request request = { .method = "PATCH", .path = buf_cstr(&path), .body = body };
    Err err = client_call(&cli->client, &request, &response, &why);
    int code = err ? cli_fail_call(cli, err, &why) : CLI_DONE;
    if (!code && response.status == 404)
        code =
            verb_call(cli, set, &(VerbCall){ .method = "PUT", .rest = "", .body = body });
    else if (!code)
        code = verb_answer(cli, set, &response);
    response_done(&response);
    buf_done(&path);
    return code;
}

int verb_set_options(Cli *cli, const VerbSet *set, const Noun *noun)
{
    Buf body = { 0 };
    JsonOut json = { .out = &body };
    json_object(&json, NULL);
    int code = noun_options(cli, noun, &json);
    json_object_end(&json);
    if (!code)
        code = verb_set(cli, set, buf_slice(&body));
    buf_done(&body);
    return code;
}

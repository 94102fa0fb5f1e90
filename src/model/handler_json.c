/* SPDX-License-Identifier: Apache-2.0 */
/* handler_json.c - see handler_json.h. */
#include "model/handler_json.h"

#include "model/handler_order.h"
#include "model/run_as.h"
#include "noun/work.h"
#include "run/context/interpreter.h"
#include "run/http/http_runner.h"

#include <unistd.h>

#define BAD(in, code, ...) problem_set((in)->why, (code), __VA_ARGS__)

static Err check_words(NounIn *in)
{
    const Handler *handler = in->object;
    Buf words = { 0 };
    Error why = { 0 };
    Err err = words_parse(handler->body, &words, &why);
    if (err)
        BAD(in, "invalid_value", "%s", why.text);
    Slice rest = buf_slice(&words);
    Slice word;
    size_t count = 0;
    while (!err && list_next(&rest, &word))
        if (word.bytes > JOB_ARG_BYTES_MAX || ++count > JOB_ARGS_MAX)
            err = BAD(in, "handler_too_large",
                      "a command has up to %d words of up to %d bytes", JOB_ARGS_MAX,
                      JOB_ARG_BYTES_MAX);
    buf_done(&words);
    return err;
}

/* A shell gets its script as one argument. */
static Err check_shell(NounIn *in)
{
    const Handler *handler = in->object;
    const char *shell = handler->lang == LANG_SH ? "/bin/sh" : "/bin/bash";
    if (handler->body.bytes > JOB_ARG_BYTES_MAX)
        return BAD(in, "handler_too_large", "a script for %s has up to %d bytes",
                   lang_name(handler->lang), JOB_ARG_BYTES_MAX);
    if (access(shell, X_OK)) {
        BAD(in, "unsupported", "this machine has no %s", shell);
        problem_hint(in->why, "install it, or use another language");
        return ERR_INVALID;
    }
    return ERR_OK;
}

static Err check_url(NounIn *in)
{
    const Handler *handler = in->object;
    Error why = { 0 };
    if (web_url_check(handler->body, &why))
        return BAD(in, "invalid_value", "%s", why.text);
    if (handler->batch <= WEB_BATCH_MAX)
        return ERR_OK;
    BAD(in, "invalid_value", "an http handler takes up to %d jobs at once",
        WEB_BATCH_MAX);
    problem_point(in->why, SLICE_LITERAL("batch"));
    return ERR_INVALID;
}

static Err check_interpreter(NounIn *in)
{
    const Handler *handler = in->object;
    Buf argv = { 0 };
    Lang lang = handler->lang;
    bool there = interpreter_argv(lang, NULL, &argv);
    buf_done(&argv);
    if (there)
        return ERR_OK;
    BAD(in, "unsupported", "this machine has no %s, which runs handlers in %s",
        interpreter_name(lang), lang_name(lang));
    problem_hint(in->why, "install it, or use another language");
    problem_point(in->why, SLICE_LITERAL("lang"));
    return ERR_INVALID;
}

static Err check_lang(NounIn *in)
{
    const Handler *handler = in->object;
    switch (handler->lang) {
    case LANG_EXEC:
        return check_words(in);
    case LANG_SH:
    case LANG_BASH:
        return check_shell(in);
    case LANG_NODE:
    case LANG_PYTHON:
    case LANG_PERL:
    case LANG_PHP:
    case LANG_RUBY:
    case LANG_LUA:
        return check_interpreter(in);
    case LANG_HTTP:
        return check_url(in);
    case LANG_PULL:
        return ERR_OK;
    }
    return ERR_INVALID;
}

/* Only a process of ours can be another account's. */
static Err check_user(NounIn *in)
{
    const Handler *handler = in->object;
    Lang lang = handler->lang;
    if (!handler->user.bytes)
        return ERR_OK;
    Err err = user_check(handler->tenant, handler->user, in->why);
    if (!err && (lang == LANG_HTTP || lang == LANG_PULL))
        err = BAD(in, "conflicting_fields", "user is for handlers that start processes");
    if (err)
        problem_point(in->why, SLICE_LITERAL("user"));
    return err;
}

Err handler_check(NounIn *in)
{
    const Handler *handler = in->object;
    Err err = check_user(in);
    if (err)
        return err;
    if (handler->lang == LANG_PULL && handler->body.bytes)
        err = BAD(in, "conflicting_fields", "a pull handler has no body");
    else if (handler->lang != LANG_PULL && !handler->body.bytes)
        err = BAD(in, "missing_field", "the handler has no body");
    else
        err = check_lang(in);
    if (!err && handler->batch && handler->lang == LANG_PULL) {
        err = BAD(in, "conflicting_fields",
                  "pull workers say themselves how many they take");
        problem_point(in->why, SLICE_LITERAL("batch"));
    }
    if (!err && handler->headers.bytes && handler->lang != LANG_HTTP) {
        err = BAD(in, "conflicting_fields", "headers are for http handlers");
        problem_point(in->why, SLICE_LITERAL("headers"));
    }
    if (!err && handler->then.bytes && slice_equal(handler->then, handler->type)) {
        err = BAD(in, "invalid_value",
                  "a job that is followed by one of its own type goes on without end");
        problem_hint(in->why, "name another type; a schedule runs one again and again");
        problem_point(in->why, SLICE_LITERAL("then"));
    }
    if (err && !in->why->pointer[0])
        problem_point(in->why, SLICE_LITERAL("body"));
    return err;
}

Err handler_read(NounIn *in, const JsonIn *object)
{
    Err err = noun_read(in, object);
    return err ? err : handler_check(in);
}

Err handler_read_param(NounIn *in, Slice name, Slice text)
{
    if (slice_is(name, "method"))
        name = SLICE_LITERAL("lang");
    if (slice_is(name, "body"))
        return BAD(in, "invalid_value", "the body of the request is the handler's body");
    return noun_read_param(in, name, text);
}

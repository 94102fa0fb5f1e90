/* SPDX-License-Identifier: Apache-2.0 */
/* handler_order.c - see handler_order.h. */
#include "model/handler_order.h"

#include "json/json_in.h"

static void add_word(Buf *out, Slice word)
{
    buf_add_slice(out, word);
    buf_add_char(out, '\0');
}

static Err add_json_words(Slice body, Buf *out, Error *why)
{
    Arena arena = { 0 };
    JsonFault fault;
    const JsonIn *root;
    Err err = json_in_load(body, &arena, &root, &fault);
    if (err)
        error_set(why, err, "the exec body is no JSON: %s", fault.text);
    else if (root->kind != JSON_IN_LIST)
        err = error_set(why, ERR_INVALID, "an exec body in JSON is an array of texts");
    const JsonIn *item = err ? NULL : json_in_first(root);
    for (; item && !err; item = item->next) {
        Slice word;
        if (json_in_text(item, &word) || memchr(word.data, 0, word.bytes))
            err = error_set(why, ERR_INVALID,
                            "each word of a command is a text without NUL");
        else
            add_word(out, word);
    }
    arena_done(&arena);
    return err;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Inside a quoted or bare part; returns how many bytes of `rest` it took, 0 when the
 * closing quote is missing. */
static size_t take_quoted(Slice rest, Buf *out)
{
    char quote = rest.data[0];
    for (size_t i = 1; i < rest.bytes; i++) {
        char c = rest.data[i];
        if (c == quote)
            return i + 1;
        if (!c)
            return 0;
        bool escape = quote == '"' && c == '\\' && i + 1 < rest.bytes &&
                      strchr("\"\\$`", rest.data[i + 1]);
        buf_add_char(out, escape ? rest.data[++i] : c);
    }
    return 0;
}

static Err add_shell_words(Slice body, Buf *out, Error *why)
{
    bool in_word = false;
    for (size_t i = 0; i < body.bytes;) {
        char c = body.data[i];
        if (is_space(c)) {
            if (in_word)
                buf_add_char(out, '\0');
            in_word = false;
            i++;
            continue;
        }
        if (!c)
            return error_set(why, ERR_INVALID, "an exec body cannot hold a NUL byte");
        in_word = true;
        if (c == '\'' || c == '"') {
            size_t taken = take_quoted(slice_from(body, i), out);
            if (!taken)
                return error_set(why, ERR_INVALID,
                                 "the exec body has a quote that is not closed");
            i += taken;
            continue;
        }
        if (c == '\\' && i + 1 < body.bytes)
            i++;
        buf_add_char(out, body.data[i++]);
    }
    if (in_word)
        buf_add_char(out, '\0');
    return ERR_OK;
}

Err words_parse(Slice body, Buf *out, Error *why)
{
    size_t before = out->bytes;
    size_t at = 0;
    while (at < body.bytes && is_space(body.data[at]))
        at++;
    bool json = at < body.bytes && body.data[at] == '[';
    Err err = json ? add_json_words(body, out, why) : add_shell_words(body, out, why);
    if (!err && (out->bytes == before || !out->data[before]))
        err = error_set(why, ERR_INVALID, "the exec body names no command");
    return err;
}

static Err command_of(const Handler *handler, Buf *out, Error *why)
{
    switch (handler->lang) {
    case LANG_EXEC:
        return words_parse(handler->body, out, why);
    case LANG_SH:
    case LANG_BASH:
        add_word(out, slice_text(handler->lang == LANG_SH ? "/bin/sh" : "/bin/bash"));
        add_word(out, SLICE_LITERAL("-c"));
        add_word(out, handler->body);
        return ERR_OK;
    case LANG_NODE:
    case LANG_PYTHON:
    case LANG_PERL:
    case LANG_PHP:
    case LANG_RUBY:
    case LANG_LUA:
    case LANG_HTTP:
    case LANG_PULL:
        break;
    }
    return error_set(why, ERR_UNSUPPORTED, "this version cannot run handlers in %s",
                     lang_name(handler->lang));
}

static bool sets(Slice env, Slice name)
{
    Slice item;
    while (list_next(&env, &item))
        if (slice_equal(slice_cut(&item, '='), name))
            return true;
    return false;
}

/* The handler's variables that the job does not set itself, then the job's. */
static void merge_env(Buf *out, Slice handler, Slice job)
{
    Slice item;
    while (list_next(&handler, &item)) {
        Slice rest = item;
        if (!sets(job, slice_cut(&rest, '=')))
            add_word(out, item);
    }
    buf_add_slice(out, job);
}

Err handler_order(const Handler *handler, Arena *arena, Job *job, Error *why)
{
    Buf command = { 0 };
    Buf env = { 0 };
    Err err = command_of(handler, &command, why);
    if (!err) {
        merge_env(&env, handler->env, job->env);
        job->command = slice_copy(arena, buf_slice(&command));
        job->env = slice_copy(arena, buf_slice(&env));
        job->flags |= JOB_PROTOCOL;
        if (!job->cwd.bytes)
            job->cwd = handler->cwd;
        if (!job->children.bytes)
            job->children = handler->children;
    }
    buf_done(&command);
    buf_done(&env);
    return err;
}

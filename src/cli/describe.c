/* SPDX-License-Identifier: Apache-2.0 */
/* describe.c - see describe.h. */
#include "cli/describe.h"

#include "cli/print/when.h"

#include "base/text.h"
#include "base/times.h"
#include "cli/commands/noun_options.h"
#include "noun/handler.h"
#include "noun/schedule.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define READ_BYTES      65536
#define INPUT_BYTES_MAX (64u << 20) /* the default of limits.body */

int describe_read(Cli *cli, const char *path, Buf *out)
{
    bool is_stdin = strcmp(path, "-") == 0;
    int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    Fault fault = { CLI_FAILED, "io", NULL };
    if (fd < 0)
        return cli_fail(cli, fault, "cannot open %s: %s", path, strerror(errno));
    ssize_t got = 1;
    while (got && out->bytes <= INPUT_BYTES_MAX) {
        got = read(fd, buf_room(out, READ_BYTES), READ_BYTES);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            break;
        out->bytes += (size_t)got;
    }
    int error = errno;
    if (!is_stdin)
        close(fd);
    if (got < 0)
        return cli_fail(cli, fault, "cannot read %s: %s", path, strerror(error));
    if (out->bytes > INPUT_BYTES_MAX)
        return cli_fail(cli, (Fault){ CLI_USAGE, "payload_too_large", NULL },
                        "%s is larger than 64 MiB", path);
    return CLI_DONE;
}

void describe_payload(JsonOut *json, Slice payload, bool exact)
{
    bool text = utf8_valid(payload) &&
                !(payload.bytes && memchr(payload.data, '\0', payload.bytes));
    if (exact || !text)
        json_base64(json, "payload_base64", payload);
    else
        json_text(json, "payload", payload);
}

int describe_command(Cli *cli, char **words, size_t count, JsonOut *json)
{
    json_array(json, "command");
    for (size_t i = 0; i < count; i++) {
        if (!utf8_valid(slice_text(words[i])))
            return cli_fail(cli, (Fault){ CLI_USAGE, "invalid_utf8", NULL },
                            "word %zu of the command is not UTF-8: \"%s\"", i + 1,
                            words[i]);
        json_cstr(json, NULL, words[i]);
    }
    json_array_end(json);
    return CLI_DONE;
}

char *describe_key(char out[KEY_TEXT_BYTES])
{
    unsigned char bytes[(KEY_TEXT_BYTES - 1) / 2];
    /* So few bytes always come, and at once. */
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        memset(bytes, 0, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
    return out;
}

Err describe_due(const Args *args, int64_t now_ms, int64_t *out_ms, Error *why)
{
    const char *at = args_value(args, "at");
    int64_t in_ms;
    Err err = args_duration(args, "in", &in_ms, why);
    if (err)
        return err;
    if (at && in_ms >= 0)
        return error_set(why, ERR_INVALID, "--at and --in exclude each other");
    *out_ms = in_ms >= 0 ? now_ms + in_ms : 0;
    return at ? when_parse(slice_text(at), now_ms, out_ms, why) : ERR_OK;
}

/* What the options still have to say: not what `except` says itself. */
typedef struct Asked {
    Cli *cli;
    const Doc *except;
    JsonOut *json;
} Asked;

static bool asked(const Asked *fields, const char *option, const char *field)
{
    return args_flag(&fields->cli->args, option) && !doc_get(fields->except, field);
}

static Err add_due(const Asked *fields, int64_t now_ms, Error *why)
{
    int64_t due_ms = 0;
    Err err = describe_due(&fields->cli->args, now_ms, &due_ms, why);
    bool said = doc_get(fields->except, "run_at") || doc_get(fields->except, "delay");
    if (err || !due_ms || said)
        return err;
    /* --in is left to the daemon's clock, --at names a moment. */
    if (args_flag(&fields->cli->args, "in"))
        json_duration(fields->json, "delay", due_ms - now_ms);
    else
        json_time(fields->json, "run_at", due_ms);
    return ERR_OK;
}

static Err add_int(const Asked *fields, const char *option, const char *field, Error *why)
{
    int64_t value;
    Err err = args_int(&fields->cli->args, option, 0, &value, why);
    if (!err && asked(fields, option, field))
        json_int(fields->json, field, value);
    return err;
}

static Err add_duration(const Asked *fields, const char *option, const char *field,
                        Error *why)
{
    int64_t value_ms;
    Err err = args_duration(&fields->cli->args, option, &value_ms, why);
    if (!err && asked(fields, option, field))
        json_duration(fields->json, field, value_ms);
    return err;
}

static void add_text(const Asked *fields, const char *option, const char *field)
{
    if (asked(fields, option, field))
        json_cstr(fields->json, field, args_value(&fields->cli->args, option));
}

static void add_flag(const Asked *fields, const char *option)
{
    if (asked(fields, option, option))
        json_bool(fields->json, option, true);
}

static void add_tags(const Asked *fields)
{
    const char *tag;
    if (!asked(fields, "tag", "tags"))
        return;
    json_array(fields->json, "tags");
    for (size_t at = 0; (tag = args_next(&fields->cli->args, "tag", &at));)
        json_cstr(fields->json, NULL, tag);
    json_array_end(fields->json);
}

static Err add_pairs(const Asked *fields, const char *option, const char *name,
                     bool numbers, Error *why)
{
    const Field field = { .name = name, .type = numbers ? AS_AMOUNTS : AS_PAIRS };
    if (!asked(fields, option, name))
        return ERR_OK;
    return options_pairs(&fields->cli->args, option, &field, fields->json, why);
}

static Err add_unique(const Asked *fields, Error *why)
{
    const char *on_conflict = args_value(&fields->cli->args, "on-conflict");
    if (on_conflict && !args_flag(&fields->cli->args, "unique"))
        return error_set(why, ERR_INVALID, "--on-conflict needs --unique KEY");
    if (!asked(fields, "unique", "unique"))
        return ERR_OK;
    json_object(fields->json, "unique");
    json_cstr(fields->json, "key", args_value(&fields->cli->args, "unique"));
    if (on_conflict)
        json_cstr(fields->json, "on_conflict", on_conflict);
    json_object_end(fields->json);
    return ERR_OK;
}

/* ID, ID:ok, ID:any or ID:fail. */
static int add_after_item(const Asked *fields, Slice item)
{
    Slice on = item;
    Slice id = slice_cut(&on, ':');
    char word[ID_TEXT_BYTES + 8];
    char whole[ID_TEXT_BYTES];
    if (on.data && !slice_is(on, "ok") && !slice_is(on, "any") && !slice_is(on, "fail"))
        return cli_fail(fields->cli, (Fault){ CLI_USAGE, "usage", NULL },
                        "--after " SLICE_FMT ": after a job comes :ok, :any or :fail",
                        SLICE_ARG(item));
    snprintf(word, sizeof word, SLICE_FMT, SLICE_ARG(id));
    int code = cli_job_id(fields->cli, word, whole);
    if (code)
        return code;
    json_object(fields->json, NULL);
    json_cstr(fields->json, "id", whole);
    json_text(fields->json, "on", on.data ? on : SLICE_LITERAL("ok"));
    json_object_end(fields->json);
    return CLI_DONE;
}

static int add_after(const Asked *fields)
{
    const char *list;
    int code = CLI_DONE;
    if (!asked(fields, "after", "after"))
        return code;
    json_array(fields->json, "after");
    for (size_t at = 0; !code && (list = args_next(&fields->cli->args, "after", &at));) {
        Slice rest = slice_text(list);
        while (rest.bytes && !code)
            code = add_after_item(fields, slice_cut(&rest, ','));
    }
    json_array_end(fields->json);
    return code;
}

int describe_options(Cli *cli, int64_t now_ms, const Doc *except, JsonOut *json)
{
    Asked fields = { cli, except, json };
    Error why;
    Err err = options_check(&cli->args, &why);
    if (!err)
        err = add_int(&fields, "priority", "priority", &why);
    if (!err)
        err = add_int(&fields, "retries", "max_retries", &why);
    if (!err)
        err = add_due(&fields, now_ms, &why);
    if (!err)
        err = add_duration(&fields, "retry-delay", "retry_delay", &why);
    if (!err)
        err = add_duration(&fields, "max-run-time", "max_run_time", &why);
    if (!err)
        err = add_pairs(&fields, "env", "env", false, &why);
    if (!err)
        err = add_pairs(&fields, "resource", "resources", true, &why);
    if (!err)
        err = add_unique(&fields, &why);
    if (err)
        return cli_misused(cli, &why);
    add_text(&fields, "queue", "queue");
    add_text(&fields, "name", "name");
    add_text(&fields, "user", "user");
    add_text(&fields, "group", "group");
    add_text(&fields, "then", "then");
    add_text(&fields, "on-error", "on_error");
    add_flag(&fields, "held");
    add_flag(&fields, "protocol");
    add_tags(&fields);
    return add_after(&fields);
}

int describe_schedule(Cli *cli, JsonOut *json)
{
    static const char *const texts[][2] = {
        { "queue", "queue" }, { "job-name", "job_name" }, { "on-error", "on_error" },
        { "then", "then" },   { "user", "user" },
    };
    Asked fields = { cli, NULL, json };
    Error why;
    Err err = options_check(&cli->args, &why);
    if (!err)
        err = add_int(&fields, "priority", "priority", &why);
    if (!err)
        err = add_int(&fields, "retries", "max_retries", &why);
    if (!err)
        err = add_duration(&fields, "retry-delay", "retry_delay", &why);
    if (!err)
        err = add_duration(&fields, "max-run-time", "max_run_time", &why);
    if (!err)
        err = add_pairs(&fields, "env", "env", false, &why);
    if (!err)
        err = add_pairs(&fields, "resource", "resources", true, &why);
    if (err)
        return cli_misused(cli, &why);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        add_text(&fields, texts[i][0], texts[i][1]);
    add_tags(&fields);
    return noun_options(cli, &schedule_noun, json);
}

int describe_handler(Cli *cli, JsonOut *json)
{
    int code = noun_options(cli, &handler_noun, json);
    if (code)
        return code;
    if (args_flag(&cli->args, "immediate-children"))
        json_cstr(json, "children", "immediate");
    if (args_flag(&cli->args, "no-result"))
        json_bool(json, "keep_result", false);
    if (args_flag(&cli->args, "disabled"))
        json_bool(json, "enabled", false);
    return CLI_DONE;
}

int describe_cwd(Cli *cli, JsonOut *json)
{
    const char *named = args_value(&cli->args, "cwd");
    bool local = cli->client.socket || strstr(cli->client.url, "://127.") ||
                 strstr(cli->client.url, "://localhost") ||
                 strstr(cli->client.url, "://[::1]");
    if (!named && !local)
        return CLI_DONE;
    char *path = named && named[0] == '/' ? NULL : realpath(named ? named : ".", NULL);
    const char *cwd = path ? path : named;
    int code = CLI_DONE;
    if (!cwd || cwd[0] != '/')
        code = cli_fail(cli, (Fault){ CLI_USAGE, "bad_cwd", NULL },
                        "cannot run in the directory %s: %s", named ? named : ".",
                        strerror(errno));
    else if (!utf8_valid(slice_text(cwd)))
        code = cli_fail(cli,
                        (Fault){ CLI_USAGE, "invalid_utf8", "choose another: --cwd DIR" },
                        "the name of the directory is not UTF-8: %s", cwd);
    else
        json_cstr(json, "cwd", cwd);
    free(path);
    return code;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* ui.c - see ui.h. */
#include "api/ui.h"

#include "http/http.h"

#include <stdio.h>

#define UI_PATH "/ui/"
/* What a page may load and do: its own files and this daemon, nothing inline. */
#define POLICY                                                                           \
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "    \
    "connect-src 'self'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'"
#define WITHOUT                                                                          \
    "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>pawl</title>\n"   \
    "<h1>This pawl was built without its dashboard</h1>\n<p>Its pages need packages "    \
    "that npm brings, and npm was not there. Install Node.js and npm, then build "       \
    "again: <code>make</code>.</p>\n<p>Everything works without them: "                  \
    "<code>pawl top</code> watches from a terminal.</p></html>\n"

static const Asset *find(Slice path)
{
    for (size_t i = 0; i < ASSET_COUNT; i++)
        if (slice_is(path, ASSETS[i].path))
            return &ASSETS[i];
    return NULL;
}

/* Whether a file has this folder: then what is missing in it is no page. */
static bool is_folder(Slice path)
{
    Slice rest = path;
    Slice folder = slice_cut(&rest, '/');
    for (size_t i = 0; rest.data && i < ASSET_COUNT; i++) {
        Slice other = slice_text(ASSETS[i].path);
        if (slice_equal(slice_cut(&other, '/'), folder) && other.data)
            return true;
    }
    return false;
}

/* The document for a path of that many slashes. */
static const Asset *find_page(Slice path)
{
    unsigned slashes = 0;
    char name[32];
    for (size_t i = 0; i < path.bytes; i++)
        slashes += path.data[i] == '/';
    snprintf(name, sizeof name, "index.%u.html", slashes);
    return find(slice_text(name));
}

/* Whether a list, separated by commas, has the word (which may have a parameter). */
static bool has_word(Slice list, const char *word)
{
    while (list.bytes) {
        Slice one = slice_cut(&list, ',');
        while (one.bytes && one.data[0] == ' ')
            one = slice_from(one, 1);
        Slice name = slice_cut(&one, ';');
        while (name.bytes && name.data[name.bytes - 1] == ' ')
            name.bytes--;
        if (slice_is(name, word))
            return true;
    }
    return false;
}

static void add_policy(Exchange *exchange)
{
    exchange_add_header(exchange, "Content-Security-Policy", POLICY);
    exchange_add_header(exchange, "Referrer-Policy", "no-referrer");
    exchange_add_header(exchange, "Cross-Origin-Opener-Policy", "same-origin");
}

static void send_asset(Exchange *exchange, const Asset *asset)
{
    bool packed = has_word(exchange_header(exchange, "Accept-Encoding"), "gzip");
    buf_clear(&exchange->out);
    exchange_add_header(exchange, "Cache-Control", "no-cache");
    exchange_add_header(exchange, "ETag", asset->tag);
    exchange_add_header(exchange, "Vary", "Accept-Encoding");
    add_policy(exchange);
    if (has_word(exchange_header(exchange, "If-None-Match"), asset->tag)) {
        exchange_reply(exchange, 304, NULL);
        return;
    }
    if (packed) {
        exchange_add_header(exchange, "Content-Encoding", "gzip");
        buf_add(&exchange->out, asset->packed, asset->packed_bytes);
    } else {
        buf_add(&exchange->out, asset->plain, asset->plain_bytes);
    }
    exchange_reply(exchange, 200, asset->type);
}

void api_ui(Exchange *exchange)
{
    Slice query = exchange->head.target;
    Slice path = slice_from(slice_cut(&query, '?'), strlen(UI_PATH));
    const Asset *asset = find(path);
    if (!ASSET_COUNT) {
        buf_clear(&exchange->out);
        buf_add_text(&exchange->out, WITHOUT);
        add_policy(exchange);
        exchange_reply(exchange, 200, "text/html; charset=utf-8");
        return;
    }
    if (!asset && !is_folder(path))
        asset = find_page(path);
    if (asset)
        send_asset(exchange, asset);
    else
        exchange_refuse(exchange, "path_not_found", "the dashboard has no such file");
}

static void lead_to(Exchange *exchange, const char *place)
{
    buf_clear(&exchange->out);
    exchange_add_header(exchange, "Location", place);
    exchange_add_header(exchange, "Vary", "Accept");
    exchange_reply(exchange, 307, NULL);
}

void api_ui_slash(Exchange *exchange)
{
    lead_to(exchange, "ui/");
}

void api_root(Exchange *exchange)
{
    if (has_word(exchange_header(exchange, "Accept"), "text/html")) {
        lead_to(exchange, "ui/");
        return;
    }
    buf_clear(&exchange->out);
    buf_add_text(&exchange->out, "OK\n");
    exchange_reply(exchange, 200, "text/plain; charset=utf-8");
}

void api_me(Exchange *exchange)
{
    const Caller *caller = &exchange->caller;
    JsonOut json = exchange_json(exchange);
    json_object(&json, NULL);
    json_cstr(&json, "who", caller->who);
    json_cstr(&json, "tenant", caller->bound ? caller->tenant : "*");
    json_array(&json, "scopes");
    for (unsigned i = SCOPE_READ; i < SCOPES; i++)
        if (caller->scopes & SCOPE_BIT(i))
            json_cstr(&json, NULL, scope_name((Scope)i));
    json_array_end(&json);
    json_bool(&json, "tokens", tokens_closed(exchange_gate(exchange)));
    json_object_end(&json);
    exchange_reply_json(exchange, 200);
}

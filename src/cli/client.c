/* SPDX-License-Identifier: Apache-2.0 */
/* client.c - see client.h. */
#include "cli/client.h"

#include "cli/interrupt.h"

#include <assert.h>
#include <curl/curl.h>
#include <stdio.h>

#define CONNECT_TIMEOUT_MS 5000
#define CALL_TIMEOUT_MS    60000
#define POLL_MS            1000
#define BODY_BYTES_MAX     (512u << 20) /* 1000 jobs with large payloads */
#define TAILS_MAX          4

static char *copy_text(Slice text)
{
    char *copy = mem_alloc(text.bytes + 1);
    if (text.bytes)
        memcpy(copy, text.data, text.bytes);
    return copy;
}

Err client_init(Client *client, const char *server, Error *why)
{
    *client = (Client){ 0 };
    Slice text = slice_text(server);
    Slice unix_prefix = SLICE_LITERAL("unix:");
    if (slice_starts(text, unix_prefix)) {
        text = slice_from(text, unix_prefix.bytes);
        /* unix:///path is how URLs are written elsewhere. */
        if (slice_starts(text, SLICE_LITERAL("///")))
            text = slice_from(text, 2);
        if (!text.bytes)
            return error_set(why, ERR_INVALID, "\"%s\" names no socket", server);
        client->socket = copy_text(text);
        client->url = copy_text(SLICE_LITERAL("http://localhost"));
        return ERR_OK;
    }
    while (text.bytes && text.data[text.bytes - 1] == '/')
        text.bytes--;
    const char *scheme = memmem(text.data, text.bytes, "://", 3);
    if (!text.bytes || (scheme && !slice_starts(text, SLICE_LITERAL("http://")) &&
                        !slice_starts(text, SLICE_LITERAL("https://"))))
        return error_set(why, ERR_INVALID,
                         "\"%s\" is not a server: http://HOST:PORT or unix:PATH", server);
    Buf url = { 0 };
    if (!scheme)
        buf_add_text(&url, "http://");
    buf_add_slice(&url, text);
    client->url = copy_text(buf_slice(&url));
    buf_done(&url);
    return ERR_OK;
}

static char *copy_or_null(const char *text)
{
    return text ? copy_text(slice_text(text)) : NULL;
}

void client_copy(Client *copy, const Client *client)
{
    *copy = (Client){
        .url = copy_or_null(client->url),
        .socket = copy_or_null(client->socket),
        .token = copy_or_null(client->token),
        .ca = copy_or_null(client->ca),
        .tenant = copy_or_null(client->tenant),
    };
}

void client_done(Client *client)
{
    if (client->easy)
        curl_easy_cleanup(client->easy);
    if (client->multi)
        curl_multi_cleanup(client->multi);
    mem_free(client->url);
    mem_free(client->socket);
    mem_free(client->token);
    mem_free(client->ca);
    mem_free(client->tenant);
    *client = (Client){ 0 };
}

void client_name(const Client *client, Buf *out)
{
    if (client->socket)
        buf_printf(out, "unix:%s", client->socket);
    else
        buf_add_text(out, client->url);
}

void response_done(Response *response)
{
    buf_done(&response->body);
    response->status = 0;
}

/* What a transfer's callbacks see. */
typedef struct Transfer {
    Buf *body;  /* collected here, unless `tail` takes it */
    Tail *tail; /* or NULL */
    CURL *easy;
    CURLcode result;
    char text[CURL_ERROR_SIZE];
} Transfer;

static size_t take_body(char *data, size_t size, size_t count, void *context)
{
    Transfer *transfer = context;
    size_t bytes = size * count;
    if (transfer->tail) {
        long status = 0;
        curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
        transfer->tail->status = (int)status;
        if (status == 200) {
            transfer->tail->take(transfer->tail->context, slice_of(data, bytes));
            return bytes;
        }
    }
    if (transfer->body->bytes + bytes > BODY_BYTES_MAX)
        return 0;
    buf_add(transfer->body, data, bytes);
    return bytes;
}

/* setopt takes its argument by "..." and reports only what memory or this build lacks:
 * neither happens to the options used here. */
#define SET(easy, option, value)                                                         \
    do {                                                                                 \
        CURLcode set_code = curl_easy_setopt((easy), (option), (value));                 \
        assert(set_code == CURLE_OK);                                                    \
    } while (0)

/* What belongs to a tenant, or shows something of one; other routes refuse the word. */
static const char *const of_tenants[] = {
    "jobs",      "claims", "events",     "handlers",  "scoreboard", "stats", "groups",
    "schedules", "queues", "operations", "resources", "alert",      "nodes",
};

static bool is_of_tenant(const char *path)
{
    Slice base = SLICE_LITERAL("/api/v1/");
    Slice text = slice_text(path);
    if (!slice_starts(text, base))
        return false;
    text = slice_from(text, base.bytes);
    for (size_t i = 0; i < sizeof of_tenants / sizeof *of_tenants; i++)
        if (slice_starts(text, slice_text(of_tenants[i])))
            return true;
    return false;
}

static void add_tenant(const Client *client, const char *path, Buf *url)
{
    if (!client->tenant || !is_of_tenant(path) || strstr(path, "tenant="))
        return;
    buf_add_char(url, memchr(url->data, '?', url->bytes) ? '&' : '?');
    buf_add_text(url, "tenant=");
    url_add(url, slice_text(client->tenant));
}

bool client_is_local(const Client *client)
{
    Slice text = slice_text(client->url);
    if (client->socket)
        return true;
    text = slice_from(text, slice_starts(text, SLICE_LITERAL("https://")) ? 8 : 7);
    return slice_starts(text, SLICE_LITERAL("127.")) ||
           slice_starts(text, SLICE_LITERAL("localhost")) ||
           slice_starts(text, SLICE_LITERAL("[::1]"));
}

static void prepare(const Client *client, CURL *easy, const char *path,
                    Transfer *transfer)
{
    Buf url = { 0 };
    buf_add_text(&url, client->url);
    buf_add_text(&url, path);
    add_tenant(client, path, &url);
    curl_easy_reset(easy);
    SET(easy, CURLOPT_URL, buf_cstr(&url)); /* libcurl copies it */
    buf_done(&url);
    if (client->socket)
        SET(easy, CURLOPT_UNIX_SOCKET_PATH, client->socket);
    if (client_is_local(client))
        SET(easy, CURLOPT_PROXY, ""); /* http_proxy is not for this machine */
    SET(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    SET(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    if (client->ca)
        SET(easy, CURLOPT_CAINFO, client->ca);
    SET(easy, CURLOPT_USERAGENT, "pawl/" PAWL_VERSION);
    SET(easy, CURLOPT_NOSIGNAL, 1L);
    SET(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_TIMEOUT_MS);
    SET(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    SET(easy, CURLOPT_WRITEFUNCTION, take_body);
    SET(easy, CURLOPT_WRITEDATA, transfer);
    SET(easy, CURLOPT_PRIVATE, transfer);
    transfer->text[0] = '\0';
    SET(easy, CURLOPT_ERRORBUFFER, transfer->text);
    transfer->easy = easy;
    transfer->result = CURLE_GOT_NOTHING;
}

static struct curl_slist *headers_of(const Client *client, const Request *request)
{
    struct curl_slist *list = NULL;
    Buf line = { 0 };
    if (client->token) {
        buf_printf(&line, "Authorization: Bearer %s", client->token);
        list = curl_slist_append(list, buf_cstr(&line));
    }
    if (request && request->key) {
        buf_clear(&line);
        buf_printf(&line, "Idempotency-Key: %s", request->key);
        list = curl_slist_append(list, buf_cstr(&line));
    }
    if (request && request->only_new)
        list = curl_slist_append(list, "If-None-Match: *");
    if (request && request->accept) {
        buf_clear(&line);
        buf_printf(&line, "Accept: %s", request->accept);
        list = curl_slist_append(list, buf_cstr(&line));
    }
    if (request && request->body.bytes) {
        buf_clear(&line);
        buf_printf(&line, "Content-Type: %s",
                   request->content_type ? request->content_type : "application/json");
        list = curl_slist_append(list, buf_cstr(&line));
    }
    /* Without it libcurl waits a second for "100 Continue" before a large body. */
    list = curl_slist_append(list, "Expect:");
    buf_done(&line);
    return list;
}

/* Runs the transfers that were added to multi until all have ended. */
static Err run(CURLM *multi, Error *why)
{
    int running = 1;
    while (running) {
        if (curl_multi_perform(multi, &running) != CURLM_OK)
            return error_set(why, ERR_IO, "libcurl cannot go on");
        CURLMsg *message;
        int left;
        while ((message = curl_multi_info_read(multi, &left))) {
            Transfer *transfer = NULL;
            curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&transfer);
            transfer->result = message->data.result;
        }
        if (interrupt_seen())
            return error_set(why, ERR_BUSY, "interrupted");
        struct curl_waitfd extra = { .fd = interrupt_fd(), .events = CURL_WAIT_POLLIN };
        if (running && curl_multi_poll(multi, &extra, extra.fd >= 0, POLL_MS, NULL))
            return error_set(why, ERR_IO, "libcurl cannot wait");
    }
    return ERR_OK;
}

/* ERR_UNAVAILABLE: nothing was sent. ERR_IO: nobody knows how far it came. */
static Err err_of(CURLcode result)
{
    static const CURLcode before[] = {
        CURLE_COULDNT_CONNECT,    CURLE_COULDNT_RESOLVE_HOST,
        CURLE_SSL_CONNECT_ERROR,  CURLE_PEER_FAILED_VERIFICATION,
        CURLE_SSL_CACERT_BADFILE,
    };
    for (size_t i = 0; i < sizeof before / sizeof *before; i++)
        if (result == before[i])
            return ERR_UNAVAILABLE;
    return result == CURLE_OPERATION_TIMEDOUT ? ERR_TIMEOUT : ERR_IO;
}

static Err result_of(const Client *client, const Transfer *transfer, Error *why)
{
    if (transfer->result == CURLE_OK)
        return ERR_OK;
    const char *text =
        transfer->text[0] ? transfer->text : curl_easy_strerror(transfer->result);
    if (client->socket && transfer->result == CURLE_COULDNT_CONNECT)
        text = "nothing listens there"; /* libcurl speaks of a port of localhost */
    if (transfer->result == CURLE_SSL_CONNECT_ERROR)
        text = "it does not speak TLS as it should; without TLS its address is http://";
    if (transfer->result == CURLE_PEER_FAILED_VERIFICATION)
        text = "its certificate is not trusted; name one that signed it with --ca FILE";
    if (transfer->result == CURLE_UNSUPPORTED_PROTOCOL ||
        transfer->result == CURLE_WEIRD_SERVER_REPLY)
        text = "its answer is not HTTP; with TLS its address is https://";
    Buf name = { 0 };
    client_name(client, &name);
    Err code = err_of(transfer->result);
    error_set(why, code, "%s: %s", buf_cstr(&name), text);
    buf_done(&name);
    return code;
}

static Err handles(Client *client, Error *why)
{
    if (!client->multi)
        client->multi = curl_multi_init();
    if (!client->easy)
        client->easy = curl_easy_init();
    return client->multi && client->easy ? ERR_OK
                                         : error_set(why, ERR_IO, "libcurl cannot start");
}

Err client_call(Client *client, const Request *request, Response *response, Error *why)
{
    Err err = handles(client, why);
    if (err)
        return err;
    Transfer transfer = { .body = &response->body };
    CURL *easy = client->easy;
    prepare(client, easy, request->path, &transfer);
    client->changes = strcmp(request->method, "GET") != 0;
    SET(easy, CURLOPT_CUSTOMREQUEST, request->method);
    SET(easy, CURLOPT_TIMEOUT_MS,
        (long)(request->timeout_ms ? request->timeout_ms : CALL_TIMEOUT_MS));
    if (request->body.bytes || strcmp(request->method, "POST") == 0) {
        SET(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.bytes);
        SET(easy, CURLOPT_POSTFIELDS, request->body.bytes ? request->body.data : "");
    }
    /* On a connection that was used before, libcurl sends a request again when nothing
     * comes back. Without a key the daemon could not tell that it has it already. */
    if (strcmp(request->method, "POST") == 0 && !request->key)
        SET(easy, CURLOPT_FRESH_CONNECT, 1L);
    struct curl_slist *headers = headers_of(client, request);
    SET(easy, CURLOPT_HTTPHEADER, headers);

    curl_multi_add_handle(client->multi, easy);
    err = run(client->multi, why);
    curl_multi_remove_handle(client->multi, easy);
    curl_slist_free_all(headers);
    if (!err)
        err = result_of(client, &transfer, why);
    long status = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    response->status = (int)status;
    return err;
}

Err client_follow(Client *client, Tail *tails, size_t count, Error *why)
{
    assert(count <= TAILS_MAX);
    Err err = handles(client, why);
    if (err)
        return err;
    Transfer transfers[TAILS_MAX] = { 0 };
    struct curl_slist *headers = headers_of(client, NULL);
    client->changes = false;
    size_t started = 0;
    for (; started < count; started++) {
        CURL *easy = curl_easy_init();
        if (!easy)
            break;
        Transfer *transfer = &transfers[started];
        transfer->tail = &tails[started];
        transfer->body = &tails[started].problem;
        prepare(client, easy, tails[started].path, transfer);
        SET(easy, CURLOPT_HTTPHEADER, headers);
        curl_multi_add_handle(client->multi, easy);
    }
    err = started == count ? run(client->multi, why)
                           : error_set(why, ERR_IO, "libcurl cannot start");
    for (size_t i = 0; i < started; i++) {
        long status = 0;
        curl_easy_getinfo(transfers[i].easy, CURLINFO_RESPONSE_CODE, &status);
        tails[i].status = (int)status;
        tails[i].truncated = transfers[i].result != CURLE_OK;
        if (!err)
            err = result_of(client, &transfers[i], why);
        curl_multi_remove_handle(client->multi, transfers[i].easy);
        curl_easy_cleanup(transfers[i].easy);
    }
    curl_slist_free_all(headers);
    return err;
}

void url_add(Buf *out, Slice text)
{
    for (size_t i = 0; i < text.bytes; i++) {
        char c = text.data[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                     (c >= '0' && c <= '9') || (c && strchr("-._~", c));
        if (plain)
            buf_add_char(out, c);
        else
            buf_printf(out, "%%%02X", (unsigned)(unsigned char)c);
    }
}

void url_query(Buf *out, const char *key, Slice value)
{
    buf_add_char(out, out->bytes && memchr(out->data, '?', out->bytes) ? '&' : '?');
    buf_add_text(out, key);
    buf_add_char(out, '=');
    url_add(out, value);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* http.c - requests of libpawl over libcurl, sent again while that makes sense, and the
 * small things that every file needs.
 *
 * A handle of curl keeps its connection. A client has as many as threads ask at once. */
#include "internal.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#define PAUSE_FIRST 0.05 /* between two tries when the daemon names none */
#define PAUSE_MAX   5.0

/* --- Memory, texts, bytes
 * ---------------------------------------------------------------- */

void *mem_grow(void *old, size_t bytes)
{
    void *made = realloc(old, bytes);
    if (!made)
        abort();
    return made;
}

char *text_copy(const char *text)
{
    if (!text)
        return NULL;
    Bytes made = { 0 };
    bytes_add(&made, text, strlen(text));
    return made.data;
}

void bytes_add(Bytes *bytes, const void *data, size_t count)
{
    bytes->data = mem_grow(bytes->data, bytes->bytes + count + 1);
    if (count)
        memcpy(bytes->data + bytes->bytes, data, count);
    bytes->bytes += count;
    bytes->data[bytes->bytes] = '\0';
}

void bytes_done(Bytes *bytes)
{
    free(bytes->data);
    *bytes = (Bytes){ 0 };
}

static const char base64_letters[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static Bytes base64_encode(const unsigned char *data, size_t bytes)
{
    Bytes out = { 0 };
    bytes_add(&out, NULL, 0);
    for (size_t i = 0; i < bytes; i += 3) {
        size_t left = bytes - i;
        uint32_t bits = (uint32_t)data[i] << 16 |
                        (left > 1 ? (uint32_t)data[i + 1] << 8 : 0) |
                        (left > 2 ? data[i + 2] : 0);
        char four[4] = { base64_letters[bits >> 18], base64_letters[bits >> 12 & 63],
                         left > 1 ? base64_letters[bits >> 6 & 63] : '=',
                         left > 2 ? base64_letters[bits & 63] : '=' };
        bytes_add(&out, four, sizeof four);
    }
    return out;
}

static Bytes base64_decode(const char *text)
{
    Bytes out = { 0 };
    uint32_t bits = 0;
    int count = 0;
    bytes_add(&out, NULL, 0);
    for (; *text; text++) {
        const char *at = strchr(base64_letters, *text);
        if (!at)
            break; /* its padding */
        bits = bits << 6 | (uint32_t)(at - base64_letters);
        count += 6;
        if (count >= 8) {
            count -= 8;
            char byte = (char)(bits >> count & 255);
            bytes_add(&out, &byte, 1);
        }
    }
    return out;
}

const char *text_of(json_t *fields, const char *name)
{
    return json_string_value(json_object_get(fields, name));
}

Bytes bytes_of(json_t *fields, const char *name)
{
    char coded_name[64];
    Bytes out = { 0 };
    snprintf(coded_name, sizeof coded_name, "%s_base64", name);
    const char *coded = text_of(fields, coded_name);
    if (coded)
        return base64_decode(coded);
    json_t *plain = json_object_get(fields, name);
    if (json_is_string(plain))
        bytes_add(&out, json_string_value(plain), json_string_length(plain));
    return out;
}

void put_bytes(json_t *fields, const char *name, const void *data, size_t bytes)
{
    char coded_name[64];
    json_t *plain = json_stringn(data, bytes);
    if (plain) {
        json_object_set_new(fields, name, plain);
        return;
    }
    Bytes coded = base64_encode(data, bytes);
    snprintf(coded_name, sizeof coded_name, "%s_base64", name);
    json_object_set_new(fields, coded_name, json_string(coded.data));
    bytes_done(&coded);
}

json_t *new_job(const PawlNewJob *job)
{
    json_t *made =
        job->fields ? json_loads(job->fields, JSON_ALLOW_NUL, NULL) : json_object();
    if (!json_is_object(made)) {
        json_decref(made);
        return NULL;
    }
    json_object_set_new(made, "type", json_string(job->type));
    if (job->payload)
        put_bytes(made, "payload", job->payload, job->payload_bytes);
    return made;
}

/* --- Time and chance
 * --------------------------------------------------------------------- */

double now_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

void sleep_seconds(double seconds)
{
    struct timespec left = { .tv_sec = (time_t)seconds,
                             .tv_nsec =
                                 (long)((seconds - (double)(time_t)seconds) * 1e9) };
    while (nanosleep(&left, &left) && errno == EINTR)
        continue;
}

double random_share(void)
{
    uint16_t chance = 0;
    if (getrandom(&chance, sizeof chance, 0) != (ssize_t)sizeof chance)
        return 0.75;
    return 0.5 + chance / 131072.0;
}

/* --- Errors
 * ------------------------------------------------------------------------------ */

void error_set(PawlError *why, int status, const char *code, const char *detail)
{
    why->http_status = status;
    why->sent = false;
    snprintf(why->code, sizeof why->code, "%s", code ? code : "unknown");
    snprintf(why->detail, sizeof why->detail, "%s", detail ? detail : "");
}

bool error_again(const PawlError *why)
{
    switch (why->http_status) {
    case 429:
    case 502:
    case 503:
    case 504: /* refused for now: nothing was done */
        return true;
    default:
        return strcmp(why->code, "daemon_unreachable") == 0 ||
               strcmp(why->code, "idempotency_in_progress") == 0;
    }
}

static void refusal(PawlError *why, int status, const Bytes *data)
{
    json_t *problem =
        data->data ? json_loadb(data->data, data->bytes, JSON_ALLOW_NUL, NULL) : NULL;
    char code[16];
    snprintf(code, sizeof code, "http_%d", status);
    const char *told = text_of(problem, "code");
    error_set(why, status, told ? told : code, text_of(problem, "detail"));
    json_decref(problem);
}

/* --- One request
 * ------------------------------------------------------------------------- */

static pthread_once_t curl_begun = PTHREAD_ONCE_INIT;

static void curl_begin(void)
{
    curl_global_init(CURL_GLOBAL_DEFAULT);
}

static CURL *handle_take(PawlClient *client)
{
    pthread_once(&curl_begun, curl_begin);
    CURL *curl = NULL;
    pthread_mutex_lock(&client->lock);
    if (client->idle_count)
        curl = client->idle[--client->idle_count];
    pthread_mutex_unlock(&client->lock);
    if (!curl)
        curl = curl_easy_init();
    if (!curl)
        abort();
    return curl;
}

static void handle_give(PawlClient *client, CURL *curl)
{
    curl_easy_reset(curl); /* its connection stays */
    pthread_mutex_lock(&client->lock);
    client->idle =
        mem_grow(client->idle, (client->idle_count + 1) * sizeof *client->idle);
    client->idle[client->idle_count++] = curl;
    pthread_mutex_unlock(&client->lock);
}

static size_t take_data(char *data, size_t one, size_t count, void *out)
{
    bytes_add(out, data, one * count);
    return one * count;
}

static struct curl_slist *headers_of(PawlClient *client, const Ask *ask)
{
    struct curl_slist *headers = curl_slist_append(NULL, "Expect:");
    char line[1024];
    if (ask->body)
        headers = curl_slist_append(headers, "Content-Type: application/json");
    if (client->token) {
        snprintf(line, sizeof line, "Authorization: Bearer %s", client->token);
        headers = curl_slist_append(headers, line);
    }
    if (strcmp(ask->path, "/jobs") == 0) /* only its id is wanted */
        headers = curl_slist_append(headers, "Prefer: return=minimal");
    if (ask->key) {
        snprintf(line, sizeof line, "Idempotency-Key: %s", ask->key);
        headers = curl_slist_append(headers, line);
    }
    return headers;
}

static char *url_of(PawlClient *client, CURL *curl, const Ask *ask)
{
    Bytes url = { 0 };
    bytes_add(&url, client->base, strlen(client->base));
    bytes_add(&url, ask->path, strlen(ask->path));
    if (client->tenant) {
        char *tenant = curl_easy_escape(curl, client->tenant, 0);
        bytes_add(&url, "?tenant=", 8);
        bytes_add(&url, tenant, strlen(tenant));
        curl_free(tenant);
    }
    return url.data;
}

/* Whether the request cannot have left. */
static bool not_sent(CURLcode code)
{
    return code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST ||
           code == CURLE_SSL_CONNECT_ERROR || code == CURLE_PEER_FAILED_VERIFICATION ||
           code == CURLE_SSL_CACERT_BADFILE;
}

static void set_up(PawlClient *client, CURL *curl, const Ask *ask, const char *text)
{
    const char *trusted = getenv("SSL_CERT_FILE");
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "pawl-c/0.2.0");
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)(client->timeout * 1000));
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_data);
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
    if (client->socket)
        curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, client->socket);
    if (trusted)
        curl_easy_setopt(curl, CURLOPT_CAINFO, trusted);
    if (ask->once) { /* a connection that was hung up is not taken for a loss */
        curl_easy_setopt(curl, CURLOPT_FRESH_CONNECT, 1L);
        curl_easy_setopt(curl, CURLOPT_FORBID_REUSE, 1L);
    }
    if (text) {
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(text));
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, text);
    }
}

typedef struct Answer {
    Bytes *data;
    int status;
    double wait; /* what the daemon wants to be waited for, or 0 */
} Answer;

static PawlStatus try_once(PawlClient *client, const Ask *ask, const char *text,
                           Answer *answer, PawlError *why)
{
    CURL *curl = handle_take(client);
    char *url = url_of(client, curl, ask);
    struct curl_slist *headers = headers_of(client, ask);
    long status = 0;
    curl_off_t wait = 0;
    bytes_done(answer->data);
    bytes_add(answer->data, NULL, 0);
    set_up(client, curl, ask, text);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, answer->data);
    CURLcode code = curl_easy_perform(curl);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(curl, CURLINFO_RETRY_AFTER, &wait);
    curl_slist_free_all(headers);
    free(url);
    handle_give(client, curl);
    answer->status = (int)status;
    answer->wait = (double)wait;
    if (code != CURLE_OK) {
        error_set(why, 0, "daemon_unreachable", curl_easy_strerror(code));
        why->sent = !not_sent(code);
        return PAWL_UNREACHABLE;
    }
    if (status < 400)
        return PAWL_OK;
    refusal(why, (int)status, answer->data);
    return PAWL_REFUSED;
}

PawlStatus client_call(PawlClient *client, const Ask *ask, Bytes *out_data,
                       int *out_status, PawlError *why)
{
    char *text = ask->body ? json_dumps(ask->body, JSON_COMPACT) : NULL;
    double until = now_seconds() + ask->retry_for;
    double pause = PAUSE_FIRST;
    bool done = false; /* it may have been */
    PawlStatus got;
    for (;;) {
        Answer answer = { .data = out_data };
        got = try_once(client, ask, text, &answer, why);
        *out_status = answer.status;
        if (got == PAWL_OK || (why->sent && ask->once) || !error_again(why))
            break;
        done = done || why->sent;
        if (ask->but && !done && strcmp(why->code, ask->but) == 0)
            break;
        double wait = answer.wait > 0 ? answer.wait : pause * random_share();
        if (now_seconds() + wait > until)
            break;
        sleep_seconds(wait);
        pause = pause * 2 < PAUSE_MAX ? pause * 2 : PAUSE_MAX;
    }
    free(text);
    return got;
}

void pawl_client_free(PawlClient *client)
{
    if (!client)
        return;
    for (size_t i = 0; i < client->idle_count; i++)
        curl_easy_cleanup(client->idle[i]);
    free(client->idle);
    free(client->base);
    free(client->socket);
    free(client->token);
    free(client->tenant);
    fake_free(client->fake);
    pthread_mutex_destroy(&client->lock);
    free(client);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* http_runner.c - see http_runner.h. Here: the doors, the thread, and calls from order to
 * end. */
#include "run/http/http_answer.h"

#include "base/address.h"
#include "base/map.h"
#include "base/text.h"
#include "run/thread.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <strings.h>
#include <unistd.h>

#define CONNECT_MS        10000L
#define POLL_MS           1000
#define KEPT_CONNECTIONS  64L
#define HOPS_MAX          5
#define GATHER_MS         10 /* for jobs of the same turn to come together in a batch */
#define BATCH_BYTES_MAX   (64u << 20)
#define ANSWERS_BYTES_MAX ((size_t)256 << 20) /* of one batch */
#define CODE_REFUSED      403                 /* never allowed here: FAILED */
#define CODE_UNUSABLE     400                 /* no URL that could be called: FAILED */
#define CODE_NO_ANSWER    500

struct Web {
    CURLM *multi;
    Mailbox orders;
    Mailbox *news;
    pthread_t thread;
    AddressRanges allowed;
    size_t result_bytes_max;
    char *node;

    /* The thread's own. */
    WebCall *calls;
    WebCall *gathering; /* batches that are not sent yet, by `next` */
    Map by_job;         /* job id -> WebCall */
};

typedef enum OrderKind { ORDER_START, ORDER_SIGNAL } OrderKind;

typedef struct Order {
    Mail mail;
    OrderKind kind;
    JobId id;
    uint32_t attempt;
    int signal_number;
    uint32_t batch;
    bool binary;
    Buf group;
    Buf url;
    Buf head; /* header lines of every job of the call, each ended by NUL */
    Buf own;  /* those of the handler: NAME=VALUE, each ended by NUL */
    Buf payload;
} Order;

/* setopt takes its argument by "..." and reports only what memory or this build lacks:
 * neither happens to the options used here. */
#define SET(easy, option, value)                                                         \
    do {                                                                                 \
        CURLcode set_code = curl_easy_setopt((easy), (option), (value));                 \
        assert(set_code == CURLE_OK);                                                    \
    } while (0)

/* --- Orders ------------------------------------------------------------------------ */

static void header(Buf *out, const char *name, Slice value)
{
    buf_printf(out, "%s: " SLICE_FMT, name, SLICE_ARG(value));
    buf_add_char(out, '\0');
}

static void number_header(Buf *out, const char *name, int64_t value)
{
    buf_printf(out, "%s: %lld", name, (long long)value);
    buf_add_char(out, '\0');
}

/* What came from a client may hold anything: a header is one line of text. */
static bool fits_header(Slice value)
{
    for (size_t i = 0; i < value.bytes; i++)
        if (value.data[i] < ' ' || value.data[i] > '~')
            return false;
    return value.bytes > 0;
}

static void common_headers(Buf *out, const Web *web, const Job *job)
{
    header(out, "Pawl-Job-Type", job->type);
    header(out, "Pawl-Tenant", job->tenant);
    header(out, "Pawl-Queue", job->queue);
    header(out, "Pawl-Node", slice_text(web->node));
}

static void job_headers(Buf *out, const WebOrder *order)
{
    const Job *job = order->job;
    char text[TIME_TEXT_BYTES];
    char id[ID_TEXT_BYTES];
    header(out, "Content-Type",
           job->flags & JOB_BINARY ? SLICE_LITERAL("application/octet-stream")
                                   : SLICE_LITERAL("text/plain; charset=utf-8"));
    header(out, "Pawl-Job-Id", slice_text(id_text(job->id, id)));
    number_header(out, "Pawl-Attempt", job->attempt);
    number_header(out, "Pawl-Priority", job->priority);
    if (job->parent)
        header(out, "Pawl-Parent-Id", slice_text(id_text(job->parent, id)));
    if (order->deadline_ms)
        header(out, "Pawl-Deadline", slice_text(time_text(order->deadline_ms, text)));
    if (fits_header(job->trace))
        header(out, "Traceparent", job->trace);
}

void web_start(Web *web, const WebOrder *from)
{
    const Job *job = from->job;
    Order *order = MEM_NEW(Order);
    order->kind = ORDER_START;
    order->id = job->id;
    order->attempt = job->attempt;
    order->batch = from->batch < WEB_BATCH_MAX ? from->batch : WEB_BATCH_MAX;
    buf_add_slice(&order->url, from->url);
    buf_add_slice(&order->own, from->headers);
    buf_add_slice(&order->payload, job->payload);
    if (from->plain)
        header(&order->head, "Content-Type", SLICE_LITERAL("application/json"));
    else
        common_headers(&order->head, web, job);
    if (!from->plain && !from->batch)
        job_headers(&order->head, from);
    buf_printf(&order->group, SLICE_FMT " " SLICE_FMT " " SLICE_FMT " %u",
               SLICE_ARG(job->tenant), SLICE_ARG(job->type), SLICE_ARG(job->queue),
               from->version);
    mailbox_put(&web->orders, &order->mail);
}

void web_signal(Web *web, JobId id, uint32_t attempt, int signal_number)
{
    if (signal_number != SIGTERM && signal_number != SIGKILL)
        return;
    Order *order = MEM_NEW(Order);
    order->kind = ORDER_SIGNAL;
    order->id = id;
    order->attempt = attempt;
    order->signal_number = signal_number;
    mailbox_put(&web->orders, &order->mail);
}

static void order_free(Order *order)
{
    buf_done(&order->group);
    buf_done(&order->url);
    buf_done(&order->head);
    buf_done(&order->own);
    buf_done(&order->payload);
    mem_free(order);
}

Err web_url_check(Slice text, Error *why)
{
    Arena arena = { 0 };
    CURLU *url = curl_url();
    char *scheme = NULL;
    char *host = NULL;
    assert(url);
    bool good = text.bytes && !memchr(text.data, 0, text.bytes) &&
                !curl_url_set(url, CURLUPART_URL, slice_cstr(&arena, text), 0) &&
                !curl_url_get(url, CURLUPART_SCHEME, &scheme, 0) &&
                !curl_url_get(url, CURLUPART_HOST, &host, 0) && host[0] &&
                (strcmp(scheme, "http") == 0 || strcmp(scheme, "https") == 0);
    curl_free(scheme);
    curl_free(host);
    curl_url_cleanup(url);
    arena_done(&arena);
    return good ? ERR_OK
                : error_set(why, ERR_INVALID,
                            "the body of an http handler is one URL, as in "
                            "https://example.org/hook");
}

/* --- A call ------------------------------------------------------------------------ */

static size_t take_answer(char *data, size_t size, size_t count, void *context)
{
    WebCall *call = context;
    size_t bytes = size * count;
    size_t room = call->answer_max - call->answer.bytes;
    call->cut = bytes > room;
    buf_add(&call->answer, data, call->cut ? room : bytes);
    return call->cut ? CURL_WRITEFUNC_ERROR : bytes;
}

static curl_socket_t open_socket(void *context, curlsocktype purpose,
                                 struct curl_sockaddr *address)
{
    WebCall *call = context;
    char text[ADDRESS_TEXT_BYTES];
    (void)purpose;
    if (!address_allowed(&address->addr, &call->web->allowed)) {
        snprintf(call->refused, sizeof call->refused, "%s",
                 sockaddr_text(&address->addr, text));
        return CURL_SOCKET_BAD;
    }
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

static void prepare(WebCall *call)
{
    CURL *easy = call->easy;
    SET(easy, CURLOPT_URL, buf_cstr(&call->url));
    SET(easy, CURLOPT_PRIVATE, call);
    SET(easy, CURLOPT_POST, 1L);
    SET(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->body.bytes);
    SET(easy, CURLOPT_POSTFIELDS, call->body.bytes ? call->body.data : "");
    SET(easy, CURLOPT_HTTPHEADER, call->headers);
    SET(easy, CURLOPT_USERAGENT, "pawl/" PAWL_VERSION);
    SET(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    SET(easy, CURLOPT_PROXY, ""); /* not even of the environment */
    SET(easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    SET(easy, CURLOPT_FOLLOWLOCATION, 0L); /* each hop is looked at: see redirected() */
    SET(easy, CURLOPT_NOSIGNAL, 1L);
    SET(easy, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
    SET(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    SET(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    SET(easy, CURLOPT_OPENSOCKETDATA, call);
    SET(easy, CURLOPT_WRITEFUNCTION, take_answer);
    SET(easy, CURLOPT_WRITEDATA, call);
    SET(easy, CURLOPT_ERRORBUFFER, call->error);
}

static void call_free(WebCall *call)
{
    if (call->easy)
        curl_easy_cleanup(call->easy);
    curl_slist_free_all(call->headers);
    mem_free(call->jobs);
    buf_done(&call->group);
    buf_done(&call->url);
    buf_done(&call->head);
    buf_done(&call->own);
    buf_done(&call->body);
    buf_done(&call->answer);
    mem_free(call);
}

/* It is over: its jobs are told, and it is gone. */
static void call_end(Web *web, WebCall *call, RunNews *news)
{
    WebCall **at = &web->calls;
    while (*at != call)
        at = &(*at)->next;
    *at = call->next;
    curl_multi_remove_handle(web->multi, call->easy);
    for (size_t i = 0; i < call->job_count; i++)
        if (map_find(&web->by_job, call->jobs[i].id) == call)
            map_remove(&web->by_job, call->jobs[i].id);
    mailbox_put(web->news, &news->mail);
    call_free(call);
}

static void batch_headers(WebCall *call)
{
    Buf ids = { 0 };
    Buf attempts = { 0 };
    size_t sent = 0;
    for (size_t i = 0; i < call->job_count; i++) {
        char id[ID_TEXT_BYTES];
        if (call->jobs[i].unfit)
            continue;
        const char *comma = sent++ ? "," : "";
        buf_printf(&ids, "%s%s", comma, id_text(call->jobs[i].id, id));
        buf_printf(&attempts, "%s%u", comma, call->jobs[i].attempt);
    }
    header(&call->head, "Content-Type", SLICE_LITERAL("text/plain; charset=utf-8"));
    number_header(&call->head, "Pawl-Batch", (int64_t)sent);
    header(&call->head, "Pawl-Job-Id", buf_slice(&ids));
    header(&call->head, "Pawl-Attempt", buf_slice(&attempts));
    buf_done(&ids);
    buf_done(&attempts);
}

static void tell_started(Web *web, const WebCall *call)
{
    for (size_t i = 0; i < call->job_count; i++) {
        RunNews *news = MEM_NEW(RunNews);
        news->kind = RUN_STARTED;
        news->id = call->jobs[i].id;
        news->attempt = call->jobs[i].attempt;
        mailbox_put(web->news, &news->mail);
    }
}

static bool same_name(Slice a, Slice b)
{
    return a.bytes == b.bytes && strncasecmp(a.data, b.data, a.bytes) == 0;
}

/* Whether the handler has a header of this name. */
static bool is_own(const WebCall *call, Slice name)
{
    Slice rest = buf_slice(&call->own);
    for (Slice value; list_next(&rest, &value);)
        if (same_name(slice_cut(&value, '='), name))
            return true;
    return false;
}

/* Ours, and those of the handler, which go before ours, where they may be told. */
static void make_headers(WebCall *call, bool own)
{
    Slice rest = buf_slice(&call->head);
    curl_slist_free_all(call->headers);
    call->headers = NULL;
    for (Slice line; list_next(&rest, &line);) {
        Slice value = line;
        if (!own || !is_own(call, slice_cut(&value, ':')))
            call->headers = curl_slist_append(call->headers, line.data);
    }
    rest = own ? buf_slice(&call->own) : (Slice){ NULL, 0 };
    Buf line = { 0 };
    for (Slice value; list_next(&rest, &value);) {
        Slice name = slice_cut(&value, '=');
        buf_clear(&line);
        buf_printf(&line, SLICE_FMT ": " SLICE_FMT, SLICE_ARG(name), SLICE_ARG(value));
        call->headers = curl_slist_append(call->headers, buf_cstr(&line));
    }
    buf_done(&line);
    /* Without it libcurl waits a second for "100 Continue" before a large body. */
    call->headers = curl_slist_append(call->headers, "Expect:");
}

static void call_begin(Web *web, WebCall *call)
{
    if (call->batch)
        batch_headers(call);
    make_headers(call, true);
    call->answer_max = web->result_bytes_max;
    if (call->batch && call->job_count > 1) {
        size_t all = (web->result_bytes_max + 64) * call->job_count;
        call->answer_max = all < ANSWERS_BYTES_MAX ? all : ANSWERS_BYTES_MAX;
    }
    call->easy = curl_easy_init();
    assert(call->easy);
    prepare(call);
    call->next = web->calls;
    web->calls = call;
    tell_started(web, call);
    if (call->unfit < call->job_count)
        curl_multi_add_handle(web->multi, call->easy);
    else /* nothing that could be sent */
        call_end(web, call, web_answers(call, &(WebEnd){ .status = 200 }, 0));
}

/* --- Taking orders ----------------------------------------------------------------- */

static void add_job(Web *web, WebCall *call, const Order *order)
{
    WebJob job = { .id = order->id, .attempt = order->attempt };
    Slice payload = buf_slice(&order->payload);
    if (call->batch) {
        if (payload.bytes && payload.data[payload.bytes - 1] == '\n')
            payload.bytes--;
        job.unfit = payload.bytes && memchr(payload.data, '\n', payload.bytes);
    }
    call->unfit += job.unfit;
    if (!job.unfit)
        buf_add_slice(&call->body, payload);
    if (call->batch && !job.unfit)
        buf_add_char(&call->body, '\n');
    MEM_PUSH(call->jobs, call->job_count, call->job_capacity) = job;
    map_put(&web->by_job, order->id, call);
}

static WebCall *call_new(Web *web, Order *order)
{
    WebCall *call = MEM_NEW(WebCall);
    call->web = web;
    call->batch = order->batch > 0;
    call->batch_max = order->batch;
    call->group = order->group;
    call->url = order->url;
    call->head = order->head;
    call->own = order->own;
    order->group = order->url = order->head = order->own = (Buf){ 0 };
    return call;
}

/* The batch among those that are being gathered that the job belongs to. */
static WebCall *find_batch(const Web *web, const Order *order)
{
    for (WebCall *call = web->gathering; call; call = call->next)
        if (slice_equal(buf_slice(&call->group), buf_slice(&order->group)) &&
            call->job_count < call->batch_max &&
            call->body.bytes + order->payload.bytes <= BATCH_BYTES_MAX)
            return call;
    return NULL;
}

static void take_start(Web *web, Order *order)
{
    WebCall *call = order->batch ? find_batch(web, order) : NULL;
    if (call) {
        add_job(web, call, order);
        return;
    }
    call = call_new(web, order);
    add_job(web, call, order);
    if (!call->batch) {
        call_begin(web, call);
        return;
    }
    call->begin_boot = clock_now().boot_ms + GATHER_MS;
    call->next = web->gathering;
    web->gathering = call;
}

/* Those that are full, or have waited long enough; `all`: every one. */
static void send_gathered(Web *web, bool all)
{
    int64_t now = web->gathering ? clock_now().boot_ms : 0;
    for (WebCall **at = &web->gathering; *at;) {
        WebCall *call = *at;
        if (!all && call->job_count < call->batch_max && call->begin_boot > now) {
            at = &call->next;
            continue;
        }
        *at = call->next;
        call_begin(web, call);
    }
}

static void take_signal(Web *web, const Order *order)
{
    send_gathered(web, true); /* it may be in one of them */
    WebCall *call = map_find(&web->by_job, order->id);
    for (size_t i = 0; call && i < call->job_count; i++) {
        if (call->jobs[i].id != order->id || call->jobs[i].attempt != order->attempt)
            continue;
        call_end(web, call, web_given_up(call, order->id, order->signal_number));
        return;
    }
}

static void take_orders(Web *web)
{
    for (Mail *mail = mailbox_take(&web->orders); mail;) {
        Order *order = (Order *)(void *)mail;
        mail = mail->next;
        switch (order->kind) {
        case ORDER_START:
            take_start(web, order);
            break;
        case ORDER_SIGNAL:
            take_signal(web, order);
            break;
        }
        order_free(order);
    }
    send_gathered(web, false);
}

/* --- Ends -------------------------------------------------------------------------- */

static bool is_web(const char *url)
{
    return slice_starts(slice_text(url), SLICE_LITERAL("http://")) ||
           slice_starts(slice_text(url), SLICE_LITERAL("https://"));
}

static bool downgrades(const WebCall *call, const char *to)
{
    return slice_starts(buf_slice(&call->url), SLICE_LITERAL("https:")) &&
           !slice_starts(slice_text(to), SLICE_LITERAL("https:"));
}

static bool same_part(CURLU *a, CURLU *b, CURLUPart part)
{
    char *of_a = NULL;
    char *of_b = NULL;
    bool same = !curl_url_get(a, part, &of_a, CURLU_DEFAULT_PORT) &&
                !curl_url_get(b, part, &of_b, CURLU_DEFAULT_PORT) &&
                strcasecmp(of_a, of_b) == 0;
    curl_free(of_a);
    curl_free(of_b);
    return same;
}

/* Scheme, host and port: what a secret in a header was meant for. */
static bool same_origin(const char *from, const char *to)
{
    CURLU *a = curl_url();
    CURLU *b = curl_url();
    assert(a);
    assert(b);
    bool same = !curl_url_set(a, CURLUPART_URL, from, 0) &&
                !curl_url_set(b, CURLUPART_URL, to, 0) &&
                same_part(a, b, CURLUPART_SCHEME) && same_part(a, b, CURLUPART_HOST) &&
                same_part(a, b, CURLUPART_PORT);
    curl_url_cleanup(a);
    curl_url_cleanup(b);
    return same;
}

/* 307 and 308 mean: the same request, elsewhere. Every other redirect would change it,
 * and its payload would be lost; it counts as any 3xx. */
static bool redirected(Web *web, WebCall *call, long status)
{
    char *to = NULL;
    if ((status != 307 && status != 308) || call->hops >= HOPS_MAX)
        return false;
    curl_easy_getinfo(call->easy, CURLINFO_REDIRECT_URL, &to);
    if (!to || !is_web(to) || downgrades(call, to))
        return false;
    call->hops++;
    curl_multi_remove_handle(web->multi, call->easy);
    if (call->own.bytes && !same_origin(buf_cstr(&call->url), to)) {
        buf_clear(&call->own); /* not even if it comes back */
        make_headers(call, false);
        SET(call->easy, CURLOPT_HTTPHEADER, call->headers);
    }
    buf_clear(&call->url);
    buf_add_text(&call->url, to); /* `to` is the handle's own: copied before it is set */
    buf_clear(&call->answer);
    call->cut = false;
    SET(call->easy, CURLOPT_URL, buf_cstr(&call->url));
    curl_multi_add_handle(web->multi, call->easy);
    return true;
}

static WebEnd end_of(const WebCall *call, CURLcode result, long status, Buf *words)
{
    if (result == CURLE_OK || call->cut) {
        if (status / 100 == 3)
            buf_printf(words,
                       "HTTP status %ld: only 307 and 308 are followed, up to %d times "
                       "and not from https to http",
                       status, HOPS_MAX);
        return (WebEnd){ .status = status, .why = words->bytes ? buf_cstr(words) : NULL };
    }
    int32_t code = CODE_NO_ANSWER;
    if (call->refused[0]) {
        code = CODE_REFUSED;
        buf_printf(words,
                   "%s is a private address: http.allow_private of the configuration "
                   "does not name it",
                   call->refused);
    } else {
        if (result == CURLE_URL_MALFORMAT)
            code = CODE_UNUSABLE;
        buf_printf(words, "no answer: %s",
                   call->error[0] ? call->error : curl_easy_strerror(result));
    }
    return (WebEnd){ .code = code, .why = buf_cstr(words) };
}

static void take_end(Web *web, WebCall *call, CURLcode result)
{
    long status = 0;
    curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
    if (result == CURLE_OK && redirected(web, call, status))
        return;
    Buf words = { 0 };
    WebEnd end = end_of(call, result, status, &words);
    call_end(web, call, web_answers(call, &end, web->result_bytes_max));
    buf_done(&words);
}

static void take_ends(Web *web)
{
    CURLMsg *message;
    int left;
    while ((message = curl_multi_info_read(web->multi, &left))) {
        WebCall *call = NULL;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&call);
        if (message->msg == CURLMSG_DONE)
            take_end(web, call, message->data.result);
    }
}

/* --- The thread -------------------------------------------------------------------- */

static void wake(void *context)
{
    Web *web = context;
    curl_multi_wakeup(web->multi);
}

static void *run(void *context)
{
    Web *web = context;
    while (!mailbox_closed(&web->orders)) {
        int running = 0;
        take_orders(web);
        curl_multi_perform(web->multi, &running);
        take_ends(web);
        curl_multi_poll(web->multi, NULL, 0, web->gathering ? GATHER_MS : POLL_MS, NULL);
    }
    return NULL;
}

Err web_open(Web **out_web, const WebOptions *options, Error *why)
{
    Web *web = MEM_NEW(Web);
    Err err = address_ranges_parse(slice_text(options->allow), &web->allowed, why);
    if (err) {
        mem_free(web);
        return err;
    }
    curl_global_init(CURL_GLOBAL_DEFAULT);
    web->multi = curl_multi_init();
    assert(web->multi);
    curl_multi_setopt(web->multi, CURLMOPT_MAXCONNECTS, KEPT_CONNECTIONS);
    web->news = options->news;
    web->result_bytes_max = (size_t)options->result_bytes_max;
    web->node = mem_alloc(options->node.bytes + 1);
    if (options->node.bytes)
        memcpy(web->node, options->node.data, options->node.bytes);
    mailbox_init(&web->orders);
    web->orders.wake = wake;
    web->orders.wake_context = web;
    web->thread = thread_start(run, web);
    *out_web = web;
    return ERR_OK;
}

void web_close(Web *web)
{
    mailbox_close(&web->orders);
    wake(web);
    pthread_join(web->thread, NULL);
    for (Mail *mail = mailbox_take(&web->orders); mail;) {
        Order *order = (Order *)(void *)mail;
        mail = mail->next;
        order_free(order);
    }
    while (web->gathering) {
        WebCall *call = web->gathering;
        web->gathering = call->next;
        call_free(call);
    }
    while (web->calls) {
        WebCall *call = web->calls;
        web->calls = call->next;
        curl_multi_remove_handle(web->multi, call->easy);
        call_free(call);
    }
    curl_multi_cleanup(web->multi);
    mailbox_done(&web->orders);
    map_done(&web->by_job);
    address_ranges_done(&web->allowed);
    mem_free(web->node);
    mem_free(web);
}

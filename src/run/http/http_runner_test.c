/* SPDX-License-Identifier: Apache-2.0 */
/* http_runner_test.c - calls of `http` handlers against a server on loopback. */
#include "run/http/http_runner.h"

#include "base/text.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#define WAIT_MS 60000

/* A server that gives each connection the next of its answers; NULL: none at all. */
typedef struct Server {
    int fd;
    char url[64];
    const char *answers[4];
    size_t answer_count;
    Buf requests; /* all of them, one after the other */
    pthread_t thread;
} Server;

static bool whole(const Buf *request, size_t from)
{
    const char *text = request->data + from;
    const char *end = strstr(text, "\r\n\r\n");
    const char *length = end ? strstr(text, "Content-Length: ") : NULL;
    int64_t bytes = 0;
    if (!length)
        return false;
    Slice rest = slice_text(length + strlen("Content-Length: "));
    assert_int_equal(int_parse(slice_cut(&rest, '\r'), &bytes), ERR_OK);
    return request->bytes - from >= (size_t)(end + 4 - text) + (size_t)bytes;
}

static void *serve(void *context)
{
    Server *server = context;
    for (size_t i = 0; i < server->answer_count; i++) {
        int fd = accept(server->fd, NULL, NULL);
        size_t from = server->requests.bytes;
        char bytes[4096];
        ssize_t got;
        while ((got = read(fd, bytes, sizeof bytes)) > 0) {
            buf_add(&server->requests, bytes, (size_t)got);
            buf_cstr(&server->requests);
            if (server->answers[i] && whole(&server->requests, from))
                break;
        }
        const char *answer = server->answers[i] ? server->answers[i] : "";
        if (write(fd, answer, strlen(answer)) < 0)
            break;
        close(fd);
    }
    return NULL;
}

static void server_open(Server *server)
{
    struct sockaddr_in address = { .sin_family = AF_INET };
    socklen_t bytes = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    server->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(server->fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(server->fd, 8), 0);
    assert_int_equal(getsockname(server->fd, (struct sockaddr *)&address, &bytes), 0);
    snprintf(server->url, sizeof server->url, "http://127.0.0.1:%d/hook",
             ntohs(address.sin_port));
    pthread_create(&server->thread, NULL, serve, server);
}

static void server_close(Server *server)
{
    shutdown(server->fd, SHUT_RDWR);
    pthread_join(server->thread, NULL);
    close(server->fd);
    buf_done(&server->requests);
}

static Web *open_web(Mailbox *news, const char *allow)
{
    Web *web = NULL;
    Error why = { 0 };
    WebOptions options = { .news = news,
                           .node = SLICE_LITERAL("here"),
                           .result_bytes_max = 64,
                           .allow = allow };
    mailbox_init(news);
    assert_int_equal(web_open(&web, &options, &why), ERR_OK);
    return web;
}

static void close_web(Web *web, Mailbox *news)
{
    web_close(web);
    for (Mail *mail = mailbox_take(news); mail;) {
        RunNews *item = (RunNews *)(void *)mail;
        mail = mail->next;
        run_news_free(item);
    }
    mailbox_done(news);
}

static void start(Web *web, JobId id, const char *url, const char *payload,
                  uint32_t batch)
{
    Job job = job_default();
    job.id = id;
    job.attempt = 3;
    job.type = SLICE_LITERAL("mail");
    job.tenant = SLICE_LITERAL("acme");
    job.queue = SLICE_LITERAL("q");
    job.payload = slice_text(payload);
    web_start(web, &(WebOrder){ .job = &job, .url = slice_text(url), .batch = batch });
}

/* The next news that is no RUN_STARTED. */
static RunNews *next_answers(Mailbox *news)
{
    static Mail *rest;
    for (;;) {
        if (!rest)
            rest = mailbox_wait(news, WAIT_MS);
        assert_non_null(rest);
        RunNews *item = (RunNews *)(void *)rest;
        rest = rest->next;
        if (item->kind == RUN_ANSWERS)
            return item;
        assert_int_equal(item->kind, RUN_STARTED);
        run_news_free(item);
    }
}

static void expect(RunNews *news, size_t index, int32_t code, const char *text)
{
    const RunAnswer *answer = &news->answers[index];
    assert_true(index < news->answer_count);
    assert_int_equal(answer->kind, ANSWER_SAID);
    assert_int_equal(answer->code, code);
    Slice said = slice_of(news->text.data + answer->text_at, answer->text_bytes);
    if (!memmem(said.data, said.bytes, text, strlen(text)))
        fail_msg("\"" SLICE_FMT "\" has no \"%s\"", SLICE_ARG(said), text);
}

static void a_job_is_a_post_of_its_payload(void **state)
{
    (void)state;
    Mailbox news;
    Server server = { .answers = { "HTTP/1.1 202 Fine\r\nContent-Length: 4\r\n\r\ndone" },
                      .answer_count = 1 };
    server_open(&server);
    Web *web = open_web(&news, "127.0.0.1");
    start(web, 4711, server.url, "hello\n", 0);
    RunNews *answers = next_answers(&news);
    expect(answers, 0, 202, "done");
    run_news_free(answers);
    close_web(web, &news);
    const char *sent = buf_cstr(&server.requests);
    static const char *const wanted[] = {
        "POST /hook HTTP/1.1",   "\r\nPawl-Job-Id: ",   "\r\nPawl-Attempt: 3\r",
        "\r\nPawl-Tenant: acme", "\r\nPawl-Node: here", "\r\n\r\nhello\n"
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (!strstr(sent, wanted[i]))
            fail_msg("no %s in %s", wanted[i], sent);
    server_close(&server);
}

static void a_private_address_is_not_called(void **state)
{
    (void)state;
    Mailbox news;
    Server server = { .answer_count = 0 };
    server_open(&server);
    Web *web = open_web(&news, "10.0.0.0/8");
    start(web, 1, server.url, "x", 0);
    RunNews *answers = next_answers(&news);
    expect(answers, 0, 403, "127.0.0.1 is a private address");
    run_news_free(answers);
    close_web(web, &news);
    server_close(&server);
}

/* The same again elsewhere, where that means the same; else it is not followed. */
static void redirects_are_followed_with_care(void **state)
{
    (void)state;
    Mailbox news;
    Server server = { .answers = { "HTTP/1.1 307 There\r\nLocation: /other\r\n"
                                   "Content-Length: 0\r\n\r\n",
                                   "HTTP/1.1 200 Fine\r\nContent-Length: 2\r\n\r\nok",
                                   "HTTP/1.1 302 There\r\nLocation: /other\r\n"
                                   "Content-Length: 0\r\n\r\n" },
                      .answer_count = 3 };
    server_open(&server);
    Web *web = open_web(&news, "127.0.0.1");
    start(web, 1, server.url, "payload", 0);
    RunNews *answers = next_answers(&news);
    expect(answers, 0, 200, "ok");
    run_news_free(answers);
    assert_non_null(strstr(buf_cstr(&server.requests), "POST /other"));
    start(web, 2, server.url, "payload", 0);
    answers = next_answers(&news);
    expect(answers, 0, 302, "only 307 and 308");
    run_news_free(answers);
    close_web(web, &news);
    server_close(&server);
}

static void a_long_answer_is_cut(void **state)
{
    (void)state;
    Mailbox news;
    char answer[512] = "HTTP/1.1 200 Fine\r\nContent-Length: 400\r\n\r\n";
    size_t head = strlen(answer);
    memset(answer + head, 'x', 400);
    Server server = { .answers = { answer }, .answer_count = 1 };
    server_open(&server);
    Web *web = open_web(&news, "127.0.0.1");
    start(web, 1, server.url, "x", 0);
    RunNews *answers = next_answers(&news);
    expect(answers, 0, 200, "xxxx");
    assert_true(answers->answers[0].cut);
    assert_int_equal(answers->answers[0].text_bytes, 64);
    run_news_free(answers);
    close_web(web, &news);
    server_close(&server);
}

static void a_call_can_be_given_up(void **state)
{
    (void)state;
    Mailbox news;
    Server server = { .answers = { NULL }, .answer_count = 1 };
    server_open(&server);
    Web *web = open_web(&news, "127.0.0.1");
    start(web, 1, server.url, "x", 0);
    web_signal(web, 1, 2, SIGTERM); /* another attempt */
    web_signal(web, 2, 3, SIGTERM); /* another job */
    web_signal(web, 1, 3, SIGSTOP); /* nothing that could be stopped */
    web_signal(web, 1, 3, SIGTERM);
    RunNews *answers = next_answers(&news);
    assert_int_equal(answers->answers[0].kind, ANSWER_CRASHED);
    assert_int_equal(answers->answers[0].signal, SIGTERM);
    run_news_free(answers);
    close_web(web, &news);
    server_close(&server);
}

static void nobody_there_is_an_error(void **state)
{
    (void)state;
    Mailbox news;
    Server server = { .answers = { "nonsense" }, .answer_count = 1 };
    server_open(&server);
    Web *web = open_web(&news, "127.0.0.1");
    start(web, 1, server.url, "x", 0);
    RunNews *answers = next_answers(&news);
    expect(answers, 0, 500, "no answer");
    run_news_free(answers);
    server_close(&server);
    start(web, 2, server.url, "x", 0);
    answers = next_answers(&news);
    expect(answers, 0, 500, "no answer");
    run_news_free(answers);
    close_web(web, &news);
}

static void a_url_is_checked_when_it_is_set(void **state)
{
    (void)state;
    static const char *const good[] = { "http://example.org/", "https://a.b:8443/x?y=1",
                                        "http://[2001:db8::1]:80/" };
    static const char *const bad[] = {
        "",        "example.org/x", "ftp://example.org/",        "file:///etc/passwd",
        "http://", "http://a b/",   "http://example.org/\nX: y", "unix:/sock",
    };
    Error why = { 0 };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (web_url_check(slice_text(good[i]), &why))
            fail_msg("%s is refused", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (!web_url_check(slice_text(bad[i]), &why))
            fail_msg("%s is taken", bad[i]);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_is_a_post_of_its_payload),
        cmocka_unit_test(a_private_address_is_not_called),
        cmocka_unit_test(redirects_are_followed_with_care),
        cmocka_unit_test(a_long_answer_is_cut),
        cmocka_unit_test(a_call_can_be_given_up),
        cmocka_unit_test(nobody_there_is_an_error),
        cmocka_unit_test(a_url_is_checked_when_it_is_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* announce.c - see announce.h. */
#include "serve/announce.h"

#include "base/log.h"
#include "base/mailbox.h"
#include "base/times.h"
#include "serve/target.h"

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define TRIES_MAX      8
#define FIRST_PAUSE_MS MS_PER_S /* doubles */
#define TRY_SECONDS    10L
#define WAITING_MAX    1000 /* more than that is told to no one but the log */

extern char **environ;

typedef struct Message {
    Mail mail;
    struct Message *next;
    Arena arena;
    char *target;
    Slice body;
    unsigned tries;
    int64_t due_boot;
} Message;

struct Announcer {
    Mailbox box;
    pthread_t thread;
    _Atomic bool closing;
    Message *waiting;
    size_t count;
};

static void message_free(Message *message)
{
    arena_done(&message->arena);
    mem_free(message);
}

/* --- Webhooks -------------------------------------------------------------------------
 */

static size_t ignore(char *data, size_t size, size_t count, void *context)
{
    (void)data;
    (void)context;
    return size * count;
}

static int stop_when_closing(void *context, curl_off_t a, curl_off_t b, curl_off_t c,
                             curl_off_t d)
{
    (void)a;
    (void)b;
    (void)c;
    (void)d;
    return ((const Announcer *)context)->closing;
}

static bool post(Announcer *announcer, const char *url, Slice body, Error *why)
{
    CURL *curl = curl_easy_init();
    if (!curl)
        return false;
    long status = 0;
    struct curl_slist *headers =
        curl_slist_append(NULL, "Content-Type: application/json");
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "pawl/" PAWL_VERSION);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body.data);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, (long)body.bytes);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT, TRY_SECONDS);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, ignore);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, stop_when_closing);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, announcer);
    CURLcode code = curl_easy_perform(curl);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
    if (code != CURLE_OK)
        error_set(why, ERR_UNAVAILABLE, "%s", curl_easy_strerror(code));
    else if (status < 200 || status > 299)
        error_set(why, ERR_UNAVAILABLE, "it answered %ld", status);
    return code == CURLE_OK && status >= 200 && status <= 299;
}

/* --- Commands -------------------------------------------------------------------------
 */

/* In its own group, so that it can be ended whole; its output goes nowhere. */
static pid_t spawn(const char *words, int input)
{
    char *argv[] = { (char[]){ "sh" }, (char[]){ "-c" }, NULL, NULL };
    Arena arena = { 0 };
    argv[2] = slice_cstr(&arena, slice_text(words));
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input, 0);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    pid_t pid = -1;
    if (posix_spawn(&pid, "/bin/sh", &actions, &attributes, argv, environ))
        pid = -1;
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    arena_done(&arena);
    return pid;
}

static bool wait_for(Announcer *announcer, pid_t pid, Error *why)
{
    int status = 0;
    int64_t until_boot = clock_now().boot_ms + TRY_SECONDS * MS_PER_S;
    while (waitpid(pid, &status, WNOHANG) == 0) {
        if (announcer->closing || clock_now().boot_ms >= until_boot) {
            kill(-pid, SIGKILL);
            waitpid(pid, &status, 0);
            error_set(why, ERR_TIMEOUT, "it took longer than %ld s", TRY_SECONDS);
            return false;
        }
        poll(NULL, 0, 20);
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status))
        error_set(why, ERR_UNAVAILABLE, "it ended with status %d",
                  WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    return WIFEXITED(status) && !WEXITSTATUS(status);
}

/* The body goes through a nameless file: a command that does not read it blocks no one.
 */
static bool run(Announcer *announcer, const char *words, Slice body, Error *why)
{
    FILE *file = tmpfile();
    if (!file) {
        error_errno(why, "cannot make a temporary file");
        return false;
    }
    fwrite(body.data, 1, body.bytes, file);
    fputc('\n', file);
    rewind(file);
    pid_t pid = spawn(words, fileno(file));
    fclose(file);
    if (pid < 0) {
        error_set(why, ERR_UNAVAILABLE, "sh cannot be started");
        return false;
    }
    return wait_for(announcer, pid, why);
}

/* --- The thread -----------------------------------------------------------------------
 */

/* Whether the message is done with: sent, or given up. */
static bool try_one(Announcer *announcer, Message *message)
{
    TargetKind kind;
    Slice rest;
    Error why = { 0 };
    char quoted[LOG_QUOTE_BYTES];
    if (target_parse(slice_text(message->target), &kind, &rest))
        return true;
    const char *words = message->target + (rest.data - message->target);
    message->tries++;
    bool sent = kind == TARGET_WEBHOOK ? post(announcer, words, message->body, &why)
                                       : run(announcer, words, message->body, &why);
    if (sent || announcer->closing)
        return true;
    bool last = message->tries == TRIES_MAX;
    log_event(last ? LOG_ERROR : LOG_WARN, last ? "announce.gave_up" : "announce.failed",
              "tries=%u kind=%s why=%s", message->tries,
              kind == TARGET_WEBHOOK ? "webhook" : "command",
              log_quote(slice_text(why.text), quoted));
    message->due_boot = clock_now().boot_ms + (FIRST_PAUSE_MS << (message->tries - 1));
    return last;
}

static void receive(Announcer *announcer, Mail *mail)
{
    while (mail) {
        Message *message = (Message *)(void *)mail;
        mail = mail->next;
        if (announcer->count == WAITING_MAX) {
            log_event(LOG_ERROR, "announce.gave_up", "tries=0 kind=any why=\"too many\"");
            message_free(message);
            continue;
        }
        Message **at = &announcer->waiting;
        while (*at)
            at = &(*at)->next;
        message->next = NULL;
        *at = message;
        announcer->count++;
    }
}

static void *announcer_run(void *context)
{
    Announcer *announcer = context;
    while (!announcer->closing) {
        receive(announcer, mailbox_wait(&announcer->box, announcer->waiting ? 100 : -1));
        for (Message **at = &announcer->waiting; *at && !announcer->closing;) {
            Message *message = *at;
            bool due = clock_now().boot_ms >= message->due_boot;
            if (!due || !try_one(announcer, message)) {
                at = &message->next;
                continue;
            }
            *at = message->next;
            announcer->count--;
            message_free(message);
        }
    }
    return NULL;
}

Announcer *announcer_open(void)
{
    Announcer *announcer = MEM_NEW(Announcer);
    mailbox_init(&announcer->box);
    pthread_create(&announcer->thread, NULL, announcer_run, announcer);
    return announcer;
}

void announcer_send(Announcer *announcer, Slice target, Slice body)
{
    Message *message = MEM_NEW(Message);
    message->target = slice_cstr(&message->arena, target);
    message->body = slice_copy(&message->arena, body);
    mailbox_put(&announcer->box, &message->mail);
}

void announcer_close(Announcer *announcer)
{
    if (!announcer)
        return;
    announcer->closing = true;
    mailbox_close(&announcer->box);
    pthread_join(announcer->thread, NULL);
    receive(announcer, mailbox_take(&announcer->box));
    for (Message *at = announcer->waiting; at;) {
        Message *next = at->next;
        message_free(at);
        at = next;
    }
    mailbox_done(&announcer->box);
    mem_free(announcer);
}

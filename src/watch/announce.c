/* SPDX-License-Identifier: Apache-2.0 */
/* announce.c - see announce.h. */
#include "watch/announce.h"

#include "base/mailbox.h"
#include "base/times.h"
#include "model/notify_target.h"

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pthread.h>
#include <pwd.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define TRY_SECONDS 10L
#define GROUPS_MAX  256

extern char **environ;

typedef struct Message {
    Mail mail;
    Arena arena;
    Announcement what; /* target and user end with NUL */
} Message;

struct Announcer {
    Mailbox box;
    pthread_t thread;
    _Atomic bool closing;
    Announced *done;
    void *context;
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

/* Another account's numbers, looked up before the fork: no locks behind it. */
typedef struct Account {
    uid_t uid;
    gid_t gid;
    gid_t groups[GROUPS_MAX];
    int group_count;
    bool needed;
} Account;

static bool account_find(const char *user, Account *out, Error *why)
{
    struct passwd entry;
    struct passwd *found = NULL;
    char text[4096];
    out->needed = *user != '\0';
    if (!out->needed)
        return true;
    out->group_count = GROUPS_MAX;
    if (getpwnam_r(user, &entry, text, sizeof text, &found) || !found ||
        entry.pw_uid == 0 ||
        getgrouplist(user, entry.pw_gid, out->groups, &out->group_count) < 0) {
        error_set(why, ERR_INVALID, "it cannot be run as %s", user);
        return false;
    }
    out->uid = entry.pw_uid;
    out->gid = entry.pw_gid;
    return true;
}

/* In its own group, so that it can be ended whole; its output goes nowhere. */
static pid_t spawn(const char *words, int input, const Account *account)
{
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    pid_t pid = null < 0 ? -1 : fork();
    if (pid == 0) {
        sigset_t none;
        sigemptyset(&none);
        setpgid(0, 0);
        bool ready = dup2(input, 0) == 0 && dup2(null, 1) == 1 && dup2(null, 2) == 2;
        if (account->needed)
            ready = ready && !setgroups((size_t)account->group_count, account->groups) &&
                    !setgid(account->gid) && !setuid(account->uid);
        sigprocmask(SIG_SETMASK, &none, NULL);
        if (ready)
            execle("/bin/sh", "sh", "-c", words, (char *)NULL, environ);
        _exit(127);
    }
    if (null >= 0)
        close(null);
    if (pid > 0)
        setpgid(pid, pid); /* whoever comes first */
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
static bool run(Announcer *announcer, const char *words, const Announcement *what,
                Error *why)
{
    Account account = { 0 };
    if (!account_find(what->user.data, &account, why))
        return false;
    FILE *file = tmpfile();
    if (!file) {
        error_errno(why, "cannot make a temporary file");
        return false;
    }
    fwrite(what->body.data, 1, what->body.bytes, file);
    fputc('\n', file);
    rewind(file);
    pid_t pid = spawn(words, fileno(file), &account);
    fclose(file);
    if (pid < 0) {
        error_set(why, ERR_UNAVAILABLE, "sh cannot be started");
        return false;
    }
    return wait_for(announcer, pid, why);
}

/* --- The thread -----------------------------------------------------------------------
 */

static bool try_one(Announcer *announcer, const Announcement *what, Error *why)
{
    NotifyTargetKind kind;
    Slice rest;
    if (notify_target_parse(what->target, &kind, &rest)) {
        error_set(why, ERR_INVALID, "this is no target");
        return false;
    }
    switch (kind) {
    case NOTIFY_TARGET_WEBHOOK:
        return post(announcer, rest.data, what->body, why);
    case NOTIFY_TARGET_COMMAND:
        return run(announcer, rest.data, what, why);
    }
    return false;
}

static void *announcer_run(void *context)
{
    Announcer *announcer = context;
    while (!announcer->closing) {
        Mail *mail = mailbox_wait(&announcer->box, -1);
        while (mail) {
            Message *message = (Message *)(void *)mail;
            Error why = { 0 };
            mail = mail->next;
            bool sent = !announcer->closing && try_one(announcer, &message->what, &why);
            if (!announcer->closing)
                announcer->done(announcer->context, message->what.token,
                                sent ? NULL : &why);
            message_free(message);
        }
    }
    return NULL;
}

Announcer *announcer_open(Announced *done, void *context)
{
    Announcer *announcer = MEM_NEW(Announcer);
    announcer->done = done;
    announcer->context = context;
    mailbox_init(&announcer->box);
    pthread_create(&announcer->thread, NULL, announcer_run, announcer);
    return announcer;
}

void announcer_send(Announcer *announcer, const Announcement *announcement)
{
    Message *message = MEM_NEW(Message);
    Slice target = announcement->target;
    Slice user = announcement->user;
    message->what.token = announcement->token;
    message->what.target = slice_of(slice_cstr(&message->arena, target), target.bytes);
    message->what.user = slice_of(slice_cstr(&message->arena, user), user.bytes);
    message->what.body = slice_copy(&message->arena, announcement->body);
    mailbox_put(&announcer->box, &message->mail);
}

void announcer_close(Announcer *announcer)
{
    if (!announcer)
        return;
    announcer->closing = true;
    mailbox_close(&announcer->box);
    pthread_join(announcer->thread, NULL);
    for (Mail *mail = mailbox_take(&announcer->box); mail;) {
        Message *message = (Message *)(void *)mail;
        mail = mail->next;
        message_free(message);
    }
    mailbox_done(&announcer->box);
    mem_free(announcer);
}

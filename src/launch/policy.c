/* SPDX-License-Identifier: Apache-2.0 */
/* policy.c - see policy.h. */
#include "launch/policy.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ENTRY_BYTES       8192 /* of one line of the account file */
#define POLICY_PATH_BYTES 4096

const char *policy_path(void)
{
    const char *path = secure_getenv(POLICY_VARIABLE);
    return path && path[0] ? path : POLICY_FILE;
}

PolicyAnswer policy_account(const char *user, PolicyAccount *out)
{
    struct passwd entry;
    struct passwd *found = NULL;
    char bytes[ENTRY_BYTES];
    getpwnam_r(user, &entry, bytes, sizeof bytes, &found);
    if (!found && strlen(user) < 11 && strspn(user, "0123456789") == strlen(user))
        getpwuid_r((uid_t)strtoul(user, NULL, 10), &entry, bytes, sizeof bytes, &found);
    if (!found || strlen(found->pw_name) >= sizeof out->name ||
        strlen(found->pw_dir) >= sizeof out->home)
        return POLICY_NO_ACCOUNT;
    if (found->pw_uid == 0)
        return POLICY_IS_ROOT;
    out->uid = found->pw_uid;
    out->gid = found->pw_gid;
    memcpy(out->name, found->pw_name, strlen(found->pw_name) + 1);
    memcpy(out->home, found->pw_dir, strlen(found->pw_dir) + 1);
    out->group_count = POLICY_GROUPS_MAX;
    if (getgrouplist(out->name, out->gid, out->groups, &out->group_count) < 0)
        return POLICY_NO_ACCOUNT; /* in more groups than we would set: not half of them */
    return POLICY_ALLOWED;
}

/* The next word of a line, or NULL at its end. */
static const char *next_word(const char *at, const char *end, size_t *out_bytes)
{
    while (at < end && strchr(" \t,\r", *at))
        at++;
    const char *from = at;
    while (at < end && !strchr(" \t,\r#", *at))
        at++;
    *out_bytes = (size_t)(at - from);
    return at > from ? from : NULL;
}

static bool is_word(const char *word, size_t bytes, const char *text)
{
    return strlen(text) == bytes && memcmp(word, text, bytes) == 0;
}

/* One line: 1 it lists the account for the tenant, 0 it does not, -1 it is no line. */
static int line_lists(const char *at, const char *end, const char *tenant,
                      const char *account)
{
    size_t bytes;
    const char *word = next_word(at, end, &bytes);
    if (!word)
        return 0; /* empty, or a remark */
    if (bytes < 2 || word[bytes - 1] != ':')
        return -1;
    bool ours = is_word(word, bytes - 1, "*") || is_word(word, bytes - 1, tenant);
    for (at = word + bytes; (word = next_word(at, end, &bytes)); at = word + bytes)
        if (ours && is_word(word, bytes, account))
            return 1;
    return 0;
}

int policy_lists(const char *text, const char *tenant, const char *account)
{
    bool listed = false;
    while (*text) {
        const char *end = strchr(text, '\n');
        if (!end)
            end = text + strlen(text);
        int answer = line_lists(text, end, tenant, account);
        if (answer < 0)
            return -1;
        listed = listed || answer > 0;
        text = *end ? end + 1 : end;
    }
    return listed;
}

/* Nobody but root can have written it, nor put another in its place. */
static bool trusted(int fd, const char *path)
{
    struct stat file, folder;
    char parent[POLICY_PATH_BYTES];
    if (path[0] != '/' || strlen(path) >= sizeof parent - 2)
        return false;
    snprintf(parent, sizeof parent, "%.*s/.", (int)(strrchr(path, '/') - path), path);
    if (fstat(fd, &file) || stat(parent, &folder))
        return false;
    bool closed = !(folder.st_mode & 022) || (folder.st_mode & S_ISVTX);
    return S_ISREG(file.st_mode) && file.st_uid == 0 && !(file.st_mode & 022) &&
           file.st_size < POLICY_BYTES_MAX && folder.st_uid == 0 && closed;
}

static PolicyAnswer read_policy(char text[POLICY_BYTES_MAX])
{
    const char *path = policy_path();
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? POLICY_NO_FILE : POLICY_BAD_FILE;
    PolicyAnswer answer = trusted(fd, path) ? POLICY_ALLOWED : POLICY_BAD_FILE;
    ssize_t got = read(fd, text, POLICY_BYTES_MAX - 1);
    close(fd);
    if (got < 0 || memchr(text, '\0', (size_t)got))
        return POLICY_BAD_FILE;
    text[got] = '\0';
    return answer;
}

PolicyAnswer policy_ask(const char *tenant, const char *user, PolicyAccount *out)
{
    char text[POLICY_BYTES_MAX];
    PolicyAnswer answer = policy_account(user, out);
    if (answer == POLICY_IS_ROOT)
        return answer; /* said first: no policy could change it */
    if (geteuid() != 0)
        return POLICY_NOT_ROOT;
    PolicyAnswer file = read_policy(text);
    if (file != POLICY_ALLOWED)
        return file;
    if (answer != POLICY_ALLOWED)
        return answer;
    int listed = policy_lists(text, tenant, out->name);
    return listed < 0 ? POLICY_BAD_FILE : listed ? POLICY_ALLOWED : POLICY_NOT_LISTED;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* policy.h - as whom jobs may run: a file that only root can write, read at every start.
 *
 *     # tenant: accounts
 *     default: batch nobody
 *     acme: alice bob
 *     *: guest
 *
 * Part of the launcher, which decides; the daemon asks the same to refuse early. libc
 * only, no heap of our own. An account with uid 0 is never allowed, whatever its name. */
#ifndef LAUNCH_POLICY_H
#define LAUNCH_POLICY_H

#include <sys/types.h>

#define POLICY_FILE       "/etc/pawl/users"
#define POLICY_VARIABLE   "PAWL_USERS_FILE" /* another place for it */
#define POLICY_NAME_BYTES 256
#define POLICY_HOME_BYTES 1024
#define POLICY_GROUPS_MAX 256
#define POLICY_BYTES_MAX  65536

typedef enum PolicyAnswer {
    POLICY_ALLOWED,
    POLICY_NOT_ROOT,   /* this program cannot switch accounts */
    POLICY_NO_FILE,    /* nobody may be named */
    POLICY_BAD_FILE,   /* not root's, or others may write it, or it makes no sense */
    POLICY_NO_ACCOUNT, /* the machine does not know it */
    POLICY_IS_ROOT,
    POLICY_NOT_LISTED,
} PolicyAnswer;

typedef struct PolicyAccount {
    uid_t uid;
    gid_t gid;
    gid_t groups[POLICY_GROUPS_MAX];
    int group_count;
    char name[POLICY_NAME_BYTES];
    char home[POLICY_HOME_BYTES];
} PolicyAccount;

/* Whether jobs of the tenant may run as this account, named or by its number. On
 * POLICY_ALLOWED *out is filled. */
PolicyAnswer policy_ask(const char *tenant, const char *user, PolicyAccount *out);

/* Only what the machine knows of an account: ALLOWED, NO_ACCOUNT or IS_ROOT. */
PolicyAnswer policy_account(const char *user, PolicyAccount *out);

/* Whether the text of a policy lists the account for the tenant; -1: it makes no sense.
 */
int policy_lists(const char *text, const char *tenant, const char *account);

const char *policy_path(void);

#endif

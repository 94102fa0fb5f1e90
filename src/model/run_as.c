/* SPDX-License-Identifier: Apache-2.0 */
/* run_as.c - see run_as.h. */
#include "model/run_as.h"

#include "launch/policy.h"

static const char *answer_text(PolicyAnswer answer)
{
    switch (answer) {
    case POLICY_ALLOWED:
        return "allowed";
    case POLICY_NOT_ROOT:
        return "the daemon does not run as root, so it cannot run jobs as another user";
    case POLICY_NO_FILE:
        return "no other user is allowed on this machine: there is no policy file";
    case POLICY_BAD_FILE:
        return "the policy file is not to be trusted: it must be a readable file of "
               "root's that no one else can write, of lines TENANT: USER USER";
    case POLICY_NO_ACCOUNT:
        return "there is no such account on this machine";
    case POLICY_IS_ROOT:
        return "jobs never run as root by naming it";
    case POLICY_NOT_LISTED:
        return "the policy file does not allow this user for the tenant";
    }
    return "?";
}

Err user_check(Slice tenant, Slice user, Problem *why)
{
    Arena arena = { 0 };
    PolicyAccount account;
    PolicyAnswer answer =
        policy_ask(slice_cstr(&arena, tenant), slice_cstr(&arena, user), &account);
    arena_done(&arena);
    if (answer == POLICY_ALLOWED)
        return ERR_OK;
    problem_set(why, "run_as_not_allowed", "user \"%.*s\": %s", SLICE_ARG(user),
                answer_text(answer));
    if (answer == POLICY_NO_FILE || answer == POLICY_BAD_FILE ||
        answer == POLICY_NOT_LISTED)
        problem_hint(why, "the policy file is %.120s", policy_path());
    return ERR_INVALID;
}

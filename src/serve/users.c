/* SPDX-License-Identifier: Apache-2.0 */
/* users.c - see users.h. */
#include "serve/users.h"

#include "launch/policy.h"

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
                policy_text(answer));
    if (answer == POLICY_NO_FILE || answer == POLICY_BAD_FILE ||
        answer == POLICY_NOT_LISTED)
        problem_hint(why, "the policy file is %.120s", policy_path());
    return ERR_INVALID;
}

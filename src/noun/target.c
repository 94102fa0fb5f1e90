/* SPDX-License-Identifier: Apache-2.0 */
/* target.c - see target.h. */
#include "noun/target.h"

Err notify_target_parse(Slice to, NotifyTargetKind *out_kind, Slice *out_rest)
{
    static const struct {
        const char *prefix;
        NotifyTargetKind kind;
    } kinds[] = {
        { "webhook:http://", NOTIFY_TARGET_WEBHOOK },
        { "webhook:https://", NOTIFY_TARGET_WEBHOOK },
        { "command:", NOTIFY_TARGET_COMMAND },
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        Slice prefix = slice_text(kinds[i].prefix);
        if (!slice_starts(to, prefix) || to.bytes == prefix.bytes)
            continue;
        *out_kind = kinds[i].kind;
        *out_rest = slice_from(
            to, strlen(kinds[i].kind == NOTIFY_TARGET_WEBHOOK ? "webhook:" : "command:"));
        return ERR_OK;
    }
    return ERR_INVALID;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* booking_env.c - see booking_env.h. */
#include "model/booking_env.h"

#include "core/resource.h"

static void add_variable(Buf *env, const char *prefix, Slice key, Slice items)
{
    buf_add_text(env, prefix);
    for (size_t i = 0; i < key.bytes; i++) {
        char c = key.data[i];
        bool lower = c >= 'a' && c <= 'z';
        bool kept = (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        buf_add_char(env, lower ? (char)(c - 'a' + 'A') : kept ? c : '_');
    }
    buf_add_text(env, "_ITEMS=");
    buf_add_slice(env, items);
    buf_add_char(env, '\0');
}

void booking_env(Slice bookings, Buf *env)
{
    for (Slice value; list_next(&bookings, &value);) {
        Slice key = slice_cut(&value, '=');
        if (!booking_has_items(value))
            continue;
        add_variable(env, "PAWL_RESOURCE_", key, value);
        add_variable(env, "JQM_RM_DISCRETE_", key, value);
    }
}

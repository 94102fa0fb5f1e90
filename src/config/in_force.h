/* SPDX-License-Identifier: Apache-2.0 */
/* in_force.h - every value of a running daemon, and where it comes from.
 *
 * A value of the configuration that is also a setting may have been changed by an API
 * call: then that one is in force, and what the configuration says is shown beside it. */
#ifndef CONFIG_IN_FORCE_H
#define CONFIG_IN_FORCE_H

#include "config/settings.h"

typedef struct InForce {
    const Config *config;         /* as it was loaded, with its origins */
    const NodeSettings *settings; /* what the node goes by */
    uint32_t stored;              /* bits of setting_bit: an API call has set them */
    void (*url_shown)(const char *url, Buf *out); /* without a password */
} InForce;

/* "daemon.slots": {"value","origin","setting","configured"}, ... into the open object;
 * `setting` is its name for `pawl config set`, `configured` what it would be without. */
void in_force_json(JsonOut *json, const InForce *from);

/* The setting that takes its first value from this key, or NULL. */
const Setting *in_force_setting(ConfigKey key);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* settings.h - 000's settings: what an API call changes while the daemon runs.
 *
 * They live in the store as definitions of table SETTINGS_TABLE, name and text; a stored
 * one wins over the first value, which the configuration gives. One table has name, rule
 * and place in NodeSettings of each; its defaults are node_settings_default(). Names may
 * be written with dashes too, as in 000's documents, or as the key of the file. */
#ifndef CONFIG_SETTINGS_H
#define CONFIG_SETTINGS_H

#include "base/json_out.h"
#include "config/config.h"
#include "core/node/node.h"
#include "json/json_in.h"

#define SETTINGS_TABLE "config" /* of definitions in the store; tenant "" */

typedef struct Setting {
    const char *name;
    ConfigKey key;  /* where the file gives the first value; CONFIG_KEYS: nowhere */
    ValueRule rule; /* of those without a key; see setting_rule */
    size_t offset;  /* in NodeSettings, likewise; see setting_at */
    const char *help;
} Setting;

/* By number from 0, in the order in which they are shown; NULL after the last. */
const Setting *setting_number(size_t number);

/* NULL for a name that is none; *why then names the nearest. */
const Setting *setting_find(Slice name, Error *why);

const ValueRule *setting_rule(const Setting *setting);
const void *setting_at(const Setting *setting, const NodeSettings *settings);

/* The text that is stored and shown, e.g. PT30S; settings_apply reads it. */
void setting_text(const Setting *setting, const NodeSettings *settings, Buf *out);

/* Gives one setting the value that `value` says. ERR_NOT_FOUND for an unknown name,
 * ERR_INVALID for a bad value: *settings is as before. */
MUST_CHECK Err settings_apply(NodeSettings *settings, Slice name, Slice value,
                              Error *why);

/* The same for a member of a JSON object (its key is the name): a switch takes true or
 * false, a number an integer, a duration a text or seconds, a type a text. null gives
 * back the value of `first`. */
MUST_CHECK Err settings_apply_json(NodeSettings *settings, const JsonIn *value,
                                   const NodeSettings *first, Error *why);

/* Whether they make sense together; to be asked after the last settings_apply of a
 * request. */
MUST_CHECK Err settings_check(const NodeSettings *settings, Error *why);

/* After a reload: every setting takes its value from `first`, except those whose bit
 * (1 << number) is in `stored`, because an API call has set them. */
void settings_first(NodeSettings *settings, const NodeSettings *first, uint32_t stored);

/* The bit of a name for settings_first; 0 for a name that is none. */
uint32_t setting_bit(Slice name);

/* All settings as members of the object that is open. */
void settings_json(JsonOut *json, const NodeSettings *settings);

#endif

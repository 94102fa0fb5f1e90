/* SPDX-License-Identifier: Apache-2.0 */
/* settings.c - see settings.h. */
#include "config/settings.h"

#include "base/text.h"
#include "base/times.h"

#include <stdio.h>

#define NAME_BYTES 40 /* longer than any of ours */

/* S0.14 to S0.19 first, in their order. */
static const Setting table[] = {
    { "max_concurrent_jobs",
      CONFIG_DAEMON_SLOTS,
      { 0 },
      0,
      "jobs that run at once on each node" },
    { "job_stale_interval",
      CONFIG_SCHEDULING_LEASE,
      { 0 },
      0,
      "a job without a sign of life for so long is lost" },
    { "controller_stale_interval",
      CONFIG_KEYS,
      { VALUE_DURATION, MS_PER_S, MS_PER_DAY },
      offsetof(NodeSettings, controller_stale_ms),
      "the controller lock can be taken over after it" },
    { "error_handler_job",
      CONFIG_KEYS,
      { .kind = VALUE_TYPE },
      offsetof(NodeSettings, error_handler),
      "type that gets one job per failed or rejected job; empty: none" },
    { "on_error",
      CONFIG_KEYS,
      { .kind = VALUE_FATE },
      offsetof(NodeSettings, on_error),
      "`delete`: failed and rejected jobs are removed at once; else `keep`" },
    { "enabled", CONFIG_SCHEDULING_ENABLED, { 0 }, 0, "false: accept jobs, start none" },
    { "retry_delay",
      CONFIG_SCHEDULING_RETRY_DELAY,
      { 0 },
      0,
      "before the first retry; doubles each time" },
    { "retry_delay_max", CONFIG_SCHEDULING_RETRY_DELAY_MAX, { 0 }, 0, "... up to this" },
    { "retry_window",
      CONFIG_SCHEDULING_RETRY_WINDOW,
      { 0 },
      0,
      "from the end of a job's first attempt; then `rejected`" },
    { "keep_done",
      CONFIG_SCHEDULING_KEEP_DONE,
      { 0 },
      0,
      "done jobs are deleted after it" },
    { "keep_other",
      CONFIG_SCHEDULING_KEEP_OTHER,
      { 0 },
      0,
      "and failed, rejected and cancelled ones" },
    { "fairness",
      CONFIG_SCHEDULING_FAIRNESS,
      { 0 },
      0,
      "who takes turns: each queue of each tenant (`lane`), or each tenant (`tenant`)" },
    { "poll_interval",
      CONFIG_SCHEDULING_POLL,
      { 0 },
      0,
      "the scheduler passes over all queues at least this often" },
    { "chain_max",
      CONFIG_SCHEDULING_CHAIN,
      { 0 },
      0,
      "`then` steps in a row, so that a circle of handlers ends; 0: any number" },
    { "grace", CONFIG_DAEMON_GRACE, { 0 }, 0, "between SIGTERM and SIGKILL of a job" },
};
#define SETTINGS (sizeof table / sizeof *table)

const Setting *setting_number(size_t number)
{
    return number < SETTINGS ? &table[number] : NULL;
}

static bool same_name(Slice name, const char *known)
{
    if (name.bytes != strlen(known))
        return false;
    for (size_t i = 0; i < name.bytes; i++)
        if ((name.data[i] == '-' ? '_' : name.data[i]) != known[i])
            return false;
    return true;
}

/* daemon.slots is max_concurrent_jobs: who has read the file knows it by that name. */
static bool is_key(Slice name, ConfigKey key)
{
    char text[CONFIG_NAME_BYTES];
    return key != CONFIG_KEYS && slice_is(name, config_name(key, text));
}

const Setting *setting_find(Slice name, Error *why)
{
    const char *names[SETTINGS + 1] = { NULL };
    for (size_t i = 0; i < SETTINGS; i++) {
        if (same_name(name, table[i].name) || is_key(name, table[i].key))
            return &table[i];
        names[i] = table[i].name;
    }
    char quoted[LOG_QUOTE_BYTES];
    const char *near = nearest_word(name, names);
    error_set(why, ERR_NOT_FOUND, "no such setting: %s%s%s%s", log_quote(name, quoted),
              near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
    return NULL;
}

const ValueRule *setting_rule(const Setting *setting)
{
    return setting->key == CONFIG_KEYS ? &setting->rule
                                       : &config_field(setting->key)->rule;
}

static size_t offset_of(const Setting *setting)
{
    return setting->key == CONFIG_KEYS
               ? setting->offset
               : config_field(setting->key)->offset - offsetof(Config, node);
}

const void *setting_at(const Setting *setting, const NodeSettings *settings)
{
    return (const char *)settings + offset_of(setting);
}

void setting_text(const Setting *setting, const NodeSettings *settings, Buf *out)
{
    value_text(setting_rule(setting), setting_at(setting, settings), out);
}

static Err apply(NodeSettings *settings, const Setting *setting, Slice value, Error *why)
{
    Error reason = { 0 };
    Err err = value_parse(setting_rule(setting), value, NULL,
                          (char *)settings + offset_of(setting), &reason);
    if (err)
        error_set(why, err, "%s: %.400s", setting->name, reason.text);
    return err;
}

Err settings_apply(NodeSettings *settings, Slice name, Slice value, Error *why)
{
    const Setting *setting = setting_find(name, why);
    return setting ? apply(settings, setting, value, why) : ERR_NOT_FOUND;
}

static bool kind_fits(ValueKind kind, JsonKind json)
{
    if (kind == VALUE_BOOL)
        return json == JSON_IN_BOOL;
    if (kind == VALUE_COUNT)
        return json == JSON_IN_INT;
    if (kind == VALUE_DURATION)
        return json == JSON_IN_TEXT || json == JSON_IN_INT || json == JSON_IN_REAL;
    return json == JSON_IN_TEXT;
}

static const char *expected_json(ValueKind kind)
{
    if (kind == VALUE_BOOL)
        return "true or false";
    return value_expected(kind);
}

/* The scalar as text that value_parse reads. */
static void scalar_text(const JsonIn *value, Buf *out)
{
    if (value->kind == JSON_IN_BOOL)
        buf_add_text(out, value->as.truth ? "true" : "false");
    else if (value->kind == JSON_IN_INT)
        buf_printf(out, "%lld", (long long)value->as.integer);
    else if (value->kind == JSON_IN_REAL)
        buf_printf(out, "%.3f", value->as.real);
    else
        buf_add_slice(out, value->as.text);
}

Err settings_apply_json(NodeSettings *settings, const JsonIn *value,
                        const NodeSettings *first, Error *why)
{
    const Setting *setting = setting_find(value->key, why);
    if (!setting)
        return ERR_NOT_FOUND;
    const ValueRule *rule = setting_rule(setting);
    if (value->kind == JSON_IN_NULL) {
        value_copy(rule, setting_at(setting, first), NULL,
                   (char *)settings + offset_of(setting));
        return ERR_OK;
    }
    if (!kind_fits(rule->kind, value->kind))
        return error_set(why, ERR_INVALID, "%s: %s is expected, not %s", setting->name,
                         expected_json(rule->kind), json_in_kind_name(value->kind));
    Buf text = { 0 };
    scalar_text(value, &text);
    Err err = apply(settings, setting, buf_slice(&text), why);
    buf_done(&text);
    return err;
}

Err settings_check(const NodeSettings *settings, Error *why)
{
    char delay[DURATION_TEXT_BYTES];
    char most[DURATION_TEXT_BYTES];
    if (settings->retry_delay_ms <= settings->retry_delay_max_ms)
        return ERR_OK;
    return error_set(why, ERR_INVALID,
                     "retry_delay (%s) is longer than retry_delay_max (%s)",
                     duration_iso(settings->retry_delay_ms, delay),
                     duration_iso(settings->retry_delay_max_ms, most));
}

void settings_first(NodeSettings *settings, const NodeSettings *first, uint32_t stored)
{
    for (size_t i = 0; i < SETTINGS; i++)
        if (!(stored & 1u << i))
            value_copy(setting_rule(&table[i]), setting_at(&table[i], first), NULL,
                       (char *)settings + offset_of(&table[i]));
}

uint32_t setting_bit(Slice name)
{
    const Setting *setting = setting_find(name, NULL);
    return setting ? 1u << (setting - table) : 0;
}

void settings_json(JsonOut *json, const NodeSettings *settings)
{
    for (size_t i = 0; i < SETTINGS; i++) {
        const ValueRule *rule = setting_rule(&table[i]);
        const void *at = setting_at(&table[i], settings);
        Buf text = { 0 };
        value_text(rule, at, &text);
        if (rule->kind == VALUE_BOOL)
            json_bool(json, table[i].name, *(const bool *)at);
        else if (rule->kind == VALUE_COUNT)
            json_int(json, table[i].name, *(const uint32_t *)at);
        else if (rule->kind == VALUE_TYPE && !text.bytes)
            json_null(json, table[i].name);
        else
            json_text(json, table[i].name, buf_slice(&text));
        buf_done(&text);
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* alert_rule.c - see alert_rule.h. */
#include "noun/alert_rule.h"

#include "base/pack.h"
#include "base/text.h"
#include "base/times.h"
#include "noun/facts.h"
#include "noun/target.h"

#define FAILURES_WINDOW_MAX (6 * MS_PER_HOUR) /* minutes are kept so long */

enum { TAG_SINCE = 3, TAG_DETAIL = 4 }; /* behind those of the rule */

static Slice trim(Slice text)
{
    while (text.bytes && *text.data == ' ')
        text = slice_from(text, 1);
    while (text.bytes && text.data[text.bytes - 1] == ' ')
        text.bytes--;
    return text;
}

static Err bad_when(Slice text, Error *why)
{
    return error_set(why, ERR_INVALID,
                     "\"" SLICE_FMT "\" is no condition; there are: oldest(QUEUE) > 5m, "
                     "failures(TYPE) > 10 in 10m, schedule missed, disk free < 1G, "
                     "controller stale, node lost",
                     SLICE_ARG(slice_of(text.data, text.bytes > 80 ? 80 : text.bytes)));
}

/* "1G", "500M", "64K" or bytes. */
static bool read_size(Slice text, int64_t *out)
{
    static const char units[] = "KMGT";
    int64_t factor = 1;
    const char *unit =
        text.bytes ? memchr(units, text.data[text.bytes - 1], sizeof units - 1) : NULL;
    if (unit) {
        text.bytes--;
        for (const char *at = units; at <= unit; at++)
            factor *= 1024;
    }
    if (int_parse(trim(text), out) || *out < 1 || *out > INT64_MAX / factor)
        return false;
    *out *= factor;
    return true;
}

/* NAME) OPERATOR ..., behind the opening bracket. */
static bool take_name(Slice *rest, Slice *out_name, char operator)
{
    *out_name = trim(slice_cut(rest, ')'));
    *rest = trim(*rest);
    if (!rest->bytes || *rest->data != operator)
        return false;
    *rest = trim(slice_from(*rest, 1));
    return slice_is(*out_name, "*") || queue_name_valid(*out_name);
}

static Err read_oldest(Slice text, Slice rest, AlertWhen *out, Error *why)
{
    if (!take_name(&rest, &out->name, '>') || slice_is(out->name, "*"))
        return bad_when(text, why);
    return duration_parse(rest, &out->limit, why);
}

static Err read_failures(Slice text, Slice rest, AlertWhen *out, Error *why)
{
    if (!take_name(&rest, &out->name, '>'))
        return bad_when(text, why);
    Slice number = slice_cut(&rest, ' ');
    rest = trim(rest);
    if (int_parse(number, &out->limit) || out->limit < 0 ||
        !slice_starts(rest, SLICE_LITERAL("in ")))
        return bad_when(text, why);
    Err err = duration_parse(trim(slice_from(rest, 3)), &out->window_ms, why);
    if (err)
        return err;
    if (out->window_ms < MS_PER_MIN || out->window_ms > FAILURES_WINDOW_MAX)
        return error_set(why, ERR_INVALID, "failures are counted over 1m to 6h");
    return ERR_OK;
}

Err alert_when_parse(Slice text, AlertWhen *out, Error *why)
{
    static const struct {
        const char *words;
        AlertKind kind;
    } plain[] = { { "schedule missed", ALERT_SCHEDULE },
                  { "controller stale", ALERT_CONTROLLER },
                  { "node lost", ALERT_NODE } };
    static const Slice oldest = { "oldest(", 7 };
    static const Slice failures = { "failures(", 9 };
    static const Slice disk = { "disk free <", 11 };
    AlertWhen when = { 0 };
    Err err = ERR_OK;
    text = trim(text);
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        if (!slice_is(text, plain[i].words))
            continue;
        *out = (AlertWhen){ .kind = plain[i].kind };
        return ERR_OK;
    }
    if (slice_starts(text, oldest)) {
        when.kind = ALERT_OLDEST;
        err = read_oldest(text, slice_from(text, oldest.bytes), &when, why);
    } else if (slice_starts(text, failures)) {
        when.kind = ALERT_FAILURES;
        err = read_failures(text, slice_from(text, failures.bytes), &when, why);
    } else if (slice_starts(text, disk)) {
        when.kind = ALERT_DISK;
        if (!read_size(trim(slice_from(text, disk.bytes)), &when.limit))
            err = bad_when(text, why);
    } else {
        err = bad_when(text, why);
    }
    if (!err)
        *out = when;
    return err;
}

/* --- Fields --------------------------------------------------------------------------
 */

static Err add_target(Buf *out, const JsonIn *value, Problem *why)
{
    NotifyTargetKind kind;
    Slice rest;
    bool text = value->kind == JSON_IN_TEXT;
    bool good = text && value->as.text.bytes <= NOTIFY_TARGET_BYTES_MAX &&
                !memchr(value->as.text.data, '\0', value->as.text.bytes) &&
                (slice_is(value->as.text, "log") ||
                 !notify_target_parse(value->as.text, &kind, &rest));
    if (!good)
        return problem_set(why, text ? "invalid_value" : "wrong_type",
                           "to is webhook:http://..., webhook:https://..., command:... "
                           "or log");
    buf_add_slice(out, value->as.text);
    buf_add_char(out, '\0');
    return ERR_OK;
}

static Err read_targets(NounIn *in, const Field *field, const JsonIn *value)
{
    AlertRule *rule = in->object;
    Buf targets = { 0 };
    Err err = ERR_OK;
    bool list = value->kind == JSON_IN_LIST;
    if (!list)
        err = add_target(&targets, value, in->why);
    else if (value->as.items.count > (size_t)field->most)
        err = problem_set(in->why, "invalid_value", "at most %lld targets",
                          (long long)field->most);
    const JsonIn *item = !err && list ? json_in_first(value) : NULL;
    for (; item && !err; item = item->next)
        err = add_target(&targets, item, in->why);
    if (!err)
        rule->to = slice_copy(in->arena, buf_slice(&targets));
    buf_done(&targets);
    return err;
}

static Err read_when(NounIn *in, const Field *field, const JsonIn *value)
{
    AlertRule *rule = in->object;
    AlertWhen when;
    Error sentence = { 0 };
    (void)field;
    if (value->kind != JSON_IN_TEXT)
        return field_wrong_type(in, value, "a string");
    if (alert_when_parse(value->as.text, &when, &sentence))
        return problem_set(in->why, "invalid_value", "%s", sentence.text);
    rule->when = value->as.text;
    return ERR_OK;
}

static const FieldHooks when_hooks = { read_when, NULL, NULL, NULL };
static const FieldHooks to_hooks = { read_targets, NULL, NULL, NULL };

#define AT(tag, member, kind) STORED(AlertRule, tag, member, kind)

static const Field fields[] = {
    { .name = "name", .type = AS_OWN_NAME, .use = USE_SHOWN, .meaning = "of the rule" },
    { .name = "when",
      .stored = AT(1, when, FIELD_SLICE),
      .type = AS_TEXT,
      .use = USE_BOTH | USE_ALWAYS | USE_REQUIRED,
      .most = ALERT_WHEN_BYTES,
      .hooks = &when_hooks,
      .schema = "\"type\":\"string\"",
      .meaning = "its condition, as in oldest(QUEUE) > 5m" },
    { .name = "to",
      .stored = AT(2, to, FIELD_SLICE),
      .type = AS_LIST,
      .use = USE_BOTH,
      .most = ALERT_TARGETS_MAX,
      .hooks = &to_hooks,
      .schema = "\"type\":[\"array\",\"string\",\"null\"],\"items\":{"
                "\"type\":\"string\"}",
      .meaning = "whom to tell: webhook:URL, command:WORDS or log; default: log" },
    FACT_DECLARED,
};
#undef AT

NOUN_STORED(alert_rule, fields, NULL)

static const AlertRule usual = { .to = SLICE_INIT("log\0") };

const Noun alert_rule_noun = {
    .name = "alert_rule",
    .a = "an alert rule",
    .plural = "alert-rules",
    .section = "alerts",
    .table = ALERT_TABLE,
    .missing = "alert_rule_not_found",
    .fields = fields,
    .count = NOUN_COUNT(fields),
    .bytes = sizeof(AlertRule),
    .defaults = &usual,
    .stored = &alert_rule_stored,
    .name_valid = name_valid,
    .tenants = true,
};

void alert_rule_pack(Buf *out, const AlertRule *rule)
{
    noun_pack(out, &alert_rule_noun, rule);
}

Err alert_rule_unpack(Slice packed, AlertRule *out)
{
    AlertRule rule;
    Err err = noun_unpack(packed, &alert_rule_noun, &rule);
    if (!err)
        *out = rule;
    return err;
}

void alert_state_pack(Buf *out, int64_t since_ms, Slice detail)
{
    pack_int(out, TAG_SINCE, since_ms);
    pack_bytes(out, TAG_DETAIL, detail);
}

Err alert_state_unpack(Slice packed, int64_t *out_since_ms, Slice *out_detail)
{
    PackField in;
    *out_since_ms = 0;
    *out_detail = (Slice){ NULL, 0 };
    while (pack_next(&packed, &in)) {
        if (in.tag == TAG_SINCE)
            *out_since_ms = in.number;
        if (in.tag == TAG_DETAIL)
            *out_detail = in.bytes;
    }
    return pack_damaged(packed) ? ERR_CORRUPT : ERR_OK;
}

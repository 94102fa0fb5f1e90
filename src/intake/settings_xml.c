/* SPDX-License-Identifier: Apache-2.0 */
/* settings_xml.c - see settings_xml.h. */
#include "intake/settings_xml.h"

#include "base/text.h"
#include "base/times.h"
#include "config/settings.h"
#include "intake/control.h"
#include "intake/xml_in.h"

/* 000's own, in its order (S0.19). */
static const char *const names[] = { "enabled",
                                     "max-concurrent-jobs",
                                     "job-stale-interval",
                                     "controller-stale-interval",
                                     "error-handler-job",
                                     NULL };
static const char *const no_names[] = { NULL };
#define NAMES (sizeof names / sizeof *names - 1)

#define DECLARATION "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"

static const char *xml_word(const ValueRule *rule, const void *at, Buf *text)
{
    if (rule->kind == VALUE_BOOL)
        return *(const bool *)at ? "true" : "false";
    value_text(rule, at, text);
    return buf_cstr(text);
}

void settings_xml_write(Buf *out, const NodeSettings *settings)
{
    buf_add_text(out, DECLARATION "<batch-config xmlns=\"" CONTROL_SPACE "\">\n");
    for (size_t i = 0; i < NAMES; i++) {
        const Setting *setting = setting_find(slice_text(names[i]), NULL);
        Buf text = { 0 };
        const char *word =
            xml_word(setting_rule(setting), setting_at(setting, settings), &text);
        buf_printf(out, "    <%s>", names[i]);
        xml_escape(out, slice_text(word));
        buf_printf(out, "</%s>\n", names[i]);
        buf_done(&text);
    }
    buf_add_text(out, "</batch-config>\n");
}

void batch_lock_write(Buf *out, int64_t version, int64_t timestamp_ms)
{
    char time[TIME_TEXT_BYTES] = "";
    if (timestamp_ms)
        time_text(timestamp_ms, time);
    buf_printf(out,
               DECLARATION "<batch-controller-lock xmlns=\"" CONTROL_SPACE "\">\n"
                           "    <version>%lld</version>\n"
                           "    <timestamp>%s</timestamp>\n"
                           "</batch-controller-lock>\n",
               (long long)version, time);
}

static Err bad(Problem *why, const XmlIn *at, const char *text)
{
    return problem_set(
        why, "invalid_control", "line %u, column %u: <" SLICE_FMT "> %s", at->line,
        at->column, at->name.bytes > 80 ? 80 : (int)at->name.bytes, at->name.data, text);
}

/* Numbers and switches as such; the rest is text. */
static void take_value(const Setting *setting, Slice text, JsonIn *out)
{
    ValueKind kind = setting_rule(setting)->kind;
    int64_t number;
    out->kind = JSON_IN_TEXT;
    out->as.text = text;
    if (kind == VALUE_BOOL && (slice_is(text, "true") || slice_is(text, "false"))) {
        out->kind = JSON_IN_BOOL;
        out->as.truth = slice_is(text, "true");
    } else if (kind == VALUE_COUNT && !int_parse(text, &number)) {
        out->kind = JSON_IN_INT;
        out->as.integer = number;
    }
}

/* Whether there is one text in it, however deep. */
static bool one_text(const XmlIn *at)
{
    for (; at->first; at = at->first)
        if (at->first->next || at->text.bytes)
            return false;
    return true;
}

/* The error handler may stand as 000 draws it, with elements: <module>type:NAME. */
static Slice text_of(const XmlIn *at)
{
    const Slice mark = SLICE_LITERAL("type:");
    const XmlIn *inner = at;
    while (inner->first && !inner->first->next)
        inner = inner->first;
    Slice text = inner->text;
    return inner != at && slice_starts(text, mark) ? slice_from(text, mark.bytes) : text;
}

static bool is_name(const XmlIn *at)
{
    for (size_t i = 0; i < NAMES; i++)
        if (slice_is(at->space, CONTROL_SPACE) && slice_is(at->name, names[i]))
            return true;
    return false;
}

static Err read_child(const XmlIn *at, JsonIn *object, Arena *arena, Problem *why)
{
    if (!is_name(at)) {
        const char *near = nearest_word(at->name, names);
        bad(why, at, "is not of a batch-config");
        if (near)
            problem_hint(why, "did you mean <%s>?", near);
        return ERR_INVALID;
    }
    const Setting *setting = setting_find(at->name, NULL);
    JsonIn **last = &object->as.items.first;
    for (; *last; last = &(*last)->next)
        if (slice_is((*last)->key, setting->name))
            return bad(why, at, "stands twice");
    if (at->first && !slice_is(at->name, "error-handler-job"))
        return bad(why, at, "takes text, not elements");
    if (!one_text(at))
        return bad(why, at, "names one type: NAME, or <module>type:NAME</module>");
    if (xml_unknown_attribute(at, no_names))
        return bad(why, at, "has no attributes: its value is the text in it");
    JsonIn *member = ARENA_NEW(arena, JsonIn);
    member->key = slice_text(setting->name);
    take_value(setting, text_of(at), member);
    if (setting_rule(setting)->kind == VALUE_BOOL && member->kind != JSON_IN_BOOL)
        return bad(why, at, "is true or false");
    *last = member;
    object->as.items.count++;
    return ERR_OK;
}

Err settings_xml_read(Slice document, Arena *arena, const JsonIn **out_object,
                      Problem *why)
{
    const XmlIn *root;
    XmlFault fault;
    if (xml_load(document, arena, &root, &fault))
        return problem_set(why, "malformed_xml", "line %u, column %u: %s", fault.line,
                           fault.column, fault.text);
    if (!slice_is(root->space, CONTROL_SPACE) || !slice_is(root->name, "batch-config"))
        return bad(why, root, "is no <batch-config xmlns=\"" CONTROL_SPACE "\">");
    if (root->text.bytes || xml_unknown_attribute(root, no_names))
        return bad(why, root, "holds elements, no text or attributes of its own");
    JsonIn *object = ARENA_NEW(arena, JsonIn);
    object->kind = JSON_IN_OBJECT;
    for (const XmlIn *at = root->first; at; at = at->next) {
        Err err = read_child(at, object, arena, why);
        if (err)
            return err;
    }
    *out_object = object;
    return ERR_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* job_links.c - see job_links.h. */
#include "model/job_links.h"

#include "base/text.h"
#include "core/after.h"
#include "core/unique.h"

#define CLOCKS_APART_MS MS_PER_MIN /* between the nodes of a cluster, at most */

#define BAD(in, code, ...) problem_set(&(in)->why, (code), __VA_ARGS__)

static Err read_id(JobReader *in, const JsonIn *value, JobId *out)
{
    if (value->kind != JSON_IN_TEXT || id_parse(value->as.text, out) || !*out) {
        BAD(in, "invalid_value", "after takes whole job ids, 13 characters each");
        problem_hint(&in->why, "ids are told when jobs are added; names are not taken");
        return ERR_INVALID;
    }
    if (id_created_ms(*out) <= in->rules->wall_ms + CLOCKS_APART_MS)
        return ERR_OK;
    BAD(in, "invalid_value", "after names job " SLICE_FMT ", which cannot exist yet",
        SLICE_ARG(value->as.text));
    return ERR_INVALID;
}

static Err read_on(JobReader *in, const JsonIn *value, AfterOn *out)
{
    if (value->kind == JSON_IN_TEXT && !after_on_parse(value->as.text, out))
        return ERR_OK;
    return BAD(in, "invalid_value", "after: on is ok, any or fail");
}

/* {"id": ..., "on": ...} */
static Err read_item(JobReader *in, const JsonIn *value, AfterItem *out)
{
    bool has_id = false;
    *out = (AfterItem){ .on = AFTER_OK };
    if (value->kind != JSON_IN_OBJECT)
        return read_id(in, value, &out->id);
    for (const JsonIn *field = json_in_first(value); field; field = field->next) {
        Err err;
        if (slice_is(field->key, "id")) {
            has_id = true;
            err = read_id(in, field, &out->id);
        } else if (slice_is(field->key, "on")) {
            err = read_on(in, field, &out->on);
        } else {
            err = BAD(in, "unknown_field",
                      "an item of after has no field '" SLICE_FMT "', only id and on",
                      SLICE_ARG(field->key));
        }
        if (err)
            return err;
    }
    return has_id ? ERR_OK : BAD(in, "missing_field", "an item of after needs an id");
}

static Err add_item(JobReader *in, const JsonIn *value, Buf *list)
{
    AfterItem item;
    char id[ID_TEXT_BYTES];
    Err err = read_item(in, value, &item);
    if (err)
        return err;
    if (after_names(buf_slice(list), item.id))
        return BAD(in, "invalid_value", "after names job %s twice", id_text(item.id, id));
    after_add(list, item);
    return ERR_OK;
}

Err job_read_after(JobReader *in, const JsonIn *value)
{
    Buf list = { 0 };
    Err err = ERR_OK;
    size_t count = 0;
    if (value->kind != JSON_IN_LIST) {
        err = add_item(in, value, &list);
    } else {
        for (const JsonIn *item = json_in_first(value); item && !err; item = item->next) {
            if (++count > AFTER_MAX)
                err = BAD(in, "limit_exceeded", "a job can wait for at most %d others",
                          AFTER_MAX);
            else
                err = add_item(in, item, &list);
        }
    }
    if (!err)
        in->job.after = slice_copy(in->arena, buf_slice(&list));
    buf_done(&list);
    return err;
}

static Err read_key(JobReader *in, const JsonIn *field, Slice *out)
{
    bool good = field->kind == JSON_IN_TEXT && field->as.text.bytes &&
                field->as.text.bytes <= UNIQUE_KEY_MAX;
    for (size_t i = 0; good && i < field->as.text.bytes; i++)
        good = (unsigned char)field->as.text.data[i] >= 0x20;
    if (!good)
        return BAD(in, "invalid_value",
                   "unique: key is a text of 1 to %d bytes in one line", UNIQUE_KEY_MAX);
    *out = field->as.text;
    return ERR_OK;
}

static Err read_unique_field(JobReader *in, const JsonIn *field, Unique *out)
{
    Error why = { 0 };
    if (slice_is(field->key, "key"))
        return read_key(in, field, &out->key);
    if (slice_is(field->key, "for")) {
        if (field->kind == JSON_IN_NULL)
            return ERR_OK;
        if (!duration_read(field, &out->for_ms, &why) && out->for_ms > 0)
            return ERR_OK;
        return BAD(in, "invalid_value", "unique: for is a duration above 0, as in 1h");
    }
    if (!slice_is(field->key, "on_conflict"))
        return BAD(in, "unknown_field",
                   "unique has no field '" SLICE_FMT "', only key, for and on_conflict",
                   SLICE_ARG(field->key));
    if (field->kind == JSON_IN_TEXT && !conflict_parse(field->as.text, &out->on_conflict))
        return ERR_OK;
    return BAD(in, "invalid_value", "unique: on_conflict is reject, ignore or replace");
}

Err job_read_unique(JobReader *in, const JsonIn *value)
{
    Unique unique = { .on_conflict = CONFLICT_REJECT };
    if (value->kind != JSON_IN_OBJECT)
        return BAD(in, "wrong_type", "unique must be an object with a key");
    for (const JsonIn *field = json_in_first(value); field; field = field->next)
        if (read_unique_field(in, field, &unique))
            return ERR_INVALID;
    if (!unique.key.bytes)
        return BAD(in, "missing_field", "unique needs a key");
    Buf text = { 0 };
    unique_write(&text, &unique);
    in->job.unique = slice_copy(in->arena, buf_slice(&text));
    buf_done(&text);
    return ERR_OK;
}

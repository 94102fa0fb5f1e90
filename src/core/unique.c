/* SPDX-License-Identifier: Apache-2.0 */
/* unique.c - see unique.h. */
#include "core/unique.h"

static const char *const conflict_names[] = { "reject", "ignore", "replace" };

const char *conflict_name(OnConflict on_conflict)
{
    return conflict_names[on_conflict];
}

Err conflict_parse(Slice text, OnConflict *out)
{
    for (unsigned i = 0; i <= CONFLICT_REPLACE; i++) {
        if (!slice_is(text, conflict_names[i]))
            continue;
        *out = (OnConflict)i;
        return ERR_OK;
    }
    return ERR_INVALID;
}

bool unique_read(Slice unique, Unique *out)
{
    Slice duration;
    Slice word;
    *out = (Unique){ 0 };
    if (!list_next(&unique, &out->key) || !list_next(&unique, &duration) ||
        !list_next(&unique, &word))
        return false;
    if (duration.bytes && duration_parse(duration, &out->for_ms, NULL))
        out->for_ms = 0;
    return !conflict_parse(word, &out->on_conflict);
}

void unique_write(Buf *out, const Unique *unique)
{
    char duration[DURATION_TEXT_BYTES] = "";
    if (unique->for_ms)
        duration_iso(unique->for_ms, duration);
    buf_add_slice(out, unique->key);
    buf_add_char(out, '\0');
    buf_add_text(out, duration);
    buf_add_char(out, '\0');
    buf_add_text(out, conflict_name(unique->on_conflict));
    buf_add_char(out, '\0');
}

bool unique_key(const Job *job, UniqueKind kind, Buf *out)
{
    Unique unique;
    switch (kind) {
    case UNIQUE_OWN:
        if (!unique_read(job->unique, &unique))
            return false;
        buf_add_char(out, 'u');
        buf_add_slice(out, unique.key);
        return true;
    case UNIQUE_MERGE:
        if (!(job->flags & JOB_MERGES))
            return false;
        buf_add_char(out, 'h');
        buf_add_slice(out, job->type);
        return true;
    case UNIQUE_REQUEST:
        if (!job->request.bytes)
            return false;
        buf_add_char(out, 'r');
        buf_add_slice(out,
                      slice_cut(&(Slice){ job->request.data, job->request.bytes }, '\0'));
        return true;
    }
    return false;
}

JobId unique_merged_into(const Job *job)
{
    const Slice words = SLICE_LITERAL(MERGED_INTO);
    JobId id = 0;
    if (job->state != JOB_CANCELLED || !slice_starts(job->reason, words) ||
        id_parse(slice_from(job->reason, words.bytes), &id))
        return 0;
    return id;
}

int64_t unique_until(const Job *job, UniqueKind kind)
{
    Unique unique;
    switch (kind) {
    case UNIQUE_OWN:
        if (!unique_read(job->unique, &unique) || !unique.for_ms)
            return 0;
        return job->created_ms + unique.for_ms;
    case UNIQUE_MERGE:
        return 0;
    case UNIQUE_REQUEST:
        return job->created_ms + MS_PER_DAY;
    }
    return 0;
}

bool unique_replaces(const Job *job, UniqueKind kind)
{
    Unique unique;
    return kind == UNIQUE_OWN && unique_read(job->unique, &unique) &&
           unique.on_conflict == CONFLICT_REPLACE;
}

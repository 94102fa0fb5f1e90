/* SPDX-License-Identifier: Apache-2.0 */
/* survey.c - see survey.h. */
#include "journal/survey.h"

#include <inttypes.h>

static Err damaged(const Survey *survey, const char *what, Error *why)
{
    char name[SEGMENT_NAME_BYTES];
    return error_set(why, ERR_CORRUPT,
                     "journal: %s/%s is damaged at offset %" PRIu64 " (position %" PRIu64
                     "): %s; nothing was changed",
                     survey->dir, segment_name(survey->walk.start, name),
                     walk_offset(&survey->walk), survey->walk.position, what);
}

static void proven_at_least(Survey *survey, uint64_t position)
{
    if (position > survey->proven)
        survey->proven = position;
}

static Err check_owner(const Survey *survey, Error *why)
{
    const SegmentHeader *header = &survey->header;
    const JournalOptions *own = survey->own;
    if (!own || (header->node == own->node && header->cluster == own->cluster))
        return ERR_OK;
    return error_set(why, ERR_CONFLICT,
                     "journal: %s belongs to node %" PRIu32 " of cluster %016" PRIx64
                     ", this is node %" PRIu32 " of cluster %016" PRIx64,
                     survey->dir, header->node, header->cluster, own->node, own->cluster);
}

/* Opens the next segment, which must go on where the one before has ended. */
static Err enter(Survey *survey, size_t index, Error *why)
{
    Chain before = survey->walk.chain;
    Err err = walk_open(&survey->walk, survey->dir_fd, survey->list.starts[index],
                        &survey->header, why);
    if (!err)
        err = check_owner(survey, why);
    if (err || index == survey->first)
        return err;
    Chain chain = survey->header.chain;
    if (chain.sum != before.sum || chain.seed != before.seed)
        return error_set(why, ERR_CORRUPT,
                         "journal: %s: the segment at position %" PRIu64
                         " does not belong behind the one before it",
                         survey->dir, survey->walk.start);
    return ERR_OK;
}

/* Goes to the end of the segment's records. */
static Err pass(Survey *survey, RecordRead *out_stopped, Error *why)
{
    for (;;) {
        if (survey->walk.position == survey->read_point) {
            survey->read_sum = survey->walk.chain.sum;
            survey->read_found = true;
        }
        Record record;
        Err err = walk_next(&survey->walk, out_stopped, &record, why);
        if (err || *out_stopped != RECORD_OK)
            return err;
        proven_at_least(survey, record.synced);
        err = survey->visit
                  ? survey->visit(survey->context, &record, survey->walk.position)
                  : ERR_OK;
        if (err)
            return error_set(why, err, "journal: stopped at position %" PRIu64,
                             survey->walk.position);
    }
}

static Err judge_end(Survey *survey, RecordRead stopped, Error *why)
{
    uint64_t end = survey->walk.position;
    survey->torn = stopped != RECORD_END;
    proven_at_least(survey, survey->header.synced);
    proven_at_least(survey, survey->header.start);
    if (survey->torn) {
        Slice rest;
        Err err = walk_rest(&survey->walk, &rest, why);
        if (err)
            return err;
        proven_at_least(survey, record_synced_in(rest, &survey->walk.chain));
    }
    if (survey->proven > end)
        return damaged(survey, "records that had been durable are gone from here", why);
    if (survey->torn && survey->read_point > end)
        return damaged(survey, "records that the store has read are gone from here", why);
    if (survey->read_point > end)
        return error_set(why, ERR_CORRUPT,
                         "journal: the store is ahead of this journal: it has read up to "
                         "position %" PRIu64 ", but %s ends at %" PRIu64,
                         survey->read_point, survey->dir, end);
    if (!survey->read_found)
        return error_set(why, ERR_CORRUPT,
                         "journal: the store has read up to position %" PRIu64
                         ", which lies inside a record of %s",
                         survey->read_point, survey->dir);
    proven_at_least(survey, survey->read_point);
    return ERR_OK;
}

Err survey_run(Survey *survey, Error *why)
{
    survey->walk = WALK_NONE;
    RecordRead stopped = RECORD_END;
    for (size_t i = survey->first; i < survey->list.count; i++) {
        Err err = enter(survey, i, why);
        if (!err)
            err = pass(survey, &stopped, why);
        if (err)
            return err;
        if (i + 1 == survey->list.count)
            break;
        if (survey->walk.position != survey->list.starts[i + 1])
            return damaged(survey, "a later segment exists, but no record fits here",
                           why);
    }
    return judge_end(survey, stopped, why);
}

void survey_done(Survey *survey)
{
    walk_close(&survey->walk);
    mem_free(survey->list.starts);
    survey->list = (SegmentList){ 0 };
}

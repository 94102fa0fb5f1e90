/* SPDX-License-Identifier: Apache-2.0 */
/* partitions.c - see partitions.h. */
#include "store/postgres/partitions.h"

#include "base/log.h"
#include "base/times.h"
#include "store/postgres/relations.h"
#include "store/postgres/runs.h"
#include "store/postgres/unit_of_work.h"

#define PARTS_EVERY_MS (MS_PER_MIN) /* empty ones are looked for so often at most */
#define PARTS_AT_ONCE  16           /* taken out behind one commit */
#define PART_MS_SHIFT  (PG_PART_SHIFT - 22) /* ids have milliseconds above (id.h) */

#define NO_NODE 0 /* whose changes of counts they are */

/* Nobody waits behind this for longer. */
#define BRIEF "SET LOCAL lock_timeout = 300; SET LOCAL statement_timeout = 5000"

static const char *const families[PLACES] = {
    [PLACE_DONE] = "job_done", [PLACE_DEAD] = "job_dead"
};

static Place family_of(JobStates states)
{
    return states & STATE_BIT(JOB_DONE) ? PLACE_DONE : PLACE_DEAD;
}

/* The last part that no job can come into any more whose time is before due_ms; -1: none.
 */
static int64_t last_passed(int64_t due_ms)
{
    return due_ms > ID_EPOCH_MS ? ((due_ms - ID_EPOCH_MS) >> PART_MS_SHIFT) - 1 : -1;
}

static int64_t part_end_ms(int64_t part)
{
    return ID_EPOCH_MS + ((part + 1) << PART_MS_SHIFT);
}

static void param_family(Postgres *pg, Place place)
{
    param_bytes(&pg->params, slice_text(families[place]));
}

#define FAMILY "convert_from($1, 'UTF8')"

void pgparts_gone_name(Buf *out, Place place, int64_t part)
{
    buf_printf(out, "pawl.gone_%s_%lld", families[place] + strlen("job_"),
               (long long)part);
}

/* --- Looking --------------------------------------------------------------------------
 */

static void look_gone(Postgres *pg, Place place, PgOld *out)
{
    param_family(pg, place);
    PGresult *result = link_query(&pg->link,
                                  "SELECT part, swept FROM pawl.part_gone"
                                  " WHERE family = " FAMILY " ORDER BY part",
                                  &pg->params);
    int rows = result ? PQntuples(result) : 0;
    for (int i = 0; i < rows; i++) {
        array_int(&out->gone, field_int(result, i, 0));
        array_int(&out->swept, field_int(result, i, 1));
    }
    PQclear(result);
}

/* A part is left out while it will go as a whole soon. One that could have gone for long
 * is not: something stands in its way, and its jobs are due. */
static bool goes_soon(const Load *load, int64_t part, int64_t newest_ms)
{
    int64_t end_ms = part_end_ms(part);
    int64_t ready_ms = newest_ms > end_ms ? newest_ms : end_ms;
    return ready_ms >= load->dt_ms - load->late_ms &&
           ready_ms < load->dt_ms + load->late_ms;
}

void pgparts_look(Postgres *pg, const Load *load, PgOld *out)
{
    Place place = family_of(load->states);
    int64_t passed = last_passed(load->dt_ms);
    *out = (PgOld){ .parts.type = PG_INT8, .gone.type = PG_INT8, .swept.type = PG_INT8 };
    look_gone(pg, place, out);
    param_family(pg, place);
    param_int(&pg->params, passed + 2); /* clocks differ: none behind can be due */
    PGresult *result = link_query(
        &pg->link, "SELECT part, newest FROM pawl.parts_filled(" FAMILY ", $2)",
        &pg->params);
    int rows = result ? PQntuples(result) : 0;
    for (int i = 0; i < rows; i++) {
        int64_t part = field_int(result, i, 0);
        int64_t newest_ms = field_int(result, i, 1) - MS_PER_1000_YEARS;
        bool soon = goes_soon(load, part, newest_ms);
        out->whole = out->whole || (part <= passed && newest_ms < load->dt_ms);
        out->held = out->held || soon;
        if (!soon)
            array_int(&out->parts, part);
    }
    PQclear(result);
}

void pgparts_look_done(PgOld *old)
{
    array_done(&old->parts);
    array_done(&old->gone);
    array_done(&old->swept);
}

/* --- Sweeping -------------------------------------------------------------------------
 */

/* -1: there is no such part. The row stays ours until the commit. */
static int64_t swept_until(Postgres *pg, Place place, int64_t part)
{
    param_family(pg, place);
    param_int(&pg->params, part);
    PGresult *result = link_query(&pg->link,
                                  "SELECT swept FROM pawl.part_gone"
                                  " WHERE family = " FAMILY " AND part = $2 FOR UPDATE",
                                  &pg->params);
    int64_t swept = result && PQntuples(result) ? field_int(result, 0, 0) : -1;
    PQclear(result);
    return swept;
}

static void sweep_rows(Postgres *pg, const PGresult *result, Place place)
{
    int rows = result ? PQntuples(result) : 0;
    pgheld_take(pg, result, place);
    for (int i = 0; i < rows; i++) {
        PgHeld *held = pgheld_find(pg, (JobId)field_int(result, i, COL_ID));
        if (!held)
            continue;
        held->rowless = true;
        pglinks_removed(pg, held);
        pgheld_remove(pg, held);
    }
}

void pgparts_sweep(Postgres *pg, const Op *op)
{
    Place place = family_of(op->from);
    int64_t part = (int64_t)(op->id >> PG_PART_SHIFT);
    int64_t swept = swept_until(pg, place, part);
    if (swept < 0 || swept >= (int64_t)op->id)
        return;
    Buf sql = { 0 };
    buf_printf(&sql, "SELECT %s FROM ", pg_all_columns);
    pgparts_gone_name(&sql, place, part);
    buf_add_text(&sql, " WHERE id > $1 AND id <= $2 ORDER BY id");
    param_int(&pg->params, swept);
    param_int(&pg->params, (int64_t)op->id);
    PGresult *result = link_query(&pg->link, buf_cstr(&sql), &pg->params);
    sweep_rows(pg, result, place);
    PQclear(result);
    buf_done(&sql);
    param_family(pg, place);
    param_int(&pg->params, part);
    param_int(&pg->params, (int64_t)op->id);
    link_later(&pg->link,
               "UPDATE pawl.part_gone SET swept = $3 WHERE family = " FAMILY
               " AND part = $2",
               &pg->params);
}

/* OP_SWEPT by itself, outside of any node's commits. */
static Err sweep_page(Postgres *pg, const Op *op, Error *why)
{
    pgheld_forget(pg);
    pglinks_forget(pg);
    link_begin(&pg->link, LINK_WRITE);
    if (pg->stale)
        pgcatalog_drop(&pg->catalog);
    pgcatalog_refresh(&pg->catalog);
    pgparts_sweep(pg, op);
    pgheld_flush(pg);
    pglinks_send(pg);
    pgcatalog_save(&pg->catalog, NO_NODE);
    Err err = link_end(&pg->link, "sweep a part of the archive", why);
    pg->stale = err != ERR_OK;
    pgheld_forget(pg);
    return err;
}

static Err sweep_next(Store *store, JobStates family, bool *out_more, Error *why)
{
    Loaded loaded;
    Load load = { .kind = LOAD_OLD, .states = family };
    *out_more = false;
    Err err = store->kind->load(store, &load, &loaded, why);
    if (err)
        return err;
    if (loaded.gone) {
        Op op = { .kind = OP_SWEPT,
                  .id = loaded.jobs[loaded.count - 1].id,
                  .from = family };
        err = sweep_page(postgres_of(store), &op, why);
        *out_more = true;
    }
    loaded_done(&loaded);
    return err;
}

Err pgparts_sweep_all(Store *store, Error *why)
{
    const JobStates done = STATE_BIT(JOB_DONE);
    const JobStates each[] = { done, STATES_FINAL & ~done };
    Err err = ERR_OK;
    for (size_t i = 0; i < sizeof each / sizeof *each; i++)
        for (bool more = true; more && !err;)
            err = sweep_next(store, each[i], &more, why);
    return err;
}

/* --- Behind a commit ------------------------------------------------------------------
 */

/* One question in a transaction of its own: its answer; -1: there is none, or it failed.
 */
static int64_t ask_brief(Postgres *pg, const char *sql, const char *doing)
{
    Error why = { 0 };
    link_begin(&pg->link, LINK_WRITE);
    link_script(&pg->link, BRIEF);
    PGresult *result = link_query(&pg->link, sql, &pg->params);
    int64_t answer =
        result && !field_is_null(result, 0, 0) ? field_int(result, 0, 0) : -1;
    PQclear(result);
    if (!link_end(&pg->link, doing, &why))
        return answer;
    log_event(LOG_INFO, "store.archive_busy", "why=%s", LOG_QUOTED(why.text));
    return -1;
}

/* Parts may have to be made again. */
static void forget_parts(Postgres *pg)
{
    map_done(&pg->catalog.parts);
    pg->catalog.parts = (Map){ 0 };
}

static bool take_out(Postgres *pg, Place place, int64_t due_ms)
{
    param_family(pg, place);
    param_int(&pg->params, last_passed(due_ms));
    param_int(&pg->params, due_ms + MS_PER_1000_YEARS);
    int64_t part = ask_brief(pg, "SELECT pawl.part_take_out(" FAMILY ", $2, $3)",
                             "take an old part out of the archive");
    forget_parts(pg);
    if (part >= 0)
        log_event(LOG_INFO, "store.archive_part", "gone=%s_%lld", families[place],
                  (long long)part);
    return part >= 0;
}

static void drop_whole(Postgres *pg)
{
    bool asked = pg->swept;
    for (Place place = PLACE_DONE; place < PLACES; place++) {
        int64_t due_ms = pg->drop_due_ms[place];
        asked = asked || due_ms;
        for (int i = 0; due_ms && i < PARTS_AT_ONCE; i++)
            if (!take_out(pg, place, due_ms))
                break;
    }
    if (asked)
        ask_brief(pg, "SELECT pawl.parts_gone_drop(false)", "drop a swept part");
}

/* Before the one that jobs now come into. */
static void drop_empty(Postgres *pg)
{
    const Point *point = points_find(&pg->points, pg->node);
    int64_t now_ms = clock_now().boot_ms;
    bool due = !pg->parts_looked_ms || now_ms - pg->parts_looked_ms >= PARTS_EVERY_MS;
    if (!pg->archive_shrank || !due || !point)
        return;
    pg->archive_shrank = false;
    pg->parts_looked_ms = now_ms;
    param_int(&pg->params, (int64_t)(point->last_id >> PG_PART_SHIFT));
    ask_brief(pg, "SELECT pawl.parts_drop($1)", "drop empty parts");
    forget_parts(pg);
}

void pgparts_tend(Postgres *pg)
{
    drop_empty(pg);
    drop_whole(pg);
}

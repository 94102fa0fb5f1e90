/* SPDX-License-Identifier: Apache-2.0 */
/* schema.c - see schema.h. */
#include "store/postgres/schema.h"

#include "base/log.h"
#include "base/times.h"

#define STEP_MS (10 * MS_PER_MIN) /* tables may be large */

PgSchema pgschema_said(PgLink *link)
{
    PgSchema said = { 0 };
    PGresult *result =
        link_query(link, "SELECT to_regclass('pawl.meta') IS NOT NULL", NULL);
    bool there = result && field_int(result, 0, 0);
    PQclear(result);
    if (!there)
        return said;
    result = link_query(link,
                        "SELECT max(value::int8) FILTER (WHERE key = 'schema'),"
                        " max(value::int8) FILTER (WHERE key = 'schema_oldest')"
                        " FROM pawl.meta WHERE key IN ('schema', 'schema_oldest')",
                        NULL);
    if (result && PQntuples(result)) {
        said.version = (int)field_int(result, 0, 0);
        said.oldest =
            field_is_null(result, 0, 1) ? said.version : (int)field_int(result, 0, 1);
    }
    PQclear(result);
    return said;
}

int pgschema_newest(void)
{
    return postgres_steps[postgres_step_count - 1].version;
}

static void take_step(PgLink *link, const PgStep *step)
{
    Buf sql = { 0 };
    buf_printf(&sql,
               "%s\nINSERT INTO pawl.meta(key, value) VALUES ('schema', '%d'),"
               " ('schema_oldest', '%d')"
               " ON CONFLICT (key) DO UPDATE SET value = excluded.value",
               step->sql, step->version, step->oldest);
    int64_t answer_ms = link->answer_ms;
    link->answer_ms = STEP_MS;
    link_script(link, buf_cstr(&sql));
    link->answer_ms = answer_ms;
    buf_done(&sql);
    if (!link->err)
        log_event(LOG_INFO, "store.schema", "version=%d", step->version);
}

/* One that is newer may still be for this program, too: then nodes of two versions work
 * side by side. */
static Err judge_newer(PgSchema said, Error *why)
{
    if (said.oldest > pgschema_newest())
        return error_set(
            why, ERR_UNSUPPORTED,
            "store: the database has schema %d, this version of pawl knows up to "
            "%d; use a newer pawl",
            said.version, pgschema_newest());
    log_event(LOG_INFO, "store.schema_newer", "version=%d known=%d", said.version,
              pgschema_newest());
    return ERR_OK;
}

Err pgschema_migrate(PgLink *link, Error *why)
{
    link_begin(link, LINK_WRITE);
    link_script(link, "SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0;"
                      "SELECT pg_advisory_xact_lock(1885435756, 0)");
    PgSchema said = pgschema_said(link);
    if (!link->err && !said.version)
        link_script(link, "CREATE SCHEMA IF NOT EXISTS pawl");
    for (size_t i = 0; i < postgres_step_count && !link->err; i++)
        if (postgres_steps[i].version > said.version)
            take_step(link, &postgres_steps[i]);
    Err err = link_end(link, "make its tables", why);
    return !err && said.version > pgschema_newest() ? judge_newer(said, why) : err;
}

Err pgschema_check(PgLink *link, Error *why)
{
    link_begin(link, LINK_READ);
    PgSchema said = pgschema_said(link);
    Err err = link_end(link, "read its version", why);
    if (!err && said.version > pgschema_newest())
        return judge_newer(said, why);
    if (!err && said.version != pgschema_newest())
        err =
            error_set(why, ERR_UNSUPPORTED,
                      "store: the database has schema %d; the daemon must open it first",
                      said.version);
    return err;
}

void pgschema_warn(PgLink *link)
{
    Error why = { 0 };
    link_begin(link, LINK_READ);
    PGresult *result = link_query(
        link,
        "SELECT convert_to(name, 'UTF8') FROM pg_settings WHERE setting = 'off' AND name"
        " IN ('fsync', 'synchronous_commit', 'full_page_writes') ORDER BY name",
        NULL);
    int rows = result ? PQntuples(result) : 0;
    for (int i = 0; i < rows; i++) {
        Slice name = field_bytes(result, i, 0);
        log_event(LOG_WARN, "store.unsafe",
                  "setting=" SLICE_FMT " msg=\"it is off: a crash of the server may lose "
                  "what it has acknowledged\"",
                  SLICE_ARG(name));
    }
    PQclear(result);
    if (link_end(link, "read settings", &why))
        log_event(LOG_WARN, "store.unsafe", "why=%s", LOG_QUOTED(why.text));
}

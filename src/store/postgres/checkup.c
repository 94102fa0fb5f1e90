/* SPDX-License-Identifier: Apache-2.0 */
/* checkup.c - see checkup.h. */
#include "store/postgres/checkup.h"

#include "base/times.h"

#include <stdio.h>
#include <stdlib.h>

#define VERSION_OLDEST   140000
#define VERSION_PARTS    10000
#define SKEW_WARN_MS     1000
#define SKEW_BAD_MS      (60 * MS_PER_S)
#define NODE_CONNECTIONS 8 /* keeper, lease, hints and readers of one node, with room */

/* --- Looking ---------------------------------------------------------------------- */

static void read_settings(PgLink *link, PgFacts *out)
{
    PGresult *result = link_query(
        link,
        "SELECT current_setting('server_version_num')::int8,"
        " current_setting('fsync') = 'on', current_setting('full_page_writes') = 'on',"
        " convert_to(current_setting('synchronous_commit'), 'UTF8'),"
        " current_setting('synchronous_standby_names') <> '',"
        " pg_has_role(current_user, 'pg_read_all_stats', 'USAGE'),"
        " (SELECT count(*) FROM pg_stat_replication"
        "   WHERE sync_state IN ('sync', 'quorum')), pg_backend_pid()",
        NULL);
    if (result && PQntuples(result) == 1) {
        Slice commit = field_bytes(result, 0, 3);
        out->version = field_int(result, 0, 0);
        out->fsync = field_int(result, 0, 1) != 0;
        out->full_page_writes = field_int(result, 0, 2) != 0;
        snprintf(out->synchronous_commit, sizeof out->synchronous_commit, SLICE_FMT,
                 SLICE_ARG(commit));
        out->names_standbys = field_int(result, 0, 4) != 0;
        out->sees_standbys = field_int(result, 0, 5) != 0;
        out->standbys = field_int(result, 0, 6);
        /* A pooler gives its clients numbers of its own. */
        out->pooled = field_int(result, 0, 7) != PQbackendPID(link->conn);
    }
    PQclear(result);
}

/* Of the server, of the role and of the database: the least. Its own is counted as free:
 * it goes with the check. */
static void read_connections(PgLink *link, PgFacts *out)
{
    PGresult *result = link_query(
        link,
        "SELECT 1 + least(current_setting('max_connections')::int8"
        "  - current_setting('superuser_reserved_connections')::int8"
        "  - (SELECT sum(numbackends)::int8 FROM pg_stat_database),"
        " (SELECT rolconnlimit - (SELECT count(*) FROM pg_stat_activity"
        "   WHERE usesysid = r.oid) FROM pg_roles r"
        "   WHERE rolname = current_user AND rolconnlimit >= 0),"
        " (SELECT datconnlimit - numbackends FROM pg_database d"
        "   JOIN pg_stat_database s ON s.datid = d.oid"
        "   WHERE d.datname = current_database() AND datconnlimit >= 0))::int8",
        NULL);
    if (result && PQntuples(result) == 1)
        out->connections_left = field_int(result, 0, 0);
    PQclear(result);
}

static void read_clock(PgLink *link, PgFacts *out)
{
    Now before = clock_now();
    PGresult *result = link_query(
        link, "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::int8", NULL);
    int64_t took_ms = clock_now().boot_ms - before.boot_ms;
    if (result && PQntuples(result) == 1)
        out->skew_ms = field_int(result, 0, 0) - before.wall_ms - took_ms / 2;
    out->unsure_ms = took_ms / 2 + 1;
    PQclear(result);
}

Err pgfacts_read(PgLink *link, PgFacts *out, Error *why)
{
    PgFacts facts = { .schema_known = pgschema_newest() };
    link_begin(link, LINK_READ);
    read_settings(link, &facts);
    read_connections(link, &facts);
    read_clock(link, &facts);
    facts.schema = pgschema_said(link);
    Err err = link_end(link, "read its settings", why);
    if (!err)
        *out = facts;
    return err;
}

/* --- Judging ---------------------------------------------------------------------- */

static void judge_version(const PgFacts *facts, const Findings *findings)
{
    long long major = (long long)(facts->version / VERSION_PARTS);
    long long minor = (long long)(facts->version % VERSION_PARTS);
    Finding finding = finding_good("store-version");
    if (facts->version < VERSION_OLDEST)
        finding =
            (Finding){ HEALTH_BAD, "store-version", "pawl needs PostgreSQL 14 or newer",
                       "upgrade the server (pg_upgrade)" };
    finding_tell(findings, finding, "the store is PostgreSQL %lld.%lld", major, minor);
}

static void judge_durability(const PgFacts *facts, const Findings *findings)
{
    static const char on[] = "ALTER SYSTEM SET fsync = on; SELECT pg_reload_conf();";
    static const char pages[] =
        "ALTER SYSTEM SET full_page_writes = on; SELECT pg_reload_conf();";
    static const char commit[] =
        "ALTER SYSTEM SET synchronous_commit = on; SELECT pg_reload_conf(); (also look "
        "at ALTER ROLE, ALTER DATABASE and the url)";
    if (facts->fsync)
        finding_tell(findings, finding_good("store-fsync"), "fsync is on");
    else
        finding_tell(findings,
                     (Finding){ HEALTH_BAD, "store-fsync",
                                "a crash of its machine may destroy the whole database",
                                on },
                     "fsync is off");
    if (facts->full_page_writes)
        finding_tell(findings, finding_good("store-pages"), "full_page_writes is on");
    else
        finding_tell(findings,
                     (Finding){ HEALTH_BAD, "store-pages",
                                "pages that a crash of its machine has torn cannot be "
                                "mended",
                                pages },
                     "full_page_writes is off");
    Finding found = finding_good("store-commit");
    if (strcmp(facts->synchronous_commit, "off") == 0)
        found = (Finding){ HEALTH_BAD, "store-commit",
                           "a crash of the server loses jobs that it has acknowledged",
                           commit };
    else if (facts->names_standbys && strcmp(facts->synchronous_commit, "local") == 0)
        found = (Finding){ HEALTH_WARNING, "store-commit",
                           "commits do not wait for the standby: a failover loses some",
                           commit };
    finding_tell(findings, found, "synchronous_commit is %s", facts->synchronous_commit);
}

static void judge_standby(const PgFacts *facts, const Findings *findings)
{
    if (!facts->names_standbys) {
        finding_tell(findings,
                     (Finding){ HEALTH_WARNING, "store-standby",
                                "if the server is lost, so is what it alone had",
                                "make a standby and set synchronous_standby_names" },
                     "the server has no synchronous standby");
        return;
    }
    if (!facts->sees_standbys) {
        finding_tell(findings, finding_good("store-standby"),
                     "commits wait for a standby; this user may not see which (GRANT "
                     "pg_read_all_stats)");
        return;
    }
    if (facts->standbys)
        finding_tell(findings, finding_good("store-standby"),
                     "commits wait for a standby; %lld are connected",
                     (long long)facts->standbys);
    else
        finding_tell(
            findings,
            (Finding){ HEALTH_BAD, "store-standby",
                       "every commit waits until one comes back",
                       "start the standby, or empty synchronous_standby_names" },
            "synchronous_standby_names is set, but no such standby is connected");
}

/* Leases count by the server's clock alone; due times and what people read by the
 * node's. */
static void judge_clock(const PgFacts *facts, const Findings *findings)
{
    int64_t apart_ms = llabs(facts->skew_ms) - facts->unsure_ms;
    apart_ms = apart_ms > 0 ? apart_ms : 0;
    Finding finding = finding_good("store-clock");
    if (apart_ms > SKEW_WARN_MS)
        finding = (Finding){ HEALTH_WARNING, "store-clock",
                             "jobs start too early or too late, and times that nodes "
                             "have written do not compare",
                             "timedatectl set-ntp true    (on both machines)" };
    if (apart_ms > SKEW_BAD_MS)
        finding.health = HEALTH_BAD;
    if (apart_ms)
        finding_tell(findings, finding,
                     "the server's clock is %lld ms %s this machine's (within %lld ms)",
                     llabs(facts->skew_ms), facts->skew_ms > 0 ? "ahead of" : "behind",
                     (long long)facts->unsure_ms);
    else
        finding_tell(findings, finding,
                     "the server's clock and this machine's agree within %lld ms",
                     (long long)facts->unsure_ms);
}

static void judge_schema(const PgFacts *facts, const Findings *findings)
{
    Finding finding = finding_good("store-schema");
    int version = facts->schema.version;
    if (!version) {
        finding_tell(
            findings, finding,
            "the database has no tables of pawl yet: the first start makes them");
        return;
    }
    if (facts->schema.oldest > facts->schema_known)
        finding =
            (Finding){ HEALTH_BAD, "store-schema", "this version of pawl cannot use it",
                       "install a newer pawl" };
    else if (version < facts->schema_known)
        finding = (Finding){ HEALTH_WARNING, "store-schema",
                             "what is new in this version needs the newer one",
                             "start a daemon of this version: it brings it up to date" };
    finding_tell(findings, finding, "the schema is version %d, this program knows %d",
                 version, facts->schema_known);
}

static void judge_connections(const PgFacts *facts, const Findings *findings)
{
    Finding finding = finding_good("store-connections");
    if (facts->connections_left < NODE_CONNECTIONS)
        finding = (Finding){ HEALTH_WARNING, "store-connections",
                             "a node uses up to 8; one that gets none cannot renew its "
                             "lease and is given up by the others",
                             "raise max_connections (or the limit of the role or the "
                             "database), or use pgbouncer" };
    finding_tell(findings, finding, "%lld connections to the server are left",
                 (long long)facts->connections_left);
    if (facts->pooled)
        finding_tell(findings, finding_good("store-pooler"),
                     "a pooler (pgbouncer) stands before the server: nodes poll instead "
                     "of listening");
}

void pgfacts_judge(const PgFacts *facts, const Findings *findings)
{
    judge_version(facts, findings);
    judge_schema(facts, findings);
    judge_durability(facts, findings);
    judge_standby(facts, findings);
    judge_clock(facts, findings);
    judge_connections(facts, findings);
}

/* --- Both ------------------------------------------------------------------------- */

bool postgres_is_url(const char *url)
{
    Slice text = slice_text(url);
    return slice_starts(text, SLICE_LITERAL("postgresql://")) ||
           slice_starts(text, SLICE_LITERAL("postgres://"));
}

void postgres_checkup(const char *url, const Findings *findings)
{
    PgLink link = { .url = mem_copy(url, strlen(url) + 1) };
    PgFacts facts;
    Error why = { 0 };
    Err err = link_connect(&link, &why);
    if (!err)
        err = pgfacts_read(&link, &facts, &why);
    if (err)
        finding_tell(findings,
                     (Finding){ HEALTH_BAD, "store",
                                "nodes go on accepting jobs into their journals, but "
                                "none is kept in the store or begun; one that was never "
                                "on it does not get ready",
                                err == ERR_DENIED
                                    ? "look at the url, the user and pg_hba.conf"
                                    : "start the server, or see its log" },
                     "%s", why.text);
    else
        pgfacts_judge(&facts, findings);
    link_close(&link);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - `simcluster [--seeds FROM:COUNT] [--trace] | --museum`: see cluster.h. */
#include "sim/cluster/definitions.h"
#include "sim/cluster/processes.h"
#include "sim/cluster/requests.h"

#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>

#define STORM_STEPS  2500
#define CALM_MS_MAX  (30 * MS_PER_MIN)
#define MUSEUM_SEEDS 1000 /* some show rarely; it ends with the first that shows */
#define USAGE        "usage: simcluster [--seeds FROM:COUNT] [--trace] | --museum\n"

void say(Cluster *cluster, const Member *member, const char *what, JobId id)
{
    char text[ID_TEXT_BYTES];
    if (cluster->print)
        printf("%7lld %s %s %s\n", (long long)(cluster->time_ms - TIME_BEGIN),
               member->sysid, what, id ? id_text(id, text) : "");
}

void violate(Cluster *cluster, const char *invariant, JobId id)
{
    char text[ID_TEXT_BYTES];
    if (cluster->failed)
        return;
    cluster->failed = true;
    snprintf(cluster->failure, sizeof cluster->failure, "%s: %s at %lld", invariant,
             id ? id_text(id, text) : "-", (long long)(cluster->time_ms - TIME_BEGIN));
}

Known *known_job(Cluster *cluster, JobId id)
{
    Known *known = map_find(&cluster->jobs, id);
    if (known)
        return known;
    violate(cluster, "K2: a job that no one sent", id);
    known = MEM_NEW(Known);
    known->id = id;
    map_put(&cluster->jobs, id, known);
    return known;
}

static bool goes_for_ever(Cluster *cluster, const Member *member)
{
    unsigned percent = requests_owed(cluster, member->number) ? 50 : 10;
    return cluster->count - cluster->gone > 1 && rng_percent(&cluster->rng, percent);
}

static void suffer(Cluster *cluster, Member *member)
{
    uint64_t luck = rng_below(&cluster->rng, 2000);
    int64_t long_ms = (int64_t)rng_below(&cluster->rng, 3 * LEASE_MS);
    if (cluster->calm || !member->node || luck >= 20)
        return;
    if (luck < 6 && goes_for_ever(cluster, member)) {
        member_goes(member);
    } else if (luck < 6) {
        member_crash(member, luck < 2);
    } else if (luck < 13) {
        say(cluster, member, "falls asleep", 0);
        member->asleep_until_ms = cluster->time_ms + long_ms;
        cluster->sleeps++;
    } else {
        say(cluster, member, "loses the store", 0);
        member->cut_until_ms = cluster->time_ms + long_ms;
        cluster->cuts++;
    }
}

/* Duties of a live node, in any order; each may be late. */
static void work(Cluster *cluster, Member *member)
{
    if (member->gone || cluster->time_ms < member->asleep_until_ms)
        return;
    if (member->rejoin || (!member->node && cluster->time_ms >= member->restart_ms))
        member_open(member);
    if (!member->node)
        return;
    if (cluster->time_ms >= member->renew_ms)
        member_renew(member);
    switch (rng_below(&cluster->rng, 5)) {
    case 0:
        member_turn(member);
        break;
    case 1:
        member_sync(member);
        break;
    case 2:
        member_release(member);
        break;
    case 3:
        member_ingest(member, 1 + rng_below(&cluster->rng, 4));
        break;
    default:
        member_answer(member);
    }
}

static void check_controllers(Cluster *cluster)
{
    unsigned controllers = 0;
    for (unsigned i = 0; i < cluster->count; i++) {
        bool mine = false;
        Member *member = &cluster->members[i];
        if (!member->node || cluster->time_ms < member->asleep_until_ms ||
            member->peers_due || /* what it knows is of before; its next turn tells */
            cluster->time_ms - TIME_BEGIN + 1 >= member->claims_boot)
            continue;
        (void)node_controller_lock(member->node, &mine);
        controllers += mine;
    }
    if (controllers > 1)
        violate(cluster, "K5: two nodes control", 0);
}

static void one_step(Cluster *cluster)
{
    Member *member = &cluster->members[rng_below(&cluster->rng, cluster->count)];
    suffer(cluster, member);
    work(cluster, member);
    for (unsigned i = 0; i < cluster->count; i++)
        processes_step(&cluster->members[i]);
    if (!cluster->calm && rng_percent(&cluster->rng, 8))
        requests_step(cluster);
    cluster->time_ms += (int64_t)rng_below(&cluster->rng, 25);
    store_memory_clock(cluster->store, cluster->time_ms);
    check_controllers(cluster);
}

static void begin(Cluster *cluster)
{
    cluster->rng.state = cluster->seed * 0x9e3779b97f4a7c15u + 1;
    cluster->time_ms = TIME_BEGIN;
    cluster->count = 2 + (unsigned)rng_below(&cluster->rng, 3);
    cluster->store = store_memory_new();
    store_memory_share(cluster->store);
    store_memory_clock(cluster->store, cluster->time_ms);
    member_definitions(cluster);
    for (unsigned i = 0; i < cluster->count; i++) {
        Member *member = &cluster->members[i];
        member->cluster = cluster;
        member->index = i;
        snprintf(member->sysid, sizeof member->sysid, "node-%u", i + 1);
    }
}

static void run(Cluster *cluster)
{
    begin(cluster);
    for (int i = 0; i < STORM_STEPS && !cluster->failed; i++)
        one_step(cluster);
    cluster->calm = true;
    int64_t until_ms = cluster->time_ms + CALM_MS_MAX;
    while (!cluster->failed && !requests_done(cluster) && cluster->time_ms < until_ms) {
        requests_complete(cluster);
        one_step(cluster);
    }
    if (!cluster->failed && !requests_done(cluster)) {
        requests_unfinished(cluster);
        violate(cluster, "K1: not all have come to their end", 0);
    }
    for (unsigned i = 0; i < cluster->count; i++)
        member_close(&cluster->members[i]);
    requests_free(cluster);
    store_close(cluster->store);
}

static const struct FlawRow {
    const char *name;
    const char *breaks; /* what must be seen broken */
} flaws[FLAWS] = {
    [FLAW_KEYS_BELIEVED] = { "keys-believed", "K7" },
    [FLAW_COMPLETED_TWICE] = { "completed-twice", "K9" },
    [FLAW_HOME_EVERYWHERE] = { "home-everywhere", "K8" },
    [FLAW_OWED_FORGOTTEN] = { "owed-forgotten", "K1:" },
};

static bool run_seed(unsigned long long seed, Flaw flaw, bool print, Cluster *sum)
{
    Cluster *cluster = MEM_NEW(Cluster);
    cluster->seed = seed;
    cluster->print = print;
    cluster->flaw = flaw;
    run(cluster);
    sum->acknowledged += cluster->acknowledged;
    sum->starts += cluster->starts;
    sum->given += cluster->given;
    sum->taken += cluster->taken;
    sum->rejoins += cluster->rejoins;
    sum->crashes += cluster->crashes;
    sum->sleeps += cluster->sleeps;
    sum->cuts += cluster->cuts;
    sum->gone += cluster->gone;
    sum->owed += cluster->owed;
    memcpy(sum->failure, cluster->failure, sizeof sum->failure);
    bool failed = cluster->failed;
    mem_free(cluster);
    return failed;
}

/* Each planted flaw must be found within MUSEUM_SEEDS worlds. */
static int museum(void)
{
    int unseen = 0;
    for (unsigned flaw = FLAW_NONE + 1; flaw < FLAWS; flaw++) {
        Cluster sum = { 0 };
        unsigned long long seed = 1;
        while (seed <= MUSEUM_SEEDS && !run_seed(seed, (Flaw)flaw, false, &sum))
            seed++;
        bool seen = seed <= MUSEUM_SEEDS &&
                    !strncmp(sum.failure, flaws[flaw].breaks, strlen(flaws[flaw].breaks));
        unseen += !seen;
        printf("%-20s %s: seed %llu %s\n", flaws[flaw].name, seen ? "found" : "NOT FOUND",
               seed, sum.failure);
    }
    return unseen != 0;
}

int main(int argc, char **argv)
{
    unsigned long long from = 1;
    unsigned long long count = 1;
    bool print = false;
    Cluster sum = { 0 };
    log_level_set(LOG_OFF);
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--museum"))
            return museum();
        if (!strcmp(argv[i], "--trace"))
            print = true;
        else if (strcmp(argv[i], "--seeds") != 0 || ++i == argc ||
                 sscanf(argv[i], "%llu:%llu", &from, &count) < 1)
            return fprintf(stderr, USAGE), 2;
    }
    for (unsigned long long seed = from; seed < from + count; seed++) {
        if (!run_seed(seed, FLAW_NONE, print, &sum))
            continue;
        printf("seed %llu: %s\n", seed, sum.failure);
        return 1;
    }
    printf("simcluster: %llu seeds, %llu acknowledged, %llu starts, %llu given, "
           "%llu take-overs, %llu new beginnings, %llu crashes, %llu sleeps, %llu cuts, "
           "%u gone for ever that owed %llu\n",
           count, (unsigned long long)sum.acknowledged, (unsigned long long)sum.starts,
           (unsigned long long)sum.given, (unsigned long long)sum.taken,
           (unsigned long long)sum.rejoins, (unsigned long long)sum.crashes,
           (unsigned long long)sum.sleeps, (unsigned long long)sum.cuts, sum.gone,
           (unsigned long long)sum.owed);
    return 0;
}

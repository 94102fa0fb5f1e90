/* SPDX-License-Identifier: Apache-2.0 */
/* processes.c - what a node's launcher does. */
#include "sim/cluster/processes.h"

#include "run/process/process.h"

static RunNews *news_new(RunNewsKind kind, JobId id, uint32_t attempt)
{
    RunNews *news = MEM_NEW(RunNews);
    news->kind = kind;
    news->id = id;
    news->attempt = attempt;
    news->end.progress = -1;
    return news;
}

/* Without a daemon there is no one to tell. */
static void tell(Member *member, RunNews *news)
{
    if (member->node)
        mailbox_put(&member->engine.news, &news->mail);
    else
        run_news_free(news);
}

static void tell_killed(Member *member, const Process *process)
{
    RunNews *news = news_new(RUN_ENDED, process->id, process->attempt);
    news->end.signal = 9;
    tell(member, news);
}

void processes_list(Member *member)
{
    Mailbox *box = &member->engine.news;
    for (size_t i = 0; i < member->process_count; i++) {
        const Process *process = &member->processes[i];
        mailbox_put(box, &news_new(RUN_ADOPTED, process->id, process->attempt)->mail);
    }
    mailbox_put(box, &news_new(RUN_LISTED, 0, 0)->mail);
}

static Process *find(Member *member, JobId id, uint32_t attempt)
{
    for (size_t i = 0; i < member->process_count; i++) {
        Process *process = &member->processes[i];
        if (process->alive && process->id == id && process->attempt == attempt)
            return process;
    }
    return NULL;
}

static void gone(Member *member, Process *process)
{
    Known *known = known_job(member->cluster, process->id);
    member->cluster->licences -= known->licence;
    member->cluster->highlanders -= known->highlander;
    if (member->cluster->running_key[known->key] == known)
        member->cluster->running_key[known->key] = NULL;
    process->alive = false;
    known->runs_on = NULL;
    *process = member->processes[--member->process_count];
}

/* K7 */
static void check_keys(Cluster *cluster, const Known *known)
{
    const Known **running = &cluster->running_key[known->key];
    uint64_t *ran = &cluster->ran_request[known->request];
    if (known->key && *running && *running != known)
        violate(cluster, "K7: another with its key runs", known->id);
    if (known->request && *ran && *ran != known->requested)
        violate(cluster, "K7: another request with its key ran", known->id);
    *running = known;
    *ran = known->requested;
}

/* K8 */
static void check_counts(Cluster *cluster, const Known *known)
{
    cluster->licences += known->licence;
    cluster->highlanders += known->highlander;
    if (cluster->licences > LICENCES)
        violate(cluster, "K8: more licences in use than there are", known->id);
    if (cluster->highlanders > 1)
        violate(cluster, "K8: two instances of a highlander", known->id);
}

void process_start(Member *member, JobId id, uint32_t attempt)
{
    Cluster *cluster = member->cluster;
    Known *known = known_job(cluster, id);
    if (cluster->time_ms >= member->deadline_ms || member->process_count == 256) {
        tell(member, news_new(RUN_LOST, id, attempt));
        return;
    }
    if (known->runs_on)
        violate(cluster, "K3: runs in two places", id);
    known->runs_on = member;
    check_keys(cluster, known);
    check_counts(cluster, known);
    cluster->starts++;
    say(cluster, member, "starts", id);
    member->processes[member->process_count++] =
        (Process){ .id = id,
                   .attempt = attempt,
                   .end_ms = cluster->time_ms + (int64_t)rng_below(&cluster->rng, 4000),
                   .alive = true };
    tell(member, news_new(RUN_STARTED, id, attempt));
}

void process_signal(Member *member, JobId id, uint32_t attempt)
{
    Process *process = find(member, id, attempt);
    if (!process)
        return;
    tell_killed(member, process);
    gone(member, process);
}

void processes_end(Member *member)
{
    while (member->process_count)
        gone(member, &member->processes[0]);
}

/* Some say what is to be done next, which is of a type of which one waits at most. */
static void cause_others(Cluster *cluster, const Known *known, RunNews *news)
{
    if (cluster->calm || known->highlander || !rng_percent(&cluster->rng, 25))
        return;
    buf_add_text(&news->children, "one|next\n");
    news->child_count = 1;
}

/* Ends by themselves, and all at once at the deadline. */
void processes_step(Member *member)
{
    Cluster *cluster = member->cluster;
    bool over = cluster->time_ms >= member->deadline_ms;
    for (size_t i = member->process_count; i-- > 0;) {
        Process *process = &member->processes[i];
        bool ended =
            process->end_ms <= cluster->time_ms && process->end_ms <= member->deadline_ms;
        if (!ended && !over)
            continue;
        Known *known = known_job(cluster, process->id);
        if (ended) {
            RunNews *news = news_new(RUN_ENDED, process->id, process->attempt);
            cluster->completions += known->completion && !known->completed;
            known->completed++;
            cause_others(cluster, known, news);
            tell(member, news);
        } else {
            tell_killed(member, process);
        }
        gone(member, process);
    }
}

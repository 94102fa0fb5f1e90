/* SPDX-License-Identifier: Apache-2.0 */
/* worker.c - pawl worker [options] -- CMD ARG...: a program as a pull worker. */
#include "cli/command.h"

#include "cli/worker.h"

#include "base/json_out.h"
#include "base/times.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define SLOTS_MAX        256
#define LEASE_DEFAULT_MS (30 * MS_PER_S)
#define GRACE_MS         (10 * MS_PER_S)
#define CLAIM_WAIT       "PT2S" /* how soon an idle slot hears that it is to stop */

static Fault usage(const char *hint)
{
    return (Fault){ CLI_USAGE, "usage", hint };
}

static void names(JsonOut *json, const Args *args, const char *option, const char *key)
{
    const char *name;
    size_t at = 0;
    if (!args_next(args, option, &at))
        return;
    json_array(json, key);
    for (at = 0; (name = args_next(args, option, &at));)
        json_cstr(json, NULL, name);
    json_array_end(json);
}

static void claim_body(const Cli *cli, const WorkerPlan *plan, Buf *out)
{
    char host[64] = "worker";
    char worker[96];
    JsonOut json = { .out = out };
    const char *name = args_value(&cli->args, "name");
    if (gethostname(host, sizeof host - 1))
        snprintf(host, sizeof host, "worker");
    snprintf(worker, sizeof worker, "%s:%ld", host, (long)getpid());
    json_object(&json, NULL);
    names(&json, &cli->args, "queue", "queues");
    names(&json, &cli->args, "type", "types");
    json_int(&json, "max", 1);
    json_cstr(&json, "wait", CLAIM_WAIT);
    json_duration(&json, "lease", plan->lease_ms);
    json_cstr(&json, "worker", name ? name : worker);
    json_object_end(&json);
}

/* Until every slot is through: the first signal lets them finish what they have, the
 * second ends them. */
static void oversee(WorkerPlan *plan, int slots, const sigset_t *signals)
{
    const struct timespec look = { .tv_nsec = 100000000 };
    while (plan->ended < slots) {
        int number = sigtimedwait(signals, NULL, &look);
        if (number <= 0)
            continue;
        if (plan->stopping) {
            cli_note("ending at once; leases of jobs in hand lapse");
            plan->giving_up = true;
        } else {
            cli_note("finishing the jobs in hand");
        }
        plan->stopping = true;
    }
}

static void run(WorkerPlan *plan, int slots)
{
    pthread_t threads[SLOTS_MAX];
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &signals, NULL); /* of the threads too */
    signal(SIGPIPE, SIG_IGN);
    for (int i = 0; i < slots; i++)
        if (pthread_create(&threads[i], NULL, worker_run, plan)) {
            cli_note("no thread for slot %d", i + 1);
            slots = i;
        }
    oversee(plan, slots, &signals);
    for (int i = 0; i < slots; i++)
        pthread_join(threads[i], NULL);
}

/* As execvp would look for it. */
static bool is_program(const char *name)
{
    const char *path = getenv("PATH");
    Slice rest = slice_text(path ? path : "/usr/bin:/bin");
    bool found = strchr(name, '/') && access(name, X_OK) == 0;
    while (!strchr(name, '/') && rest.bytes && !found) {
        Buf file = { 0 };
        Slice folder = slice_cut(&rest, ':');
        buf_printf(&file, SLICE_FMT "/%s",
                   SLICE_ARG(folder.bytes ? folder : SLICE_LITERAL(".")), name);
        found = access(buf_cstr(&file), X_OK) == 0;
        buf_done(&file);
    }
    return found;
}

int cmd_worker(Cli *cli)
{
    Error why = { 0 };
    int64_t slots;
    WorkerPlan plan = { .client = &cli->client,
                        .command = cli->args.operands,
                        .grace_ms = GRACE_MS };
    if (!cli->args.operand_count)
        return cli_fail(cli, usage("for example: pawl worker --type scan -- ./scan.py"),
                        "missing program");
    if (args_int(&cli->args, "slots", 1, &slots, &why) ||
        args_duration(&cli->args, "lease", &plan.lease_ms, &why))
        return cli_misused(cli, &why);
    if (slots < 1 || slots > SLOTS_MAX)
        return cli_fail(cli, usage(NULL), "--slots must be 1 to %d", SLOTS_MAX);
    if (plan.lease_ms < 0)
        plan.lease_ms = LEASE_DEFAULT_MS;
    if (!is_program(cli->args.operands[0]))
        return cli_fail(cli, (Fault){ CLI_NO_COMMAND, "no_command", NULL },
                        "there is no program \"%s\" that can be run",
                        cli->args.operands[0]);
    char **command = MEM_ARRAY(char *, cli->args.operand_count + 1);
    memcpy(command, cli->args.operands, cli->args.operand_count * sizeof *command);
    plan.command = command;
    claim_body(cli, &plan, &plan.claim);
    setenv("PAWL_REPLY_FD", "3", 1); /* for the program; here while there is one thread */
    run(&plan, (int)slots);
    buf_done(&plan.claim);
    mem_free(command);
    return plan.failed;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* command.c - see command.h. Their options are in command_options.c. */
#include "cli/command.h"

#include "base/text.h"
#include "cli/command_options.h"

#define COMMANDS_MAX 64

#define ACT_USAGE "ID... | --match QUERY [--dry-run] [--yes]"
#define ACT(verb, what, sample, more)                                                    \
    {                                                                                    \
        .name = verb, .summary = what, .usage = ACT_USAGE, .example = sample,            \
        .detail = more, .options = { match_options }, .need = NEED_SERVER,               \
        .operand = OPERAND_JOBS, .run = cmd_act                                          \
    }

const Command commands[] = {
    {
        .name = "run",
        .summary = "queue a command",
        .usage = "[options] -- CMD ARG...",
        .example = "pawl run -- make -j4 all\n"
                   "pawl run --wait --name nightly -- ./backup.sh /srv",
        .detail =
            "The command runs here (--cwd) with its own environment: only --env adds "
            "to it. On a terminal it tells the job's id and what to do next; "
            "elsewhere it prints the id alone.\n"
            "With --wait its output is copied as it comes, and pawl ends with the "
            "command's own exit code: 128 + N for signal N, 124 when --max-run-time "
            "ended it, 127 when there is no such command, 126 when it cannot be "
            "executed, 125 when pawl itself failed. "
            "Ctrl-C stops the waiting, not the job.\n"
            "When no daemon answers, a private one is started for you.",
        .options = { run_options, job_options },
        .need = NEED_OR_START,
        .operand = OPERAND_FILES,
        .first_ends = true,
        .run = cmd_run,
    },
    {
        .name = "map",
        .summary = "run a command once for every argument, and wait",
        .usage = "[options] -- CMD [ARG...] ::: ARGUMENT... | < LINES",
        .example = "pawl map -- gzip {} ::: a.log b.log\n"
                   "ls *.wav | pawl map -q encode -- lame {} {}.mp3",
        .detail =
            "One job per argument (or per line of standard input), all in one group; {} "
            "stands for the argument, which comes last if there is no {}. Shows how far "
            "they are until all have ended: 0 when all are done, 10 when one failed or "
            "was "
            "rejected, 11 when one was cancelled. Ctrl-C stops the looking, not the "
            "jobs: "
            "pawl ls group:NAME finds them.",
        .options = { run_options, job_options },
        .need = NEED_OR_START,
        .operand = OPERAND_FILES,
        .first_ends = true,
        .run = cmd_map,
    },
    {
        .name = "add",
        .summary = "queue a job of a type, or many",
        .usage = "TYPE [PAYLOAD | - | @FILE] [options]",
        .example = "pawl add mail.send '{\"to\":\"ann@example.org\"}'\n"
                   "pawl add thumbnail --ndjson jobs.ndjson",
        .detail =
            "The payload is text, what standard input gives (-), or a file (@FILE). "
            "With --ndjson each line is one job object as the API takes it; TYPE and "
            "the options fill in what a line leaves out. With TYPE, a line "
            "of other JSON (a text, a number) is the payload itself; a line that is "
            "no JSON is refused. With --wait the job's result is printed, and each "
            "attempt that fails is told.",
        .options = { add_options, job_options },
        .need = NEED_OR_START,
        .operand = OPERAND_FILES,
        .run = cmd_add,
    },
    {
        .name = "ls",
        .summary = "list jobs, newest first",
        .usage = "[QUERY] [--limit N | --all]",
        .example =
            "pawl ls state:failed,rejected created:>-2h\npawl ls queue:mail -tag:test",
        .detail = "pawl help queries tells what a query may say.",
        .options = { ls_options },
        .need = NEED_SERVER,
        .terms = true,
        .run = cmd_ls,
    },
    {
        .name = "show",
        .summary = "tell everything about a job",
        .usage = "ID...",
        .example = "pawl show last",
        .need = NEED_SERVER,
        .operand = OPERAND_JOBS,
        .run = cmd_show,
    },
    {
        .name = "logs",
        .summary = "print what a job has written",
        .usage = "[-f] [--stdout | --stderr] [--attempt N] ID",
        .example = "pawl logs -f last",
        .detail = "Byte for byte: its standard output to standard output, its standard "
                  "error to standard error. Ctrl-C stops following, not the job.",
        .options = { logs_options },
        .need = NEED_SERVER,
        .operand = OPERAND_JOBS,
        .run = cmd_logs,
    },
    {
        .name = "wait",
        .summary = "wait until jobs have ended",
        .usage = "ID... | --match QUERY  [--timeout DURATION]",
        .example = "pawl wait last --timeout 10m",
        .detail = "Ends with 0 when all are done, 10 when one failed or was rejected, 11 "
                  "when one was cancelled, 124 when the time is up.",
        .options = { wait_options },
        .need = NEED_SERVER,
        .operand = OPERAND_JOBS,
        .run = cmd_wait,
    },
    {
        .name = "import",
        .summary = "add the jobs of a journal in text form, or fill a store",
        .usage = "--journal FILE | --all FILE",
        .example = "pawl import --journal old.journal\n"
                   "pawl import --all jobs.export --store postgresql:///pawl",
        .detail =
            "--journal: lines id|type|payload or time|type|payload, and batches "
            "(#:Batch, its "
            "bytes, "
            "#:EndBatch); other lines that begin with # are passed over. A type "
            "acme-mail is type mail of tenant acme. The whole file is checked first. "
            "Running it again within 24 hours adds nothing twice, and goes on where it "
            "stopped.\n\n"
            "--all: what pawl export --all wrote, all of it or nothing, into an empty "
            "store (or any with --replace). No daemon may use the store; it and --data "
            "are named as for pawl serve.",
        .options = { import_options },
        .need = NEED_NOTHING, /* --journal connects itself */
        .operand = OPERAND_NONE,
        .run = cmd_import,
    },
    {
        .name = "export",
        .summary = "print jobs as a journal in text form, or save the whole store",
        .usage = "--journal [QUERY] | --all FILE",
        .example = "pawl export --journal > jobs.journal\n"
                   "pawl export --all jobs.export",
        .detail =
            "--journal: oldest first; without a QUERY (pawl help queries) all that have "
            "not ended. --tenant '*' takes those of all tenants.\n\n"
            "--all: everything in the store, for pawl import --all into one of any kind. "
            "No daemon may use the store; it and --data are named as for pawl serve.",
        .options = { export_options },
        .need = NEED_NOTHING, /* --journal connects itself */
        .terms = true,
        .run = cmd_export,
    },
    {
        .name = "tenant",
        .summary = "show whose jobs there are, and set up tenants",
        .usage = "ls | show NAME | set NAME OPTION | rm NAME",
        .example = "pawl tenant set acme --segregate-types",
        .detail =
            "A tenant is there as soon as it has a job, a handler or a setting; rm "
            "gives it its defaults back and leaves its jobs alone. What is set holds "
            "for jobs that are added from then on.",
        .options = { tenant_options },
        .need = NEED_SERVER,
        .operand = OPERAND_WORDS,
        .operand_words = "ls show set rm",
        .run = cmd_tenant,
    },
    {
        .name = "token",
        .summary = "make, list and revoke tokens",
        .usage = "ls | create NAME --scopes S,S [--tenant T] | revoke NAME",
        .example = "pawl token create ci --scopes read,enqueue --tenant acme",
        .detail =
            "Without tokens the daemon serves its own user and root alone. From the "
            "first one on every request over TCP needs one; the Unix socket stays open "
            "to that user and root. A token is of one tenant (default: default; with "
            "the scope admin: all), --tenant '*' makes one for all. The secret is "
            "printed once and kept nowhere.",
        .options = { token_options },
        .need = NEED_SERVER,
        .operand = OPERAND_WORDS,
        .operand_words = "ls create revoke",
        .run = cmd_token,
    },
    {
        .name = "audit",
        .summary = "show who changed what",
        .usage = "[options]",
        .example = "pawl audit --kind token",
        .options = { audit_options },
        .need = NEED_SERVER,
        .run = cmd_audit,
    },
    {
        .name = "status",
        .summary = "show on one screen how things are",
        .usage = "",
        .example = "pawl status",
        .need = NEED_SERVER,
        .run = cmd_status,
    },
    {
        .name = "top",
        .summary = "jobs, queues and rates, live on the whole terminal",
        .usage = "",
        .example = "pawl top",
        .detail =
            "Running jobs come first. Keys: arrows or j and k choose a row; p pauses or "
            "resumes the job or, in the view of queues, the queue; h holds or "
            "releases; c cancels and K kills, after a question; 1 and 2 are the "
            "views; q leaves.",
        .need = NEED_SERVER,
        .operand = OPERAND_NONE,
        .run = cmd_top,
    },
    {
        .name = "explain",
        .summary = "say why a job is, or is not, running",
        .usage = "ID",
        .example = "pawl explain last",
        .need = NEED_SERVER,
        .operand = OPERAND_JOBS,
        .run = cmd_explain,
    },
    ACT("cancel", "end jobs: politely first, then by force", "pawl cancel last", NULL),
    ACT("kill", "end jobs by force at once", "pawl kill last", NULL),
    ACT("hold", "keep waiting jobs from starting",
        "pawl hold --match 'queue:mail state:ready' --yes", NULL),
    ACT("release", "let held jobs go on", "pawl release last", NULL),
    ACT("pause", "stop the processes of running jobs for now", "pawl pause last", NULL),
    ACT("resume", "let paused and halted jobs go on", "pawl resume last", NULL),
    ACT("halt", "end running jobs, to go on from their own progress later",
        "pawl halt last", NULL),
    {
        .name = "retry",
        .summary = "run ended or waiting jobs again, now",
        .usage = ACT_USAGE,
        .example = "pawl retry --match 'state:rejected type:mail.*' --dry-run",
        .detail = "A job that is to run after others waits for them again. Jobs that "
                  "were cancelled because a job before them failed come back when that "
                  "one is retried.",
        .options = { retry_options, match_options },
        .need = NEED_SERVER,
        .operand = OPERAND_JOBS,
        .run = cmd_act,
    },
    ACT("rm", "remove jobs and everything kept of them", "pawl rm last",
        "A job that has not ended is cancelled first."),
    {
        .name = "set",
        .summary = "change jobs that wait",
        .usage = "ID... | --match QUERY  [--priority N] [--queue Q] [--at TIME]",
        .example = "pawl set last --priority 9",
        .options = { set_options, match_options },
        .need = NEED_SERVER,
        .operand = OPERAND_JOBS,
        .run = cmd_set,
    },
    {
        .name = "operation",
        .summary = "actions on many jobs (--match) that go on by themselves",
        .usage = "ls | show ID | wait ID | stop ID",
        .example = "pawl operation ls",
        .detail = "An operation goes on without the command that began it, after a "
                  "restart of the daemon, too. stop ends it where it is: what was done "
                  "stays done.",
        .need = NEED_SERVER,
        .operand = OPERAND_WORDS,
        .operand_words = "ls show wait stop",
        .run = cmd_operation,
    },
    {
        .name = "handler",
        .summary = "show and change what runs the jobs of a type",
        .usage = "ls | set TYPE [BODY | - | --file FILE] | VERB TYPE",
        .example = "pawl handler set resize --lang sh --file resize.sh --retries 3\n"
                   "pawl handler set count --lang exec -- wc -c\n"
                   "pawl handler rollback resize",
        .detail =
            "Each set makes a new version, which jobs that start from then on use; jobs "
            "that run keep theirs. What is not named stays, the body too; a new one has "
            "defaults for it. The payload is on the job's standard input.\n"
            "VERB is get, rm, versions, enable, disable (its jobs wait), test TYPE "
            "[PAYLOAD | -]: one run with this payload, nothing is kept; or rollback TYPE "
            "[VERSION]: an older version becomes the newest one, the one before if none "
            "is named. That undoes rm, too.",
        .options = { handler_options },
        .need = NEED_SERVER,
        .operand = OPERAND_WORDS,
        .operand_words = "ls get set rm versions rollback test enable disable",
        .run = cmd_handler,
    },
    {
        .name = "events",
        .summary = "what happened to jobs lately, or happens now",
        .usage = "[-f]",
        .example = "pawl events -f",
        .detail =
            "One line for each change: when, added, started, finished or changed, the "
            "job, its state and its type. --json prints CloudEvents, one per line. The "
            "daemon keeps the last 16,384 changes since its start. On a shared store "
            "all nodes are heard.",
        .options = { events_options },
        .need = NEED_SERVER,
        .operand = OPERAND_NONE,
        .run = cmd_events,
    },
    {
        .name = "worker",
        .summary = "let a program do jobs of pull handlers",
        .usage = "[options] -- CMD ARG...",
        .example = "pawl worker --type thumbnail --slots 4 -- ./thumbnail.py",
        .detail =
            "The program is started once for each slot and stays. For each job it reads "
            "one line from its standard input, the job as a JSON object, and answers on "
            "descriptor 3 (PAWL_REPLY_FD) with a line `R: ID CODE result`: 200 done, 1xx "
            "again, 4xx failed, 5xx error. `R: ID CODE <<N` is followed by N bytes. `P: "
            "ID "
            "45 message` tells progress, `J: ID type|payload` adds a job with the "
            "result. "
            "The lease is renewed meanwhile; a job that is cancelled ends the program, "
            "which is then started anew.\n"
            "SIGTERM lets each slot finish the job in hand; the program then sees the "
            "end "
            "of its input. A second signal ends everything at once.",
        .options = { worker_options },
        .need = NEED_SERVER,
        .operand = OPERAND_FILES,
        .first_ends = true,
        .run = cmd_worker,
    },
    {
        .name = "schedule",
        .summary = "jobs that are added by the clock",
        .usage = "ls | add NAME --cron TIMES [-- CMD] | set NAME | VERB NAME",
        .example = "pawl schedule add nightly --cron '30 2 * * 1-5' --type etl\n"
                   "pawl schedule add tidy --cron @daily --tz Europe/Paris -- ./tidy.sh\n"
                   "pawl schedule preview nightly",
        .detail =
            "TIMES are five fields (minute, hour, day of month, month, day of week), "
            "@hourly, @daily, @weekly, @monthly, @yearly, or @every DURATION. Each "
            "planned time adds one job, which shows the schedule's name (pawl ls "
            "schedule:NAME).\n"
            "add refuses a name that is there already; set changes what its options "
            "name and leaves the rest.\n"
            "VERB is show, rm, pause, resume, trigger (add its job now) or preview.",
        .options = { schedule_options },
        .need = NEED_SERVER,
        .operand = OPERAND_WORDS,
        .operand_words = "ls show add set rm pause resume trigger preview",
        .run = cmd_schedule,
    },
    {
        .name = "queue",
        .summary = "show and change queues",
        .usage = "ls | set NAME [options] | show|pause|resume|clear|rm NAME",
        .example = "pawl queue set mail --slots 2 --rate 10/s\n"
                   "pawl queue pause mail --reason upgrade --for 1h\n"
                   "pawl queue clear mail",
        .detail =
            "A queue comes into being when it is first used; set gives it limits, "
            "and `none` as a value takes one back. What is not named stays. pause "
            "lets running jobs go on. clear cancels everything that waits in it, and "
            "asks first on a terminal. rm "
            "forgets its definition, not its jobs.",
        .options = { queue_options },
        .need = NEED_SERVER,
        .operand = OPERAND_WORDS,
        .operand_words = "ls show set pause resume clear rm",
        .run = cmd_queue,
    },
    {
        .name = "resource",
        .summary = "show and change scarce things that jobs share",
        .usage = "ls | show KEY | set KEY [options] | rm KEY",
        .example = "pawl resource set licence --list a,b,c\n"
                   "pawl resource set memory --quantity 64\n"
                   "pawl resource ls",
        .detail =
            "A job names what it needs with --resource KEY=N; a queue can charge all "
            "its jobs. What does not fit waits. Items of a list are given to jobs by "
            "name, in PAWL_RESOURCE_KEY_ITEMS. set changes what its options name and "
            "leaves the rest; changes take effect at once and take nothing from jobs "
            "that run.",
        .options = { resource_options },
        .need = NEED_SERVER,
        .operand = OPERAND_WORDS,
        .operand_words = "ls show set rm",
        .run = cmd_resource,
    },
    {
        .name = "stats",
        .summary = "how much was done, and how fast",
        .usage = "[--by KIND] [--last PERIOD]",
        .example = "pawl stats --by priority\npawl stats --by queue --last day",
        .detail = "Jobs added, attempts started and finished, finished ones per minute, "
                  "those that did not end well, and how long jobs waited and ran on "
                  "average.",
        .options = { stats_options },
        .need = NEED_SERVER,
        .run = cmd_stats,
    },
    {
        .name = "node",
        .summary = "the nodes of the store: what they do, draining them",
        .usage = "ls | show|drain|resume|forget SYSID | set SYSID [options]",
        .example = "pawl node ls\npawl node drain a1b2c3 --wait --reason 'new disk'\n"
                   "pawl node resume a1b2c3",
        .detail =
            "SYSID is a node's name or the unique beginning of it, or `self`. A "
            "drained node finishes what runs, starts nothing more, gives what waits "
            "to other nodes and says 503 at /readyz; it stays so over restarts until "
            "it is resumed. set changes its slots, and those of queues on it; `none` "
            "takes a value back. forget leaves out one that is lost and will not come "
            "back; should it come, it is there again.",
        .options = { node_options },
        .need = NEED_SERVER,
        .operand = OPERAND_WORDS,
        .operand_words = "ls show drain resume set forget",
        .run = cmd_node,
    },
    {
        .name = "config",
        .summary = "show and change settings",
        .usage = "show | get [KEY...] | set KEY=VALUE | import FILE | export",
        .example = "pawl config set max_concurrent_jobs=8\npawl config show --origin",
        .detail =
            "show tells every value that is in force in the daemon, and with --origin "
            "where it comes from: file and line, environment, option, default, or "
            "pawl config set. Without a daemon: what one that is started now would "
            "have. set changes a setting at once and keeps it: it wins over the file "
            "until it is set to null. A setting may be named as in the file "
            "(daemon.slots) or as the API does (max_concurrent_jobs). export prints "
            "the settings as a <batch-config> XML document, and import takes one, or "
            "part of one.",
        .options = { config_options },
        .operand = OPERAND_WORDS,
        .operand_words = "show get set import export",
        .run = cmd_config,
    },
    {
        .name = "processor",
        .summary = "directories whose files are work: make, show and signal them",
        .usage = "ls | create NAME [-- CMD...] | status|SIGNAL NAME [UNIT]",
        .example = "pawl processor create ocr --command 'ocr.sh \"$PAWL_INPUT\" > "
                   "\"$PAWL_OUTPUT\"'\n"
                   "pawl processor status ocr\n"
                   "pawl processor process ocr page-17 --wait 1m",
        .detail =
            "Whatever is renamed into input/work of the processor's directory is a unit "
            "of work, file or directory. It moves to input/active while the command runs "
            "with PAWL_UNIT, PAWL_INPUT and PAWL_OUTPUT, then to input/processed, and "
            "its "
            "output to output/finished; or both to failed.\n"
            "SIGNAL is start-monitor, stop-monitor (take units or not), start-forwarder, "
            "stop-forwarder, reset-active, reset-processed, reset-all, process, "
            "process-all, re-process, re-process-all, purge, purge-all, pause, "
            "pause-all, "
            "resume, resume-all, halt, halt-all, identify, or destroy. NAME may be "
            "several with commas, or an id.",
        .options = { processor_options },
        .need = NEED_SERVER,
        .operand = OPERAND_WORDS,
        .operand_words = "ls status create start-monitor stop-monitor start-forwarder "
                         "stop-forwarder reset-active reset-processed reset-all process "
                         "process-all re-process re-process-all purge purge-all pause "
                         "pause-all resume resume-all halt halt-all identify destroy",
        .run = cmd_processor,
    },
    {
        .name = "parts",
        .summary = "inside a job: work in parts, and go on after the last whole one",
        .usage = "run -- CMD | begin NAME | finish NAME FILE | output | ls",
        .example = "pawl parts run -- fetch-page {} < \"$PAWL_INPUT\"",
        .detail =
            "run takes each line of its standard input for a part and runs the command "
            "for those that are not done, with the name in place of {} or behind it. "
            "What "
            "a command prints is added to one cumulative file, whole or not at all; when "
            "all are done the file is copied to $PAWL_OUTPUT. Killed at any moment and "
            "started again it goes on after the last whole part. The first command that "
            "fails ends it, with the same exit code.\n"
            "Commands of another kind say begin NAME (exits 1 if the part is done), "
            "finish NAME FILE (- is standard input) when all of it is in the file, and "
            "output at the end.",
        .options = { parts_options },
        .need = NEED_NOTHING,
        .operand = OPERAND_WORDS,
        .operand_words = "run begin finish output ls",
        .run = cmd_parts,
    },
    {
        .name = "doctor",
        .summary = "check the daemon, its store and this machine",
        .usage = "[options]",
        .example = "pawl doctor",
        .detail =
            "Nothing is changed. Ends with 1 when something is bad; warnings are no "
            "failure.\nA daemon of another user: as that user, or as root.",
        .options = { doctor_options },
        .need = NEED_NOTHING,
        .run = cmd_doctor,
    },
    {
        .name = "serve",
        .summary = "run the daemon",
        .usage = "[options]",
        .example = "pawl serve --data ./data",
        .options = { serve_options },
        .run = cmd_serve,
    },
    {
        .name = "completion",
        .summary = "print the completion script of a shell",
        .usage = "bash | zsh | fish",
        .example = "source <(pawl completion bash)",
        .operand = OPERAND_WORDS,
        .operand_words = "bash zsh fish",
        .run = cmd_completion,
    },
    {
        .name = "version",
        .summary = "print the version",
        .usage = "",
        .example = "pawl version --json",
        .run = cmd_version,
    },
    {
        .name = "help",
        .summary = "say what a command does",
        .usage = "[COMMAND | TOPIC]",
        .example = "pawl help run\npawl help times",
        .detail = "Topics: times, queries, exit-codes, environment.",
        .operand = OPERAND_WORDS,
        .operand_words = "times queries exit-codes environment",
        .run = cmd_help,
    },
    {
        .name = "__complete",
        .summary = "what can stand here, one per line",
        .usage = "jobs",
        .example = "pawl __complete jobs",
        .need = NEED_SERVER,
        .hidden = true,
        .run = cmd_complete,
    },
    {
        .name = "__man",
        .summary = "a man page as roff",
        .usage = "[COMMAND | list]",
        .example = "pawl __man run",
        .hidden = true,
        .run = cmd_man,
    },
    { 0 },
};

const Command *command_find(const char *name)
{
    for (const Command *command = commands; command->name; command++)
        if (strcmp(command->name, name) == 0)
            return command;
    return NULL;
}

/* What other programs call it. */
static const char *command_meant(const char *name)
{
    static const struct {
        const char *word;
        const char *command;
    } rows[] = {
        { "list", "ls" },       { "jobs", "ls" },       { "ps", "ls" },
        { "submit", "run" },    { "exec", "run" },      { "enqueue", "add" },
        { "push", "add" },      { "delete", "rm" },     { "remove", "rm" },
        { "stop", "cancel" },   { "abort", "cancel" },  { "tail", "logs" },
        { "log", "logs" },      { "cat", "logs" },      { "info", "show" },
        { "describe", "show" }, { "why", "explain" },   { "start", "serve" },
        { "daemon", "serve" },  { "cron", "schedule" }, { "requeue", "retry" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].word, name) == 0)
            return rows[i].command;
    return NULL;
}

const char *command_nearest(const char *name)
{
    const char *meant = command_meant(name);
    if (meant)
        return meant;
    const char *names[COMMANDS_MAX + 1] = { NULL };
    size_t count = 0;
    for (const Command *command = commands; command->name; command++)
        if (!command->hidden && count < COMMANDS_MAX)
            names[count++] = command->name;
    return nearest_word(slice_text(name), names);
}

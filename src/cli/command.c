/* SPDX-License-Identifier: Apache-2.0 */
/* command.c - see command.h. Options that several commands take are said once. */
#include "cli/command.h"

#include "base/text.h"

#define COMMANDS_MAX 64

const Option global_options[] = {
    { "server", 0, "URL|unix:PATH",
      "the daemon to ask (default: $PAWL_SERVER, the socket "
      "in the data directory, http://127.0.0.1:7420)" },
    { "data", 0, "DIR",
      "the data directory (default: $PAWL_DATA, $XDG_STATE_HOME/pawl, "
      "~/.local/state/pawl)" },
    { "token-file", 0, "FILE", "a file with the token (default: $PAWL_TOKEN)" },
    { "ca", 0, "FILE",
      "certificates to trust for https (default: $PAWL_CA, the system's)" },
    { "tenant", 0, "NAME",
      "whose jobs; '*' is everyone's (default: $PAWL_TENANT, default)" },
    { "json", 0, NULL, "one JSON document on stdout; errors as one on stderr" },
    { "help", 'h', NULL, "say what the command does" },
    { 0 },
};

static const Option job_options[] = {
    { "queue", 'q', "QUEUE", "the queue (default: default)" },
    { "priority", 'p', "N", "larger first (default: 5)" },
    { "at", 0, "TIME", "not before: 18:30, tomorrow 9:00, 2030-01-31T08:00, +90m" },
    { "in", 0, "DURATION", "not before that long from now: 90s, 1h30m" },
    { "after", 0, "IDS", "when these jobs are done: ID,ID or ID:any, ID:fail" },
    { "group", 0, "NAME", "one of the jobs of this group" },
    { "unique", 0, "KEY", "refuse it while another job with this key is not over" },
    { "on-conflict", 0, "WHAT", "with --unique: reject, ignore or replace" },
    { "retries", 0, "N", "how often to try again" },
    { "retry-delay", 0, "DURATION", "how long to wait before that" },
    { "max-run-time", 0, "DURATION", "end it when it runs longer" },
    { "name", 0, "TEXT", "a name for people" },
    { "tag", 't', "TAG", "a tag; may stand several times" },
    { "env", 0, "NAME=VALUE", "a variable for the job; may stand several times" },
    { "resource", 0, "KEY=N", "what it needs while it runs; may stand several times" },
    { "user", 0, "USER", "run it as this user, if the node's policy allows it" },
    { "then", 0, "TYPE", "when it is done, queue a job of this type with its result" },
    { "on-error", 0, "TYPE", "when it fails, queue a job of this type" },
    { "held", 0, NULL, "hold it until it is released" },
    { "protocol", 0, NULL, "obey J:, P: and R: lines of its output" },
    { "wait", 'w', NULL, "wait for its end" },
    { 0 },
};

static const Option run_options[] = {
    { "cwd", 0, "DIR", "where it runs (default: here)" },
    { "stdin", 0, "FILE", "what it reads from its standard input; - is this one's" },
    { 0 },
};

static const Option add_options[] = {
    { "ndjson", 0, "FILE", "one job object per line; - is standard input" },
    { "control", 0, "FILE", "a <batch-job> document" },
    { 0 },
};

static const Option ls_options[] = {
    { "limit", 'n', "N", "at most so many (default: 50)" },
    { "all", 'a', NULL, "all of them" },
    { 0 },
};

static const Option import_options[] = {
    { "journal", 0, "FILE", "a journal of batches and lines, or - for standard input" },
    { 0 },
};

static const Option export_options[] = {
    { "journal", 0, NULL, "as lines time|tenant-type|payload, and batches" },
    { 0 },
};

static const Option tenant_options[] = {
    { "segregate-types", 0, NULL, "set: each type of its jobs has its own turn" },
    { "together", 0, NULL, "set: the types of a queue take turns by age (the default)" },
    { "max-queued", 0, "N", "set: jobs that may wait (0: any number)" },
    { "max-running", 0, "N", "set: jobs that may run at once" },
    { "max-requests", 0, "N", "set: requests of its tokens per second" },
    { 0 },
};

static const Option audit_options[] = {
    { "who", 0, "WHO", "token:NAME or uid:N" },
    { "action", 0, "WORD", "put, delete, cancel, ..." },
    { "kind", 0, "KIND", "queue, handler, job, token, ..." },
    { "target", 0, "NAME|ID", "of which it was" },
    { "limit", 'n', "N", "at most so many (default: 50)" },
    { 0 },
};

static const Option token_options[] = {
    { "scopes", 0, "S,S...", "create: read, enqueue, work, operate, admin" },
    { "expires", 0, "DURATION", "create: how long it holds (default: for ever)" },
    { 0 },
};

static const Option logs_options[] = {
    { "follow", 'f', NULL, "go on as the job writes, until it ends" },
    { "stdout", 0, NULL, "only its standard output" },
    { "stderr", 0, NULL, "only its standard error (to this one's standard output)" },
    { "attempt", 0, "N", "of this attempt (default: the last)" },
    { 0 },
};

static const Option wait_options[] = {
    { "timeout", 0, "DURATION", "give up after that long, with exit code 124" },
    { "match", 0, "QUERY", "every job that matches now (pawl help queries)" },
    { 0 },
};

static const Option processor_options[] = {
    { "command", 'c', "TEXT", "create: what sh runs for each unit" },
    { "type", 0, "TYPE", "create: run this handler instead" },
    { "slots", 0, "N", "create: units at the same time (default: 1)" },
    { "dir", 0, "DIR", "create: where (default: processors/NAME in the data directory)" },
    { "cwd", 0, "DIR", "create: where the command runs (default: here)" },
    { "env", 0, "NAME=VALUE", "create: a variable; may stand several times" },
    { "priority", 'p', "N", "create: of its jobs (default: 5)" },
    { "retries", 0, "N", "create: how often to try a unit again (default: 0)" },
    { "retry-delay", 0, "DURATION", "create: how long to wait before that" },
    { "max-run-time", 0, "DURATION", "create: end a unit that takes longer" },
    { "forward", 0, "TO,TO...",
      "create: a forwarder and where it sends: NAME, ssh:HOST:NAME, rsync://HOST/MODULE; "
      "may stand several times" },
    { "mode", 0, "MODE", "create: all, round-robin, hash or least-loaded" },
    { "bandwidth", 0, "N", "create: KiB per second of a transfer" },
    { "ssh", 0, "COMMAND", "create: ssh with its options" },
    { "start-forwarder", 0, NULL, "create: forward from the beginning" },
    { "wait", 'w', "DURATION", "process: wait for the end of the work" },
    { "next", 0, "PROCESSOR", "process: then signal this one (name or id)" },
    { "all", 'a', NULL, "a signal for every processor" },
    { "yes", 'y', NULL, "do not ask" },
    { 0 },
};

static const Option parts_options[] = {
    { "dir", 0, "DIR", "where they are kept (default: $PAWL_STATE_DIR)" },
    { 0 },
};

static const Option match_options[] = {
    { "match", 0, "QUERY",
      "every job that matches (pawl help queries), as an operation" },
    { "dry-run", 0, NULL, "only say which" },
    { "yes", 'y', NULL, "do not ask" },
    { 0 },
};

static const Option set_options[] = {
    { "priority", 'p', "N", "larger first" },
    { "queue", 'q', "QUEUE", "move it to this queue" },
    { "at", 0, "TIME", "not before" },
    { "in", 0, "DURATION", "not before that long from now" },
    { "max-run-time", 0, "DURATION", "end it when it runs longer" },
    { "tag", 't', "TAG", "these tags instead of its own; may stand several times" },
    { 0 },
};

static const Option queue_options[] = {
    { "slots", 0, "N", "set: running at once on each node" },
    { "priority-min", 0, "N", "set: the lowest priority it takes" },
    { "priority-max", 0, "N", "set: the highest priority it takes" },
    { "default-priority", 0, "N", "set: of jobs that say none" },
    { "policy", 0, "POLICY", "set: fair, skip or backfill" },
    { "rate", 0, "N/UNIT", "set: how many may start: 10/s, 5/min, 100/h" },
    { "aging", 0, "POINTS", "set: priority gained per minute of waiting" },
    { "resources", 0, "KEYS", "set: managers that charge every job, with commas" },
    { "nice", 0, NULL, "set: low priorities run with a high niceness" },
    { "no-nice", 0, NULL, "set: undo --nice" },
    { "reason", 0, "TEXT", "pause: why, for those who ask" },
    { "for", 0, "DURATION", "pause: it goes on by itself after that" },
    { 0 },
};

static const Option resource_options[] = {
    { "kind", 0, "KIND", "set: quantity (default), discrete or highlander" },
    { "quantity", 'n', "N", "set: how many units there are (default: 10)" },
    { "list", 0, "ITEMS", "set: the items by name, with commas" },
    { "consumption", 0, "N", "set: what a job takes that says nothing" },
    { "scope", 0, "SCOPE", "set: node (default) or cluster" },
    { 0 },
};

static const Option handler_options[] = {
    { "lang", 'l', "LANG",
      "set: exec, sh, bash, http, pull or a language (default: sh)" },
    { "file", 'f', "FILE", "set: the body is in this file" },
    { "queue", 'q', "QUEUE", "the queue of jobs that name none" },
    { "priority", 'p', "N", "the priority of jobs that name none" },
    { "retries", 0, "N", "how often to try again" },
    { "retry-delay", 0, "DURATION", "how long to wait before that" },
    { "retry-window", 0, "DURATION", "when to give up: 6h, or none" },
    { "max-run-time", 0, "DURATION", "end a job when it runs longer" },
    { "service-time", 0, "DURATION", "how long a job usually runs" },
    { "then", 0, "TYPE", "queue a job of this type with each result" },
    { "on-error", 0, "TYPE", "queue a job of this type for each failure" },
    { "env", 0, "NAME=VALUE", "a variable for its jobs; may stand several times" },
    { "cwd", 0, "DIR", "where its jobs run" },
    { "resource", 0, "KEY=N", "what each job needs; may stand several times" },
    { "highlander", 0, NULL, "at most one of its jobs runs at a time" },
    { "exit-map", 0, "STATUS=CODE",
      "what an exit status means; may stand several times" },
    { "header", 0, "NAME=VALUE", "http: a header of its calls; may stand several times" },
    { "immediate-children", 0, NULL, "add jobs of J: lines at once" },
    { "no-result", 0, NULL, "do not keep results" },
    { "keep-state", 0, NULL, "keep PAWL_STATE_DIR between attempts" },
    { "files", 0, NULL, "keep what jobs leave in PAWL_FILES_DIR" },
    { "disabled", 0, NULL, "let its jobs wait until it is enabled" },
    { "body", 0, NULL, "get: only the body" },
    { 0 },
};

static const Option events_options[] = {
    { "follow", 'f', NULL, "go on with what happens from now on" },
    { 0 },
};

static const Option worker_options[] = {
    { "queue", 'q', "QUEUE", "only jobs of this queue; may stand several times" },
    { "type", 't', "TYPE", "only jobs of this type; may stand several times" },
    { "slots", 'n', "N", "so many copies of the program, one job each (default: 1)" },
    { "lease", 0, "DURATION",
      "how soon a worker that is gone is noticed (default: 30s)" },
    { "name", 0, "NAME", "what the daemon shows (default: host and pid)" },
    { 0 },
};

static const Option schedule_options[] = {
    { "cron", 'c', "TIMES", "add: when: '30 2 * * 1-5', @daily, '@every 10m'" },
    { "tz", 0, "ZONE", "add: the time zone, e.g. Europe/Paris (default: UTC)" },
    { "type", 0, "TYPE", "add: jobs of this type" },
    { "payload", 0, "TEXT", "add: what the jobs read" },
    { "missed", 0, "POLICY", "add: times that were missed: skip, once or all" },
    { "overlap", 0, "POLICY",
      "add: while the job before is not done: allow, skip, queue or replace" },
    { "paused", 0, NULL, "add: not before it is resumed" },
    { "queue", 'q', "QUEUE", "add: the queue of its jobs" },
    { "priority", 'p', "N", "add: larger first" },
    { "retries", 0, "N", "add: how often to try again" },
    { "retry-delay", 0, "DURATION", "add: how long to wait before that" },
    { "max-run-time", 0, "DURATION", "add: end a job when it runs longer" },
    { "job-name", 0, "TEXT", "add: a name for people" },
    { "tag", 't', "TAG", "add: a tag; may stand several times" },
    { "env", 0, "NAME=VALUE", "add: a variable; may stand several times" },
    { "cwd", 0, "DIR", "add: where a command runs (default: here)" },
    { "then", 0, "TYPE", "add: when a job is done, queue one of this type" },
    { "on-error", 0, "TYPE", "add: when a job fails, queue one of this type" },
    { "count", 'n', "N", "preview: so many times (default: 10)" },
    { "from", 0, "TIME", "preview: after this moment, e.g. 2027-03-28T00:00:00Z" },
    { 0 },
};

static const Option stats_options[] = {
    { "by", 'b', "KIND", "priority, queue, type, tenant or outcome" },
    { "last", 0, "PERIOD", "hour (default), day or month" },
    { 0 },
};

static const Option config_options[] = {
    { "origin", 0, NULL, "show: where each value comes from" },
    { 0 },
};

/* The daemon reads these itself; they stand here for help and completion. */
static const Option serve_options[] = {
    { "listen", 0, "ADDR:PORT", "where to listen (default: 127.0.0.1:7420)" },
    { "config", 0, "FILE", "the configuration file" },
    { "set", 0, "KEY=VALUE", "one value of the configuration" },
    { "store", 0, "URL", "where jobs are kept (default: sqlite:)" },
    { "slots", 0, "N", "how many jobs may run at once" },
    { "check", 0, NULL, "check the configuration and leave" },
    { "private", 0, NULL, "Unix socket only; leave when idle" },
    { 0 },
};

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
            "command's own exit code: 128 + N for signal N, 127 when there is no such "
            "command, 126 when it cannot be executed, 125 when pawl itself failed. "
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
            "no JSON is refused. With --wait the job's result is printed.",
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
                  "when one was cancelled, 124 when the time is over.",
        .options = { wait_options },
        .need = NEED_SERVER,
        .operand = OPERAND_JOBS,
        .run = cmd_wait,
    },
    {
        .name = "import",
        .summary = "add the jobs of a journal in text form",
        .usage = "--journal FILE",
        .example = "pawl import --journal old.journal",
        .detail =
            "Lines id|type|payload or time|type|payload, and batches (#:Batch, its "
            "bytes, "
            "#:EndBatch); other lines that begin with # are passed over. A type "
            "acme-mail is type mail of tenant acme. The whole file is checked first. "
            "Running it again within 24 hours adds nothing twice, and goes on where it "
            "stopped.",
        .options = { import_options },
        .need = NEED_SERVER,
        .operand = OPERAND_NONE,
        .run = cmd_import,
    },
    {
        .name = "export",
        .summary = "print jobs as a journal in text form",
        .usage = "--journal [QUERY]",
        .example = "pawl export --journal > jobs.journal",
        .detail = "Oldest first; without a QUERY (pawl help queries) all that have not "
                  "ended. --tenant '*' takes those of all tenants.",
        .options = { export_options },
        .need = NEED_SERVER,
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
        .detail = "Keys: arrows or j and k choose a row; p pauses or resumes the job or, "
                  "in the view of queues, the queue; h holds or releases, c cancels, K "
                  "kills; 1 and 2 are the views; q leaves.",
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
    ACT("retry", "run ended or waiting jobs again, now",
        "pawl retry --match 'state:rejected type:mail.*' --dry-run", NULL),
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
            "that run keep theirs. What the options leave out has its default. The "
            "payload is on the job's standard input.\n"
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
            "daemon keeps the last 16,384 changes since its start.",
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
        .usage = "ls | add NAME --cron TIMES [-- CMD ARG...] | VERB NAME",
        .example = "pawl schedule add nightly --cron '30 2 * * 1-5' --type etl\n"
                   "pawl schedule add tidy --cron @daily --tz Europe/Paris -- ./tidy.sh\n"
                   "pawl schedule preview nightly",
        .detail =
            "TIMES are five fields (minute, hour, day of month, month, day of week), "
            "@hourly, @daily, @weekly, @monthly, @yearly, or @every DURATION. Each "
            "planned time adds one job, which shows the schedule's name (pawl ls "
            "schedule:NAME).\n"
            "VERB is rm, pause, resume, trigger (add its job now) or preview.",
        .options = { schedule_options },
        .need = NEED_SERVER,
        .operand = OPERAND_WORDS,
        .operand_words = "ls add rm pause resume trigger preview",
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
            "lets running jobs go on. clear cancels everything that waits in it. rm "
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
        .usage = "ls | set KEY [options] | rm KEY",
        .example = "pawl resource set licence --list a,b,c\n"
                   "pawl resource set memory --quantity 64\n"
                   "pawl resource ls",
        .detail =
            "A job names what it needs with --resource KEY=N; a queue can charge all "
            "its jobs. What does not fit waits. Items of a list are given to jobs by "
            "name, in PAWL_RESOURCE_KEY_ITEMS. Changes take effect at once and take "
            "nothing from jobs that run.",
        .options = { resource_options },
        .need = NEED_SERVER,
        .operand = OPERAND_WORDS,
        .operand_words = "ls set rm",
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
        .name = "config",
        .summary = "show and change settings",
        .usage = "show | get [KEY...] | set KEY=VALUE | import FILE | export",
        .example = "pawl config set max_concurrent_jobs=8\npawl config show --origin",
        .detail = "get and set are about the settings of the running daemon, which it "
                  "keeps. show is about the configuration file, the environment and the "
                  "defaults: what a daemon that is started now would take. export prints "
                  "000's settings as a <batch-config> document, and import takes one, or "
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
        .summary = "check the daemon and this machine",
        .usage = "",
        .example = "pawl doctor",
        .detail = "Ends with 1 when something is wrong.",
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

const char *command_nearest(const char *name)
{
    const char *names[COMMANDS_MAX + 1] = { NULL };
    size_t count = 0;
    for (const Command *command = commands; command->name; command++)
        if (!command->hidden && count < COMMANDS_MAX)
            names[count++] = command->name;
    return nearest_word(slice_text(name), names);
}

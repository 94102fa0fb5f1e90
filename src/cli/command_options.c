/* SPDX-License-Identifier: Apache-2.0 */
/* command_options.c - see command_options.h. Options that several commands take are said
 * once. */
#include "cli/command_options.h"

#include <stddef.h>

const Option global_options[] = {
    { "server", 0, "URL|unix:PATH",
      "the daemon to ask (default: $PAWL_SERVER, in a job its own one, the socket "
      "in the data directory). A daemon that is named answers, or the command fails; "
      "http://127.0.0.1:7420 is tried only where none is named" },
    { "data", 0, "DIR",
      "the daemon in this data directory (default: $PAWL_DATA, $XDG_STATE_HOME/pawl, "
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

const Option job_options[] = {
    { "queue", 'q', "QUEUE", "the queue (default: default)" },
    { "priority", 'p', "N", "larger first (default: 5)" },
    { "at", 0, "TIME",
      "not before: 18:30, 9am, tomorrow 9:00, mon 08:00, 2030-01-31T08:00, +90m" },
    { "in", 0, "DURATION", "not before that long from now: 90s, 1h30m" },
    { "after", 0, "IDS", "when these jobs are done: ID,ID or ID:any, ID:fail" },
    { "group", 0, "NAME", "one of the jobs of this group" },
    { "unique", 0, "KEY", "refuse it while another job with this key is not over" },
    { "on-conflict", 0, "WHAT", "with --unique: reject, ignore or replace" },
    { "retries", 0, "N", "how often to try again" },
    { "retry-delay", 0, "DURATION", "how long to wait before that" },
    { "max-run-time", 0, "DURATION", "end it when it runs longer" },
    { "name", 0, "TEXT", "a human-readable name" },
    { "tag", 't', "TAG", "add a tag (repeatable)" },
    { "env", 0, "NAME=VALUE", "a variable for the job (repeatable)" },
    { "resource", 0, "KEY=N", "what it needs while it runs (repeatable)" },
    { "user", 0, "USER", "run it as this user, if the node's policy allows it" },
    { "then", 0, "TYPE", "when it is done, queue a job of this type with its result" },
    { "on-error", 0, "TYPE", "when it fails, queue a job of this type" },
    { "held", 0, NULL, "hold it until it is released" },
    { "protocol", 0, NULL, "obey J:, P: and R: lines of its output" },
    { "wait", 'w', NULL, "wait for its end" },
    { 0 },
};

const Option run_options[] = {
    { "cwd", 0, "DIR", "where it runs (default: here)" },
    { "stdin", 0, "FILE", "what it reads from its standard input; - is this one's" },
    { 0 },
};

const Option add_options[] = {
    { "ndjson", 0, "FILE", "one job object per line; - is standard input" },
    { "control", 0, "FILE", "a <batch-job> document" },
    { 0 },
};

const Option ls_options[] = {
    { "limit", 'n', "N", "at most this many (default: 50)" },
    { "all", 'a', NULL, "all of them" },
    { 0 },
};

const Option import_options[] = {
    { "journal", 0, "FILE", "a journal of batches and lines, or - for standard input" },
    { "all", 0, "FILE", "a whole store, into that of a daemon that is stopped" },
    { "store", 0, "URL", "with --all: as the daemon has it (default: as configured)" },
    { "config", 0, "FILE", "with --all: the configuration file" },
    { "replace", 0, NULL, "with --all: what is in the store goes" },
    { 0 },
};

const Option export_options[] = {
    { "journal", 0, NULL, "as lines time|tenant-type|payload, and batches" },
    { "all", 0, "FILE", "the whole store of a daemon that is stopped, into the file" },
    { "store", 0, "URL", "with --all: as the daemon has it (default: as configured)" },
    { "config", 0, "FILE", "with --all: the configuration file" },
    { 0 },
};

const Option tenant_options[] = {
    { "segregate-types", 0, NULL, "set: each type of its jobs has its own turn" },
    { "together", 0, NULL, "set: the types of a queue take turns by age (the default)" },
    { "max-queued", 0, "N", "set: jobs that may wait (0: any number)" },
    { "max-running", 0, "N", "set: jobs that may run at once" },
    { "max-requests", 0, "N", "set: requests of its tokens per second" },
    { "max-bytes", 0, "N", "set: bytes of bodies and results that are kept" },
    { 0 },
};

const Option audit_options[] = {
    { "who", 0, "WHO", "token:NAME or uid:N" },
    { "action", 0, "WORD", "put, delete, cancel, ..." },
    { "kind", 0, "KIND", "queue, handler, job, token, ..." },
    { "target", 0, "NAME|ID", "of which it was" },
    { "limit", 'n', "N", "at most this many (default: 50)" },
    { 0 },
};

const Option token_options[] = {
    { "scopes", 0, "S,S...", "create: read, enqueue, work, operate, admin" },
    { "expires", 0, "DURATION", "create: how long it holds (default: for ever)" },
    { 0 },
};

const Option logs_options[] = {
    { "follow", 'f', NULL, "go on as the job writes, until it ends" },
    { "stdout", 0, NULL, "only its standard output" },
    { "stderr", 0, NULL, "only its standard error (to this one's standard output)" },
    { "attempt", 0, "N", "of this attempt (default: the last)" },
    { 0 },
};

const Option wait_options[] = {
    { "timeout", 0, "DURATION", "give up after that long, with exit code 124" },
    { "match", 0, "QUERY", "every job that matches now (pawl help queries)" },
    { 0 },
};

const Option processor_options[] = {
    { "command", 'c', "TEXT", "create: what sh runs for each unit" },
    { "type", 0, "TYPE", "create: run this handler instead" },
    { "slots", 0, "N", "create: units at the same time (default: 1)" },
    { "dir", 0, "DIR", "create: where (default: processors/NAME in the data directory)" },
    { "cwd", 0, "DIR", "create: where the command runs (default: here)" },
    { "env", 0, "NAME=VALUE", "create: a variable (repeatable)" },
    { "priority", 'p', "N", "create: of its jobs (default: 5)" },
    { "retries", 0, "N", "create: how often to try a unit again (default: 0)" },
    { "retry-delay", 0, "DURATION", "create: how long to wait before that" },
    { "max-run-time", 0, "DURATION", "create: end a unit that takes longer" },
    { "forward", 0, "TO,TO...",
      "create: a forwarder and where it sends: NAME, ssh:HOST:NAME, rsync://HOST/MODULE; "
      "(repeatable)" },
    { "mode", 0, "MODE", "create: all, round-robin, hash or least-loaded" },
    { "bandwidth", 0, "N", "create: KiB per second of a transfer" },
    { "ssh", 0, "COMMAND", "create: ssh with its options" },
    { "start-forwarder", 0, NULL, "create: forward from the beginning" },
    { "wait", 'w', "DURATION", "process: wait for the end of the work" },
    { "next", 0, "PROCESSOR", "process: then signal this one (name or id)" },
    { "all", 'a', NULL, "a signal for every processor" },
    { "yes", 'y', NULL, "skip confirmation" },
    { 0 },
};

const Option node_options[] = {
    { "reason", 0, "TEXT", "drain: why, for others to read" },
    { "wait", 'w', NULL, "drain: until nothing runs there any more" },
    { "timeout", 0, "DURATION", "drain --wait: give up after that long, with 124" },
    { "slots", 0, "N", "set: jobs that run at once there (none: as on every node)" },
    { "queue", 'q', "NAME=N", "set: and of one queue (repeatable)" },
    { 0 },
};

const Option parts_options[] = {
    { "dir", 0, "DIR", "where they are kept (default: $PAWL_STATE_DIR)" },
    { 0 },
};

const Option retry_options[] = {
    { "without-after", 0, NULL, "whatever has become of the jobs that it waits for" },
    { 0 },
};

const Option match_options[] = {
    { "match", 0, "QUERY",
      "every job that matches (pawl help queries), as an operation" },
    { "dry-run", 0, NULL, "show the matching jobs, change nothing" },
    { "yes", 'y', NULL, "skip confirmation" },
    { 0 },
};

const Option set_options[] = {
    { "priority", 'p', "N", "larger first" },
    { "queue", 'q', "QUEUE", "move it to this queue" },
    { "at", 0, "TIME", "not before" },
    { "in", 0, "DURATION", "not before that long from now" },
    { "max-run-time", 0, "DURATION", "end it when it runs longer" },
    { "tag", 't', "TAG", "these tags instead of its own (repeatable)" },
    { 0 },
};

const Option queue_options[] = {
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
    { "yes", 'y', NULL, "clear: skip confirmation" },
    { 0 },
};

const Option resource_options[] = {
    { "kind", 0, "KIND", "set: quantity (default), discrete or highlander" },
    { "quantity", 'n', "N", "set: how many units there are (default: 10)" },
    { "list", 0, "ITEMS", "set: the items by name, with commas" },
    { "consumption", 0, "N", "set: what a job takes that says nothing" },
    { "scope", 0, "SCOPE", "set: node (default) or cluster" },
    { 0 },
};

const Option handler_options[] = {
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
    { "env", 0, "NAME=VALUE", "a variable for its jobs (repeatable)" },
    { "cwd", 0, "DIR", "where its jobs run" },
    { "resource", 0, "KEY=N", "what each job needs (repeatable)" },
    { "highlander", 0, NULL, "at most one of its jobs runs at a time" },
    { "no-highlander", 0, NULL, "undo --highlander" },
    { "exit-map", 0, "STATUS=CODE", "what an exit status means (repeatable)" },
    { "header", 0, "NAME=VALUE", "http: a header of its calls (repeatable)" },
    { "immediate-children", 0, NULL, "add jobs of J: lines at once" },
    { "no-result", 0, NULL, "do not keep results" },
    { "keep-state", 0, NULL, "keep PAWL_STATE_DIR between attempts" },
    { "no-keep-state", 0, NULL, "undo --keep-state" },
    { "files", 0, NULL, "keep what jobs leave in PAWL_FILES_DIR" },
    { "no-files", 0, NULL, "undo --files" },
    { "disabled", 0, NULL, "let its jobs wait until it is enabled" },
    { "body", 0, NULL, "get: only the body" },
    { 0 },
};

const Option events_options[] = {
    { "follow", 'f', NULL, "go on with what happens from now on" },
    { 0 },
};

const Option worker_options[] = {
    { "queue", 'q', "QUEUE", "only jobs of this queue (repeatable)" },
    { "type", 't', "TYPE", "only jobs of this type (repeatable)" },
    { "slots", 'n', "N",
      "number of worker processes; each handles one job at a time (default: 1)" },
    { "lease", 0, "DURATION",
      "how soon a worker that is gone is noticed (default: 30s)" },
    { "name", 0, "NAME", "what the daemon shows (default: host and pid)" },
    { 0 },
};

const Option schedule_options[] = {
    { "cron", 'c', "TIMES", "add: when: '30 2 * * 1-5', @daily, '@every 10m'" },
    { "tz", 0, "ZONE", "add: the time zone, e.g. Europe/Paris (default: UTC)" },
    { "type", 0, "TYPE", "add: jobs of this type" },
    { "payload", 0, "TEXT", "add: what the jobs read" },
    { "missed", 0, "POLICY", "add: times that were missed: skip (default), once or all" },
    { "overlap", 0, "POLICY",
      "add: while the job before is not done: allow (default), skip, queue or "
      "replace" },
    { "paused", 0, NULL, "add: not before it is resumed" },
    { "queue", 'q', "QUEUE", "add: the queue of its jobs" },
    { "priority", 'p', "N", "add: larger first" },
    { "retries", 0, "N", "add: how often to try again" },
    { "retry-delay", 0, "DURATION", "add: how long to wait before that" },
    { "max-run-time", 0, "DURATION", "add: end a job when it runs longer" },
    { "job-name", 0, "TEXT", "add: a human-readable name" },
    { "tag", 't', "TAG", "add: add a tag (repeatable)" },
    { "env", 0, "NAME=VALUE", "add: a variable (repeatable)" },
    { "cwd", 0, "DIR", "add: where a command runs (default: here)" },
    { "resource", 0, "KEY=N", "add: what a job needs (repeatable)" },
    { "user", 0, "USER", "add: run a command as this user, if the policy allows it" },
    { "then", 0, "TYPE", "add: when a job is done, queue one of this type" },
    { "on-error", 0, "TYPE", "add: when a job fails, queue one of this type" },
    { "count", 'n', "N", "preview: how many times (default: 10)" },
    { "from", 0, "TIME", "preview: after this moment, e.g. 2027-03-28T00:00:00Z" },
    { 0 },
};

const Option stats_options[] = {
    { "by", 'b', "KIND", "priority, queue, type, tenant or outcome" },
    { "last", 0, "PERIOD", "hour (default), day or month" },
    { 0 },
};

const Option config_options[] = {
    { "origin", 0, NULL, "show: where each value comes from" },
    { 0 },
};

/* The daemon reads these itself; they stand here for help and completion. */
const Option doctor_options[] = {
    { "store", 0, "URL", "look at this store (default: the daemon's)" },
    { 0 },
};

const Option serve_options[] = {
    { "listen", 0, "ADDR:PORT", "where to listen (default: 127.0.0.1:7420)" },
    { "config", 0, "FILE", "the configuration file" },
    { "set", 0, "KEY=VALUE", "one value of the configuration" },
    { "store", 0, "URL", "where jobs are kept (default: sqlite:)" },
    { "slots", 0, "N", "how many jobs may run at once" },
    { "check", 0, NULL, "check the configuration and leave" },
    { "private", 0, NULL, "Unix socket only; leave when idle" },
    { 0 },
};

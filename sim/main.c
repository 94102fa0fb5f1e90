/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - the program `sim`: runs worlds by their seeds and says which are broken.
 *
 *     sim [--seeds FROM:COUNT] [--steps N] [--bug NAME]   many seeds; default 1:300
 *     sim --seed N [--trace]                              one seed, exactly as before
 *     sim --seconds N [--seeds FROM:COUNT]                until the time is over
 *     sim --museum                                        every planted defect is found
 *     sim --storm ...                                     every fault is on
 *     sim --sqlite FILE ...                               journals are replayed too
 *
 * Of every hundred seeds one runs twice: its traces must be equal byte for byte. */
#include "sim/world.h"

#include "base/log.h"
#include "base/text.h"
#include "base/times.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define STEPS_DEFAULT     700
#define TRACE_TAIL_BYTES  6000
#define MUSEUM_SEEDS_MAX  2000
#define TWICE_EVERY       100
#define PROGRESS_EVERY_MS (30 * MS_PER_S)

typedef struct Arguments {
    uint64_t from;
    uint64_t count;
    unsigned steps;
    int64_t seconds;
    Bug bug;
    const char *sqlite;
    bool one;
    bool print;
    bool museum;
    bool storm;
} Arguments;

/* For the handler below: assertions of the product end the process. */
static World *current;
static char abort_text[200];

static void set_current(World *world)
{
    current = world;
    snprintf(abort_text, sizeof abort_text,
             "sim: seed %llu is broken: an assertion failed\n"
             "sim: again with: sim --seed %llu --steps %u --trace\n",
             (unsigned long long)world->options.seed,
             (unsigned long long)world->options.seed, world->options.steps);
}

static Slice trace_tail(const World *world)
{
    Slice tail = { world->trace.data, world->trace.bytes };
    if (tail.bytes > TRACE_TAIL_BYTES) {
        tail = slice_from(tail, tail.bytes - TRACE_TAIL_BYTES);
        (void)slice_cut(&tail, '\n'); /* from the beginning of a line */
    }
    return tail;
}

static void print_failure(const World *world)
{
    Slice tail = trace_tail(world);
    printf(SLICE_FMT, SLICE_ARG(tail));
    printf("sim: seed %llu is broken at step %llu: %s\n"
           "sim: again with: sim --seed %llu --steps %u%s%s --trace\n",
           (unsigned long long)world->options.seed, (unsigned long long)world->step,
           world->failure, (unsigned long long)world->options.seed, world->options.steps,
           world->options.storm ? " --storm"
           : world->options.bug ? " --bug "
                                : "",
           world->options.bug ? bug_name(world->options.bug) : "");
    fflush(stdout);
}

static void on_abort(int signal)
{
    (void)signal;
    if (current) {
        const char *data = current->trace.data;
        size_t bytes = current->trace.bytes;
        size_t from = bytes > TRACE_TAIL_BYTES ? bytes - TRACE_TAIL_BYTES : 0;
        ssize_t ignored = write(STDOUT_FILENO, data + from, bytes - from);
        ignored += write(STDOUT_FILENO, abort_text, sizeof abort_text);
        (void)ignored;
    }
    _exit(1);
}

static void add_counts(Counts *sum, const Counts *one)
{
    const uint64_t *from = (const uint64_t *)(const void *)one;
    uint64_t *to = (uint64_t *)(void *)sum;
    for (size_t i = 0; i < sizeof *sum / sizeof *to; i++)
        to[i] += from[i];
}

/* Runs a seed; *out_trace, if not NULL, gets the whole trace. */
static bool run_seed(const SimOptions *options, Counts *sum, Buf *out_trace, bool quiet)
{
    World *world = MEM_NEW(World);
    world_init(world, options);
    set_current(world);
    world_run(world);
    add_counts(sum, &world->counts);
    bool failed = world->failed;
    if (failed && !quiet)
        print_failure(world);
    if (out_trace)
        buf_add_slice(out_trace, buf_slice(&world->trace));
    current = NULL;
    world_done(world);
    mem_free(world);
    return !failed;
}

static bool run_twice(const SimOptions *options, Counts *sum)
{
    Buf first = { 0 };
    Buf second = { 0 };
    Counts ignored = { 0 };
    bool good = run_seed(options, sum, &first, false) &&
                run_seed(options, &ignored, &second, false);
    if (good && !slice_equal(buf_slice(&first), buf_slice(&second))) {
        printf("sim: seed %llu has two traces\n", (unsigned long long)options->seed);
        good = false;
    }
    buf_done(&first);
    buf_done(&second);
    return good;
}

static void print_counts(const Counts *sum, int64_t ms)
{
    double seconds = (double)(ms ? ms : 1) / 1000.0;
    printf("sim: %llu seeds in %.1f s (%.0f/s): %llu steps, %llu turns, %.1f days\n",
           (unsigned long long)sum->seeds, seconds, (double)sum->seeds / seconds,
           (unsigned long long)sum->steps, (unsigned long long)sum->turns,
           (double)sum->virtual_ms / (double)MS_PER_DAY);
    printf("sim: %llu jobs, %llu acknowledged, %llu started, %llu lost attempts, "
           "%llu late results, %llu actions, %llu purged\n",
           (unsigned long long)sum->jobs, (unsigned long long)sum->acknowledged,
           (unsigned long long)sum->starts, (unsigned long long)sum->lost_attempts,
           (unsigned long long)sum->late, (unsigned long long)sum->actions,
           (unsigned long long)sum->purged);
    printf(
        "sim: %llu jobs pulled by workers, %llu of their results refused; %llu jobs in "
        "contexts, %llu of which crashed\n",
        (unsigned long long)sum->pulled, (unsigned long long)sum->late_results,
        (unsigned long long)sum->warm, (unsigned long long)sum->context_crashes);
    printf("sim: %llu kills, %llu power cuts, %llu of them in a recovery, %llu launcher "
           "deaths, %llu unknown outcomes\n",
           (unsigned long long)sum->kills, (unsigned long long)sum->cuts,
           (unsigned long long)sum->recoveries_cut_short,
           (unsigned long long)sum->launcher_deaths, (unsigned long long)sum->unknown);
    printf("sim: %llu commits, %llu failed, %llu loads failed, %llu replays\n",
           (unsigned long long)sum->commits, (unsigned long long)sum->commit_failures,
           (unsigned long long)sum->load_failures, (unsigned long long)sum->replays);
}

static int run_many(const Arguments *arguments)
{
    Counts sum = { 0 };
    int64_t began = clock_now().boot_ms;
    int64_t told = began;
    bool good = true;
    for (uint64_t i = 0; good && (arguments->seconds || i < arguments->count); i++) {
        int64_t now = clock_now().boot_ms;
        uint64_t seed = arguments->from + i;
        if (arguments->seconds && now - began >= arguments->seconds * MS_PER_S)
            break;
        if (now - told >= PROGRESS_EVERY_MS) {
            printf("sim: at seed %llu\n", (unsigned long long)seed);
            fflush(stdout);
            told = now;
        }
        SimOptions options = { .seed = seed,
                               .steps = arguments->steps,
                               .bug = arguments->bug,
                               .storm = arguments->storm,
                               .print = arguments->print,
                               .sqlite = arguments->sqlite };
        good = i % TWICE_EVERY == 0 && !arguments->one
                   ? run_twice(&options, &sum)
                   : run_seed(&options, &sum, NULL, false);
    }
    print_counts(&sum, clock_now().boot_ms - began);
    return good ? 0 : 1;
}

/* Every bug must be found; nothing else may be. */
static int run_museum(const Arguments *arguments)
{
    int missed = 0;
    for (int bug = BUG_NONE + 1; bug < BUGS; bug++) {
        uint64_t step = bug_wants_scarcity((Bug)bug) ? SCARCE_EVERY : 1;
        uint64_t seed = arguments->from;
        bool found = false;
        for (; !found && seed < arguments->from + MUSEUM_SEEDS_MAX; seed++) {
            if (seed % step)
                continue;
            SimOptions options = { .seed = seed,
                                   .steps = arguments->steps,
                                   .bug = (Bug)bug };
            World *world = MEM_NEW(World);
            world_init(world, &options);
            set_current(world);
            world_run(world);
            const char *breaks = bug_breaks((Bug)bug);
            found = world->failed &&
                    (!breaks || !strncmp(world->failure, breaks, strlen(breaks)));
            if (found)
                printf("sim: %-22s seed %llu: %s\n", bug_name((Bug)bug),
                       (unsigned long long)seed, world->failure);
            current = NULL;
            world_done(world);
            mem_free(world);
        }
        if (found)
            continue;
        printf("sim: %-22s NOT FOUND in %d seeds\n", bug_name((Bug)bug),
               MUSEUM_SEEDS_MAX);
        missed++;
    }
    printf("sim: %d of %d defects found\n", BUGS - 1 - missed, BUGS - 1);
    return missed ? 1 : 0;
}

static int usage(void)
{
    fputs("usage: sim [--seed N | --seeds FROM:COUNT | --seconds N | --museum]\n"
          "           [--steps N] [--bug NAME] [--storm] [--sqlite FILE] [--trace]\n",
          stderr);
    return 2;
}

static bool number(const char *text, int64_t *out)
{
    return text && !int_parse(slice_text(text), out) && *out >= 0;
}

static bool take_seeds(const char *text, Arguments *arguments)
{
    Slice rest = slice_text(text);
    Slice from = slice_cut(&rest, ':');
    int64_t first;
    int64_t count;
    if (int_parse(from, &first) || int_parse(rest, &count) || first < 0 || count < 0)
        return false;
    arguments->from = (uint64_t)first;
    arguments->count = (uint64_t)count;
    return true;
}

/* Takes one option off; returns how many words it had, 0 if it is none. */
static int take_option(char **words, Arguments *arguments)
{
    Slice name = slice_text(words[0]);
    int64_t value = 0;
    if (slice_is(name, "--trace")) {
        arguments->print = true;
        return 1;
    }
    if (slice_is(name, "--storm")) {
        arguments->storm = true;
        return 1;
    }
    if (slice_is(name, "--museum")) {
        arguments->museum = true;
        return 1;
    }
    if (slice_is(name, "--sqlite") && words[1]) {
        arguments->sqlite = words[1];
        return 2;
    }
    if (slice_is(name, "--seeds"))
        return words[1] && take_seeds(words[1], arguments) ? 2 : 0;
    if (slice_is(name, "--bug"))
        return words[1] && !bug_parse(slice_text(words[1]), &arguments->bug) ? 2 : 0;
    if (!number(words[1], &value))
        return 0;
    if (slice_is(name, "--seed")) {
        arguments->from = (uint64_t)value;
        arguments->count = 1;
        arguments->one = true;
        return 2;
    }
    if (slice_is(name, "--steps"))
        arguments->steps = (unsigned)value;
    else if (slice_is(name, "--seconds"))
        arguments->seconds = value;
    else
        return 0;
    return 2;
}

int main(int argc, char **argv)
{
    Arguments arguments = { .from = 1, .count = 300, .steps = STEPS_DEFAULT };
    for (int i = 1; i < argc;) {
        int taken = take_option(&argv[i], &arguments);
        if (!taken)
            return usage();
        i += taken;
    }
    log_level_set(arguments.print ? LOG_INFO : LOG_OFF);
    signal(SIGABRT, on_abort);
    return arguments.museum ? run_museum(&arguments) : run_many(&arguments);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* fixture_test.h - a runner with its launcher in a folder of its own, for tests. */
#ifndef RUN_FIXTURE_TEST_H
#define RUN_FIXTURE_TEST_H

#include "run/process/process.h"

#define WAIT_MS  120000
#define KEPT_MAX 64
#define CAP      (256 << 10)

extern char fake_job[4096];
extern char launcher[4096];

typedef struct Fixture {
    char dir[64];
    Runner *runner;
    Mailbox news;
    Mail *rest;              /* taken and not looked at */
    RunNews *kept[KEPT_MAX]; /* in the order of their coming */
    size_t kept_count;
} Fixture;

typedef struct Try {
    JobId id;
    const char *argv[6];
    Slice payload;
    uint32_t flags;
    const char *env; /* one NAME=VALUE */
    const char *cwd;
    bool children_now;
    int64_t lease_boot;
} Try;

/* With an empty runner, and with all jobs forgotten: the launcher leaves at once. */
int setup(void **state);
int teardown(void **state);
void must_open(Fixture *f);
RunNews *next_news(Fixture *f, int64_t timeout_ms);
RunNews *find_kept(const Fixture *f, RunNewsKind kind, JobId id);
/* The first news of a kind about a job, waited for. All news stay until clear_news. */
RunNews *expect(Fixture *f, RunNewsKind kind, JobId id);
size_t count_kept(const Fixture *f, RunNewsKind kind, JobId id);
void clear_news(Fixture *f);
void drop_news(Fixture *f);
void start(Fixture *f, const Try *try);
/* Runs to the end; the news stay. */
const RunEnd *run(Fixture *f, const Try *try);
void forget(Fixture *f, JobId id);
void read_all(const Fixture *f, JobId id, OutputStream stream, Buf *out);
void expect_output(const Fixture *f, JobId id, OutputStream stream, Slice want);
/* A process that no one has waited for yet has no program any more either. */
bool alive(long pid);

/* Arguments of a test's main: PAWL-LAUNCH FAKE-JOB [groups]. */
bool fixture_main(int argc, char **argv);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* rig_test.h - a processor's directory of a test's own, on a real file system. */
#ifndef PIPELINE_RIG_TEST_H
#define PIPELINE_RIG_TEST_H

#include "pipeline/processor/bucket.h"
#include "run/files/sweep.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct Rig {
    char dir[64];
    Buckets buckets;
} Rig;

static inline int rig_begin(void **state)
{
    Rig *rig = MEM_NEW(Rig);
    Error why = { 0 };
    snprintf(rig->dir, sizeof rig->dir, "/tmp/pawl-pipeline-XXXXXX");
    assert_non_null(mkdtemp(rig->dir));
    assert_int_equal(buckets_open(&rig->buckets, rig->dir, &why), ERR_OK);
    *state = rig;
    return 0;
}

static inline int rig_end(void **state)
{
    Rig *rig = *state;
    buckets_close(&rig->buckets);
    sweep_path(rig->dir);
    mem_free(rig);
    return 0;
}

static inline void rig_put(const Rig *rig, Bucket bucket, const char *unit,
                           const char *text)
{
    int fd = openat(rig->buckets.fds[bucket], unit, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static inline void rig_holds(const Rig *rig, Bucket bucket, const char *unit,
                             const char *text)
{
    char found[256] = "";
    int fd = openat(rig->buckets.fds[bucket], unit, O_RDONLY);
    assert_true(fd >= 0);
    assert_true(read(fd, found, sizeof found - 1) >= 0);
    close(fd);
    assert_string_equal(found, text);
}

#define RIG_TEST(name) cmocka_unit_test_setup_teardown(name, rig_begin, rig_end)

#endif

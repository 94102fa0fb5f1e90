/* SPDX-License-Identifier: Apache-2.0 */
/* testdir.h - a directory for one test with a store in it, removed afterwards. For tests
 * only. */
#ifndef TESTING_TESTDIR_H
#define TESTING_TESTDIR_H

#include "store/store.h"

typedef struct TestDir {
    char path[64]; /* "": none */
} TestDir;

void testdir_make(TestDir *dir);
void testdir_remove(TestDir *dir);

/* path/name; valid until the next call. */
const char *testdir_file(const TestDir *dir, const char *name);

/* The store path/pawl.db; fails the test if it does not open. */
Store *testdir_store(const TestDir *dir, const StoreOptions *options);

#endif

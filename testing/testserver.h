/* SPDX-License-Identifier: Apache-2.0 */
/* testserver.h - a PostgreSQL server of its own for one test program: made at the first
 * use, ended with the program. It runs as the user `postgres` where tests run as root,
 * because it refuses root. Without sync, because nothing here is to survive. For tests
 * only. */
#ifndef TESTING_TESTSERVER_H
#define TESTING_TESTSERVER_H

#include "store/store.h"

/* A url of the one database, which has no tables of ours left from before. */
const char *testserver_fresh(void);

/* The same without emptying it. */
const char *testserver_url(void);

/* One statement by psql's way: its only value as text, valid until the next call. Fails
 * the test if it fails. */
const char *testserver_ask(const char *sql);

/* Rows of all tables go; much quicker than making them anew. */
void testserver_empty(void);

/* Ends all other connections, as a server that goes away does. */
void testserver_cut(void);

/* Its directory of sockets, for a pooler in front of it. */
const char *testserver_directory(void);

#endif

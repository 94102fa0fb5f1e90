/* SPDX-License-Identifier: Apache-2.0 */
/* world_fake.h - a server over a fake daemon in a folder of its own, for tests. */
#ifndef SERVE_WORLD_FAKE_H
#define SERVE_WORLD_FAKE_H

#include "serve/client_fake.h"
#include "serve/door_fake.h"
#include "serve/http.h"

#define WORLD_BODY_MAX (256u << 10)

typedef struct World {
    char dir[64];
    char socket[96];
    Daemon *daemon;
    Http *http;
} World;

/* The options may leave out the listeners and the limit of the body. */
World *world_open(HttpOptions options);
void world_close(World *world);

/* For cmocka: a world with default options in *state. */
int world_setup(void **state);
int world_teardown(void **state);

/* One request on a connection of its own. */
void world_ask(World *world, const Ask *ask, Reply *out);

/* Fails the test unless the answer is this problem, with everything a problem has. */
void expect_problem(Reply *reply, int status, const char *code);

bool daemon_lives(World *world);
int64_t jobs_added(World *world); /* by the daemon's own count */

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* world_fake.h - a server over a fake daemon in a folder of its own, for tests. */
#ifndef TESTING_WORLD_FAKE_H
#define TESTING_WORLD_FAKE_H

#include "http/http.h"
#include "testing/client_fake.h"
#include "testing/door_fake.h"

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

/* The same of the next answer on a connection, which is not looked at further. */
void client_expect(Client *client, int status);
void client_expect_problem(Client *client, int status, const char *code);

#define JOBS             "/api/v1/jobs"
#define NOTHING          ((Slice){ NULL, 0 })
#define WORLD_PATH_BYTES 96

void world_post(World *world, const char *path, Slice body, Reply *out);
void world_get(World *world, const char *path, Reply *out);
JobId world_add(World *world, Slice body); /* must be accepted */
void world_act(World *world, JobId id, const char *action, int status);
char *job_path(JobId id, const char *rest, char out[WORLD_PATH_BYTES]);
void expect_state(World *world, JobId id, const char *state); /* waits for it */

bool daemon_lives(World *world);
int64_t jobs_added(World *world); /* by the daemon's own count */

#endif

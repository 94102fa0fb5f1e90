/* SPDX-License-Identifier: Apache-2.0 */
/* conformance.h - what every kind of store must do: one list of scenes, played on each.
 *
 * A scene asks and checks through the Scene alone, which repeats a call that fails with
 * the same batch numbers. So the same scene also runs with any call made to fail, before
 * or after it happened, and the store must end as if nothing had. */
#ifndef TESTING_CONFORMANCE_H
#define TESTING_CONFORMANCE_H

#include "store/store.h"

#define SCENE_NODE   3 /* node number of all batches */
#define SCENE_WALL   1790000000000LL
#define SCENE_SYSID  "node-a"
#define SCENE_OTHER  "node-b"
#define SCENE_TENANT "acme"

typedef struct Scene {
    Store *store;
    uint64_t number; /* of the next batch */
    IdGen ids;
    Arena arena;
    uint64_t failures; /* calls that were repeated */
} Scene;

typedef struct SceneRow {
    const char *name;
    void (*play)(Scene *scene);
} SceneRow;

#define SCENE(function)                                                                  \
    {                                                                                    \
#function, function                                                              \
    }

/* Each list ends with a row of NULL. */
extern const SceneRow scenes_of_jobs[];
extern const SceneRow scenes_of_the_rest[];
extern const SceneRow scenes_of_dispatch[];
extern const SceneRow scenes_of_links[];
extern const SceneRow scenes_of_clusters[];
extern const SceneRow scenes_of_the_old[];

void scene_done(Scene *scene);

/* A ready job with the next id, not yet stored. */
Job *scene_job(Scene *scene, const char *queue);
JobId scene_add(Scene *scene, const Job *job); /* stored; must be new */
JobId scene_add_ready(Scene *scene, const char *queue);
JobId scene_add_running(Scene *scene);            /* attempt 1, in queue "q" */
JobId scene_add_in(Scene *scene, JobState state); /* come there the usual way, in "q" */

/* An operation filled with what a node would say; change it, then give it. */
Op scene_claim(Scene *scene, JobId id, uint32_t attempt);
Op scene_finish(Scene *scene, JobId id, uint32_t attempt, JobState to);
Op scene_move(Scene *scene, JobId id, JobState to);
Op scene_op(OpKind kind, JobId id);

/* One operation as a batch of its own. */
OpResult scene_do(Scene *scene, const Op *op);
OpResult scene_do_as(Scene *scene, uint32_t node, const Op *op); /* of another node */

/* A job that came at another time, which its id has, too; not yet stored. */
Job *scene_job_of(Scene *scene, const char *queue, int64_t came_ms);

/* Its next attempt begins and ends at at_ms, with a result of 1 byte. */
void scene_run(Scene *scene, JobId id, uint32_t attempt, int64_t at_ms, JobState to);

/* What a node does with old jobs of a family, until there is nothing left to do. */
void scene_let_go(Scene *scene, JobStates family, int64_t due_ms, int64_t late_ms);
#define SCENE_DONE STATE_BIT(JOB_DONE)
#define SCENE_DEAD (STATES_FINAL & ~STATE_BIT(JOB_DONE))

/* Batches as they are, numbered by the caller; results to out (may be NULL). */
void scene_commit(Scene *scene, const Batch *batches, size_t count, OpResult *out);

/* Loads; the caller frees with loaded_done. */
Loaded scene_load(Scene *scene, const Load *load);
bool scene_get(Scene *scene, JobId id, Job *out); /* slices live as long as the scene */
Job scene_must_get(Scene *scene, JobId id);
Loaded scene_window(Scene *scene, const char *queue);
Loaded scene_attempts(Scene *scene, JobId id);
Slice scene_result(Scene *scene, JobId id); /* data NULL: none */
uint64_t scene_count(Scene *scene, const char *queue, JobState state);

/* A node that shares the store: its lease is over at once, or in an hour. */
NodeRow scene_renew(Scene *scene, const char *sysid, bool alive);
uint32_t scene_number(Scene *scene, const char *sysid, uint32_t wanted); /* it gets */
void scene_join(Scene *scene, uint32_t node, uint64_t epoch);

void scene_expect_state(Scene *scene, JobId id, JobState state);
void scene_expect_window(Scene *scene, const char *queue, const JobId *ids, size_t count);

/* "id id id ..." of what a query gives, newest first, page after page of `limit`. */
const char *scene_query(Scene *scene, const char *text, uint32_t limit);
const char *scene_ids(Scene *scene, const JobId *ids, size_t count);

/* Everything that can be asked of a store, as text. */
void store_dump(Store *store, Buf *out);

#endif

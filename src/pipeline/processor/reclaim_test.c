/* SPDX-License-Identifier: Apache-2.0 */
/* reclaim_test.c - a unit on its way back from a lost processor: whole, and in one place,
 * wherever it was stopped. On one file system and, where the machine has two, on two. */
#include "pipeline/processor/reclaim.h"

#include "pipeline/processor/notes.h"
#include "pipeline/rig_test.h"

#define KEY  SLICE_LITERAL("0123456789abcdef")
#define BACK "back"

typedef struct World {
    Rig *rig; /* the lost processor */
    Broker broker;
    char dir[64]; /* source, and the broker's own */
} World;

static void open_world(World *world, Rig *rig, const char *where)
{
    Error why = { 0 };
    char path[128];
    *world = (World){ .rig = rig };
    snprintf(world->dir, sizeof world->dir, "%s/pawl-retake-XXXXXX", where);
    assert_non_null(mkdtemp(world->dir));
    Broker *broker = &world->broker;
    broker->plan.name = SLICE_LITERAL("split");
    snprintf(path, sizeof path, "%s/own", world->dir);
    assert_int_equal(own_open(&broker->own, path, &why), ERR_OK);
    snprintf(broker->sender.source_dir, sizeof broker->sender.source_dir, "%s/in",
             world->dir);
    assert_int_equal(mkdir(broker->sender.source_dir, 0755), 0);
    broker->source_fd = open(broker->sender.source_dir, O_RDONLY | O_DIRECTORY);
    assert_true(broker->source_fd >= 0);
}

static void close_world(World *world)
{
    close(world->broker.source_fd);
    buckets_close(&world->broker.own);
    troubles_done(&world->broker.troubles);
    sweep_path(world->dir);
}

static void source_holds(const World *world, const char *unit, const char *text)
{
    char found[64] = "";
    int fd = openat(world->broker.source_fd, unit, O_RDONLY);
    assert_true(fd >= 0);
    assert_true(read(fd, found, sizeof found - 1) >= 0);
    close(fd);
    assert_string_equal(found, text);
}

static size_t count_in(int dir)
{
    BucketWalk walk = { .all = true };
    char name[UNIT_BYTES_MAX + 1];
    size_t count = 0;
    while (bucket_walk_next(&walk, dir, name) != WALK_END)
        count++;
    return count;
}

/* In the source and nowhere else; nothing is on its way. */
static void expect_back(const World *world, const char *unit, const char *text)
{
    static const Bucket buckets[] = { IN_RECEIVE, IN_WORK, IN_ACTIVE, OUT_PROCESSING };
    Buf note = { 0 };
    source_holds(world, unit, text);
    assert_int_equal(count_in(world->broker.source_fd), 1);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(count_in(world->rig->buckets.fds[buckets[i]]), 0);
    assert_int_equal(own_read(&world->broker.own, BACK, unit, &note), ERR_NOT_FOUND);
    assert_int_equal(world->broker.backs, 0);
    buf_done(&note);
}

static bool take_back(World *world, Bucket bucket)
{
    ReclaimUnit unit = { &world->rig->buckets, bucket, "u", KEY };
    return reclaim_unit(&world->broker, &unit);
}

/* Everything on its way at once: its note, and the hidden unit over there. */
static void begin(World *world)
{
    Error why = { 0 };
    World other;
    open_world(&other, world->rig, "/tmp"); /* whose source is gone */
    close(other.broker.source_fd);
    other.broker.source_fd = open("/proc/self", O_RDONLY | O_DIRECTORY);
    assert_false(take_back(&other, IN_WORK));
    close_world(&other);
    assert_int_equal(own_write(&world->broker.own, BACK, "u", KEY, &why), ERR_OK);
    world->broker.backs = 1;
    assert_false(bucket_has(&world->rig->buckets, IN_WORK, "u"));
    assert_int_equal(count_in(world->rig->buckets.fds[IN_RECEIVE]), 1);
}

static void with_each_file_system(void **state, void (*story)(World *world))
{
    static const char *const places[] = { "/tmp", "/dev/shm" };
    for (size_t i = 0; i < 2; i++) {
        World world;
        open_world(&world, *state, places[i]);
        story(&world);
        close_world(&world);
    }
}

static void from_work_and_active(World *world)
{
    static const Bucket buckets[] = { IN_WORK, IN_ACTIVE };
    for (size_t i = 0; i < 2; i++) {
        rig_put(world->rig, buckets[i], "u", "text");
        rig_put(world->rig, OUT_PROCESSING, "u", "half");
        assert_true(take_back(world, buckets[i]));
        expect_back(world, "u", "text");
        assert_int_equal(unlinkat(world->broker.source_fd, "u", 0), 0);
    }
}

/* S4.86 */
static void a_unit_goes_back_to_the_source(void **state)
{
    with_each_file_system(state, from_work_and_active);
}

static void noted_only(World *world)
{
    Error why = { 0 };
    rig_put(world->rig, IN_WORK, "u", "text");
    assert_int_equal(own_write(&world->broker.own, BACK, "u", KEY, &why), ERR_OK);
    reclaim_open(&world->broker);
    assert_int_equal(world->broker.backs, 1);
    assert_true(reclaim_holds(&world->broker, "u"));
    reclaim_go_on(&world->broker, &world->rig->buckets, "u");
    assert_false(reclaim_holds(&world->broker, "u"));
    rig_holds(world->rig, IN_WORK, "u", "text");
    assert_int_equal(count_in(world->broker.source_fd), 0);
    assert_int_equal(unlinkat(world->rig->buckets.fds[IN_WORK], "u", 0), 0);
}

static void one_that_never_left_stays(void **state)
{
    with_each_file_system(state, noted_only);
}

static void hidden_over_there(World *world)
{
    rig_put(world->rig, IN_WORK, "u", "text");
    begin(world);
    reclaim_go_on(&world->broker, &world->rig->buckets, "u");
    expect_back(world, "u", "text");
}

static void one_that_was_on_its_way_arrives(void **state)
{
    with_each_file_system(state, hidden_over_there);
}

static void name_taken(World *world)
{
    rig_put(world->rig, IN_WORK, "u", "old");
    begin(world);
    int fd = openat(world->broker.source_fd, "u", O_WRONLY | O_CREAT, 0644);
    assert_int_equal(write(fd, "new", 3), 3);
    close(fd);
    reclaim_go_on(&world->broker, &world->rig->buckets, "u");
    source_holds(world, "u", "new");
    assert_int_equal(world->broker.troubles.count, 1);
    /* It waits where it is until the name is free. */
    assert_int_equal(unlinkat(world->broker.source_fd, "u", 0), 0);
    if (bucket_has(&world->rig->buckets, IN_WORK, "u"))
        assert_true(take_back(world, IN_WORK));
    else
        reclaim_go_on(&world->broker, &world->rig->buckets, "u");
    expect_back(world, "u", "old");
}

/* A producer may have made a unit of the same name meanwhile: neither is lost. */
static void a_name_that_is_taken_is_waited_for(void **state)
{
    with_each_file_system(state, name_taken);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(a_unit_goes_back_to_the_source),
        RIG_TEST(one_that_never_left_stays),
        RIG_TEST(one_that_was_on_its_way_arrives),
        RIG_TEST(a_name_that_is_taken_is_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

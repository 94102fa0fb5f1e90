/* SPDX-License-Identifier: Apache-2.0 */
/* bucket_test.c - buckets on a real file system, and names that mean harm. */
#include "pipeline/processor/bucket.h"

#include "pipeline/processor/notes.h"
#include "pipeline/rig_test.h"

static void put(const Rig *rig, Bucket bucket, const char *unit)
{
    rig_put(rig, bucket, unit, "x");
}

/* S4.1, S4.3: input and output, each divided into buckets. */
static void the_buckets_of_a_processor_are_made(void **state)
{
    static const char *const paths[] = {
        "input/receive",   "input/work",   "input/active",
        "input/processed", "input/failed", "output/processing",
        "output/finished", "output/sent",  "output/failed",
    };
    const Rig *rig = *state;
    for (Bucket bucket = 0; bucket < BUCKETS; bucket++) {
        char path[128];
        struct stat found;
        assert_string_equal(bucket_path(bucket), paths[bucket]);
        snprintf(path, sizeof path, "%s/%s", rig->dir, paths[bucket]);
        assert_int_equal(stat(path, &found), 0);
        assert_true(S_ISDIR(found.st_mode));
    }
}

static void a_move_never_replaces_a_unit(void **state)
{
    Rig *rig = *state;
    Error why = { 0 };
    put(rig, IN_WORK, "u");
    assert_int_equal(bucket_move(&rig->buckets, "u", IN_WORK, IN_ACTIVE, &why), ERR_OK);
    assert_false(bucket_has(&rig->buckets, IN_WORK, "u"));
    assert_true(bucket_has(&rig->buckets, IN_ACTIVE, "u"));
    put(rig, IN_WORK, "u");
    assert_int_equal(bucket_move(&rig->buckets, "u", IN_WORK, IN_ACTIVE, &why),
                     ERR_CONFLICT);
    assert_non_null(strstr(why.text, "input/active"));
    assert_true(bucket_has(&rig->buckets, IN_WORK, "u"));
    assert_int_equal(buckets_sync(&rig->buckets, &why), ERR_OK);
    assert_int_equal(bucket_move(&rig->buckets, "gone", IN_WORK, IN_ACTIVE, &why),
                     ERR_NOT_FOUND);
}

/* S4.13: a unit may be a file or a directory, whatever it is called. */
static void hostile_names_are_only_names(void **state)
{
    Rig *rig = *state;
    char longest[UNIT_BYTES_MAX + 1];
    memset(longest, 'n', UNIT_BYTES_MAX);
    longest[UNIT_BYTES_MAX] = '\0';
    const char *names[] = {
        "two\nlines", "-rf", "..x..", "\xff\xfe", "a b;$(x)", longest
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        Error why = { 0 };
        bool valid = unit_name_valid(slice_text(names[i]));
        assert_int_equal(valid, names[i][0] != '.');
        put(rig, IN_WORK, names[i]);
        assert_int_equal(bucket_move(&rig->buckets, names[i], IN_WORK, IN_ACTIVE, &why),
                         ERR_OK);
        assert_int_equal(bucket_sync_unit(&rig->buckets, IN_ACTIVE, names[i], &why),
                         ERR_OK);
        assert_int_equal(bucket_remove(&rig->buckets, IN_ACTIVE, names[i], &why), ERR_OK);
        assert_false(bucket_has(&rig->buckets, IN_ACTIVE, names[i]));
    }
    assert_false(unit_name_valid(SLICE_LITERAL("..")));
    assert_false(unit_name_valid(SLICE_LITERAL("")));
    assert_false(unit_name_valid(SLICE_LITERAL("a/b")));
    assert_false(unit_name_valid(SLICE_LITERAL("a\0b")));
}

static void links_are_no_units_and_are_not_followed(void **state)
{
    Rig *rig = *state;
    char name[UNIT_BYTES_MAX + 1];
    BucketWalk walk = { 0 };
    Error why = { 0 };
    int work = rig->buckets.fds[IN_WORK];
    assert_int_equal(mkdirat(rig->buckets.fds[IN_PROCESSED], "kept", 0755), 0);
    put(rig, IN_PROCESSED, "kept/file");
    assert_int_equal(symlinkat("../processed/kept", work, "link"), 0);
    assert_int_equal(bucket_walk_next(&walk, work, name), WALK_OTHER);
    assert_int_equal(bucket_walk_next(&walk, work, name), WALK_END);
    assert_int_equal(bucket_remove(&rig->buckets, IN_WORK, "link", &why), ERR_OK);
    assert_true(bucket_has(&rig->buckets, IN_PROCESSED, "kept/file"));
}

static void what_is_still_being_made_is_passed_over(void **state)
{
    Rig *rig = *state;
    char name[UNIT_BYTES_MAX + 1];
    BucketWalk walk = { 0 };
    int work = rig->buckets.fds[IN_WORK];
    put(rig, IN_WORK, ".hidden");
    put(rig, IN_WORK, "edited~");
    put(rig, IN_WORK, "half.part");
    put(rig, IN_WORK, "half.tmp");
    assert_int_equal(bucket_walk_next(&walk, work, name), WALK_END);
    assert_int_equal(mkdirat(work, "unit", 0755), 0);
    assert_int_equal(bucket_walk_next(&walk, work, name), WALK_UNIT);
    assert_string_equal(name, "unit");
    bucket_walk_end(&walk);
    assert_int_equal(bucket_count(&rig->buckets, IN_WORK, clock_now().boot_ms), 1);
    put(rig, IN_WORK, "another");
    assert_int_equal(bucket_count(&rig->buckets, IN_WORK, clock_now().boot_ms), 2);
}

static void two_file_systems_are_refused_by_name(void **state)
{
    Error why = { 0 };
    Buckets buckets;
    char dir[64] = "/dev/shm/pawl-bucket-XXXXXX";
    (void)state;
    if (!mkdtemp(dir))
        skip();
    char path[128];
    snprintf(path, sizeof path, "%s/input", dir);
    assert_int_equal(mkdir(path, 0755), 0);
    snprintf(path, sizeof path, "%s/input/work", dir);
    assert_int_equal(symlink("/tmp", path), 0);
    /* A link is not even looked through; real mounts are tested end to end. */
    assert_int_not_equal(buckets_open(&buckets, dir, &why), ERR_OK);
    assert_non_null(strstr(why.text, "input/work"));
    sweep_path(dir);
}

static void own_files_are_whole_or_not_there(void **state)
{
    const Rig *rig = *state;
    Error why = { 0 };
    Buf text = { 0 };
    assert_int_equal(own_read(&rig->buckets, "sent-to/a", "u", &text), ERR_NOT_FOUND);
    assert_int_equal(own_write(&rig->buckets, "sent-to/a", "u", SLICE_LITERAL("1"), &why),
                     ERR_OK);
    assert_int_equal(
        own_write(&rig->buckets, "sent-to/a", "u", SLICE_LITERAL("22"), &why), ERR_OK);
    assert_int_equal(own_read(&rig->buckets, "sent-to/a", "u", &text), ERR_OK);
    assert_true(slice_is(buf_slice(&text), "22"));
    own_remove(&rig->buckets, "sent-to/a", "u");
    assert_int_equal(own_read(&rig->buckets, "sent-to/a", "u", &text), ERR_NOT_FOUND);
    buf_done(&text);
}

/* Of this process or another: both would take the same units. */
static void a_directory_has_one_processor(void **state)
{
    Rig *rig = *state;
    Buckets second;
    Error why = { 0 };
    assert_int_equal(buckets_open(&second, rig->dir, &why), ERR_CONFLICT);
    assert_non_null(strstr(why.text, rig->dir));
    assert_int_equal(own_open(&second, rig->dir, &why), ERR_CONFLICT);
    buckets_close(&rig->buckets);
    assert_int_equal(buckets_open(&rig->buckets, rig->dir, &why), ERR_OK);
}

/* A directory that was large stays large on disk: it is not read without a reason. */
static void a_walk_rests_until_the_directory_changes(void **state)
{
    const Rig *rig = *state;
    char name[UNIT_BYTES_MAX + 1];
    BucketWalk walk = { 0 };
    int work = rig->buckets.fds[IN_WORK];
    struct timespec old[] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
    put(rig, IN_WORK, "a");
    assert_int_equal(futimens(work, old), 0); /* its time has settled */
    assert_true(bucket_walk_due(&walk, work, 1));
    assert_int_equal(bucket_walk_next(&walk, work, name), WALK_UNIT);
    assert_true(bucket_walk_due(&walk, work, 1));
    assert_int_equal(bucket_walk_next(&walk, work, name), WALK_END);
    int64_t cost_ms = walk.spent_ms;
    assert_false(bucket_walk_due(&walk, work, walk.ended_boot + cost_ms));
    assert_true(bucket_walk_due(&walk, work, walk.ended_boot + MS_PER_S + 20 * cost_ms));
    put(rig, IN_WORK, "b");
    assert_true(bucket_walk_due(&walk, work, walk.ended_boot + cost_ms));
    bucket_walk_end(&walk);
    assert_true(bucket_walk_due(&walk, work, 1));
}

/* Between two entries units are processed: that is no reason to put off the next walk. */
static void a_walk_costs_what_its_reading_takes(void **state)
{
    const Rig *rig = *state;
    char name[UNIT_BYTES_MAX + 1];
    BucketWalk walk = { 0 };
    int work = rig->buckets.fds[IN_WORK];
    int64_t read_ms = 0;
    put(rig, IN_WORK, "a");
    for (WalkStep step = WALK_UNIT; step != WALK_END;) {
        int64_t began_boot = clock_now().boot_ms;
        step = bucket_walk_next(&walk, work, name);
        read_ms += clock_now().boot_ms - began_boot;
        usleep(60000);
    }
    assert_true(walk.spent_ms <= read_ms);
}

static void counts_follow_our_own_moves(void **state)
{
    Rig *rig = *state;
    Buckets *buckets = &rig->buckets;
    Error why = { 0 };
    put(rig, IN_WORK, "a");
    put(rig, IN_WORK, "b");
    int64_t boot_ms = clock_now().boot_ms;
    assert_int_equal(bucket_guess(buckets, IN_WORK, boot_ms), 2);
    assert_int_equal(bucket_move(buckets, "a", IN_WORK, IN_ACTIVE, &why), ERR_OK);
    assert_int_equal(bucket_guess(buckets, IN_WORK, boot_ms), 1);
    bucket_counted(buckets, IN_WORK, 3);
    assert_int_equal(bucket_guess(buckets, IN_WORK, boot_ms), 4);
    assert_int_equal(bucket_count(buckets, IN_WORK, boot_ms + MS_PER_DAY), 1);
    assert_int_equal(bucket_count(buckets, IN_ACTIVE, boot_ms + MS_PER_DAY), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(the_buckets_of_a_processor_are_made),
        RIG_TEST(a_move_never_replaces_a_unit),
        RIG_TEST(hostile_names_are_only_names),
        RIG_TEST(links_are_no_units_and_are_not_followed),
        RIG_TEST(what_is_still_being_made_is_passed_over),
        cmocka_unit_test(two_file_systems_are_refused_by_name),
        RIG_TEST(own_files_are_whole_or_not_there),
        RIG_TEST(a_directory_has_one_processor),
        RIG_TEST(a_walk_rests_until_the_directory_changes),
        RIG_TEST(a_walk_costs_what_its_reading_takes),
        RIG_TEST(counts_follow_our_own_moves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

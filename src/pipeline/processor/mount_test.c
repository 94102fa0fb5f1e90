/* SPDX-License-Identifier: Apache-2.0 */
/* mount_test.c - whether a file system was mounted all the time. */
#include "pipeline/processor/mount.h"

#include "pipeline/processor/notes.h"
#include "pipeline/rig_test.h"

/* What the kernel says: without its number nothing is ever believed. */
static bool kernel_tells(const Rig *rig)
{
    Buf text = { 0 };
    bool told = !own_read(&rig->buckets, "", "mount", &text);
    buf_done(&text);
    return told;
}

static void a_mount_is_known_again(void **state)
{
    const Rig *rig = *state;
    Error why = { 0 };
    assert_false(mount_lasted(&rig->buckets));
    assert_int_equal(mount_remember(&rig->buckets, &why), ERR_OK);
    assert_int_equal(mount_lasted(&rig->buckets), kernel_tells(rig));
    assert_int_equal(mount_remember(&rig->buckets, &why), ERR_OK);
    assert_int_equal(mount_lasted(&rig->buckets), kernel_tells(rig));
}

static void another_mount_or_boot_is_not(void **state)
{
    static const char *const others[] = {
        "",
        "1",
        "00000000-0000-4000-8000-000000000000 1",
        "x",
    };
    const Rig *rig = *state;
    Error why = { 0 };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_int_equal(
            own_write(&rig->buckets, "", "mount", slice_text(others[i]), &why), ERR_OK);
        assert_false(mount_lasted(&rig->buckets));
    }
    assert_int_equal(mount_remember(&rig->buckets, &why), ERR_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(a_mount_is_known_again),
        RIG_TEST(another_mount_or_boot_is_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

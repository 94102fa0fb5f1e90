/* SPDX-License-Identifier: Apache-2.0 */
/* notes_test.c - files and notes below .pawl. */
#include "pipeline/processor/notes.h"

#include "pipeline/rig_test.h"

static void a_note_is_read_replaced_and_removed(void **state)
{
    const Rig *rig = *state;
    Error why = { 0 };
    Buf text = { 0 };
    assert_int_equal(own_note(&rig->buckets, "sent-to/k", "u", SLICE_LITERAL("1"), &why),
                     ERR_OK);
    assert_int_equal(
        own_note(&rig->buckets, "sent-to/k", "u", SLICE_LITERAL("2 x"), &why), ERR_OK);
    assert_int_equal(own_sync(&rig->buckets, "sent-to/k", &why), ERR_OK);
    assert_int_equal(own_read(&rig->buckets, "sent-to/k", "u", &text), ERR_OK);
    assert_true(slice_is(buf_slice(&text), "2 x"));
    own_remove(&rig->buckets, "sent-to/k", "u");
    assert_int_equal(own_read(&rig->buckets, "sent-to/k", "u", &text), ERR_NOT_FOUND);
    buf_done(&text);
}

/* Names are those of units, and units are named by anybody. */
static void hostile_names_have_notes_of_their_own(void **state)
{
    const Rig *rig = *state;
    char longest[UNIT_BYTES_MAX + 1];
    memset(longest, 'n', UNIT_BYTES_MAX);
    longest[UNIT_BYTES_MAX] = '\0';
    const char *const names[] = { "-rf", "two\nlines", "\xff\xfe", "x..", longest };
    Error why = { 0 };
    Buf text = { 0 };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char note[8];
        snprintf(note, sizeof note, "%zu", i);
        assert_int_equal(
            own_note(&rig->buckets, "route/0", names[i], slice_text(note), &why), ERR_OK);
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char note[8];
        snprintf(note, sizeof note, "%zu", i);
        assert_int_equal(own_read(&rig->buckets, "route/0", names[i], &text), ERR_OK);
        assert_true(slice_is(buf_slice(&text), note));
    }
    buf_done(&text);
}

/* Nothing is read through a note: it only looks like a link. */
static void a_note_is_not_followed(void **state)
{
    const Rig *rig = *state;
    Error why = { 0 };
    Buf text = { 0 };
    assert_int_equal(
        own_note(&rig->buckets, "sent-to/k", "u", SLICE_LITERAL("/etc/passwd"), &why),
        ERR_OK);
    assert_int_equal(own_read(&rig->buckets, "sent-to/k", "u", &text), ERR_OK);
    assert_true(slice_is(buf_slice(&text), "/etc/passwd"));
    buf_done(&text);
}

static void what_is_no_note_is_refused(void **state)
{
    const Rig *rig = *state;
    char large[NOTE_BYTES_MAX + 2];
    memset(large, 'x', sizeof large);
    assert_false(note_set(rig->buckets.own_fd, "u", (Slice){ large, 0 }));
    assert_false(note_set(rig->buckets.own_fd, "u", (Slice){ large, sizeof large }));
    assert_int_equal(note_read(rig->buckets.own_fd, "u", large).bytes, 0);
}

/* Other machines write a file where we make a note. */
static void a_file_is_read_as_a_note(void **state)
{
    const Rig *rig = *state;
    char text[NOTE_BYTES_MAX];
    Error why = { 0 };
    assert_int_equal(own_write(&rig->buckets, "", "u", SLICE_LITERAL("n:p 1-2"), &why),
                     ERR_OK);
    assert_true(slice_is(note_read(rig->buckets.own_fd, "u", text), "n:p 1-2"));
    assert_true(note_set(rig->buckets.own_fd, "u", SLICE_LITERAL("n:p 3-4")));
    assert_true(slice_is(note_read(rig->buckets.own_fd, "u", text), "n:p 3-4"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RIG_TEST(a_note_is_read_replaced_and_removed),
        RIG_TEST(hostile_names_have_notes_of_their_own),
        RIG_TEST(a_note_is_not_followed),
        RIG_TEST(what_is_no_note_is_refused),
        RIG_TEST(a_file_is_read_as_a_note),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* event_listener_test.c - what a listener is told: of this node, of others, of nodes that
 * come, go and begin anew. The other nodes are logs, too, that answer or do not. */
#include "watch/event_listener.h"

#include "watch/event_text.h"

#include <stdio.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { OWN = 1, FAR = 2, LATE = 3 };

typedef struct Rig {
    EventLog own;
    EventLog far[2]; /* FAR, LATE */
    bool quiet;      /* FAR has been asked, and has not answered yet */
    bool silent;     /* it does not */
    bool together;   /* its events come in chunks that begin with the first */
    Buf rows[2];
    Neighbour list[2];
    Neighbours peers;
    EventSources sources;
    EventListener listener;
    int64_t wall_ms;
    Buf out;
} Rig;

static EventHeard hear(void *context, const EventWish *wish, EventChunk *out)
{
    Rig *rig = context;
    const EventLog *log = &rig->far[wish->node - FAR];
    Buf *rows = &rig->rows[wish->node - FAR];
    EventCursor at = wish->behind;
    if (rig->silent)
        return EVENTS_SILENT;
    if (rig->quiet)
        return EVENTS_ASKED;
    if (!at.epoch || (rig->together && event_log_keeps(log, at)))
        at = event_log_first(log);
    else if (!event_log_keeps(log, at))
        at = event_log_now(log);
    out->behind = at;
    buf_clear(rows);
    for (const EventRow *row; (row = event_log_behind(log, at)) != NULL; at.number++)
        event_pack(rows, row);
    out->rows = buf_slice(rows);
    out->last = at.number;
    out->more = false;
    return wish->follow && wish->behind.epoch == at.epoch &&
                   at.number <= wish->behind.number
               ? EVENTS_ASKED
               : EVENTS_HERE;
}

static int setup(void **state)
{
    Rig *rig = MEM_NEW(Rig);
    event_log_init(&rig->own, 70, "own");
    event_log_init(&rig->far[0], 80, "far");
    event_log_init(&rig->far[1], 90, "late");
    rig->peers = (Neighbours){ rig->list, 1 };
    rig->list[0] = (Neighbour){ .number = FAR, .alive = true, .sysid = "far" };
    rig->list[1] = (Neighbour){ .number = LATE, .alive = true, .sysid = "late" };
    rig->sources = (EventSources){
        .own = &rig->own, .number = OWN, .peers = &rig->peers, .hear = hear, .far = rig
    };
    rig->listener.follow = true;
    *state = rig;
    return 0;
}

static int teardown(void **state)
{
    Rig *rig = *state;
    event_log_done(&rig->own);
    for (size_t i = 0; i < 2; i++) {
        event_log_done(&rig->far[i]);
        buf_done(&rig->rows[i]);
    }
    event_listener_done(&rig->listener);
    buf_done(&rig->out);
    mem_free(rig);
    return 0;
}

static void happen(Rig *rig, EventLog *log, JobId id, const char *tenant)
{
    Effect effect = { .kind = EFFECT_CHANGED,
                      .id = id,
                      .state = JOB_READY,
                      .added = true,
                      .tenant = slice_text(tenant) };
    event_log_add(log, &effect, ++rig->wall_ms);
}

/* What was told since the last look: the jobs' ids as numbers, and "reset". */
static void expect_told(Rig *rig, bool more, const char *expected)
{
    Buf told = { 0 };
    buf_clear(&rig->out);
    assert_int_equal(event_listener_read(&rig->listener, &rig->sources, &rig->out), more);
    for (Slice rest = buf_slice(&rig->out); rest.bytes;) {
        Slice line = slice_cut(&rest, '\n');
        const char *subject = slice_starts(line, SLICE_LITERAL("data: {\"spec"))
                                  ? memmem(line.data, line.bytes, "subject\":\"", 10)
                                  : NULL;
        JobId id;
        if (slice_is(line, "event: reset"))
            buf_add_text(&told, "reset ");
        if (subject && !id_parse(slice_of(subject + 10, ID_TEXT_BYTES - 1), &id))
            buf_printf(&told, "%llu ", (unsigned long long)id);
    }
    assert_string_equal(buf_cstr(&told), expected);
    buf_done(&told);
}

static void place(Rig *rig, const char *text)
{
    event_places_done(&rig->listener.places);
    assert_int_equal(event_places_parse(slice_text(text), &rig->listener.places), ERR_OK);
}

/* The id of the last event that was told. */
static void last_place(const Rig *rig, char *out, size_t bytes)
{
    out[0] = 0;
    for (Slice rest = buf_slice(&rig->out); rest.bytes;) {
        Slice line = slice_cut(&rest, '\n');
        if (slice_starts(line, SLICE_LITERAL("id: ")))
            snprintf(out, bytes, SLICE_FMT, SLICE_ARG(slice_from(line, 4)));
    }
}

static void a_node_alone_names_only_itself(void **state)
{
    Rig *rig = *state;
    char text[64];
    rig->sources = (EventSources){ .own = &rig->own };
    happen(rig, &rig->own, 1, "a");
    place(rig, "70-0");
    expect_told(rig, true, "1 ");
    last_place(rig, text, sizeof text);
    assert_string_equal(text, "70-1");
    place(rig, "69-1"); /* of the start before */
    expect_told(rig, true, "reset ");
    place(rig, "1:70-1,2:80-5"); /* when it was one of many */
    expect_told(rig, true, "reset ");
}

static void all_nodes_are_heard_in_the_order_of_time(void **state)
{
    Rig *rig = *state;
    place(rig, "1:70-0,2:80-0");
    happen(rig, &rig->own, 1, "a");
    happen(rig, &rig->far[0], 2, "a");
    happen(rig, &rig->own, 3, "b");
    happen(rig, &rig->far[0], 4, "b");
    expect_told(rig, true, "1 2 3 4 ");
    expect_told(rig, true, "");
    rig->listener.tenant = SLICE_LITERAL("b");
    happen(rig, &rig->own, 5, "a");
    happen(rig, &rig->far[0], 6, "a");
    happen(rig, &rig->far[0], 7, "b");
    expect_told(rig, true, "7 ");
    assert_non_null(strstr(buf_cstr(&rig->out), "\"source\":\"/nodes/far\""));
}

static void a_listener_goes_on_at_any_event(void **state)
{
    Rig *rig = *state;
    rig->together = true;
    for (JobId id = 1; id <= 5; id++)
        happen(rig, id % 2 ? &rig->own : &rig->far[0], id, "a");
    place(rig, "1:70-0,2:80-0");
    expect_told(rig, true, "1 2 3 4 5 ");
    Buf all = rig->out;
    rig->out = (Buf){ 0 };
    const char *rest[] = { "2 3 4 5 ", "3 4 5 ", "4 5 ", "5 ", "" };
    Slice text = buf_slice(&all);
    for (size_t i = 0; i < 5;) {
        char id[64];
        Slice line = slice_cut(&text, '\n');
        if (!slice_starts(line, SLICE_LITERAL("id: ")))
            continue;
        snprintf(id, sizeof id, SLICE_FMT, SLICE_ARG(slice_from(line, 4)));
        place(rig, id);
        expect_told(rig, true, rest[i++]);
    }
    buf_done(&all);
}

static void nodes_come_and_go(void **state)
{
    Rig *rig = *state;
    char text[64];
    happen(rig, &rig->far[1], 1, "a");
    place(rig, "1:70-0,2:80-0");
    expect_told(rig, true, "");
    rig->peers.count = 2;
    expect_told(rig, true, "1 "); /* all that it has ever done is new */
    rig->list[0].alive = false;
    happen(rig, &rig->far[1], 2, "a");
    happen(rig, &rig->far[0], 3, "a");
    expect_told(rig, true, "2 ");
    rig->list[0].alive = true; /* it was only late */
    expect_told(rig, true, "3 ");
    rig->list[0].fenced = true;
    happen(rig, &rig->own, 4, "a");
    expect_told(rig, true, "reset 4 ");
    last_place(rig, text, sizeof text);
    assert_string_equal(text, "1:70-1,3:90-2");
    expect_told(rig, true, "");
}

static void what_another_node_keeps_no_more_is_told(void **state)
{
    Rig *rig = *state;
    happen(rig, &rig->far[0], 1, "a");
    place(rig, "1:70-0,2:79-5"); /* of its start before */
    expect_told(rig, true, "reset ");
    happen(rig, &rig->far[0], 2, "a");
    expect_told(rig, true, "2 ");
    place(rig, "1:70-0,2:1-0"); /* EVENT_EPOCH_LOST */
    expect_told(rig, true, "reset ");
}

static void who_follows_waits_for_no_one(void **state)
{
    Rig *rig = *state;
    rig->quiet = true;
    happen(rig, &rig->far[0], 1, "a");
    happen(rig, &rig->own, 2, "a");
    place(rig, "1:70-0,2:80-0");
    expect_told(rig, true, "2 ");
    rig->quiet = false;
    expect_told(rig, true, "1 ");
    rig->silent = true;
    happen(rig, &rig->far[0], 3, "a");
    expect_told(rig, true, "");
    rig->silent = false;
    expect_told(rig, true, "3 ");
}

static void what_is_kept_ends_when_all_have_told(void **state)
{
    Rig *rig = *state;
    rig->listener.follow = false;
    rig->quiet = true;
    happen(rig, &rig->far[0], 1, "a");
    happen(rig, &rig->own, 2, "a");
    happen(rig, &rig->far[0], 3, "a");
    expect_told(rig, true, ""); /* the first may be the other's */
    rig->quiet = false;
    expect_told(rig, false, "1 2 3 ");
}

static void a_node_that_does_not_answer_is_not_waited_for(void **state)
{
    Rig *rig = *state;
    rig->listener.follow = false;
    rig->silent = true;
    happen(rig, &rig->own, 1, "a");
    expect_told(rig, false, "reset 1 ");
}

static void a_look_is_bounded(void **state)
{
    Rig *rig = *state;
    rig->together = true;
    rig->listener.follow = false;
    for (JobId id = 1; id <= EVENT_READ_MAX; id++) {
        happen(rig, &rig->own, id, "a");
        happen(rig, &rig->far[0], id, "a");
    }
    for (size_t looks = 0; looks < 2; looks++) {
        buf_clear(&rig->out);
        bool more = event_listener_read(&rig->listener, &rig->sources, &rig->out);
        assert_int_equal(more, looks == 0);
        size_t events = 0;
        for (Slice rest = buf_slice(&rig->out); rest.bytes;)
            events += slice_starts(slice_cut(&rest, '\n'), SLICE_LITERAL("id: "));
        assert_int_equal(events, EVENT_READ_MAX);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_node_alone_names_only_itself),
        TEST(all_nodes_are_heard_in_the_order_of_time),
        TEST(a_listener_goes_on_at_any_event),
        TEST(nodes_come_and_go),
        TEST(what_another_node_keeps_no_more_is_told),
        TEST(who_follows_waits_for_no_one),
        TEST(what_is_kept_ends_when_all_have_told),
        TEST(a_node_that_does_not_answer_is_not_waited_for),
        TEST(a_look_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

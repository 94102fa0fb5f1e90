/* SPDX-License-Identifier: Apache-2.0 */
/* resource_test.c - what managers answer, what they write down, and that nothing is ever
 * over-booked or lost however long it goes on. */
#include "core/resource.h"

#include "base/rng.h"
#include "base/text.h"
#include "core/job.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define STEPS_DEFAULT 100000
#define HOLDERS       40

static Resource manager_of(ResourceKind kind, int64_t quantity, const char *items,
                           size_t bytes)
{
    ResourceDef def = resource_default(SLICE_LITERAL("k"), kind);
    if (kind == RESOURCE_QUANTITY)
        def.quantity = quantity;
    if (items)
        def.list = slice_of(items, bytes);
    Resource manager = { 0 };
    resource_define(&manager, &def);
    return manager;
}

/* S3.25, S3.28, S3.30, S3.31, S3.39, S3.40, S3.43, S3.44 */
static void defaults_are_those_of_the_founding_text(void **state)
{
    (void)state;
    ResourceDef quantity = resource_default(SLICE_LITERAL("q"), RESOURCE_QUANTITY);
    assert_int_equal(quantity.quantity, 10);
    assert_int_equal(quantity.consumption, 1);
    assert_int_equal(quantity.scope, SCOPE_NODE);
    ResourceDef discrete = resource_default(SLICE_LITERAL("d"), RESOURCE_DISCRETE);
    assert_int_equal(discrete.consumption, 0);
    assert_int_equal(resource_capacity(&discrete), 10);
    Slice rest = discrete.list;
    Slice item = { NULL, 0 };
    assert_true(list_next(&rest, &item));
    assert_true(slice_is(item, "item01"));
    while (list_next(&rest, &item))
        continue;
    assert_true(slice_is(item, "item10"));
    assert_int_equal(resource_capacity(&(ResourceDef){ .kind = RESOURCE_HIGHLANDER }),
                     INT64_MAX);
}

/* S3.29, S3.42 */
static void kinds_have_names_and_class_names(void **state)
{
    (void)state;
    static const char *const classes[] = {
        "com.enioka.jqm.tools.QuantityResourceManager",
        "com.enioka.jqm.tools.DiscreteResourceManager",
        "com.enioka.jqm.tools.HighlanderResourceManager",
    };
    for (unsigned i = 0; i < RESOURCE_KINDS; i++) {
        ResourceKind kind = RESOURCE_QUANTITY;
        Slice name = slice_text(resource_kind_name((ResourceKind)i));
        assert_int_equal(resource_kind_parse(name, &kind), ERR_OK);
        assert_int_equal(kind, i);
        assert_int_equal(resource_kind_parse(slice_text(classes[i]), &kind), ERR_OK);
        assert_int_equal(kind, i);
    }
    ResourceKind kind;
    assert_int_equal(resource_kind_parse(SLICE_LITERAL("Quantity"), &kind), ERR_INVALID);
}

/* S3.13, S3.24, S3.26 */
static void a_quantity_gives_three_answers(void **state)
{
    (void)state;
    Resource manager = manager_of(RESOURCE_QUANTITY, 3, NULL, 0);
    Buf bookings = { 0 };
    assert_int_equal(resource_ask(&manager, 2, 1), RESOURCE_BOOKED);
    resource_book(&manager, 2, 1, &bookings);
    assert_int_equal(resource_free(&manager), 1);
    assert_int_equal(resource_ask(&manager, 1, 1), RESOURCE_BOOKED);
    assert_int_equal(resource_ask(&manager, 2, 1), RESOURCE_NOT_ENOUGH);
    resource_book(&manager, 1, 1, &bookings);
    assert_int_equal(resource_ask(&manager, 1, 1), RESOURCE_EXHAUSTED);
    assert_int_equal(resource_ask(&manager, 0, 1), RESOURCE_BOOKED);
    assert_true(
        slice_equal(buf_slice(&bookings), slice_of("k=#2\0k=#1", sizeof "k=#2\0k=#1")));
    resource_release(&manager, SLICE_LITERAL("#2"), 1);
    assert_int_equal(resource_free(&manager), 2);
    buf_done(&bookings);
    resource_done(&manager);
}

/* S3.33, S3.34, S3.35, S3.37, S3.41 */
static void items_are_given_by_name_and_to_one_holder(void **state)
{
    (void)state;
    Resource manager = manager_of(RESOURCE_DISCRETE, 0, "a\0b\0c", 6);
    Buf bookings = { 0 };
    resource_book(&manager, 2, 1, &bookings);
    assert_true(slice_equal(buf_slice(&bookings), slice_of("k=a,b", 6)));
    assert_int_equal(resource_ask(&manager, 2, 1), RESOURCE_NOT_ENOUGH);
    buf_clear(&bookings);
    resource_book(&manager, 1, 1, &bookings);
    assert_true(slice_equal(buf_slice(&bookings), slice_of("k=c", 4)));
    assert_int_equal(resource_ask(&manager, 1, 1), RESOURCE_EXHAUSTED);
    resource_release(&manager, SLICE_LITERAL("a,b"), 1);
    buf_clear(&bookings);
    resource_book(&manager, 1, 1, &bookings);
    assert_true(slice_equal(buf_slice(&bookings), slice_of("k=a", 4)));
    resource_check(&manager);
    buf_done(&bookings);
    resource_done(&manager);
}

/* S3.48 */
static void a_highlander_lets_one_of_each_type_run(void **state)
{
    (void)state;
    Resource manager = manager_of(RESOURCE_HIGHLANDER, 0, NULL, 0);
    Buf bookings = { 0 };
    resource_book(&manager, 1, 7, &bookings);
    assert_int_equal(resource_ask(&manager, 1, 7), RESOURCE_NOT_ENOUGH);
    assert_int_equal(resource_ask(&manager, 1, 8), RESOURCE_BOOKED);
    resource_release(&manager, SLICE_LITERAL("#1"), 7);
    assert_int_equal(resource_ask(&manager, 1, 7), RESOURCE_BOOKED);
    buf_done(&bookings);
    resource_done(&manager);
}

static void a_packed_definition_is_the_whole_one(void **state)
{
    (void)state;
    ResourceDef def = resource_default(SLICE_LITERAL("lic"), RESOURCE_DISCRETE);
    def.scope = SCOPE_CLUSTER;
    def.consumption = 3;
    def.quantity = 12;
    Buf packed = { 0 };
    ResourceDef back;
    resource_pack(&packed, &def);
    assert_int_equal(resource_unpack(buf_slice(&packed), &back), ERR_OK);
    assert_true(slice_equal(back.key, def.key));
    assert_true(slice_equal(back.list, def.list));
    assert_int_equal(back.kind, def.kind);
    assert_int_equal(back.scope, def.scope);
    assert_int_equal(back.consumption, 3);
    assert_int_equal(back.quantity, 12);
    packed.bytes--;
    assert_int_equal(resource_unpack(buf_slice(&packed), &back), ERR_CORRUPT);
    buf_done(&packed);
}

/* S3.19, S3.23: the key before the kind; what says nothing leaves it open. */
static void the_more_exact_word_counts(void **state)
{
    (void)state;
    static const struct {
        const char *wants;
        size_t bytes;
        bool found;
        int64_t amount;
    } table[] = {
        { "", 0, false, 0 },
        { "thread=2", 9, true, 2 },
        { "other=2", 8, false, 0 },
        { "*quantity=3", 12, true, 3 },
        { "*discrete=3", 12, false, 0 },
        { "*quantity=3\0thread=4", 21, true, 4 },
        { "thread=4\0*quantity=3", 21, true, 4 },
        { "thread=0", 9, true, 0 },
    };
    ResourceDef def = resource_default(SLICE_LITERAL("thread"), RESOURCE_QUANTITY);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        int64_t amount = 0;
        Slice wants = slice_of(table[i].wants, table[i].bytes);
        assert_int_equal(wants_find(wants, &def, &amount), table[i].found);
        if (table[i].found)
            assert_int_equal(amount, table[i].amount);
    }
}

/* S3.20, S3.23 */
static void parameters_are_understood_in_every_spelling(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *key;
        const char *param;
        int rank; /* 0: no such parameter */
    } table[] = {
        { "com.enioka.jqm.rm.quantity.thread.consumption", "thread", "consumption", 3 },
        { "com.enioka.jqm.rm.thread.quantity", "thread", "quantity", 2 },
        { "com.enioka.jqm.rm.a.b.c.list", "a.b.c", "list", 2 },
        { "com.enioka.jqm.rm.quantity.consumption", "", "consumption", 1 },
        { "com.enioka.jqm.rm.discrete.list", "", "list", 1 },
        { "com.enioka.jqm.rm.quantity", NULL, NULL, 0 },
        { "com.enioka.jqm.rm.", NULL, NULL, 0 },
        { "com.enioka.jqm.rm.x.", NULL, NULL, 0 },
        { "thread", NULL, NULL, 0 },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        RmParam param;
        bool found = rm_param_parse(slice_text(table[i].name), &param);
        assert_int_equal(found, table[i].rank > 0);
        if (!found)
            continue;
        assert_true(slice_is(param.key, table[i].key));
        assert_true(slice_is(param.param, table[i].param));
        assert_int_equal(rm_param_rank(&param), table[i].rank);
    }
}

/* --- The property ----------------------------------------------------------------------
 *
 * Many holders book and give back at random while the definition changes under them; a
 * model counts by looking at every holder. */

typedef struct Walk {
    Rng rng;
    Resource manager;
    Buf held[HOLDERS]; /* KEY=VALUE, NUL; empty: holds nothing */
    uint64_t whose[HOLDERS];
} Walk;

static Slice value_of(const Walk *walk, size_t holder)
{
    Slice text = buf_slice(&walk->held[holder]);
    text.bytes -= text.bytes ? 1 : 0;
    slice_cut(&text, '=');
    return text;
}

static void redefine(Walk *walk)
{
    static const char items[] = "a\0b\0c\0d\0e\0f\0g\0h";
    ResourceKind kind = walk->manager.def.kind;
    ResourceDef def = resource_default(SLICE_LITERAL("k"), kind);
    def.quantity = (int64_t)rng_below(&walk->rng, 12);
    if (kind == RESOURCE_DISCRETE)
        def.list = slice_of(items, 2 * (1 + rng_below(&walk->rng, 8)));
    resource_define(&walk->manager, &def);
    for (size_t i = 0; i < HOLDERS; i++)
        if (walk->held[i].bytes)
            resource_hold(&walk->manager, value_of(walk, i), walk->whose[i]);
}

static void let_go(Walk *walk, size_t holder)
{
    resource_release(&walk->manager, value_of(walk, holder), walk->whose[holder]);
    buf_clear(&walk->held[holder]);
}

static void try_to_book(Walk *walk, size_t holder)
{
    int64_t amount = (int64_t)rng_below(&walk->rng, 5);
    bool highlander = walk->manager.def.kind == RESOURCE_HIGHLANDER;
    int64_t before = resource_free(&walk->manager);
    walk->whose[holder] = 1 + rng_below(&walk->rng, 6);
    ResourceAnswer answer = resource_ask(&walk->manager, amount, walk->whose[holder]);
    if (!highlander) {
        assert_int_equal(answer == RESOURCE_BOOKED, amount <= before);
        assert_true(answer != RESOURCE_EXHAUSTED || before == 0);
    }
    if (answer == RESOURCE_BOOKED)
        resource_book(&walk->manager, amount, walk->whose[holder], &walk->held[holder]);
    if (answer == RESOURCE_BOOKED && !highlander)
        assert_int_equal(before - resource_free(&walk->manager), amount);
}

static bool item_listed(const Walk *walk, Slice item)
{
    for (size_t i = 0; i < walk->manager.item_count; i++)
        if (slice_equal(walk->manager.items[i], item))
            return true;
    return false;
}

static int64_t holders_of_item(const Walk *walk, Slice item)
{
    int64_t count = 0;
    for (size_t i = 0; i < HOLDERS; i++) {
        Slice names = value_of(walk, i);
        while (names.bytes)
            count += slice_equal(slice_cut(&names, ','), item);
    }
    return count;
}

static void expect_sound(const Walk *walk)
{
    int64_t used = 0;
    resource_check(&walk->manager);
    for (size_t i = 0; i < HOLDERS; i++) {
        Slice value = value_of(walk, i);
        if (walk->manager.def.kind != RESOURCE_DISCRETE) {
            used += booking_amount(value);
            continue;
        }
        while (value.bytes) {
            Slice item = slice_cut(&value, ',');
            assert_int_equal(holders_of_item(walk, item), 1); /* S3.41 */
            used += item_listed(walk, item);
        }
    }
    assert_int_equal(used, walk->manager.used); /* nothing leaks */
    for (size_t i = 0; walk->manager.def.kind == RESOURCE_HIGHLANDER && i < HOLDERS; i++)
        for (size_t k = 0; k < i && walk->held[i].bytes; k++)
            assert_true(!walk->held[k].bytes || walk->whose[k] != walk->whose[i]);
}

static uint64_t setting(const char *name, uint64_t otherwise)
{
    int64_t value;
    const char *text = getenv(name);
    return text && !int_parse(slice_text(text), &value) ? (uint64_t)value : otherwise;
}

static void never_over_booked_and_never_leaked(void **state)
{
    (void)state;
    uint64_t steps = setting("PAWL_RESOURCE_STEPS", STEPS_DEFAULT);
    for (unsigned kind = 0; kind < RESOURCE_KINDS; kind++) {
        Walk walk = { .rng = { setting("PAWL_SEED", 1) + kind } };
        walk.manager.def.kind = (ResourceKind)kind;
        redefine(&walk);
        for (uint64_t step = 0; step < steps / RESOURCE_KINDS + 1; step++) {
            size_t holder = rng_below(&walk.rng, HOLDERS);
            if (rng_percent(&walk.rng, 2))
                redefine(&walk);
            else if (walk.held[holder].bytes)
                let_go(&walk, holder);
            else
                try_to_book(&walk, holder);
            if (step % 16 == 0)
                expect_sound(&walk);
        }
        for (size_t i = 0; i < HOLDERS; i++)
            if (walk.held[i].bytes)
                let_go(&walk, i);
        assert_int_equal(walk.manager.used, 0);
        for (size_t i = 0; i < HOLDERS; i++)
            buf_done(&walk.held[i]);
        resource_done(&walk.manager);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_those_of_the_founding_text),
        cmocka_unit_test(kinds_have_names_and_class_names),
        cmocka_unit_test(a_quantity_gives_three_answers),
        cmocka_unit_test(items_are_given_by_name_and_to_one_holder),
        cmocka_unit_test(a_highlander_lets_one_of_each_type_run),
        cmocka_unit_test(a_packed_definition_is_the_whole_one),
        cmocka_unit_test(the_more_exact_word_counts),
        cmocka_unit_test(parameters_are_understood_in_every_spelling),
        cmocka_unit_test(never_over_booked_and_never_leaked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

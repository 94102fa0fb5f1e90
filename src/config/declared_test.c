/* SPDX-License-Identifier: Apache-2.0 */
/* declared_test.c - definitions in the configuration file: what arrives, what is
 * shown, and where the errors are. */
#include "config/testing.h"

#include "base/text.h"

/* A section of the test's own: `size` is a number from 1, `deep` anything. */
static Err read_thing(const Noun *noun, Declaring *in, Buf *out)
{
    (void)noun;
    for (const JsonIn *at = json_in_first(in->object); at; at = at->next) {
        if (slice_is(at->key, "deep"))
            continue;
        bool good = slice_is(at->key, "size") && at->kind == JSON_IN_INT;
        if (!good) {
            snprintf(in->why.detail, sizeof in->why.detail, "%s is wrong",
                     json_in_kind_name(at->kind));
            snprintf(in->why.pointer, sizeof in->why.pointer, "/" SLICE_FMT,
                     SLICE_ARG(at->key));
            return ERR_INVALID;
        }
        buf_printf(out, "%lld", (long long)at->as.integer);
    }
    if (json_in_find(in->object, "deep")) {
        snprintf(in->why.detail, sizeof in->why.detail, "too deep");
        snprintf(in->why.hint, sizeof in->why.hint, "dig less");
        snprintf(in->why.pointer, sizeof in->why.pointer, "/deep/1/b");
        return ERR_INVALID;
    }
    buf_add_char(out, '!');
    return ERR_OK;
}

static const Noun things = {
    .section = "handlers", .table = "thing", .name_valid = name_valid, .tenants = true
};
static const Noun queues = { .section = "queues",
                             .table = "line",
                             .name_valid = queue_name_valid };

static const DeclareSection sections[] = {
    { &things, read_thing },
    { &queues, read_thing },
    { NULL, NULL },
};

static ConfigSources declaring_sources(const Folder *folder)
{
    ConfigSources sources = folder_sources(folder);
    sources.sections = sections;
    return sources;
}

static const Declared *check_one(const Declared *at, const char *table,
                                 const char *tenant, const char *name, const char *value)
{
    assert_non_null(at);
    assert_string_equal(at->section->noun->table, table);
    assert_true(slice_is(at->tenant, tenant));
    assert_true(slice_is(at->name, name));
    assert_true(slice_is(at->value, value));
    return at->next;
}

static void check_all(const Config *config)
{
    const Declared *at = config->declared;
    at = check_one(at, "thing", "default", "a", "7!");
    at = check_one(at, "thing", "acme", "08", "!");
    at = check_one(at, "line", "", "x/y", "-3!");
    assert_null(at);
}

static const char good[] = "handlers:\n"
                           "  - { name: a, size: 7 }\n"
                           "  - name: 08\n"
                           "    tenant: acme\n"
                           "queues:\n"
                           "  - { name: x/y, size: -3 }\n";

static void definitions_arrive_in_order(void **state)
{
    const Folder *folder = *state;
    ConfigSources sources = declaring_sources(folder);
    Config config;
    Error why = { 0 };
    char place[200];
    folder_write(folder, "pawl.yaml", good);
    if (config_load(&sources, &config, &why))
        fail_msg("%s", why.text);
    check_all(&config);
    snprintf(place, sizeof place, "%s:3:5", folder->file);
    assert_string_equal(config.declared->next->place, place);
    config_done(&config);
}

static void what_is_shown_can_be_read_again(void **state)
{
    const Folder *folder = *state;
    ConfigSources sources = declaring_sources(folder);
    Config config;
    Error why = { 0 };
    Buf text = { 0 };
    folder_write(folder, "pawl.yaml", good);
    assert_int_equal(config_load(&sources, &config, &why), ERR_OK);
    config_show(&config, true, &text);
    config_done(&config);
    folder_write(folder, "pawl.yaml", buf_cstr(&text));
    if (config_load(&sources, &config, &why))
        fail_msg("%s in\n%s", why.text, buf_cstr(&text));
    check_all(&config);
    config_done(&config);
    buf_done(&text);
}

/* A reload takes them over whole. */
static void a_reload_takes_them_over(void **state)
{
    const Folder *folder = *state;
    ConfigSources sources = declaring_sources(folder);
    Config running;
    Config loaded;
    Error why = { 0 };
    folder_write(folder, "pawl.yaml", "queues: [ { name: q } ]\n");
    assert_int_equal(config_load(&sources, &running, &why), ERR_OK);
    folder_write(folder, "pawl.yaml", good);
    assert_int_equal(config_load(&sources, &loaded, &why), ERR_OK);
    config_adopt(&running, &loaded);
    check_all(&running);
    config_done(&running);
}

static void definitions_of_several_files_come_together(void **state)
{
    const Folder *folder = *state;
    ConfigSources sources = declaring_sources(folder);
    Config config;
    Error why = { 0 };
    Buf lines = { 0 };
    char expected[400];
    folder_write(folder, "pawl.yaml", "handlers: [ { name: a } ]\n");
    folder_dir(folder, "pawl.d");
    folder_write(folder, "pawl.d/10-a.yaml", "handlers: [ { name: b } ]\n");
    assert_int_equal(config_load(&sources, &config, &why), ERR_OK);
    assert_true(slice_is(config.declared->next->name, "b"));
    config_done(&config);
    folder_write(folder, "pawl.d/10-a.yaml", "\nhandlers: [ { name: a } ]\n");
    assert_int_equal(config_check(&sources, &lines), 1);
    snprintf(expected, sizeof expected,
             "%s/pawl.d/10-a.yaml:2:13: handlers: a is declared twice, first at "
             "%s:1:13\n",
             folder->path, folder->file);
    assert_string_equal(buf_cstr(&lines), expected);
    buf_done(&lines);
}

static const struct {
    const char *text;
    const char *error; /* behind the file's name */
} bad[] = {
    { "handlers: 7\n",
      ":1:11: handlers: a list of definitions with names is expected\n" },
    { "handlers: [ a ]\n", ":1:13: handlers: each item is a mapping with a name\n" },
    { "handlers: [ { size: 1 } ]\n", ":1:13: handlers: the item has no name\n" },
    { "handlers: [ { name: [a] } ]\n", ":1:21: handlers: a name is expected\n" },
    { "handlers: [ { name: a/b } ]\n", ":1:21: handlers: this name is not valid\n" },
    { "handlers:\n - name: a\n   tenant: ui\n",
      ":3:12: handlers: this name of a tenant is not valid\n" },
    { "handlers:\n - name: a\n   size: \"7\"\n",
      ":3:4: handlers, a: a string is wrong\n" },
    { "handlers:\n - name: a\n   size: 1\n   size: 2\n",
      ":4:4: handlers: this key stands twice\n" },
    { "handlers:\n - name: a\n   deep:\n     - 1\n     - { b: 2 }\n",
      ":5:10: handlers, a: too deep; dig less\n" },
    { "queues: [ { name: a, tenant: b } ]\n", ":1:22: queues, a: a string is wrong\n" },
    { "queues: []\nhandlers: []\nqueues: []\n", ":3:1: section queues stands twice\n" },
};

static void errors_have_their_lines(void **state)
{
    const Folder *folder = *state;
    ConfigSources sources = declaring_sources(folder);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        Buf lines = { 0 };
        char expected[400];
        folder_write(folder, "pawl.yaml", bad[i].text);
        assert_int_equal(config_check(&sources, &lines), 1);
        snprintf(expected, sizeof expected, "%s%s", folder->file, bad[i].error);
        assert_string_equal(buf_cstr(&lines), expected);
        buf_done(&lines);
    }
}

static void definitions_cannot_stand_elsewhere(void **state)
{
    Folder *folder = *state;
    ConfigSources sources = declaring_sources(folder);
    Buf lines = { 0 };
    const char *sets[] = { "queues.a=1" };
    folder_write(folder, "pawl.yaml", "");
    folder->env[1] = "PAWL_QUEUES_A=1";
    sources.sets = sets;
    sources.set_count = 1;
    assert_int_equal(config_check(&sources, &lines), 2);
    assert_string_equal(buf_cstr(&lines),
                        "$PAWL_QUEUES_A: definitions stand in a file\n"
                        "--set queues.a: definitions stand in a file\n");
    buf_done(&lines);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        folder_test(definitions_arrive_in_order),
        folder_test(what_is_shown_can_be_read_again),
        folder_test(a_reload_takes_them_over),
        folder_test(definitions_of_several_files_come_together),
        folder_test(errors_have_their_lines),
        folder_test(definitions_cannot_stand_elsewhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

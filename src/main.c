/* SPDX-License-Identifier: Apache-2.0 */
/* main.c - the program: the command line, and behind `serve` the daemon. */
#include "cli/cli.h"

#include "config/config.h"
#include "engine/checkup.h"
#include "engine/serve.h"
#include "move/move_store.h"

extern char **environ;

static Err config_rows(const char *data, ConfigRow *row, void *context, Error *why)
{
    ConfigSources sources = { .data = data,
                              .env = (const char *const *)environ,
                              .sections = declare_sections() };
    Config config;
    Err err = config_load(&sources, &config, why);
    if (err)
        return err;
    for (ConfigKey key = 0; key < CONFIG_KEYS; key++) {
        char name[CONFIG_NAME_BYTES];
        Buf text = { 0 };
        value_text(&config_field(key)->rule, config_at(&config, key), &text);
        row(context, config_name(key, name), buf_cstr(&text), config.origins[key]);
        buf_done(&text);
    }
    for (const Declared *at = config.declared; at; at = at->next) {
        Buf name = { 0 };
        Buf text = { 0 };
        buf_printf(&name, "%s." SLICE_FMT, at->section->noun->section,
                   SLICE_ARG(at->name));
        buf_add_slice(&text, at->text);
        row(context, buf_cstr(&name), buf_cstr(&text), at->place);
        buf_done(&name);
        buf_done(&text);
    }
    config_done(&config);
    return ERR_OK;
}

static void checkup(const CheckupAsk *ask, const Findings *findings)
{
    if (ask->store_only || ask->store)
        checkup_store(ask->store, findings);
    if (ask->store_only)
        return;
    Checkup what = { .data = ask->data,
                     .daemon_pid = ask->daemon_pid,
                     .with_store = !ask->store };
    checkup_config(&what, findings);
}

static StoreMove move_of(const CliMove *move)
{
    return (StoreMove){ .data = move->data,
                        .config = move->config,
                        .store = move->store,
                        .file = move->file,
                        .replace = move->replace };
}

static Err export_all(const CliMove *from, uint64_t *out_rows, Error *why)
{
    StoreMove move = move_of(from);
    return store_export(&move, out_rows, why);
}

static Err import_all(const CliMove *from, uint64_t *out_rows, Error *why)
{
    StoreMove move = move_of(from);
    return store_import(&move, out_rows, why);
}

static const CliHooks hooks = { .serve = serve_main,
                                .config = config_rows,
                                .checkup = checkup,
                                .store_export = export_all,
                                .store_import = import_all };

int main(int argc, char **argv)
{
    return cli_main(argc, argv, &hooks);
}

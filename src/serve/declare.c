/* SPDX-License-Identifier: Apache-2.0 */
/* declare.c - see declare.h: which kinds of definitions a file may hold. */
#include "serve/declare.h"

#include "base/text.h"
#include "base/times.h"
#include "serve/handler_json.h"

static Err read_handler(Declaring *in, Buf *out_value)
{
    JobRules rules = { .tenant = in->tenant, .wall_ms = clock_now().wall_ms };
    HandlerReader reader = { .job = { .rules = &rules, .arena = in->arena } };
    reader.handler.tenant = in->tenant;
    reader.handler.type = in->name;
    handler_read_begin(&reader);
    Err err = handler_read(&reader, in->object);
    if (!err)
        err = handler_read_end(&reader);
    if (err)
        in->why = reader.job.why;
    else
        handler_pack(out_value, &reader.handler);
    return err;
}

static const DeclareSection rows[] = {
    { "handlers", HANDLER_TABLE, true, name_valid, read_handler },
    { NULL, NULL, false, NULL, NULL },
};

const DeclareSection *declare_sections(void)
{
    return rows;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* control_fuzz.c - any bytes as a control file or a <batch-config>: either a fault with a
 * place, or a job that keeps what the rest of the program relies on. */
#include "intake/control.h"
#include "intake/settings_xml.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void must(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "control_fuzz: %s\n", what);
    abort();
}

static void check_job(const Job *job, Slice document)
{
    Slice env;
    Slice item;
    Buf variables = { 0 };
    must(slice_equal(job->payload, document), "the document was changed");
    must(job->flags & JOB_CONTROL, "a job of no control file");
    must(job->type.bytes > 0, "a job without a type");
    must(!job->command.bytes || job->command.data[0] == '/', "a module that is relative");
    must(!job->command.bytes || !memmem(job->command.data, job->command.bytes, "/../", 4),
         "a module that climbs");
    must(document_hash(document) == job->document_hash, "another document's hash");
    control_variables(document, &variables);
    env = buf_slice(&variables);
    while (list_next(&env, &item))
        must(slice_starts(item, SLICE_LITERAL("BATCH_")), "a variable of another name");
    buf_done(&variables);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    Slice document = slice_of((const char *)data, bytes);
    ControlRules rules = { .tenant = SLICE_LITERAL("default"),
                           .modules_root = "/nowhere",
                           .payload_bytes_max = 1 << 20 };
    Arena arena = { 0 };
    Job job;
    Problem why = { 0 };
    const JsonIn *settings = NULL;
    if (!control_read(document, &rules, &arena, &job, &why))
        check_job(&job, document);
    else
        must(why.kind != NULL, "a refusal without a reason");
    why.kind = NULL;
    if (settings_xml_read(document, &arena, &settings, &why))
        must(why.kind != NULL, "a refusal without a reason");
    else
        must(settings->as.items.count <= 5, "more settings than there are");
    control_meant(document);
    arena_done(&arena);
    return 0;
}

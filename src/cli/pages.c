/* SPDX-License-Identifier: Apache-2.0 */
/* pages.c - see pages.h. */
#include "cli/pages.h"

#include <stdio.h>

#define PAGE_JOBS     200  /* a page is one document: jobs come with their payloads */
#define EMPTY_PAGES   1000 /* a search that finds nothing in so many looks gives up */
#define MATCH_IDS_MAX 1000000

static void page_path(Buf *path, const Pages *pages, size_t left, Slice cursor)
{
    char limit[24];
    snprintf(limit, sizeof limit, "%zu", left < PAGE_JOBS ? left : PAGE_JOBS);
    buf_clear(path);
    buf_add_text(path, "/api/v1/jobs");
    if (pages->query && *pages->query)
        url_query(path, "q", slice_text(pages->query));
    url_query(path, "limit", slice_text(limit));
    if (cursor.bytes)
        url_query(path, "cursor", cursor);
}

int pages_walk(Cli *cli, Pages *pages)
{
    Buf path = { 0 };
    size_t seen = 0;
    int code = CLI_DONE;
    pages->more = false;
    for (int empty = 0; empty < EMPTY_PAGES && seen < pages->limit; empty++) {
        Doc *page = NULL;
        page_path(&path, pages, pages->limit - seen, buf_slice(&pages->cursor));
        code = cli_get(cli, buf_cstr(&path), &page);
        if (code)
            break;
        const Doc *job = doc_first(doc_get(page, "items"));
        for (; job && seen < pages->limit; job = doc_next(job), seen++) {
            pages->each(pages->context, job);
            empty = 0;
        }
        const Doc *next = doc_get(page, "next_cursor");
        pages->more = !doc_is_null(next);
        buf_clear(&pages->cursor);
        if (pages->more)
            doc_show(next, &pages->cursor);
        doc_free(page);
        if (!pages->more)
            break;
    }
    buf_done(&path);
    return code;
}

typedef struct IdList {
    JobIdText *items;
    size_t count;
    size_t capacity;
} IdList;

static char *id_room(IdList *list)
{
    mem_room((void **)&list->items, list->count, &list->capacity, sizeof *list->items);
    return list->items[list->count++];
}

static void add_id(void *context, const Doc *job)
{
    snprintf(id_room(context), ID_TEXT_BYTES, SLICE_FMT, SLICE_ARG(doc_text(job, "id")));
}

int pages_ids(Cli *cli, JobIdText **out_ids, size_t *out_count)
{
    const Args *args = &cli->args;
    const char *match = args_value(args, "match");
    IdList list = { 0 };
    int code = CLI_DONE;
    Fault usage = { CLI_USAGE, "usage",
                    "an id, its first characters, last, or --match QUERY" };
    if (match && args->operand_count)
        return cli_fail(cli, usage, "ids and --match exclude each other");
    if (!match && !args->operand_count)
        return cli_fail(cli, usage, "missing job id");
    if (match && !*match)
        return cli_fail(cli, usage, "--match needs a query");
    if (match) {
        Pages pages = {
            .query = match, .limit = MATCH_IDS_MAX, .each = add_id, .context = &list
        };
        code = pages_walk(cli, &pages);
        buf_done(&pages.cursor);
    }
    for (size_t i = 0; i < args->operand_count && !code; i++)
        code = cli_job_id(cli, args->operands[i], id_room(&list));
    if (code) {
        mem_free(list.items);
        return code;
    }
    *out_ids = list.items;
    *out_count = list.count;
    return CLI_DONE;
}

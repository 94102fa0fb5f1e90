/* SPDX-License-Identifier: Apache-2.0 */
/* common.h - what several handlers of the API need. */
#ifndef API_COMMON_H
#define API_COMMON_H

#include "http/exchange.h"
#include "model/job_read.h"
#include "json/json_in.h"

/* The tenant that the request names; `otherwise` if it names none (data NULL: refused,
 * and answered). */
Slice api_tenant(Exchange *exchange, const char *otherwise);

/* Whose jobs the request may see: the tenant that it names, `default` if it names none,
 * everyone's for `*` (an empty slice that is not NULL). False: refused, and answered.
 * Every route that shows or changes jobs asks this first: it sets exchange->whose, which
 * call_load_job() insists on. */
bool api_whose(Exchange *exchange);

/* Whether something of this tenant is for the eyes of the request. */
bool api_sees(const Exchange *exchange, Slice tenant);

/* The media type of the body without its parameters; whether it is one of a list (ended
 * by NULL); whether the body is XML; whether the answer is asked for as XML. */
Slice api_media_type(const Exchange *exchange);
bool media_in(Slice type, const char *const *types);
bool api_sends_xml(const Exchange *exchange);
bool api_wants_xml(const Exchange *exchange);

/* The JSON in the body. NULL: refused, and answered. An empty body is {} if `optional`.
 */
const JsonIn *api_body(Exchange *exchange, Arena *arena, bool optional);

/* The problem of a text that could not be read. */
void problem_of_json(Problem *problem, const JsonFault *fault);

/* The `limit` of a list: 50 unless the request says. False: refused, and answered. */
bool api_list_limit(Exchange *exchange, uint32_t *out_limit);

/* Whether the body of an action is empty or {}; false: refused, and answered. */
bool api_no_fields(Exchange *exchange);

/* The traceparent that came with the request, for its jobs; empty if there is none, or
 * none that could be one (W3C Trace Context: such a one is left out). */
Slice api_trace(const Exchange *exchange);

/* The parameters `limit` and `cursor` of a list; false: refused, and answered. */
typedef struct ListPage {
    uint32_t limit;
    Slice cursor; /* only items behind this; data NULL: from the first */
} ListPage;
bool api_list_page(Exchange *exchange, ListPage *out);

/* In the order in which lists come: by bytes. */
int api_name_order(Slice a, Slice b);

/* Finds exchange->id from the path (an id, or the unique beginning of one) and goes on;
 * otherwise it is refused and answered. */
void api_with_job(Exchange *exchange, void (*then)(Exchange *exchange));

/* Loads the job with payload: call->job and has_job, or an error in the call. */
void api_load_job(Exchange *exchange, Step *then);

/* For read(): the same inside a call that loads more. False: call->err says why. */
bool call_load_job(Call *call, Store *store, JobId id);

/* The id of job k of an ADD: new, or the one that was there. */
JobId api_added_id(const Call *call, uint64_t k);

/* Where what was made just now is found: API_PATH/things/name. */
void api_created(Exchange *exchange, const char *things, Slice name);

/* 200 with the bare job: the last step of many handlers. */
void api_reply_job(Exchange *exchange, Call *call);

/* Numbers of jobs by state; only those above 0 unless all are wanted. */
void states_json(JsonOut *json, const char *key, const uint64_t *states, bool all);

#endif

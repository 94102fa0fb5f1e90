/* SPDX-License-Identifier: Apache-2.0 */
/* resource_json.h - resources as the outside writes and sees them: what jobs want, what
 * managers are, what running jobs are told. */
#ifndef MODEL_RESOURCE_JSON_H
#define MODEL_RESOURCE_JSON_H

#include "base/json_out.h"
#include "core/resource.h"
#include "model/problem.h"
#include "json/json_in.h"

/* {"KEY": amount}, where a key may be spelt as 003 does (com.enioka.jqm.rm. ...), into
 * the list of resource.h. */
MUST_CHECK Err wants_read(const JsonIn *object, Arena *arena, Slice *out, Problem *why);

/* A manager of kind and name: any subset of its fields, the rest get defaults. */
MUST_CHECK Err resource_read(const JsonIn *object, Slice key, Arena *arena,
                             ResourceDef *out, Problem *why);

/* "a,b,c", or 003's `yes` for the default list, into items. */
MUST_CHECK Err resource_list_parse(Slice text, Arena *arena, Slice *out, Error *why);

/* The members without braces, to put more beside them. */
void resource_members(JsonOut *json, const ResourceDef *def);

/* PAWL_RESOURCE_<KEY>_ITEMS and JQM_RM_DISCRETE_<KEY>_ITEMS for everything that is held
 * by name, each ended by NUL (S3.36, S3.45). */
void booking_env(Slice bookings, Buf *env);

#endif

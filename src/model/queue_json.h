/* SPDX-License-Identifier: Apache-2.0 */
/* queue_json.h - a queue's definition as the JSON object that the outside sees. */
#ifndef MODEL_QUEUE_JSON_H
#define MODEL_QUEUE_JSON_H

#include "base/json_out.h"
#include "core/queue.h"
#include "model/problem.h"
#include "json/json_in.h"

/* Any subset of the fields; the rest get defaults. Tenant and name are the caller's. */
MUST_CHECK Err queue_read(const JsonIn *object, Arena *arena, QueueDef *out,
                          Problem *why);

/* The members without braces, to put more beside them. */
void queue_members(JsonOut *json, const QueueDef *def, int64_t wall_ms);

/* {"slots": N, "queues": {"NAME": N}} of a node; null takes one back. *slots is what was
 * there before and what holds after. */
MUST_CHECK Err slots_read(const JsonIn *object, Arena *arena, NodeSlots *slots,
                          Problem *why);

#endif

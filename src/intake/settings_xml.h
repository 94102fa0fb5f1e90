/* SPDX-License-Identifier: Apache-2.0 */
/* settings_xml.h - 000's other documents: <batch-config> for the settings, and
 * <batch-controller-lock>.
 *
 * A <batch-config> has exactly five children, each at most once: enabled,
 * max-concurrent-jobs, job-stale-interval, controller-stale-interval and
 * error-handler-job. What is left out stays as it is. */
#ifndef INTAKE_SETTINGS_XML_H
#define INTAKE_SETTINGS_XML_H

#include "core/node/node.h"
#include "noun/problem.h"
#include "json/json_in.h"

void settings_xml_write(Buf *out, const NodeSettings *settings);

/* The settings that a document names, as the object that settings_apply_json takes member
 * by member. The problem's words: malformed_xml, invalid_control. */
MUST_CHECK Err settings_xml_read(Slice document, Arena *arena, const JsonIn **out_object,
                                 Problem *why);

void batch_lock_write(Buf *out, int64_t version, int64_t timestamp_ms);

#endif

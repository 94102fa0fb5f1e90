/* SPDX-License-Identifier: Apache-2.0 */
/* base64.h - bytes out of base64 text (json_out.h has the way there). */
#ifndef JSON_BASE64_H
#define JSON_BASE64_H

#include "base/err.h"
#include "base/slice.h"

/* Strict: the standard alphabet with padding and nothing else. */
MUST_CHECK Err base64_decode(Slice text, Arena *arena, Slice *out_bytes);

#endif

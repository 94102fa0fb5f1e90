/* SPDX-License-Identifier: Apache-2.0 */
/* json_write.h - a value that was read, as text again. */
#ifndef JSON_JSON_WRITE_H
#define JSON_JSON_WRITE_H

#include "base/buf.h"
#include "json/json_in.h"

/* Appends the value as JSON, without white space. */
void json_in_write(const JsonIn *value, Buf *out);

#endif

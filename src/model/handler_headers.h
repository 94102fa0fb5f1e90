/* SPDX-License-Identifier: Apache-2.0 */
/* handler_headers.h - the headers of an http handler, read and shown. Values may be
 * secrets: they can be set, but are never given out. */
#ifndef MODEL_HANDLER_HEADERS_H
#define MODEL_HANDLER_HEADERS_H

#include "model/handler_json.h"

#define HANDLER_HEADERS_MAX      32
#define HANDLER_HEADER_BYTES_MAX 4096 /* name and value */

/* {"NAME": "VALUE"}; sets in->handler.headers. */
MUST_CHECK Err handler_headers_read(HandlerReader *in, const JsonIn *value);

/* "headers":{"NAME":null} */
void handler_headers_json(JsonOut *json, const Handler *handler);

#endif

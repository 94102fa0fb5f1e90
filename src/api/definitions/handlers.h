/* SPDX-License-Identifier: Apache-2.0 */
/* handlers.h - what runs the jobs of a type: shown, set, deleted, rolled back. The
 * founding paths ({client} in the path) do the same and answer 200. */
#ifndef API_DEFINITIONS_HANDLERS_H
#define API_DEFINITIONS_HANDLERS_H

#include "core/handler.h"
#include "http/exchange.h"

void api_handlers_list(Exchange *exchange);
void api_handler_get(Exchange *exchange);
void api_handler_put(Exchange *exchange);
void api_handler_patch(Exchange *exchange);
void api_handler_delete(Exchange *exchange);
void api_handler_versions(Exchange *exchange);
void api_handler_rollback(Exchange *exchange);
void api_handler_enable(Exchange *exchange);
void api_handler_disable(Exchange *exchange);

/* /{client}/handler/... */
void api_founding_handler_add(Exchange *exchange);
void api_founding_handler_get(Exchange *exchange);
void api_founding_handler_delete(Exchange *exchange);

/* For read(): one handler as the store has it, deleted ones too. */
typedef struct HandlerSeek {
    Slice tenant;
    Slice type;
    int64_t version; /* 0: the newest */
    Arena *arena;    /* where its bytes go */
    bool found;
    Handler handler;
} HandlerSeek;
MUST_CHECK Err handler_seek(Store *store, HandlerSeek *seek, Error *why);

#endif

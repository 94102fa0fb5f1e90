/* SPDX-License-Identifier: Apache-2.0 */
/* store_await.c - see store_await.h. */
#include "serve/store_await.h"

#include "base/log.h"

#include <time.h>

#define TRY_EVERY_MS 500
#define SAY_EVERY    20 /* tries */
#define NS_PER_MS    1000000

Err store_await(const char *url, const StoreOptions *options, Store **out, Error *why)
{
    const struct timespec pause = { .tv_nsec = TRY_EVERY_MS * NS_PER_MS };
    char text[LOG_QUOTE_BYTES];
    for (unsigned tries = 0;; tries++) {
        Err err = store_open(url, options, out, why);
        if (err != ERR_UNAVAILABLE) {
            if (!err && tries)
                log_event(LOG_INFO, "store.there", "tries=%u", tries);
            return err;
        }
        if (tries % SAY_EVERY == 0)
            log_event(LOG_WARN, "store.waiting", "why=%s",
                      log_quote(slice_text(why->text), text));
        nanosleep(&pause, NULL);
    }
}

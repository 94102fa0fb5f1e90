/* SPDX-License-Identifier: Apache-2.0 */
/* store_await.c - see store_await.h. */
#include "engine/store_await.h"

#include "base/log.h"

#include <time.h>

#define SAY_EVERY 20 /* tries */
#define NS_PER_MS 1000000

static void say(const Patience *patience, const Error *why)
{
    char text[LOG_QUOTE_BYTES];
    char msg[LOG_QUOTE_BYTES];
    log_quote(slice_text(why->text), text);
    if (patience->msg)
        log_event(LOG_WARN, "store.waiting", "why=%s msg=%s", text,
                  log_quote(slice_text(patience->msg), msg));
    else
        log_event(LOG_WARN, "store.waiting", "why=%s", text);
}

Err store_await(const char *url, const StoreOptions *options, const Patience *patience,
                Store **out, Error *why)
{
    const struct timespec pause = { .tv_nsec = STORE_TRY_MS * NS_PER_MS };
    int64_t until_boot = clock_now().boot_ms + patience->most_ms;
    for (unsigned tries = 0;; tries++) {
        Err err = store_open(url, options, out, why);
        if (err != ERR_UNAVAILABLE) {
            if (!err && tries)
                log_event(LOG_INFO, "store.there", "tries=%u", tries);
            return err;
        }
        if (tries % SAY_EVERY == 0)
            say(patience, why);
        if (patience->most_ms && tries && clock_now().boot_ms >= until_boot)
            return err;
        nanosleep(&pause, NULL);
    }
}

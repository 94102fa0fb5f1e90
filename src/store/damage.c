/* SPDX-License-Identifier: Apache-2.0 */
/* damage.c - see damage.h. */
#include "store/damage.h"

#include "base/log.h"

#include <pthread.h>
#include <stdatomic.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static JobId known[DAMAGE_KNOWN_MAX];
static size_t known_count;
static _Atomic uint64_t count;

static bool is_new(JobId id)
{
    for (size_t i = 0; i < known_count; i++)
        if (known[i] == id)
            return false;
    if (known_count < DAMAGE_KNOWN_MAX)
        known[known_count++] = id;
    return true;
}

void damage_note(JobId id)
{
    char text[ID_TEXT_BYTES];
    pthread_mutex_lock(&lock);
    bool tell = is_new(id);
    pthread_mutex_unlock(&lock);
    if (!tell)
        return;
    count++;
    log_event(LOG_ERROR, "store.damaged",
              "job=%s msg=\"its row in the store is not as it was written; it is left "
              "out\"",
              id_text(id, text));
}

uint64_t damage_count(void)
{
    return count;
}

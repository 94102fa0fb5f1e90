/* SPDX-License-Identifier: Apache-2.0 */
/* lock.h - a lock on an open file that ends with the process which holds it. */
#ifndef BASE_LOCK_H
#define BASE_LOCK_H

#include <stdbool.h>

#define LOCK_SOON_MS 1000

/* Takes it, waiting up to LOCK_SOON_MS: who was killed a moment ago may still be leaving,
 * and whoever starts the next one should not have to know. False: someone holds it, or
 * errno says what else is wrong. */
bool lock_soon(int fd);

#endif

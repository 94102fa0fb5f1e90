/* SPDX-License-Identifier: Apache-2.0 */
/* announce.h - telling someone outside: a webhook or a command, on a thread of its own.
 *
 * Whoever asks never waits. Each announcement is one try; what came of it is told by a
 * callback on the announcer's thread, unless the announcer is being closed: notices.h
 * keeps what has to arrive. */
#ifndef WATCH_ANNOUNCE_H
#define WATCH_ANNOUNCE_H

#include "base/buf.h"

#include <stdint.h>

typedef struct Announcer Announcer;

/* why: the sentence of a failure; NULL: it arrived. */
typedef void Announced(void *context, uint64_t token, const Error *why);

Announcer *announcer_open(Announced *done, void *context);
void announcer_close(
    Announcer *announcer); /* NULL does nothing; ends what is under way */

typedef struct Announcement {
    uint64_t token;
    /* webhook:URL (POST of the body as JSON) or command:WORDS (for sh, the body on its
     * standard input). */
    Slice target;
    Slice body;
    Slice user; /* whose account a command runs as; empty: the daemon's own */
} Announcement;

/* Everything is copied. Any thread. */
void announcer_send(Announcer *announcer, const Announcement *announcement);

#endif

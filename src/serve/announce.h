/* SPDX-License-Identifier: Apache-2.0 */
/* announce.h - telling someone outside: a webhook or a command, on a thread of its own.
 *
 * Whoever sends never waits. A message that does not arrive is tried again a few times
 * with growing pauses, then given up with a line in the log. What has not been sent when
 * the daemon ends is lost: the log has it. */
#ifndef SERVE_ANNOUNCE_H
#define SERVE_ANNOUNCE_H

#include "base/buf.h"

typedef struct Announcer Announcer;

Announcer *announcer_open(void);
void announcer_close(
    Announcer *announcer); /* NULL does nothing; ends what is under way */

/* target: webhook:URL (POST of the body as JSON) or command:WORDS (for sh, the body on
 * its standard input). Both are copied. Any thread. */
void announcer_send(Announcer *announcer, Slice target, Slice body);

#endif

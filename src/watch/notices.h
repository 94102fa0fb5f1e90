/* SPDX-License-Identifier: Apache-2.0 */
/* notices.h - what someone outside is to be told (core/notice.h), until they know.
 *
 * One mechanism for alerts and for the <notify> of control files. Belongs to the loop
 * thread. A notice is tried (notice_try.h) only when it is durable; what came of a try
 * is written down before the next. A few are tried at once, fewer of one tenant: nobody's
 * slow targets hold up those of others. After a restart every one that is left is tried
 * again: told at least once, and never forgotten. */
#ifndef WATCH_NOTICES_H
#define WATCH_NOTICES_H

#include "core/notice.h"
#include "engine/call.h"

typedef struct Notices Notices;

/* daemon->notices, with what the store holds. */
MUST_CHECK Err notices_open(Daemon *daemon, Error *why);
void notices_free(Notices *notices); /* NULL does nothing */

/* Writes a notice with this turn: target, body and user are set. The same key again is
 * the same notice. */
typedef struct NoticeName {
    Slice tenant;
    Slice key;
} NoticeName;
void notices_add(Daemon *daemon, const NoticeName *name, const Notice *notice);

/* A notice is durable, or (no value) gone. */
void notices_kept(Notices *notices, const NoticeName *name, Slice value);

/* Whether the event is of a try, and no job's: then it is taken. */
bool notices_event(Notices *notices, const Event *event);

/* Each turn: what is due, or due again, and tries whose time is over. */
void notices_tick(Notices *notices, Now now);
size_t notices_trying(const Notices *notices); /* tries under way */

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* audit.h - writes down who changed what, in the very batch that changes it.
 *
 * After each step of the node the turn is looked at: every good answer to a caller of the
 * API that changed something gets a row. What definitions were before is kept here, as
 * they were last defined. Loop thread only. */
#ifndef ACCESS_AUDIT_H
#define ACCESS_AUDIT_H

#include "access/audit_row.h"
#include "base/map.h"
#include "engine/call.h"

typedef struct Audit Audit;

Audit *audit_new(Daemon *daemon, int64_t keep_ms);
void audit_free(Audit *audit); /* NULL does nothing */

/* What the store holds at the start, and what other nodes have defined. */
void audit_known(Audit *audit, Slice table, Slice tenant, Slice key, Slice value);

/* A call that no event tells of (a signal to a processor, a trial): its row goes with the
 * next turn. */
void audit_note(Audit *audit, const Call *call);

/* Between the decision and the journal. The calls are those of the turn's replies. */
void audit_turn(Audit *audit, Outbox *out, const Map *calls, Now now);

#endif

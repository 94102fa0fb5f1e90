/* SPDX-License-Identifier: Apache-2.0 */
/* event_text.h - an event of the log (event_log.h), written: for listeners as a
 * server-sent event whose datum is a CloudEvents 1.0 object, for the daemon of another
 * node packed.
 *
 * The datum's `source` and `id` name the event for ever: which node, which start of its
 * daemon, which number. The id of the stream says more, namely where its listener stands
 * with every node (event_places.h). */
#ifndef WATCH_EVENT_TEXT_H
#define WATCH_EVENT_TEXT_H

#include "base/buf.h"
#include "watch/event_log.h"

typedef struct EventName {
    const char *sysid;
    EventCursor at; /* which event it is */
    Slice place;    /* where its listener stands behind it */
} EventName;

void event_write(Buf *out, const EventRow *row, const EventName *name);

/* Something was missed: whoever listens should read again what it wants to know. */
void event_write_reset(Buf *out, Slice place);

/* Appends one; takes the next one off *rest, with slices that borrow. False: there is no
 * more, or none that makes sense. */
void event_pack(Buf *out, const EventRow *row);
bool event_unpack(Slice *rest, EventRow *out);

#endif

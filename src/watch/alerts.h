/* SPDX-License-Identifier: Apache-2.0 */
/* alerts.h - rules that are watched, and what is firing.
 *
 * Belongs to the loop thread. Every few seconds the conditions are looked at: what the
 * node knows at once, what the store knows by a read of its own, so that nothing waits.
 * A rule that begins to fire is told once, and once more when it is over; what fires is
 * kept in the store, so that a restart tells nothing twice. */
#ifndef WATCH_ALERTS_H
#define WATCH_ALERTS_H

#include "engine/call.h"
#include "noun/alert_rule.h"

typedef struct Alerts Alerts;

/* daemon->alerts, with what the store holds. */
MUST_CHECK Err alerts_open(Daemon *daemon, Error *why);
void alerts_free(Alerts *alerts); /* NULL does nothing */

/* A rule was set, or (no value) deleted. */
void alerts_defined(Alerts *alerts, Slice tenant, Slice name, Slice value);

/* That a rule began or ceased to fire is durable: now it is logged. */
void alerts_kept(const Alerts *alerts, Slice tenant, Slice name);

/* Each turn. */
void alerts_tick(Alerts *alerts, Now now);

/* What is firing. */
typedef struct Alert {
    Slice tenant;
    Slice name;
    Slice when;
    Slice detail;
    int64_t since_ms;
} Alert;
typedef void AlertSink(void *context, const Alert *alert);
void alerts_firing(const Alerts *alerts, AlertSink *sink, void *context);
size_t alerts_firing_count(const Alerts *alerts);

#endif

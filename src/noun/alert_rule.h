/* SPDX-License-Identifier: Apache-2.0 */
/* alert_rule.h - what counts as trouble, and whom to tell: a rule and its small language.
 *
 *     oldest(QUEUE) > 5m              the head of a queue has waited longer
 *     failures(NAME) > 10 in 10m      attempts of a type or queue that failed; * is any
 *     schedule missed                 a planned time was missed and none has come since
 *     disk free < 1G                  on the file system of the data directory
 *     controller stale                no one renews the controller lock
 *     node lost                       a node of the store (alone: the one that holds that
 *                                     lock) is gone
 *
 * Rules are definitions of ALERT_TABLE; what is firing is kept in ALERT_STATES. */
#ifndef NOUN_ALERT_RULE_H
#define NOUN_ALERT_RULE_H

#include "noun/noun.h"

#define ALERT_TABLE       "alert_rule"
#define ALERT_STATES      "alert"
#define ALERT_TARGETS_MAX 8
#define ALERT_WHEN_BYTES  512

typedef enum AlertKind {
    ALERT_OLDEST,
    ALERT_FAILURES,
    ALERT_SCHEDULE,
    ALERT_DISK,
    ALERT_CONTROLLER,
    ALERT_NODE,
} AlertKind;

typedef struct AlertWhen {
    AlertKind kind;
    Slice name;        /* queue or type */
    int64_t limit;     /* ms, a number, or bytes */
    int64_t window_ms; /* FAILURES */
} AlertWhen;

/* ERR_INVALID: *why says what is allowed. Slices borrow. */
MUST_CHECK Err alert_when_parse(Slice text, AlertWhen *out, Error *why);

typedef struct AlertRule {
    Slice when;
    Slice to; /* targets, each ended by NUL: webhook:URL, command:WORDS, log */
} AlertRule;

extern const Noun alert_rule_noun;

void alert_rule_pack(Buf *out, const AlertRule *rule);
MUST_CHECK Err alert_rule_unpack(Slice packed, AlertRule *out);

/* Since when a rule fires: packed with its reason in words. */
void alert_state_pack(Buf *out, int64_t since_ms, Slice detail);
MUST_CHECK Err alert_state_unpack(Slice packed, int64_t *out_since_ms, Slice *out_detail);

#endif

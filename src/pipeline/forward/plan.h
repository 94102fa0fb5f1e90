/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h - what a processor or a broker is to do, as it is written in the configuration,
 * sent to the API and kept in the store: one JSON object, read here and nowhere else. */
#ifndef PIPELINE_FORWARD_PLAN_H
#define PIPELINE_FORWARD_PLAN_H

#include "base/json_out.h"
#include "json/json_in.h"

#include <stdint.h>

#define PLAN_SLOTS_MAX    1024
#define PLAN_PLACES_MAX   64 /* destinations of one forwarder */
#define PLAN_FORWARDS_MAX 16 /* forwarders of one processor */

typedef enum PlaceKind {
    PLACE_LOCAL, /* a processor of this node: NAME or NAME@NODE */
    PLACE_SSH,   /* ssh:HOST:NAME or ssh:HOST:/DIRECTORY */
    PLACE_RSYNC, /* rsync://HOST[:PORT]/MODULE[/PATH], the module being its directory */
} PlaceKind;

#define PLACE_KEY_BYTES 17

typedef struct Place {
    PlaceKind kind;
    Slice text; /* as it was written */
    Slice host; /* SSH */
    Slice node; /* LOCAL: its sysid; "": this one */
    Slice path; /* LOCAL: the name; SSH: name or directory; RSYNC: the whole address */
    char key[PLACE_KEY_BYTES]; /* names it in files; the same for the same text */
} Place;

typedef enum ForwardMode {
    FORWARD_ALL,
    FORWARD_ROUND_ROBIN,
    FORWARD_HASH,
    FORWARD_LEAST_LOADED,
} ForwardMode;

typedef struct Forward {
    Place *places;
    size_t count;
    ForwardMode mode;
    uint32_t slots;    /* transfers at the same time */
    int64_t bandwidth; /* KiB per second of each transfer; 0: no limit */
    Slice ssh;         /* the ssh command with its options; "": ssh */
} Forward;

typedef struct Plan {
    Slice name;
    Slice command; /* argv, each ended by NUL; empty: `type` says what runs */
    Slice type;    /* a handler */
    Slice dir;     /* "": <data>/processors/<name> */
    Slice address; /* how other nodes' rsync gets to it; "": ssh:<this host>:<dir> */
    Slice from;    /* brokers: the directory whose units are divided */
    Slice cwd;
    Slice env; /* NAME=VALUE, each ended by NUL */
    uint32_t slots;
    int64_t priority;
    int32_t max_retries;
    int64_t retry_delay_ms;
    int64_t max_run_ms;
    Forward *forwards; /* brokers have one */
    size_t forward_count;
    bool start_forwarder; /* on at the first start; off by default */
    bool declared;        /* by the configuration: the API does not change it */
} Plan;

/* Why a plan was refused: `code` is a stable word (unknown_field, wrong_type,
 * invalid_value, invalid_name, missing_field, conflicting_fields). */
typedef struct PlanFault {
    const char *code;
    Error why;
} PlanFault;

/* `object` without a name: it is given. Everything in *out lives in the arena. */
MUST_CHECK Err plan_read(const JsonIn *object, Slice name, Arena *arena, Plan *out,
                         PlanFault *fault);
MUST_CHECK Err plan_read_broker(const JsonIn *object, Slice name, Arena *arena, Plan *out,
                                PlanFault *fault);

/* The object that plan_read reads; no name. */
void plan_members(JsonOut *json, const Plan *plan);

/* The object that plan_read_broker reads. */
void plan_broker_members(JsonOut *json, const Plan *plan);

MUST_CHECK Err place_parse(Slice text, Place *out, Error *why);
const char *forward_mode_name(ForwardMode mode);

#endif

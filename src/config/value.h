/* SPDX-License-Identifier: Apache-2.0 */
/* value.h - single values that people write: their texts, ranges and errors.
 *
 * The configuration (config.h) and the settings kept in the store (settings.h) are
 * tables of places, each with a ValueRule; everything that reads, prints or compares a
 * value goes through here. What is printed can be read back and is then equal. */
#ifndef CONFIG_VALUE_H
#define CONFIG_VALUE_H

#include "base/buf.h"

#include <stdint.h>

typedef enum ValueKind {                 /* and the C type of the place it goes to */
                         VALUE_BOOL,     /* bool: on, off, true, false */
                         VALUE_COUNT,    /* uint32_t */
                         VALUE_DURATION, /* int64_t, milliseconds */
                         VALUE_SIZE,     /* uint64_t, bytes; K M G T are powers of 1024 */
                         VALUE_ADDRESS,  /* Address: loopback and port, or off */
                         VALUE_PATH,     /* const char *, in the arena */
                         VALUE_FILE,     /* likewise, or "" for off */
                         VALUE_STORE, /* const char *, in the arena: the URL of a store */
                         VALUE_LEVEL, /* LogLevel */
                         VALUE_ACK,   /* Ack */
                         VALUE_TYPE,  /* char[NAME_BYTES_MAX + 1]: a type of jobs, or
                                         nothing */
                         VALUE_FATE,  /* Fate: keep or delete */
                         VALUE_RANGES, /* const char *, in the arena: ranges of addresses,
                                          separated by commas */
                         VALUE_FAIRNESS, /* bool: tenant (true) or lane */
} ValueKind;

typedef struct ValueRule {
    ValueKind kind;
    int64_t min; /* COUNT, DURATION (ms), SIZE (bytes): what is allowed */
    int64_t max;
} ValueRule;

#define ADDRESS_HOST_BYTES 46 /* INET6_ADDRSTRLEN */

typedef struct Address {
    bool on;                       /* false: no TCP listener */
    uint16_t port;                 /* 0: any free one */
    char host[ADDRESS_HOST_BYTES]; /* numeric, without brackets */
    bool beyond;                   /* reached from other machines */
} Address;

/* When an added job is acknowledged. */
typedef enum Ack {
    ACK_JOURNAL, /* the journal is on stable storage */
    ACK_STORE,   /* the store has committed it too */
} Ack;

/* Reads `text` into *out_field, which is as before on failure. `arena` is needed only
 * for kinds that say so. */
MUST_CHECK Err value_parse(const ValueRule *rule, Slice text, Arena *arena,
                           void *out_field, Error *why);

/* Adds the canonical text: ISO durations, 64M, on, 127.0.0.1:7420. */
void value_text(const ValueRule *rule, const void *field, Buf *out);

bool value_equal(const ValueRule *rule, const void *a, const void *b);

/* Copies a value, its text into `arena` where it has one. */
void value_copy(const ValueRule *rule, const void *from, Arena *arena, void *to);

/* What is expected, for sentences: "a duration such as 90s or PT20M". */
const char *value_expected(ValueKind kind);

#endif

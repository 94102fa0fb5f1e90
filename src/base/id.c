/* SPDX-License-Identifier: Apache-2.0 */
/* id.c - see id.h. */
#include "base/id.h"

#include <assert.h>

#define SEQUENCE_BITS 12
#define NODE_BITS     10
#define ID_CHARS      13

/* Ids have 41 bits for the time (until 2089). A clock that is beyond all reason is taken
 * for this moment, which leaves room to count on from it. */
#define CLOCK_MAX_MS ((1LL << 41) - (1LL << 32))

static const char alphabet[] = "0123456789abcdefghjkmnpqrstvwxyz";

uint64_t id_take(IdGen *gen, int64_t wall_ms, uint64_t count)
{
    int64_t since_ms = wall_ms - ID_EPOCH_MS;
    if (since_ms > CLOCK_MAX_MS)
        since_ms = CLOCK_MAX_MS;
    uint64_t by_clock = since_ms > 0 ? (uint64_t)since_ms << SEQUENCE_BITS : 0;
    uint64_t first = by_clock > gen->next ? by_clock : gen->next;
    if (first == 0)
        first = 1; /* id 0 means no job */
    gen->next = first + count;
    return first;
}

void id_seen(IdGen *gen, JobId id)
{
    uint64_t c = id_count(id);
    if (c >= gen->next)
        gen->next = c + 1;
}

JobId id_from_count(uint64_t c, uint16_t node)
{
    assert(node <= ID_NODE_MAX);
    return (c >> SEQUENCE_BITS) << (SEQUENCE_BITS + NODE_BITS) |
           (uint64_t)node << SEQUENCE_BITS | (c & ((1u << SEQUENCE_BITS) - 1));
}

uint64_t id_count(JobId id)
{
    return (id >> (SEQUENCE_BITS + NODE_BITS)) << SEQUENCE_BITS |
           (id & ((1u << SEQUENCE_BITS) - 1));
}

uint16_t id_node(JobId id)
{
    return (uint16_t)(id >> SEQUENCE_BITS & ID_NODE_MAX);
}

int64_t id_created_ms(JobId id)
{
    return (int64_t)(id >> (SEQUENCE_BITS + NODE_BITS)) + ID_EPOCH_MS;
}

char *id_text(JobId id, char out[ID_TEXT_BYTES])
{
    out[ID_CHARS] = '\0';
    for (int i = ID_CHARS - 1; i >= 0; i--) {
        out[i] = alphabet[id & 31];
        id >>= 5;
    }
    return out;
}

/* Value of one character, upper case accepted; -1 if it is none of the alphabet. */
static int char_value(char c)
{
    if (c >= 'A' && c <= 'Z')
        c = (char)(c - 'A' + 'a');
    for (int i = 0; i < 32; i++)
        if (alphabet[i] == c)
            return i;
    return -1;
}

Err id_prefix_range(Slice prefix, JobId *out_first, JobId *out_last)
{
    if (prefix.bytes < 1 || prefix.bytes > ID_CHARS)
        return ERR_INVALID;
    uint64_t first = 0;
    uint64_t last = 0;
    for (size_t i = 0; i < ID_CHARS; i++) {
        int value = i < prefix.bytes ? char_value(prefix.data[i]) : 0;
        if (value < 0 || (i == 0 && value > 7)) /* 13 * 5 = 65 bits: 63 are used */
            return ERR_INVALID;
        first = first << 5 | (uint64_t)value;
        last = last << 5 | (uint64_t)(i < prefix.bytes ? value : 31);
    }
    *out_first = first;
    *out_last = last;
    return ERR_OK;
}

Err id_parse(Slice text, JobId *out_id)
{
    JobId last;
    if (text.bytes != ID_CHARS)
        return ERR_INVALID;
    return id_prefix_range(text, out_id, &last);
}

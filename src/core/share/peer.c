/* SPDX-License-Identifier: Apache-2.0 */
/* peer.c - see peer.h. */
#include "core/share/peer.h"

#include "base/fields.h"
#include "base/text.h"

#include <stddef.h>

static const FieldRow rows[] = {
    { 1, offsetof(PeerFacts, slots), FIELD_32 },
    { 2, offsetof(PeerFacts, used), FIELD_32 },
    { 3, offsetof(PeerFacts, ready), FIELD_64 },
    { 4, offsetof(PeerFacts, draining), FIELD_32 },
    { 5, offsetof(PeerFacts, pid), FIELD_32 },
    { 6, offsetof(PeerFacts, started_ms), FIELD_64 },
    { 7, offsetof(PeerFacts, load[0]), FIELD_32 },
    { 8, offsetof(PeerFacts, load[1]), FIELD_32 },
    { 9, offsetof(PeerFacts, load[2]), FIELD_32 },
    { 10, offsetof(PeerFacts, at_ms), FIELD_64 },
    { 11, offsetof(PeerFacts, ids), FIELD_64 },
    { 12, offsetof(PeerFacts, settled), FIELD_64 },
    { 13, offsetof(PeerFacts, pull), FIELD_64 },
    { 40, offsetof(PeerFacts, host), FIELD_SLICE },
    { 41, offsetof(PeerFacts, version), FIELD_SLICE },
    { 42, offsetof(PeerFacts, listen), FIELD_SLICE },
    { 43, offsetof(PeerFacts, loads), FIELD_SLICE },
};
static const Fields fields = { rows, FIELDS_COUNT(rows), NULL };

void peer_pack(Buf *out, const PeerFacts *facts)
{
    fields_pack(out, &fields, facts);
}

Err peer_unpack(Slice packed, PeerFacts *out)
{
    PeerFacts facts = { 0 };
    PackField in;
    while (pack_next(&packed, &in))
        if (fields_set(&fields, &in, &facts))
            return ERR_CORRUPT;
    if (pack_damaged(packed))
        return ERR_CORRUPT;
    *out = facts;
    return ERR_OK;
}

void home_write(Buf *out, const Home *home)
{
    buf_printf(out, "%u %llu", home->node, (unsigned long long)home->count);
}

Home home_read(Slice text)
{
    int64_t node;
    int64_t count;
    if (int_parse(slice_cut(&text, ' '), &node) || int_parse(text, &count))
        return (Home){ 0 };
    return (Home){ (uint32_t)node, (uint64_t)count };
}

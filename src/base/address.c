/* SPDX-License-Identifier: Apache-2.0 */
/* address.c - see address.h. */
#include "base/address.h"

#include "base/text.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>

#define V4_BITS 96 /* of the prefix ::ffff:0:0/96 that maps IPv4 */

typedef struct RangeText {
    const char *text;
    int v4_at; /* byte at which it wraps an IPv4 address, which is judged instead; 0: it
                  is refused as it stands */
} RangeText;

/* The more special comes first. */
static const RangeText refused[] = {
    { "0.0.0.0/8", 0 },      /* this network */
    { "10.0.0.0/8", 0 },     /* private */
    { "100.64.0.0/10", 0 },  /* shared by a carrier's customers */
    { "127.0.0.0/8", 0 },    /* loopback */
    { "169.254.0.0/16", 0 }, /* link-local, and where clouds keep their secrets */
    { "172.16.0.0/12", 0 },  /* private */
    { "192.0.0.0/24", 0 },   /* of the protocol's own */
    { "192.168.0.0/16", 0 }, /* private */
    { "224.0.0.0/4", 0 },    /* multicast */
    { "240.0.0.0/4", 0 },    /* reserved, and broadcast */
    { "::1/128", 0 },        { "::/128", 0 },
    { "::/96", 12 },         /* IPv4-compatible, long out of use */
    { "64:ff9b::/96", 12 },  /* NAT64 */
    { "64:ff9b:1::/48", 0 }, /* NAT64, local */
    { "100::/64", 0 },       /* discard */
    { "2001::/32", 0 },      /* Teredo */
    { "2002::/16", 2 },      /* 6to4 */
    { "fc00::/7", 0 },       /* private */
    { "fe80::/10", 0 },      /* link-local */
    { "fec0::/10", 0 },      /* site-local, out of use */
    { "ff00::/8", 0 },       /* multicast */
};

static bool read_address(const char *text, AddressRange *out, unsigned *out_max)
{
    struct in_addr v4;
    *out = (AddressRange){ 0 };
    if (inet_pton(AF_INET6, text, out->bytes) == 1) {
        *out_max = 128;
        return true;
    }
    if (inet_pton(AF_INET, text, &v4) != 1)
        return false;
    out->bytes[10] = out->bytes[11] = 0xff;
    memcpy(out->bytes + 12, &v4, sizeof v4);
    *out_max = 32;
    return true;
}

Err address_range_parse(Slice text, AddressRange *out, Error *why)
{
    char address[ADDRESS_TEXT_BYTES];
    AddressRange range;
    Slice rest = text;
    Slice first = slice_cut(&rest, '/');
    unsigned max = 0;
    snprintf(address, sizeof address, SLICE_FMT, SLICE_ARG(first));
    if (first.bytes >= sizeof address || !read_address(address, &range, &max))
        return error_set(why, ERR_INVALID,
                         "\"" SLICE_FMT "\" is no range of addresses such as 10.0.0.0/8",
                         SLICE_ARG(text));
    int64_t bits = max;
    if (rest.data && (int_parse(rest, &bits) || bits < 0 || bits > max))
        return error_set(why, ERR_INVALID, "\"" SLICE_FMT "\": the prefix is 0 to %u",
                         SLICE_ARG(text), max);
    range.bits = (unsigned)bits + (max == 32 ? V4_BITS : 0);
    *out = range;
    return ERR_OK;
}

Err address_ranges_parse(Slice text, AddressRanges *out, Error *why)
{
    AddressRanges ranges = { 0 };
    while (text.bytes) {
        size_t end = 0;
        while (end < text.bytes && !strchr(ADDRESS_SEPARATORS, text.data[end]))
            end++;
        AddressRange range;
        if (end && address_range_parse(slice_of(text.data, end), &range, why)) {
            address_ranges_done(&ranges);
            return ERR_INVALID;
        }
        if (end)
            MEM_PUSH(ranges.items, ranges.count, ranges.capacity) = range;
        text = slice_from(text, end + 1);
    }
    *out = ranges;
    return ERR_OK;
}

void address_ranges_done(AddressRanges *ranges)
{
    mem_free(ranges->items);
    *ranges = (AddressRanges){ 0 };
}

static bool holds(const AddressRange *range, const unsigned char bytes[16])
{
    unsigned whole = range->bits / 8;
    unsigned rest = range->bits % 8;
    if (memcmp(range->bytes, bytes, whole) != 0)
        return false;
    unsigned mask = 0xff00u >> rest & 0xff;
    return !rest || (range->bytes[whole] & mask) == (bytes[whole] & mask);
}

static bool bytes_of(const struct sockaddr *address, unsigned char out[16])
{
    memset(out, 0, 16);
    if (address->sa_family == AF_INET6) {
        memcpy(out, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, 16);
        return true;
    }
    if (address->sa_family != AF_INET)
        return false;
    out[10] = out[11] = 0xff;
    memcpy(out + 12, &((const struct sockaddr_in *)(const void *)address)->sin_addr, 4);
    return true;
}

/* Whether the address is one that only some can reach. */
static bool is_private(const unsigned char bytes[16])
{
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        AddressRange range;
        Error why;
        if (address_range_parse(slice_text(refused[i].text), &range, &why))
            abort(); /* our own table */
        if (!holds(&range, bytes))
            continue;
        if (!refused[i].v4_at)
            return true;
        unsigned char inner[16] = { [10] = 0xff, [11] = 0xff };
        memcpy(inner + 12, bytes + refused[i].v4_at, 4);
        return is_private(inner);
    }
    return false;
}

bool address_allowed(const struct sockaddr *address, const AddressRanges *allowed)
{
    unsigned char bytes[16];
    if (!bytes_of(address, bytes))
        return false;
    for (size_t i = 0; i < allowed->count; i++)
        if (holds(&allowed->items[i], bytes))
            return true;
    return !is_private(bytes);
}

char *sockaddr_text(const struct sockaddr *address, char out[ADDRESS_TEXT_BYTES])
{
    const void *at =
        address->sa_family == AF_INET6
            ? (const void *)&((const struct sockaddr_in6 *)(const void *)address)
                  ->sin6_addr
            : (const void *)&((const struct sockaddr_in *)(const void *)address)
                  ->sin_addr;
    if (!inet_ntop(address->sa_family, at, out, ADDRESS_TEXT_BYTES))
        snprintf(out, ADDRESS_TEXT_BYTES, "this address");
    return out;
}

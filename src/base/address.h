/* SPDX-License-Identifier: Apache-2.0 */
/* address.h - which addresses calls of `http` handlers may go to.
 *
 * An address that is not everyone's - loopback, private, link-local, shared, multicast,
 * reserved, or an IPv6 form that only wraps such a one - is refused, unless the
 * configuration allows its range. What is judged is the address that a socket is about
 * to be connected to, never a name: so it does not matter what a name resolved to before,
 * or where a redirect came from. */
#ifndef BASE_ADDRESS_H
#define BASE_ADDRESS_H

#include "base/err.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

/* IPv4 is kept as the IPv6 address that maps it. */
typedef struct AddressRange {
    unsigned char bytes[16];
    unsigned bits; /* of them that count */
} AddressRange;

typedef struct AddressRanges {
    AddressRange *items;
    size_t count;
    size_t capacity;
} AddressRanges;

/* "10.0.0.0/8", "fd00::/8", or one address. */
MUST_CHECK Err address_range_parse(Slice text, AddressRange *out, Error *why);

#define ADDRESS_SEPARATORS ", " /* between ranges of a list */

/* Any number of ranges. */
MUST_CHECK Err address_ranges_parse(Slice text, AddressRanges *out, Error *why);
void address_ranges_done(AddressRanges *ranges);

/* Whether a socket may be connected to it. Anything but IPv4 and IPv6: no. */
bool address_allowed(const struct sockaddr *address, const AddressRanges *allowed);

#define ADDRESS_TEXT_BYTES 64
char *sockaddr_text(const struct sockaddr *address, char out[ADDRESS_TEXT_BYTES]);

#endif

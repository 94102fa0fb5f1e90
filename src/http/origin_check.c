/* SPDX-License-Identifier: Apache-2.0 */
/* origin_check.c - see origin_check.h. */
#include "http/origin_check.h"

#include <arpa/inet.h>
#include <strings.h>

#define HOST_BYTES_MAX 64 /* longer than any local name */

static bool same_word(Slice a, Slice b)
{
    return a.bytes == b.bytes && (!a.bytes || !strncasecmp(a.data, b.data, a.bytes));
}

static bool port_valid(Slice port)
{
    for (size_t i = 0; i < port.bytes; i++)
        if (port.data[i] < '0' || port.data[i] > '9')
            return false;
    return port.bytes >= 1 && port.bytes <= 5;
}

static bool is_loopback_number(Slice name)
{
    char text[HOST_BYTES_MAX];
    struct in_addr address;
    if (name.bytes >= sizeof text)
        return false;
    memcpy(text, name.data, name.bytes);
    text[name.bytes] = '\0';
    return inet_pton(AF_INET, text, &address) == 1 &&
           ntohl(address.s_addr) >> 24 == IN_LOOPBACKNET;
}

bool host_is_local(Slice host)
{
    if (!host.bytes || host.bytes > HOST_BYTES_MAX)
        return false;
    Slice rest = host;
    if (host.data[0] == '[') {
        Slice six = SLICE_LITERAL("[::1]");
        if (!slice_starts(host, six))
            return false;
        rest = slice_from(host, six.bytes);
        return !rest.bytes || (rest.data[0] == ':' && port_valid(slice_from(rest, 1)));
    }
    Slice name = slice_cut(&rest, ':');
    if (rest.data && !port_valid(rest))
        return false;
    return same_word(name, SLICE_LITERAL("localhost")) || is_loopback_number(name);
}

bool origin_is_host(Slice origin, Slice host)
{
    static const char *const schemes[] = { "http://", "https://" };
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        Slice scheme = slice_text(schemes[i]);
        if (slice_starts(origin, scheme))
            return host.bytes && same_word(slice_from(origin, scheme.bytes), host);
    }
    return false;
}

bool fetch_site_is_own(Slice site)
{
    return !site.bytes || slice_is(site, "same-origin") || slice_is(site, "none");
}

/* SPDX-License-Identifier: Apache-2.0 */
/* origin_check.h - which host names and origins a loopback listener answers to.
 *
 * A page in a browser can make it send requests to 127.0.0.1 (under a name of its own,
 * too): those carry another Host or Origin, and are refused. */
#ifndef HTTP_ORIGIN_CHECK_H
#define HTTP_ORIGIN_CHECK_H

#include "base/slice.h"

/* localhost, 127.x.y.z or [::1], with or without a port. */
bool host_is_local(Slice host);

/* Whether `origin` is a page of the very host that `host` names. */
bool origin_is_host(Slice origin, Slice host);

/* Whether a browser says that the request comes from here or from the address bar.
 * Empty: it was no browser. */
bool fetch_site_is_own(Slice sec_fetch_site);

#endif

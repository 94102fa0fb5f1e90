/* SPDX-License-Identifier: Apache-2.0 */
/* audit.h - reads what the audit has written down, newest first. */
#ifndef API_AUDIT_H
#define API_AUDIT_H

#include "http/exchange.h"

void api_audit(Exchange *exchange);

#endif

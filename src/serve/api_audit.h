/* SPDX-License-Identifier: Apache-2.0 */
/* api_audit.h - reads what the audit has written down, newest first. */
#ifndef SERVE_API_AUDIT_H
#define SERVE_API_AUDIT_H

#include "serve/exchange.h"

void api_audit(Exchange *exchange);

#endif

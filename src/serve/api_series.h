/* SPDX-License-Identifier: Apache-2.0 */
/* api_series.h - the route of curves: GET /stats/series. */
#ifndef SERVE_API_SERIES_H
#define SERVE_API_SERIES_H

#include "serve/exchange.h"

void api_series(Exchange *exchange);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* series.h - the route of curves: GET /stats/series. */
#ifndef API_SERIES_H
#define API_SERIES_H

#include "http/exchange.h"

void api_series(Exchange *exchange);

#endif

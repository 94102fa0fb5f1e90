/* SPDX-License-Identifier: Apache-2.0 */
/* alerts.h - the routes of alerts: rules, and what is firing. */
#ifndef API_DEFINITIONS_ALERTS_H
#define API_DEFINITIONS_ALERTS_H

#include "http/exchange.h"

void api_alerts(Exchange *exchange);
void api_notices(Exchange *exchange);
void api_alert_rules(Exchange *exchange);
void api_alert_rule_get(Exchange *exchange);
void api_alert_rule_put(Exchange *exchange);
void api_alert_rule_patch(Exchange *exchange);
void api_alert_rule_delete(Exchange *exchange);

#endif

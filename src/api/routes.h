/* SPDX-License-Identifier: Apache-2.0 */
/* routes.h - the one table of what can be asked, by method and path.
 *
 * It is what requests are matched against, what 405 lists, what unknown parameters are
 * checked by, what /openapi.json is written from, and the label of the request counter.
 */
#ifndef API_ROUTES_H
#define API_ROUTES_H

#include "access/scope.h"
#include "http/exchange.h"

typedef enum Method {
    METHOD_GET,
    METHOD_POST,
    METHOD_PUT,
    METHOD_PATCH,
    METHOD_DELETE,
    METHOD_NONE, /* one that no route has */
} Method;
#define METHODS METHOD_NONE

const char *method_name(Method method);

typedef struct Route {
    Method method;
    Scope scope;      /* what a caller must be allowed */
    const char *path; /* parts in braces match anything but a slash */
    void (*handle)(Exchange *exchange);
    const char *id; /* of the operation: a unique word */
    const char *summary;
    const char *params; /* of the query, separated by spaces; "*": any */
    const char *body;   /* schema of the request's body, or NULL */
    const char *answer; /* schema of a good answer, or NULL: it is no JSON object */
    unsigned status;    /* of a good answer */
    Action action;      /* for the routes of actions */
} Route;

#define ROUTES_MAX 256

extern const Route routes[];
extern const size_t route_count;

/* The route of a method and a path (percent-encoded), whose parts are decoded into
 * `parts`. NULL if there is none; *out_allowed then has a bit (1 << method) for each
 * method that the path knows. */
const Route *route_find(Method method, Slice path, Arena *arena,
                        Slice parts[EXCHANGE_PARTS_MAX], unsigned *out_allowed);

/* Whose things a route is about. */
typedef enum RouteTenant {
    ROUTE_OF_ALL,   /* everyone's: not for tokens of one tenant */
    ROUTE_BY_PARAM, /* those of ?tenant= */
    ROUTE_BY_PATH,  /* those of the first part of the path */
} RouteTenant;
RouteTenant route_tenant(const Route *route);

/* Percent-decodes; `plus` makes spaces of plus signs. ERR_INVALID for a bad escape. */
MUST_CHECK Err percent_decode(Slice text, bool plus, Arena *arena, Slice *out);

/* Splits and decodes a query into parameters. */
MUST_CHECK Err params_parse(Slice query, Arena *arena, Param **out_params,
                            size_t *out_count);

/* The first parameter that the route does not know, or NULL. */
const Param *route_unknown_param(const Route *route, const Param *params, size_t count);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* tenant_read.h - a tenant out of the object that PUT takes and a file declares. */
#ifndef MODEL_TENANT_READ_H
#define MODEL_TENANT_READ_H

#include "core/tenant.h"
#include "model/problem.h"
#include "json/json_in.h"

MUST_CHECK Err tenant_read(const JsonIn *object, Tenant *out_tenant, Problem *why);

#endif

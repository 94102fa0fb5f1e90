/* SPDX-License-Identifier: Apache-2.0 */
/* finding.c - see finding.h. */
#include "base/finding.h"

#include <stdarg.h>
#include <stdio.h>

#define TEXT_BYTES (ERROR_TEXT_BYTES + 160) /* an error within a sentence */

const char *health_name(Health health)
{
    switch (health) {
    case HEALTH_GOOD:
        return "ok";
    case HEALTH_WARNING:
        return "warning";
    case HEALTH_BAD:
        return "bad";
    }
    return "?";
}

Finding finding_good(const char *check)
{
    return (Finding){ .health = HEALTH_GOOD, .check = check };
}

void finding_tell(const Findings *to, Finding finding, const char *format, ...)
{
    char text[TEXT_BYTES];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    to->tell(to->context, &finding, text);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* facts.h - rows and schemas of what several nouns are shown with (AS_FACT). */
#ifndef NOUN_FACTS_H
#define NOUN_FACTS_H

#include "noun/noun.h"

#define SCHEMA_BOOL  "\"type\":\"boolean\""
#define SCHEMA_COUNT "\"type\":\"integer\""
#define SCHEMA_COUNTS                                                                    \
    "\"type\":\"object\",\"additionalProperties\":{\"type\":\"integer\"}"

#define FACT_DECLARED                                                                    \
    {                                                                                    \
        .name = "declared", .type = AS_FACT, .use = USE_SHOWN, .schema = SCHEMA_BOOL,    \
        .meaning = "it stands in the configuration file"                                 \
    }

#endif

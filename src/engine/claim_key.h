/* SPDX-License-Identifier: Apache-2.0 */
/* claim_key.h - the key of claim_token.h, in its file. */
#ifndef ENGINE_CLAIM_KEY_H
#define ENGINE_CLAIM_KEY_H

#include "model/claim_token.h"

#define CLAIM_KEY_FILE "claims.key"

/* Reads <data>/claims.key, or makes it. */
MUST_CHECK Err claim_key_load(const char *data_dir, ClaimKey *out, Error *why);

#endif

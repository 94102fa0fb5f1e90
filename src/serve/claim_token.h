/* SPDX-License-Identifier: Apache-2.0 */
/* claim_token.h - proof that a pull worker holds an attempt.
 *
 * A token is a keyed hash of the job's id and the attempt's number: nothing has to be
 * kept for each, it cannot be guessed without the key, and it is right for one attempt
 * only. The key is a file of the data directory, so tokens outlive a restart. */
#ifndef SERVE_CLAIM_TOKEN_H
#define SERVE_CLAIM_TOKEN_H

#include "base/err.h"
#include "base/id.h"

#include <stdbool.h>

#define CLAIM_KEY_BYTES   32
#define CLAIM_TOKEN_BYTES 33 /* 32 hexadecimal digits and the NUL */

typedef struct ClaimKey {
    unsigned char bytes[CLAIM_KEY_BYTES];
} ClaimKey;

char *claim_token(const ClaimKey *key, JobId id, uint32_t attempt,
                  char out[CLAIM_TOKEN_BYTES]);

/* Takes the same time whatever is wrong with it. */
bool claim_token_right(const ClaimKey *key, JobId id, uint32_t attempt, Slice token);

#endif

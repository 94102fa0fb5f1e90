/* SPDX-License-Identifier: Apache-2.0 */
/* claim_token.h - proof that a pull worker holds an attempt.
 *
 * A token is a keyed hash of the job's id and the attempt's number: nothing has to be
 * kept for each, it cannot be guessed without the key, and it is right for one attempt
 * only. The key is a file of the data directory, so tokens outlive a restart. On a store
 * that nodes share the number of the node that gave the job follows: only that one can
 * tell whether the token is right. */
#ifndef MODEL_CLAIM_TOKEN_H
#define MODEL_CLAIM_TOKEN_H

#include "base/err.h"
#include "base/id.h"

#include <stdbool.h>

#define CLAIM_KEY_BYTES   32
#define CLAIM_TOKEN_BYTES 36 /* 32 hexadecimal digits, 3 of the node, and the NUL */

typedef struct ClaimKey {
    unsigned char bytes[CLAIM_KEY_BYTES];
} ClaimKey;

/* What a token is for. */
typedef struct ClaimTaken {
    JobId id;
    uint32_t attempt;
    uint16_t node; /* 0: the store is not shared */
} ClaimTaken;

char *claim_token(const ClaimKey *key, const ClaimTaken *taken,
                  char out[CLAIM_TOKEN_BYTES]);

/* The node that gave the job; 0: the token does not say. */
uint16_t claim_token_node(Slice token);

/* Takes the same time whatever is wrong with it. */
bool claim_token_right(const ClaimKey *key, const ClaimTaken *taken, Slice token);

#endif

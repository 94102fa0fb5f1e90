/* SPDX-License-Identifier: Apache-2.0 */
/* claim_token.c - see claim_token.h. */
#include "serve/claim_token.h"

#include <sodium.h>
#include <stdio.h>

char *claim_token(const ClaimKey *key, JobId id, uint32_t attempt,
                  char out[CLAIM_TOKEN_BYTES])
{
    unsigned char hash[(CLAIM_TOKEN_BYTES - 1) / 2];
    char text[40];
    int bytes = snprintf(text, sizeof text, "%llu.%u", (unsigned long long)id, attempt);
    crypto_generichash(hash, sizeof hash, (const unsigned char *)text,
                       (unsigned long long)bytes, key->bytes, sizeof key->bytes);
    return sodium_bin2hex(out, CLAIM_TOKEN_BYTES, hash, sizeof hash);
}

bool claim_token_right(const ClaimKey *key, JobId id, uint32_t attempt, Slice token)
{
    char wanted[CLAIM_TOKEN_BYTES];
    claim_token(key, id, attempt, wanted);
    return token.bytes == sizeof wanted - 1 &&
           sodium_memcmp(wanted, token.data, token.bytes) == 0;
}

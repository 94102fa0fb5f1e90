/* SPDX-License-Identifier: Apache-2.0 */
/* claim_token.c - see claim_token.h. */
#include "model/claim_token.h"

#include <sodium.h>
#include <stdio.h>

#define HASH_DIGITS 32

char *claim_token(const ClaimKey *key, const ClaimTaken *taken,
                  char out[CLAIM_TOKEN_BYTES])
{
    unsigned char hash[HASH_DIGITS / 2];
    char text[40];
    int bytes = snprintf(text, sizeof text, "%llu.%u", (unsigned long long)taken->id,
                         taken->attempt);
    crypto_generichash(hash, sizeof hash, (const unsigned char *)text,
                       (unsigned long long)bytes, key->bytes, sizeof key->bytes);
    sodium_bin2hex(out, HASH_DIGITS + 1, hash, sizeof hash);
    if (taken->node)
        snprintf(out + HASH_DIGITS, CLAIM_TOKEN_BYTES - HASH_DIGITS, "%03x",
                 taken->node & 0xfffu);
    return out;
}

static unsigned digit(char c)
{
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0');
    return c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10 : 16;
}

uint16_t claim_token_node(Slice token)
{
    unsigned node = 0;
    if (token.bytes != CLAIM_TOKEN_BYTES - 1)
        return 0;
    for (size_t i = HASH_DIGITS; i < token.bytes; i++) {
        if (digit(token.data[i]) > 15)
            return 0;
        node = node << 4 | digit(token.data[i]);
    }
    return node <= ID_NODE_MAX ? (uint16_t)node : 0;
}

bool claim_token_right(const ClaimKey *key, const ClaimTaken *taken, Slice token)
{
    char wanted[CLAIM_TOKEN_BYTES];
    claim_token(key, taken, wanted);
    bool whole = token.bytes == HASH_DIGITS || token.bytes == CLAIM_TOKEN_BYTES - 1;
    return whole && sodium_memcmp(wanted, token.data, HASH_DIGITS) == 0;
}

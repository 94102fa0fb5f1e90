/* SPDX-License-Identifier: Apache-2.0 */
/* claim_key.c - see claim_key.h. */
#include "engine/claim_key.h"

#include "engine/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <sys/random.h>
#include <unistd.h>

#define KEY_TEXT_BYTES (2 * CLAIM_KEY_BYTES + 1)

static Err make_key(const char *data_dir, ClaimKey *out, Error *why)
{
    char text[KEY_TEXT_BYTES + 1];
    while (getrandom(out->bytes, sizeof out->bytes, 0) != (ssize_t)sizeof out->bytes)
        ;
    sodium_bin2hex(text, KEY_TEXT_BYTES, out->bytes, sizeof out->bytes);
    text[KEY_TEXT_BYTES - 1] = '\n';
    text[KEY_TEXT_BYTES] = '\0';
    return file_replace(data_dir, CLAIM_KEY_FILE, text, why);
}

Err claim_key_load(const char *data_dir, ClaimKey *out, Error *why)
{
    char path[PATH_MAX];
    char text[KEY_TEXT_BYTES];
    size_t bytes = 0;
    snprintf(path, sizeof path, "%s/" CLAIM_KEY_FILE, data_dir);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return make_key(data_dir, out, why);
    if (fd < 0)
        return error_errno(why, "cannot read %s", path);
    ssize_t got = read(fd, text, sizeof text);
    close(fd);
    if (got >= KEY_TEXT_BYTES - 1 &&
        !sodium_hex2bin(out->bytes, sizeof out->bytes, text, KEY_TEXT_BYTES - 1, NULL,
                        &bytes, NULL) &&
        bytes == sizeof out->bytes)
        return ERR_OK;
    return error_set(why, ERR_CORRUPT,
                     "%s is not a key; remove it to make a new one (pull workers then "
                     "lose the jobs they have)",
                     path);
}

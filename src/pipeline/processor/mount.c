/* SPDX-License-Identifier: Apache-2.0 */
/* mount.c - see mount.h. */
#include "pipeline/processor/mount.h"

#include "base/boot.h"
#include "pipeline/processor/notes.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define MOUNT_FILE "mount" /* "BOOT NUMBER" */
#define NAME_BYTES 128

#ifndef STATX_MNT_ID_UNIQUE
#define STATX_MNT_ID_UNIQUE 0x00004000U
#endif

/* The boot, and the number that the kernel gives to no other mount of it. */
static bool name_mount(const Buckets *buckets, char out[NAME_BYTES])
{
    char boot[BOOT_ID_BYTES];
    struct statx found;
    boot_id(boot);
    if (!boot[0] ||
        statx(buckets->own_fd, "", AT_EMPTY_PATH, STATX_MNT_ID_UNIQUE, &found) ||
        !(found.stx_mask & STATX_MNT_ID_UNIQUE))
        return false;
    snprintf(out, NAME_BYTES, "%s %llu", boot, (unsigned long long)found.stx_mnt_id);
    return true;
}

bool mount_lasted(const Buckets *buckets)
{
    char now[NAME_BYTES];
    Buf before = { 0 };
    bool lasted = name_mount(buckets, now) &&
                  !own_read(buckets, "", MOUNT_FILE, &before) &&
                  slice_is(buf_slice(&before), now);
    buf_done(&before);
    return lasted;
}

Err mount_remember(const Buckets *buckets, Error *why)
{
    char now[NAME_BYTES];
    if (mount_lasted(buckets) || !name_mount(buckets, now))
        return ERR_OK;
    return own_write(buckets, "", MOUNT_FILE, slice_text(now), why);
}

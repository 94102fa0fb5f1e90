/* SPDX-License-Identifier: Apache-2.0 */
/* boot.c - see boot.h. */
#include "base/boot.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

void boot_id(char out[BOOT_ID_BYTES])
{
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, out, BOOT_ID_BYTES - 1);
    if (fd >= 0)
        close(fd);
    out[got > 0 ? got : 0] = '\0';
    out[strcspn(out, "\n")] = '\0';
}

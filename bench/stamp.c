/* SPDX-License-Identifier: Apache-2.0 */
/* stamp.c - a job that writes down how long ago it was sent.
 *
 *     stamp FILE NANOSECONDS
 *
 * Appends microseconds between the given time and its own start. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct timespec now;
    char line[32];
    clock_gettime(CLOCK_REALTIME, &now);
    if (argc != 3)
        return 2;
    long long late = now.tv_sec * 1000000000LL + now.tv_nsec - strtoll(argv[2], NULL, 10);
    int bytes = snprintf(line, sizeof line, "%lld\n", late / 1000);
    int fd = open(argv[1], O_WRONLY | O_CREAT | O_APPEND, 0600);
    return fd < 0 || write(fd, line, (size_t)bytes) != bytes;
}

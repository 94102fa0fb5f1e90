/* SPDX-License-Identifier: Apache-2.0 */
/* stamp.c - a job that writes down how long ago it was sent.
 *
 *     stamp FILE NANOSECONDS        (dynamically linked: its time is that of main)
 *     stamp-first FILE NANOSECONDS  (static, with -DFIRST: that of its first instruction)
 *
 * Appends microseconds between the given time and its own start. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#if defined(FIRST) && defined(__x86_64__)
/* Where the kernel enters the program: asks for the time (system call 228 for
 * CLOCK_REALTIME, 0) and goes on to where the C library begins. All registers that mean
 * something at the start are left as they are. */
struct timespec first_moment;
__asm__(".globl first_instruction\n"
        "first_instruction:\n"
        "    mov $228, %eax\n"
        "    xor %edi, %edi\n"
        "    lea first_moment(%rip), %rsi\n"
        "    syscall\n"
        "    xor %edx, %edx\n" /* nothing to call at exit: static programs have none */
        "    jmp _start\n");
_Static_assert(SYS_clock_gettime == 228, "as it stands above");

static struct timespec started(void)
{
    return first_moment;
}
#else
static struct timespec started(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return now;
}
#endif

int main(int argc, char **argv)
{
    struct timespec now = started();
    char line[32];
    if (argc != 3)
        return 2;
    long long late = now.tv_sec * 1000000000LL + now.tv_nsec - strtoll(argv[2], NULL, 10);
    int bytes = snprintf(line, sizeof line, "%lld\n", late / 1000);
    int fd = open(argv[1], O_WRONLY | O_CREAT | O_APPEND, 0600);
    return fd < 0 || write(fd, line, (size_t)bytes) != bytes;
}

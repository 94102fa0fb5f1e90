/* SPDX-License-Identifier: Apache-2.0 */
/* interrupt.h - Ctrl-C while waiting: a flag and a descriptor, no work in the handler.
 *
 * Until interrupt_catch() Ctrl-C ends the program as usual. */
#ifndef CLI_INTERRUPT_H
#define CLI_INTERRUPT_H

#include <stdbool.h>
#include <stdint.h>

/* From now on SIGINT is noted instead of ending the program; a second one ends it. */
void interrupt_catch(void);
bool interrupt_seen(void);

/* Readable once SIGINT came; -1 while it is not caught. */
int interrupt_fd(void);

/* Waits that long, or until SIGINT came. */
void interrupt_sleep(int64_t ms);

#endif

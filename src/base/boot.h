/* SPDX-License-Identifier: Apache-2.0 */
/* boot.h - which run of the machine this is. */
#ifndef BASE_BOOT_H
#define BASE_BOOT_H

#define BOOT_ID_BYTES 40

/* Another run of the machine has another one; empty where the kernel tells none. */
void boot_id(char out[BOOT_ID_BYTES]);

#endif

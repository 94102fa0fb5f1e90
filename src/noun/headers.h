/* SPDX-License-Identifier: Apache-2.0 */
/* headers.h - the headers of an http handler's calls: which may be set, and how they are
 * shown: by name, without their values. */
#ifndef NOUN_HEADERS_H
#define NOUN_HEADERS_H

#include "noun/types.h"

#define HANDLER_HEADERS_MAX      32
#define HANDLER_HEADER_BYTES_MAX 4096

extern const FieldHooks headers_hooks;

#endif

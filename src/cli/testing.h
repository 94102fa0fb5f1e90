/* SPDX-License-Identifier: Apache-2.0 */
/* testing.h - what every test of this folder includes. */
#ifndef CLI_TESTING_H
#define CLI_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif

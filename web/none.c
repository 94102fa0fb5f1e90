/* SPDX-License-Identifier: Apache-2.0 */
/* none.c - the table of files of a program without the dashboard. */
#include "api/ui.h"

const Asset ASSETS[] = { { 0 } };
const size_t ASSET_COUNT = 0;

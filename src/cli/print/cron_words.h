/* SPDX-License-Identifier: Apache-2.0 */
/* cron_words.h - planned times in words: '30 2 * * 1-5' is Monday to Friday at 02:30.
 *
 * The daemon has read the text before and found it good; what is too rich for a sentence
 * is told field by field. */
#ifndef CLI_PRINT_CRON_WORDS_H
#define CLI_PRINT_CRON_WORDS_H

#include "base/buf.h"

#include <stdbool.h>

void cron_words(Slice cron, Buf *out);

/* Whether it names days of the month and days of the week: one of them is enough then,
 * which surprises many. */
bool cron_names_both_days(Slice cron);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* reader.h - the end of a journal that is ingested: see journal_reserve and others. */
#ifndef JOURNAL_READER_H
#define JOURNAL_READER_H

#include "journal/state.h"

void reader_done(Reader *reader);

#endif

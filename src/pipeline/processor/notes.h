/* SPDX-License-Identifier: Apache-2.0 */
/* notes.h - what a processor or broker writes down for itself below its .pawl.
 *
 * Two kinds: files, each durable when it is written, and notes, of which many become
 * durable together. A note is a symbolic link that points nowhere; its text is the note:
 * it takes one step to make, is whole or not there, and needs no block of its own. */
#ifndef PIPELINE_PROCESSOR_NOTES_H
#define PIPELINE_PROCESSOR_NOTES_H

#include "pipeline/processor/bucket.h"

#define NOTE_BYTES_MAX 1024

/* Whole or not at all, and durable. `folder` is below .pawl and is made; "" is .pawl. */
MUST_CHECK Err own_write(const Buckets *buckets, const char *folder, const char *name,
                         Slice text, Error *why);
/* Of a file or a note. ERR_NOT_FOUND when it is not there. */
MUST_CHECK Err own_read(const Buckets *buckets, const char *folder, const char *name,
                        Buf *out);
void own_remove(const Buckets *buckets, const char *folder, const char *name);

/* Replaces what was there. Durable after own_sync of the folder. */
MUST_CHECK Err own_note(const Buckets *buckets, const char *folder, const char *name,
                        Slice text, Error *why);
MUST_CHECK Err own_sync(const Buckets *buckets, const char *folder, Error *why);

/* The same in an open directory: 1 to NOTE_BYTES_MAX bytes, none of them NUL. */
bool note_set(int dir, const char *name, Slice text);
/* Of a note, or of a file that somebody else wrote. Empty: there is none. */
Slice note_read(int dir, const char *name, char out[NOTE_BYTES_MAX]);

#endif

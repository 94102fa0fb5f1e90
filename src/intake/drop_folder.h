/* SPDX-License-Identifier: Apache-2.0 */
/* drop_folder.h - the drop folder: a control file that is put into it becomes a job.
 *
 *     drop/NAME.xml               put there by rename, or written and closed
 *     drop/taken/STAMP-NAME.xml   on its way; gone when the job is durable
 *     drop/failed/NAME.xml        refused; NAME.xml.error says why
 *
 * A file is renamed first and added under its stamp as idempotency key, so that it
 * becomes one job whatever crashes meanwhile. Its own thread; the kernel's notes are
 * hints, a look at the folder every second is the truth. */
#ifndef INTAKE_DROP_FOLDER_H
#define INTAKE_DROP_FOLDER_H

#include "engine/call.h"

#define DROP_FOLDER "drop"

typedef struct Drop Drop;

/* Makes the folders and starts the thread. */
MUST_CHECK Err drop_open(Daemon *daemon, Drop **out_drop, Error *why);

/* Ends the thread. Its calls must still be answered: it waits for them. NULL is fine. */
void drop_close(Drop *drop);

#endif

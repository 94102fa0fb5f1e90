/* SPDX-License-Identifier: Apache-2.0 */
/* conn.h - part of the launcher: the connection to the daemon. */
#ifndef LAUNCH_CONN_H
#define LAUNCH_CONN_H

#include "launch/launcher.h"

int conn_listen(void); /* the descriptor, or -1 with errno */
void conn_accept(Launcher *launcher);
void conn_read(Launcher *launcher);
void conn_tell(Launcher *launcher); /* all that the socket takes now */

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* place.h - where the daemon is: its data directory and its socket. */
#ifndef CLI_PLACE_H
#define CLI_PLACE_H

#include "base/buf.h"

#include <stdbool.h>

#define PLACE_URL_DEFAULT "http://127.0.0.1:7420"

/* What the choice depends on, so that it can be tested. */
typedef struct PlaceEnv {
    const char *data_option; /* --data, or NULL */
    const char *pawl_data;   /* $PAWL_DATA */
    const char *state_home;  /* $XDG_STATE_HOME */
    const char *home;        /* $HOME */
    const char *cwd;         /* for relative paths */
} PlaceEnv;

/* The data directory as an absolute path. Empty variables count as unset, a relative
 * XDG_STATE_HOME is ignored as its specification asks. */
MUST_CHECK Err place_data(const PlaceEnv *env, Buf *out_path, Error *why);

/* Whether somebody listens at the Unix socket. */
bool place_listens(const char *socket_path);

#endif

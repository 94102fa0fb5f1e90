/* SPDX-License-Identifier: Apache-2.0 */
/* place.h - where the daemon is: its data directory and its socket. */
#ifndef CLI_PLACE_H
#define CLI_PLACE_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PLACE_PORT_DEFAULT 7420
#define PLACE_TABLES       "/proc/net"
#define PLACE_SERVICE      "/run/pawl/pawl.sock" /* of the system service */
#define PLACE_TOKEN_DIGITS 32 /* of an attempt's own PAWL_TOKEN, hexadecimal */

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

/* What a command was told about its daemon, before anything is tried. Empty texts count
 * as unset. */
typedef struct PlaceNames {
    const char *server_option; /* --server, or NULL */
    const char *data_option;   /* --data */
    const char *pawl_server;   /* $PAWL_SERVER */
    const char *pawl_data;     /* $PAWL_DATA */
    const char *job_url;       /* $PAWL_API_URL in a job, else NULL */
} PlaceNames;

/* Which daemon was meant: that one answers, or nobody does. An option is closer than the
 * environment, a name closer than the daemon of the job that this runs in. */
typedef struct PlaceMeant {
    const char *server; /* or NULL: the socket in the data directory */
    bool data;          /* a data directory was named: its daemon alone */
} PlaceMeant;

PlaceMeant place_meant(const PlaceNames *names);

/* Whether somebody listens at the Unix socket. */
bool place_listens(const char *socket_path);

/* Who listens at 127.0.0.1:PORT. Any user may take a port that is free, so an address
 * that nobody named is trusted only where it is ours or root's. */
typedef enum PlaceOwner {
    PLACE_NOBODY,
    PLACE_OURS,
    PLACE_OTHERS,
    PLACE_UNKNOWN, /* the kernel's tables cannot be read */
} PlaceOwner;

/* tables: the directory of the kernel's files `tcp` and `tcp6`. */
PlaceOwner place_owner(const char *tables, uint16_t port, uid_t user);

/* The port in "127.0.0.1:PORT", the first line of the file; 0 when there is none. */
uint16_t place_port(const char *path);

/* Whether it looks like the PAWL_TOKEN that an attempt is given; tokens of the API look
 * otherwise. */
bool place_attempts_token(const char *token);

#endif

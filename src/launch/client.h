/* SPDX-License-Identifier: Apache-2.0 */
/* client.h - the daemon's side of the launcher's socket.
 *
 * One thread uses a client. Nothing here waits except launch_open. Requests that the
 * socket does not take at once are kept and sent by launch_dispatch; starts are sent a
 * few at a time, so that descriptors on their way stay few. */
#ifndef LAUNCH_CLIENT_H
#define LAUNCH_CLIENT_H

#include "base/id.h"
#include "base/slice.h"
#include "launch/protocol.h"

#include <stdbool.h>

typedef struct LaunchClient LaunchClient;
typedef struct LaunchPacket LaunchPacket; /* a start that only has to be sent */

/* What to start. Lists are items each ended by NUL. */
typedef struct LaunchStart {
    JobId id;
    uint32_t attempt;
    uint32_t flags;   /* the caller's own; come back with every answer */
    const char *mark; /* see LaunchMessage.mark; also a variable's value in env */
    Slice argv;
    Slice env;
    const char *cwd;    /* "": the account's home, or / */
    const char *tenant; /* with user */
    const char *user;   /* the account to run as; NULL: the launcher's own */
    uint32_t mask;
    int32_t nice;
    int64_t deadline_boot; /* as launch_deadline says, from the start; 0: none */
    const LaunchLimit *limits;
    uint32_t limit_count;
    int stdin_fd; /* this and the write ends are taken over, also on failure */
    int out_w;
    int err_w;
    int out_r; /* stay the caller's; open until STARTED, FAILED or EXITED comes */
    int err_r;
    bool has_reply;
    int reply_w; /* with has_reply: becomes 3; taken over as stdin_fd is */
} LaunchStart;

/* Messages that come in. In item, the descriptors are given to the handler. */
typedef struct LaunchHandlers {
    void (*started)(void *context, const LaunchMessage *message);
    /* Its program does not run after LAUNCH_SLOW_MS; started, failed or exited may yet
     * come. */
    void (*slow)(void *context, const LaunchMessage *message);
    void (*failed)(void *context, const LaunchMessage *message);
    void (*exited)(void *context, const LaunchMessage *message);
    void (*item)(void *context, const LaunchMessage *message, int out_r, int err_r);
    void (*list_end)(void *context);
} LaunchHandlers;

/* Connects to the launcher of a data directory, starting it where there is none.
 * program NULL: $PAWL_LAUNCHER, then pawl-launch beside this program, then in
 * ../libexec/pawl. ERR_BUSY if another daemon is connected to it. */
MUST_CHECK Err launch_open(LaunchClient **out_client, const char *data_dir,
                           const char *program, Error *why);
void launch_close(LaunchClient *client); /* jobs go on */

int launch_fd(const LaunchClient *client);
bool launch_wants_write(const LaunchClient *client);
int32_t launch_pid(const LaunchClient *client);
bool launch_has_cgroups(const LaunchClient *client);
bool launch_has_reply(const LaunchClient *client); /* else has_reply must be false */

/* Boot time since when the launcher owes an answer to a start; 0: to none. */
int64_t launch_owes(const LaunchClient *client);

/* Sends what waits and reads what has come. ERR_UNAVAILABLE: the launcher is dead, and
 * so are its jobs, or will be before the next one answers. */
MUST_CHECK Err launch_dispatch(LaunchClient *client, const LaunchHandlers *handlers,
                               void *context);

/* ERR_LIMIT, ERR_UNSUPPORTED (an old launcher cannot switch accounts) or an error of the
 * memory file: nothing was sent. */
MUST_CHECK Err launch_start(LaunchClient *client, const LaunchStart *start, Error *why);

/* The same in two steps: what takes time, and the word. *out is given to launch_go or
 * launch_drop. The client that sends it may be another one. */
MUST_CHECK Err launch_prepare(LaunchClient *client, const LaunchStart *start,
                              LaunchPacket **out, Error *why);
void launch_go(LaunchClient *client, LaunchPacket *packet);
void launch_drop(LaunchPacket *packet);

void launch_signal(LaunchClient *client, JobId id, uint32_t attempt, int signal_number);
void launch_list(LaunchClient *client);
void launch_forget(LaunchClient *client, JobId id, uint32_t attempt);
void launch_deadline(LaunchClient *client, JobId id, uint32_t attempt, int64_t boot_ms);
void launch_quit(LaunchClient *client);

const char *launch_step_text(LaunchStep step); /* "working directory", ... */

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* protocol.h - what daemon and launcher say to each other.
 *
 * A Unix SEQPACKET socket <data>/launch.sock, one LaunchMessage per packet, always
 * LAUNCH_MESSAGE_BYTES long, in the machine's own byte order. Descriptors travel beside
 * it. A launcher may be older than the daemon that finds it: fields are only ever added
 * in `reserved`, and kinds at the end.
 *
 * The launcher keeps an attempt from START until FORGET; its state is the truth, and
 * events only tell of it. So whatever daemon connects next learns all by LIST. */
#ifndef LAUNCH_PROTOCOL_H
#define LAUNCH_PROTOCOL_H

#include <stdint.h>

#define LAUNCH_VERSION          2           /* 2: accounts */
#define LAUNCH_MAGIC            0x6c776170u /* "pawl" */
#define LAUNCH_SOCKET           "launch.sock"
#define LAUNCH_LOCK             "launch.lock"
#define LAUNCH_PIDS             "launch.pids"
#define LAUNCH_LOG              "launch.log"
#define LAUNCH_ATTEMPTS_MAX     4096    /* running, or ended and not yet forgotten */
#define LAUNCH_SPEC_BYTES_MAX   4194304 /* twice what Linux takes for argv and env */
#define LAUNCH_SPEC_STRINGS_MAX 32768
#define LAUNCH_MARK_BYTES       40 /* 32 hexadecimal digits, and room */
#define LAUNCH_RLIMITS_MAX      16
#define LAUNCH_IDLE_MS          10000 /* with nothing to do and no daemon, it leaves */
#define LAUNCH_TAKEN_MS         50    /* so long a start may hold up the next ones */
#define LAUNCH_SLOW_MS          5000  /* something is wrong with what it needs */

typedef enum LaunchKind {
    /* requests */
    LAUNCH_START = 1, /* with LAUNCH_FD_START descriptors; a known attempt is only told */
    LAUNCH_SIGNAL,    /* number: the signal, to the whole tree */
    LAUNCH_LIST,      /* answered by an ITEM for each attempt and a LIST_END */
    LAUNCH_FORGET,    /* its end is recorded, or will not be asked for */
    LAUNCH_DEADLINE,  /* time_ms: boot time at which its tree is killed; 0: never */
    LAUNCH_QUIT,      /* leave at once when empty and the daemon has gone */
    /* answers */
    LAUNCH_HELLO = 64, /* first on each connection: pid, flags, number = version */
    LAUNCH_STARTED,
    LAUNCH_FAILED, /* could not be started: step, number = errno */
    LAUNCH_EXITED,
    LAUNCH_ITEM, /* state, and read ends of its pipes: LAUNCH_FD_ITEM descriptors */
    LAUNCH_LIST_END,
    LAUNCH_BUSY,  /* another daemon is connected; the connection ends */
    LAUNCH_WAITS, /* its program does not run yet: number = milliseconds since START.
                   * Told after LAUNCH_TAKEN_MS, and again after LAUNCH_SLOW_MS */
} LaunchKind;

/* Order of the descriptors that go with START. All must be there but the last. */
typedef enum LaunchFd {
    LAUNCH_FD_SPEC,  /* memory file: a LaunchSpec and its strings */
    LAUNCH_FD_STDIN, /* becomes 0 */
    LAUNCH_FD_OUT_W, /* becomes 1 */
    LAUNCH_FD_ERR_W, /* becomes 2 */
    LAUNCH_FD_OUT_R, /* kept for the next daemon; come back with ITEM in this order */
    LAUNCH_FD_ERR_R,
    LAUNCH_FD_START,                   /* so many always; and */
    LAUNCH_FD_REPLY = LAUNCH_FD_START, /* becomes 3, if there: LAUNCH_HAS_REPLY */
    LAUNCH_FD_MOST,
} LaunchFd;
#define LAUNCH_FD_ITEM 2

/* What failed before the job's program ran. */
typedef enum LaunchStep {
    LAUNCH_STEP_NONE,
    LAUNCH_STEP_PREPARE, /* the daemon's side: files, pipes, memory */
    LAUNCH_STEP_REQUEST, /* the launcher did not understand, or is full */
    LAUNCH_STEP_CLONE,   /* no process to be had */
    LAUNCH_STEP_SESSION,
    LAUNCH_STEP_STDIO,
    LAUNCH_STEP_LIMIT, /* resource limits, niceness */
    LAUNCH_STEP_CWD,
    LAUNCH_STEP_EXEC,
    LAUNCH_STEP_USER, /* not allowed to be it, or it could not be done */
} LaunchStep;

typedef enum LaunchState {
    LAUNCH_IS_RUNNING = 1,
    LAUNCH_IS_FAILED,
    LAUNCH_IS_EXITED,
} LaunchState;

/* Of HELLO. */
typedef enum LaunchFlag {
    LAUNCH_HAS_CGROUPS = 1 << 0,
    LAUNCH_HAS_REPLY = 1 << 1, /* passes on a descriptor 3 */
} LaunchFlag;

typedef struct LaunchUsage {
    uint64_t user_us;
    uint64_t system_us;
    uint64_t rss_max_kb;
    uint64_t faults_minor;
    uint64_t faults_major;
    uint64_t blocks_in;
    uint64_t blocks_out;
} LaunchUsage;

typedef struct LaunchMessage {
    uint32_t magic;
    uint32_t kind; /* LaunchKind */
    uint64_t id;
    uint32_t attempt;
    uint32_t flags;          /* START: the daemon's own; come back with every answer */
    int32_t number;          /* signal, errno or version, by kind */
    uint32_t step;           /* FAILED: LaunchStep */
    uint32_t state;          /* ITEM: LaunchState */
    int32_t pid;             /* STARTED, EXITED, ITEM; HELLO: the launcher's own */
    int32_t status;          /* EXITED: as from waitpid */
    uint32_t leftover;       /* EXITED: so many processes of its tree would not die */
    int64_t time_ms;         /* DEADLINE; START: its first, or 0 */
    int64_t started_wall_ms; /* STARTED, EXITED, ITEM */
    int64_t ended_wall_ms;   /* EXITED, ITEM */
    LaunchUsage usage;       /* EXITED, ITEM */
    char mark[LAUNCH_MARK_BYTES]; /* START: text in the environment of every process of
                                   * the tree and of no other; comes back with ITEM */
    uint32_t account; /* START: 1 if the spec ends with two more strings: the tenant, and
                       * the account to run as. An older launcher refuses such a spec. */
    uint32_t overdue; /* EXITED, ITEM: 1 if its DEADLINE came and it was killed; an older
                       * launcher does not say */
    uint64_t reserved[10];
} LaunchMessage;
#define LAUNCH_MESSAGE_BYTES 256
_Static_assert(sizeof(LaunchMessage) == LAUNCH_MESSAGE_BYTES,
               "the messages' form is fixed");

typedef struct LaunchLimit {
    uint32_t resource; /* RLIMIT_... */
    uint32_t reserved;
    uint64_t soft; /* UINT64_MAX: none */
    uint64_t hard;
} LaunchLimit;

/* Head of the memory file; after it string_bytes of NUL-ended strings: the working
 * directory, argc arguments, envc NAME=VALUE, and with LaunchMessage.account two more. */
typedef struct LaunchSpec {
    uint32_t magic;
    uint32_t argc;
    uint32_t envc;
    uint32_t mask; /* umask */
    int32_t nice;  /* added to the launcher's own */
    uint32_t limit_count;
    uint64_t string_bytes;
    LaunchLimit limits[LAUNCH_RLIMITS_MAX];
} LaunchSpec;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* handler.h - what runs the jobs of a type: a versioned definition with its defaults.
 *
 * Plain data; slices are borrowed. The newest version is used for jobs that start;
 * running ones keep theirs. Kept in the store as definitions: HANDLER_TABLE has the
 * newest under the type's name, HANDLER_VERSIONS every one under `type version`. A
 * deleted one leaves a mark, so that versions count on. What follows from it is in
 * core/handler.h. */
#ifndef NOUN_HANDLER_H
#define NOUN_HANDLER_H

#include "noun/noun.h"

#define HANDLER_TABLE    "handler"
#define HANDLER_VERSIONS "handler_version"

#define HANDLER_BODY_MAX  (1 << 20) /* of each script in it */
#define HANDLER_BATCH_MAX 10000

typedef enum Lang {
    LANG_EXEC, /* body: argv, shell-quoted or a JSON array; one process per job */
    LANG_SH,   /* body: a script */
    LANG_BASH,
    LANG_NODE, /* this to LANG_LUA: body is a function's body, run warm */
    LANG_PYTHON,
    LANG_PERL,
    LANG_PHP,
    LANG_RUBY,
    LANG_LUA,
    LANG_HTTP, /* body: the URL that gets the payload */
    LANG_PULL, /* no body: external workers take the jobs */
} Lang;
#define LANGS (LANG_PULL + 1)

const char *lang_name(Lang lang);
MUST_CHECK Err lang_parse(Slice text, Lang *out_lang);

typedef struct Handler {
    Slice tenant;
    Slice type;
    uint32_t version; /* 1, 2, ... of this tenant and type */
    int64_t created_ms;
    bool disabled; /* its jobs wait */
    bool deleted;  /* only the count of versions is left */
    Lang lang;
    Slice eid; /* contexts of equal eid may be shared; empty: by version */
    Slice before;
    Slice before_each;
    Slice body;
    Slice after_each;
    /* Defaults of its jobs; unset as in Job. */
    Slice queue;
    bool has_priority;
    int64_t priority;
    int64_t max_run_ms;
    int64_t service_ms;
    bool has_max_retries;
    int32_t max_retries;
    int64_t retry_delay_ms;
    int64_t retry_window_ms;
    Slice resources;
    bool highlander;
    Slice user;
    Slice env;
    Slice cwd;
    Slice then;
    Slice on_error;
    uint32_t batch;   /* jobs at once; 0: one process or call each */
    Slice exit_map;   /* STATUS=EXITCODE, each ended by NUL */
    bool drop_result; /* keep_result: false */
    bool keep_state;
    bool files;
    Slice children; /* "" or "immediate" */
    Slice headers;  /* http: NAME=VALUE, each ended by NUL; may be secret */
} Handler;

/* What reading needs to know of the machine is checked by handler_check() above core. */
extern const Noun handler_noun;

void handler_pack(Buf *out, const Handler *handler);
MUST_CHECK Err handler_unpack(Slice packed, Handler *out_handler);
Handler handler_copy(Arena *arena, const Handler *handler);

#endif

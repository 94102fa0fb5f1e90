/* SPDX-License-Identifier: Apache-2.0 */
/* afar.h - questions to the daemons of other nodes: what a job printed there, what
 * happened there, and words of pull workers about jobs that another node gave them.
 *
 * They travel as letters through the store (EVENT_POST) and are answered the same way,
 * each piece of bounded size. A letter may be lost with the node it went to: then, and if
 * it takes too long, whoever asks is told that the node does not answer. What is asked
 * may be asked again. Loop thread, except for what readers do. */
#ifndef SERVE_AFAR_H
#define SERVE_AFAR_H

#include "core/effect.h"
#include "serve/afar_text.h"
#include "serve/door.h"

#define AFAR_PIECE_BYTES (256u << 10) /* of output, in one answer */

typedef struct Afar Afar;

/* Of CALL_AFAR; the node by its name or its number. The answer lives in the call. */
typedef struct Question {
    Slice sysid;
    uint32_t number;
    AfarText text;
    AfarText answer;
} Question;

Afar *afar_new(Daemon *daemon);
void afar_refuse(Afar *afar); /* no more: whoever waits is told */
void afar_free(Afar *afar);

/* ERR_NOT_FOUND: there is no such node, or it was lost and what it had is another's by
 * now. ERR_UNAVAILABLE: it does not answer. */
void afar_take(Afar *afar, Call *call);

/* What came from another daemon; false: it is for others to read. */
bool afar_letter(Afar *afar, const Effect *effect);

struct FarEvents *afar_events(const Afar *afar);

/* The job is gone: what other nodes have kept of its attempts goes, too. */
void afar_erased(Afar *afar, JobId id, uint32_t attempts);

/* A letter, while events are collected. */
void afar_post(Afar *afar, uint32_t to, const AfarText *text);

/* Answers become letters; who has waited for too long is told. */
void afar_collect(Afar *afar, Now now);

#endif

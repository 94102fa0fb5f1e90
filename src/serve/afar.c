/* SPDX-License-Identifier: Apache-2.0 */
/* afar.c - see afar.h. */
#include "serve/afar.h"

#include "base/map.h"
#include "run/output.h"
#include "serve/claim_read.h"
#include "serve/far_events.h"
#include "serve/inside.h"
#include "serve/relay.h"
#include "json/json_in.h"

#define ANSWER_WAIT_MS (5 * MS_PER_S)
#define ERASE_EVERY_MS 200
#define ERASE_BYTES    ((size_t)128 << 10) /* in one letter */

_Static_assert(AFAR_STREAMS == OUTPUT_STREAMS, "a question names every stream");

/* Asked of another node. */
typedef struct Sent {
    uint32_t node;
    uint64_t epoch; /* in another life it knows nothing of it */
    int64_t until_boot;
    Call *call;
} Sent;

/* Asked by another node. */
typedef struct Task {
    Call call; /* first: it is the mail, too */
    Afar *afar;
    uint32_t from;
    AfarText text; /* the question, in the call's arena */
    AfarText answer;
    Buf out;
} Task;

struct Afar {
    Daemon *daemon;
    Mailbox box; /* of Tasks that are done */
    Map sent;    /* Sent by token */
    uint64_t token;
    Buf erased; /* Erased, to be told */
    int64_t erase_boot;
    FarEvents *events;
    size_t open; /* tasks that are not done */
    bool closed;
};

Afar *afar_new(Daemon *daemon)
{
    Afar *afar = MEM_NEW(Afar);
    afar->daemon = daemon;
    mailbox_init(&afar->box);
    afar->box.wake = daemon->answers.wake;
    afar->box.wake_context = daemon;
    afar->token = (uint64_t)clock_now().wall_ms << 16; /* unlike those of a life before */
    afar->events = far_events_new(daemon, afar);
    return afar;
}

FarEvents *afar_events(const Afar *afar)
{
    return afar->events;
}

/* --- Asking --------------------------------------------------------------------------
 */

static void refuse(Call *call, Err err, const char *problem, const char *text)
{
    error_set(&call->why, err, "%s", text);
    call->err = err;
    call->problem = problem;
    call->done(call);
}

static void unreachable(Call *call, const char *sysid)
{
    char text[ERROR_TEXT_BYTES];
    snprintf(text, sizeof text, "node %s does not answer", sysid);
    refuse(call, ERR_UNAVAILABLE, "node_unreachable", text);
}

void afar_post(Afar *afar, uint32_t to, const AfarText *text)
{
    Buf packed = { 0 };
    afar_pack(&packed, text);
    relay_post(afar->daemon, to, buf_slice(&packed));
    buf_done(&packed);
}

void afar_take(Afar *afar, Call *call)
{
    Question *question = call->question;
    const Neighbours *all = relay_neighbours(afar->daemon);
    const Neighbour *to = question->sysid.bytes
                              ? neighbour_named(all, question->sysid)
                              : neighbour_numbered(all, question->number);
    if (afar->closed) {
        refuse(call, ERR_UNAVAILABLE, "draining", "the daemon is closing");
    } else if (!to || to->fenced) {
        refuse(call, ERR_NOT_FOUND, "node_not_found", "its node is gone");
    } else if (!to->alive) {
        unreachable(call, to->sysid);
    } else {
        Sent *sent = MEM_NEW(Sent);
        *sent = (Sent){ .node = to->number,
                        .epoch = to->epoch,
                        .until_boot = clock_now().boot_ms + ANSWER_WAIT_MS,
                        .call = call };
        question->text.token = ++afar->token;
        map_put(&afar->sent, afar->token, sent);
        afar_post(afar, to->number, &question->text);
    }
}

static void take_answer(Afar *afar, const AfarText *text)
{
    Sent *sent = map_remove(&afar->sent, text->token);
    if (!sent)
        return; /* it took too long */
    Call *call = sent->call;
    AfarText *answer = &call->question->answer;
    *answer = *text;
    afar_keep(&call->arena, answer);
    call->err = text->err;
    if (text->problem.bytes)
        call->problem = slice_cstr(&call->arena, text->problem);
    if (text->err)
        error_set(&call->why, text->err, SLICE_FMT, SLICE_ARG(text->why));
    call->done(call);
    mem_free(sent);
}

static bool is_over(const Afar *afar, const Sent *sent, Now now)
{
    const Neighbour *to = neighbour_numbered(relay_neighbours(afar->daemon), sent->node);
    return now.boot_ms >= sent->until_boot || !to || !to->alive ||
           to->epoch != sent->epoch;
}

static void expire(Afar *afar, Now now)
{
    MapEntry entry;
    for (size_t at = 0; map_next(&afar->sent, &at, &entry);) {
        Sent *sent = entry.value;
        const Neighbour *to =
            neighbour_numbered(relay_neighbours(afar->daemon), sent->node);
        if (!is_over(afar, sent, now))
            continue;
        map_remove(&afar->sent, entry.key);
        unreachable(sent->call, to ? to->sysid : "?");
        mem_free(sent);
        at = 0; /* what follows may have moved */
    }
}

/* --- Answering ------------------------------------------------------------------------
 */

static void task_done(Call *call)
{
    Task *task = (Task *)(void *)call;
    mailbox_put(&task->afar->box, &call->mail);
}

/* On a reader's thread: the first of the streams that has more. */
static void read_piece(Call *call, Store *store)
{
    Task *task = (Task *)(void *)call;
    (void)store;
    OutputName name = { .data_dir = daemon_facts(task->afar->daemon)->data_dir,
                        .id = task->text.id,
                        .attempt = task->text.attempt };
    for (unsigned i = 0; i < OUTPUT_STREAMS && !task->out.bytes && !call->err; i++) {
        OutputPart part = { 0 };
        if (!(task->text.streams & 1u << i))
            continue;
        name.stream = (OutputStream)i;
        call->err = output_read(&name, task->text.offsets[i], AFAR_PIECE_BYTES,
                                &task->out, &part);
        task->answer.stream = i;
        task->answer.from = part.from;
        task->answer.next = part.next;
    }
}

/* On a reader's thread, because it may be long: as api_claims.c reads it. */
static void read_items(Call *call, Store *store)
{
    Task *task = (Task *)(void *)call;
    const DaemonFacts *facts = daemon_facts(task->afar->daemon);
    const JsonIn *body;
    JsonFault fault;
    (void)store;
    const JobRules rules = { .tenant = task->text.tenant,
                             .tenant_fixed = task->text.bound,
                             .wall_ms = clock_now().wall_ms,
                             .payload_bytes_max = facts->payload_bytes_max };
    ClaimReader reader = { .arena = &call->arena,
                           .key = facts->claim_key,
                           .node = facts->node,
                           .rules = &rules,
                           .result_bytes_max = facts->result_bytes_max };
    if (json_in_load(task->text.body, &call->arena, &body, &fault) ||
        claim_read_items(&reader, body, task->text.kind == AFAR_FINISH)) {
        call->err = error_set(&call->why, ERR_INVALID, "%s", reader.why.detail);
        return;
    }
    call->event.items = reader.items;
    call->event.count = reader.item_count;
}

static void items_told(Call *call)
{
    Task *task = (Task *)(void *)call;
    for (size_t i = 0; !call->err && i < call->count; i++)
        buf_add_char(&task->out, (char)call->items[i].status);
    task_done(call);
}

static void items_read(Call *call)
{
    const Task *task = (const Task *)(const void *)call;
    if (call->err) {
        task_done(call);
        return;
    }
    call->kind = CALL_EVENT;
    call->event.kind = task->text.kind == AFAR_FINISH ? EVENT_FINISH : EVENT_RENEW;
    call->event.tenant = task->text.tenant;
    call->done = items_told;
    daemon_call(task->afar->daemon, call);
}

static void take_question(Afar *afar, uint32_t from, const AfarText *text)
{
    Task *task = MEM_NEW(Task);
    bool log = text->kind == AFAR_LOG;
    task->afar = afar;
    task->from = from;
    task->text = *text;
    afar_keep(&task->call.arena, &task->text);
    task->call.kind = CALL_READ;
    task->call.read = log ? read_piece : read_items;
    task->call.done = log ? task_done : items_read;
    afar->open++;
    daemon_call(afar->daemon, &task->call);
}

static void answer(Afar *afar, Task *task)
{
    const Call *call = &task->call;
    AfarText *text = &task->answer;
    text->kind = AFAR_ANSWER;
    text->token = task->text.token;
    text->err = call->err;
    text->problem = slice_text(call->problem ? call->problem : "");
    text->why = slice_text(call->why.text);
    text->out = buf_slice(&task->out);
    if (!afar->closed)
        afar_post(afar, task->from, text);
    afar->open--;
    buf_done(&task->out);
    arena_done(&task->call.arena);
    mem_free(task);
}

static void answer_mail(Afar *afar, Mail *mail)
{
    while (mail) {
        Mail *next = mail->next;
        answer(afar, (Task *)(void *)mail);
        mail = next;
    }
}

/* --- Jobs that are gone ---------------------------------------------------------------
 */

void afar_erased(Afar *afar, JobId id, uint32_t attempts)
{
    const Erased erased = { id, attempts };
    if (attempts)
        buf_add(&afar->erased, &erased, sizeof erased);
}

static void tell_erased(Afar *afar, Now now)
{
    const Neighbours *all = relay_neighbours(afar->daemon);
    size_t bytes = afar->erased.bytes < ERASE_BYTES ? afar->erased.bytes : ERASE_BYTES;
    if (!bytes || now.boot_ms < afar->erase_boot)
        return;
    AfarText text = { .kind = AFAR_ERASE, .body = slice_of(afar->erased.data, bytes) };
    for (size_t i = 0; i < all->count; i++)
        if (!all->list[i].fenced) /* one that is away reads it when it is back */
            afar_post(afar, all->list[i].number, &text);
    afar->erased.bytes -= bytes;
    memmove(afar->erased.data, afar->erased.data + bytes, afar->erased.bytes);
    afar->erase_boot = now.boot_ms + ERASE_EVERY_MS;
}

static void erase(Afar *afar, Slice body)
{
    Erased erased;
    for (size_t at = 0; at + sizeof erased <= body.bytes; at += sizeof erased) {
        memcpy(&erased, body.data + at, sizeof erased);
        runner_erase(afar->daemon->runner, erased.id, (uint32_t)erased.attempts);
    }
}

/* --- All of it ------------------------------------------------------------------------
 */

bool afar_letter(Afar *afar, const Effect *effect)
{
    AfarText text;
    if (afar_unpack(effect->value, &text))
        return false;
    if (afar->closed)
        return true;
    switch (text.kind) {
    case AFAR_LOG:
    case AFAR_RENEW:
    case AFAR_FINISH:
        take_question(afar, effect->owner, &text);
        return true;
    case AFAR_EVENTS:
        far_events_asked(afar->events, effect->owner, &text);
        return true;
    case AFAR_ERASE:
        erase(afar, text.body);
        return true;
    case AFAR_ANSWER:
        take_answer(afar, &text);
        return true;
    }
    return true;
}

void afar_collect(Afar *afar, Now now)
{
    answer_mail(afar, mailbox_take(&afar->box));
    expire(afar, now);
    tell_erased(afar, now);
    if (!afar->closed)
        far_events_collect(afar->events, now);
}

void afar_refuse(Afar *afar)
{
    MapEntry entry;
    afar->closed = true;
    for (size_t at = 0; map_next(&afar->sent, &at, &entry);) {
        Sent *sent = entry.value;
        refuse(sent->call, ERR_UNAVAILABLE, "draining", "the daemon is closing");
        mem_free(sent);
    }
    map_done(&afar->sent);
    afar->sent = (Map){ 0 };
}

void afar_free(Afar *afar)
{
    if (!afar)
        return;
    afar_refuse(afar);
    while (afar->open) /* each is refused, if it was not done */
        answer_mail(afar, mailbox_wait(&afar->box, -1));
    far_events_free(afar->events);
    mailbox_done(&afar->box);
    buf_done(&afar->erased);
    mem_free(afar);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* remote_query.c - see remote_query.h. */
#include "cluster/remote_query.h"

#include "base/map.h"
#include "cluster/remote_events.h"
#include "cluster/remote_order.h"
#include "engine/daemon_state.h"
#include "model/claim_read.h"
#include "run/process/output.h"
#include "json/json_in.h"

#define ANSWER_WAIT_MS (5 * MS_PER_S)
#define ERASE_EVERY_MS 200
#define ERASE_BYTES    ((size_t)128 << 10) /* in one letter */

_Static_assert(REMOTE_QUERY_STREAMS == OUTPUT_STREAMS, "a question names every stream");

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
    RemoteQuery *remote_query;
    uint32_t from;
    RemoteQueryText text; /* the question, in the call's arena */
    RemoteQueryText answer;
    Buf out;
} Task;

struct RemoteQuery {
    Daemon *daemon;
    Mailbox box; /* of Tasks that are done */
    Map sent;    /* Sent by token */
    uint64_t token;
    Buf erased; /* Erased, to be told */
    int64_t erase_boot;
    RemoteEvents *events;
    size_t open; /* tasks that are not done */
    bool closed;
};

RemoteQuery *remote_query_new(Daemon *daemon)
{
    RemoteQuery *remote_query = MEM_NEW(RemoteQuery);
    remote_query->daemon = daemon;
    mailbox_init(&remote_query->box);
    remote_query->box.wake = daemon->engine.answers.wake;
    remote_query->box.wake_context = daemon;
    remote_query->token = (uint64_t)clock_now().wall_ms
                          << 16; /* unlike those of a life before */
    remote_query->events = remote_events_new(daemon, remote_query);
    return remote_query;
}

RemoteEvents *remote_query_events(const RemoteQuery *remote_query)
{
    return remote_query->events;
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

void remote_query_post(RemoteQuery *remote_query, uint32_t to,
                       const RemoteQueryText *text)
{
    Buf packed = { 0 };
    remote_query_pack(&packed, text);
    remote_order_post(remote_query->daemon, to, buf_slice(&packed));
    buf_done(&packed);
}

void remote_query_take(RemoteQuery *remote_query, Call *call)
{
    Question *question = call->question;
    const Neighbours *all = remote_order_neighbours(remote_query->daemon);
    const Neighbour *to = question->sysid.bytes
                              ? neighbour_named(all, question->sysid)
                              : neighbour_numbered(all, question->number);
    if (remote_query->closed) {
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
        question->text.token = ++remote_query->token;
        map_put(&remote_query->sent, remote_query->token, sent);
        remote_query_post(remote_query, to->number, &question->text);
    }
}

static void take_answer(RemoteQuery *remote_query, const RemoteQueryText *text)
{
    Sent *sent = map_remove(&remote_query->sent, text->token);
    if (!sent)
        return; /* it took too long */
    Call *call = sent->call;
    RemoteQueryText *answer = &call->question->answer;
    *answer = *text;
    remote_query_keep(&call->arena, answer);
    call->err = text->err;
    if (text->problem.bytes)
        call->problem = slice_cstr(&call->arena, text->problem);
    if (text->err)
        error_set(&call->why, text->err, SLICE_FMT, SLICE_ARG(text->why));
    call->done(call);
    mem_free(sent);
}

static bool is_over(const RemoteQuery *remote_query, const Sent *sent, Now now)
{
    const Neighbour *to =
        neighbour_numbered(remote_order_neighbours(remote_query->daemon), sent->node);
    return now.boot_ms >= sent->until_boot || !to || !to->alive ||
           to->epoch != sent->epoch;
}

static void expire(RemoteQuery *remote_query, Now now)
{
    MapEntry entry;
    for (size_t at = 0; map_next(&remote_query->sent, &at, &entry);) {
        Sent *sent = entry.value;
        const Neighbour *to =
            neighbour_numbered(remote_order_neighbours(remote_query->daemon), sent->node);
        if (!is_over(remote_query, sent, now))
            continue;
        map_remove(&remote_query->sent, entry.key);
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
    mailbox_put(&task->remote_query->box, &call->mail);
}

/* On a reader's thread: the first of the streams that has more. */
static void read_piece(Call *call, Store *store)
{
    Task *task = (Task *)(void *)call;
    (void)store;
    OutputName name = { .data_dir = daemon_facts(task->remote_query->daemon)->data_dir,
                        .id = task->text.id,
                        .attempt = task->text.attempt };
    for (unsigned i = 0; i < OUTPUT_STREAMS && !task->out.bytes && !call->err; i++) {
        OutputPart part = { 0 };
        if (!(task->text.streams & 1u << i))
            continue;
        name.stream = (OutputStream)i;
        call->err = output_read(&name, task->text.offsets[i], REMOTE_QUERY_PIECE_BYTES,
                                &task->out, &part);
        task->answer.stream = i;
        task->answer.from = part.from;
        task->answer.next = part.next;
    }
}

/* On a reader's thread, because it may be long: as claims.c reads it. */
static void read_items(Call *call, Store *store)
{
    Task *task = (Task *)(void *)call;
    const DaemonFacts *facts = daemon_facts(task->remote_query->daemon);
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
        claim_read_items(&reader, body, task->text.kind == REMOTE_QUERY_FINISH)) {
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
    call->event.kind =
        task->text.kind == REMOTE_QUERY_FINISH ? EVENT_FINISH : EVENT_RENEW;
    call->event.tenant = task->text.tenant;
    call->done = items_told;
    daemon_call(task->remote_query->daemon, call);
}

static void take_question(RemoteQuery *remote_query, uint32_t from,
                          const RemoteQueryText *text)
{
    Task *task = MEM_NEW(Task);
    bool log = text->kind == REMOTE_QUERY_LOG;
    task->remote_query = remote_query;
    task->from = from;
    task->text = *text;
    remote_query_keep(&task->call.arena, &task->text);
    task->call.kind = CALL_READ;
    task->call.read = log ? read_piece : read_items;
    task->call.done = log ? task_done : items_read;
    remote_query->open++;
    daemon_call(remote_query->daemon, &task->call);
}

static void answer(RemoteQuery *remote_query, Task *task)
{
    const Call *call = &task->call;
    RemoteQueryText *text = &task->answer;
    text->kind = REMOTE_QUERY_ANSWER;
    text->token = task->text.token;
    text->err = call->err;
    text->problem = slice_text(call->problem ? call->problem : "");
    text->why = slice_text(call->why.text);
    text->out = buf_slice(&task->out);
    if (!remote_query->closed)
        remote_query_post(remote_query, task->from, text);
    remote_query->open--;
    buf_done(&task->out);
    arena_done(&task->call.arena);
    mem_free(task);
}

static void answer_mail(RemoteQuery *remote_query, Mail *mail)
{
    while (mail) {
        Mail *next = mail->next;
        answer(remote_query, (Task *)(void *)mail);
        mail = next;
    }
}

/* --- Jobs that are gone ---------------------------------------------------------------
 */

void remote_query_erased(RemoteQuery *remote_query, JobId id, uint32_t attempts)
{
    const Erased erased = { id, attempts };
    if (attempts)
        buf_add(&remote_query->erased, &erased, sizeof erased);
}

static void tell_erased(RemoteQuery *remote_query, Now now)
{
    const Neighbours *all = remote_order_neighbours(remote_query->daemon);
    size_t bytes = remote_query->erased.bytes < ERASE_BYTES ? remote_query->erased.bytes
                                                            : ERASE_BYTES;
    if (!bytes || now.boot_ms < remote_query->erase_boot)
        return;
    RemoteQueryText text = { .kind = REMOTE_QUERY_ERASE,
                             .body = slice_of(remote_query->erased.data, bytes) };
    for (size_t i = 0; i < all->count; i++)
        if (!all->list[i].fenced) /* one that is away reads it when it is back */
            remote_query_post(remote_query, all->list[i].number, &text);
    remote_query->erased.bytes -= bytes;
    memmove(remote_query->erased.data, remote_query->erased.data + bytes,
            remote_query->erased.bytes);
    remote_query->erase_boot = now.boot_ms + ERASE_EVERY_MS;
}

static void erase(RemoteQuery *remote_query, Slice body)
{
    Erased erased;
    for (size_t at = 0; at + sizeof erased <= body.bytes; at += sizeof erased) {
        memcpy(&erased, body.data + at, sizeof erased);
        runner_erase(remote_query->daemon->runner, erased.id, (uint32_t)erased.attempts);
    }
}

/* --- All of it ------------------------------------------------------------------------
 */

bool remote_query_letter(RemoteQuery *remote_query, const Effect *effect)
{
    RemoteQueryText text;
    if (remote_query_unpack(effect->value, &text))
        return false;
    if (remote_query->closed)
        return true;
    switch (text.kind) {
    case REMOTE_QUERY_LOG:
    case REMOTE_QUERY_RENEW:
    case REMOTE_QUERY_FINISH:
        take_question(remote_query, effect->owner, &text);
        return true;
    case REMOTE_QUERY_EVENTS:
        remote_events_asked(remote_query->events, effect->owner, &text);
        return true;
    case REMOTE_QUERY_ERASE:
        erase(remote_query, text.body);
        return true;
    case REMOTE_QUERY_ANSWER:
        take_answer(remote_query, &text);
        return true;
    }
    return true;
}

void remote_query_collect(RemoteQuery *remote_query, Now now)
{
    answer_mail(remote_query, mailbox_take(&remote_query->box));
    expire(remote_query, now);
    tell_erased(remote_query, now);
    if (!remote_query->closed)
        remote_events_collect(remote_query->events, now);
}

void remote_query_refuse(RemoteQuery *remote_query)
{
    MapEntry entry;
    remote_query->closed = true;
    for (size_t at = 0; map_next(&remote_query->sent, &at, &entry);) {
        Sent *sent = entry.value;
        refuse(sent->call, ERR_UNAVAILABLE, "draining", "the daemon is closing");
        mem_free(sent);
    }
    map_done(&remote_query->sent);
    remote_query->sent = (Map){ 0 };
}

void remote_query_free(RemoteQuery *remote_query)
{
    if (!remote_query)
        return;
    remote_query_refuse(remote_query);
    while (remote_query->open) /* each is refused, if it was not done */
        answer_mail(remote_query, mailbox_wait(&remote_query->box, -1));
    remote_events_free(remote_query->events);
    mailbox_done(&remote_query->box);
    buf_done(&remote_query->erased);
    mem_free(remote_query);
}

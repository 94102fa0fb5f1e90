/* SPDX-License-Identifier: Apache-2.0 */
/* logs.c - see logs.h.
 *
 * The output of an attempt lies with the node that ran it. Another one is asked for it,
 * piece by piece (remote_query.h); if that does not answer, that is said. */
#include "api/jobs/logs.h"

#include "api/common.h"
#include "api/jobs/log_stream.h"
#include "base/text.h"
#include "cluster/remote_query.h"

#include <stdio.h>

#define READ_BYTES (256u << 10)

/* --- What is asked -------------------------------------------------------------------
 */

static bool read_stream(Exchange *exchange, LogWanted *wanted)
{
    Slice stream = exchange_param(exchange, "stream");
    wanted->streams[OUTPUT_OUT] = !stream.data || slice_is(stream, "stdout");
    wanted->streams[OUTPUT_ERR] = !stream.data || slice_is(stream, "stderr");
    if (wanted->streams[OUTPUT_OUT] || wanted->streams[OUTPUT_ERR])
        return true;
    exchange_refuse(exchange, "invalid_value", "stream is stdout or stderr");
    return false;
}

static bool read_attempt(Exchange *exchange, LogWanted *wanted)
{
    Slice attempt = exchange_param(exchange, "attempt");
    int64_t number = 0;
    if (!attempt.data)
        return true;
    if (int_parse(attempt, &number) || number < 1 || number > UINT32_MAX) {
        exchange_refuse(exchange, "invalid_value", "attempt is a number from 1 on");
        return false;
    }
    wanted->attempt = (uint32_t)number;
    return true;
}

static bool read_follow(Exchange *exchange, LogWanted *wanted)
{
    Slice follow = exchange_param(exchange, "follow");
    wanted->follow = slice_is(follow, "1") || slice_is(follow, "true");
    if (!follow.data || wanted->follow || slice_is(follow, "0") ||
        slice_is(follow, "false"))
        return true;
    exchange_refuse(exchange, "invalid_value", "follow is 1 or 0");
    return false;
}

/* --- At once
 * ---------------------------------------------------------------------------- */

/* All that is kept of one stream. */
static Err read_all(const OutputName *name, Buf *out)
{
    int64_t from = 0;
    Buf piece = { 0 };
    Err err = ERR_OK;
    for (bool more = true; more && !err;) {
        OutputPart part = { 0 };
        buf_clear(&piece);
        err = output_read(name, from, READ_BYTES, &piece, &part);
        if (!err && piece.bytes && part.from > from)
            log_gap(out, part.from - from);
        buf_add_slice(out, buf_slice(&piece));
        more = part.next > from && part.next < part.total;
        from = part.next;
    }
    buf_done(&piece);
    return err;
}

/* Who follows is told at once what could never be read. */
static Err look_at(const OutputName *name)
{
    Buf piece = { 0 };
    OutputPart part;
    Err err = output_read(name, 0, 1, &piece, &part);
    buf_done(&piece);
    return err;
}

static void read_log(Call *call, Store *store)
{
    Exchange *exchange = call->context;
    LogWanted *wanted = exchange->state;
    const DaemonFacts *facts = daemon_facts(exchange->daemon);
    if (!call_load_job(call, store, exchange->id))
        return;
    wanted->found = wanted->attempt ? wanted->attempt : call->job.attempt;
    OutputName name = { .data_dir = facts->data_dir,
                        .id = exchange->id,
                        .attempt = wanted->found };
    if (name.attempt > call->job.attempt) {
        call->err = ERR_NOT_FOUND;
        call->problem = "attempt_not_found";
        return;
    }
    if (name.attempt)
        wanted->node = log_place(call, store, facts, name.attempt);
    buf_clear(&exchange->out);
    for (unsigned i = 0; i < OUTPUT_STREAMS && name.attempt && !call->err; i++) {
        name.stream = (OutputStream)i;
        if (wanted->streams[i] && !wanted->node.bytes)
            call->err = wanted->follow ? look_at(&name) : read_all(&name, &exchange->out);
    }
}

static void add_attempt_header(Exchange *exchange, uint32_t attempt)
{
    char text[16];
    snprintf(text, sizeof text, "%u", attempt);
    exchange_add_header(exchange, "Pawl-Attempt", text);
}

/* --- From another node ----------------------------------------------------------------
 */

static void ask_piece(Exchange *exchange);

static void refuse_far(Exchange *exchange, const Call *call)
{
    const LogWanted *wanted = exchange->state;
    if (call->err == ERR_UNAVAILABLE || call->err == ERR_NOT_FOUND)
        exchange_refuse(exchange, "node_unreachable",
                        "the log of attempt %u is on node " SLICE_FMT
                        ", which is down or does not answer",
                        wanted->found, SLICE_ARG(wanted->node));
    else
        exchange_failed(exchange, call);
}

static void piece_read(Exchange *exchange, Call *call)
{
    LogWanted *wanted = exchange->state;
    const RemoteQueryText *answer = &call->question->answer;
    if (call->err) {
        refuse_far(exchange, call);
        return;
    }
    if (wanted->follow) { /* it is there */
        log_follow(exchange, wanted);
        return;
    }
    if (!answer->out.bytes) {
        exchange_reply(exchange, 200, LOG_TEXT_TYPE);
        return;
    }
    if (answer->from > wanted->offsets[answer->stream])
        log_gap(&exchange->out, answer->from - wanted->offsets[answer->stream]);
    buf_add_slice(&exchange->out, answer->out);
    wanted->offsets[answer->stream] = answer->next;
    ask_piece(exchange);
}

static void ask_piece(Exchange *exchange)
{
    const LogWanted *wanted = exchange->state;
    Call *call = exchange_call(exchange, CALL_AFAR, piece_read);
    call->question = ARENA_NEW(&call->arena, Question);
    call->question->sysid = wanted->node;
    RemoteQueryText *text = &call->question->text;
    *text = (RemoteQueryText){ .kind = REMOTE_QUERY_LOG,
                               .id = exchange->id,
                               .attempt = wanted->found };
    memcpy(text->offsets, wanted->offsets, sizeof text->offsets);
    for (unsigned i = 0; i < OUTPUT_STREAMS && !wanted->follow; i++)
        text->streams |= wanted->streams[i] ? 1u << i : 0;
    exchange_send(exchange, call);
}

/* --- Both
 * ------------------------------------------------------------------------------------ */

static void log_read(Exchange *exchange, Call *call)
{
    LogWanted *wanted = exchange->state;
    if (call->err) {
        exchange_failed(exchange, call);
        return;
    }
    add_attempt_header(exchange, wanted->found);
    wanted->job = &call->job;
    if (wanted->node.bytes)
        ask_piece(exchange);
    else if (wanted->follow)
        log_follow(exchange, wanted);
    else
        exchange_reply(exchange, 200, LOG_TEXT_TYPE);
}

static void get_log(Exchange *exchange)
{
    LogWanted *wanted = ARENA_NEW(&exchange->arena, LogWanted);
    if (!read_stream(exchange, wanted) || !read_attempt(exchange, wanted) ||
        !read_follow(exchange, wanted))
        return;
    exchange->state = wanted;
    exchange_read(exchange, read_log, log_read);
}

void api_job_log(Exchange *exchange)
{
    api_with_job(exchange, get_log);
}

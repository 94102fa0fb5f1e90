/* SPDX-License-Identifier: Apache-2.0 */
/* reply.c - see reply.h. */
#include "run/context/reply.h"

#include "base/text.h"

#define CODE_LEAST  100
#define CODE_MOST   599
#define PERCENT_MAX 100
#define BAD_MAX     200 /* bytes of a bad line that are worth telling */

static const struct Prefix {
    const char *text;
    ReplyKind kind;
} prefixes[] = {
    { "R: ", REPLY_RESULT }, { "J: ", REPLY_CHILD },    { "#J: ", REPLY_CHILD },
    { "O: ", REPLY_OUTPUT }, { "P: ", REPLY_PROGRESS }, { "J!: ", REPLY_CHILD_NOW },
};
#define PREFIXES (sizeof prefixes / sizeof prefixes[0])

char *reply_room(ReplyReader *reader, size_t bytes)
{
    if (reader->at) {
        buf_drop(&reader->in, reader->at);
        reader->at = 0;
    }
    return buf_room(&reader->in, bytes);
}

void reply_put(ReplyReader *reader, size_t bytes)
{
    reader->in.bytes += bytes;
}

bool reply_over(const ReplyReader *reader)
{
    return reader->in.bytes - reader->at > REPLY_LINE_MAX + reader->result_bytes_max;
}

void reply_done(ReplyReader *reader)
{
    buf_done(&reader->in);
    buf_done(&reader->type);
    buf_done(&reader->text);
}

/* A number between two bounds, up to the next space or the end. */
static bool take_number(Slice *rest, int64_t least, int64_t most, int64_t *out)
{
    Slice word = slice_cut(rest, ' ');
    int64_t number;
    if (!word.bytes || word.data[0] < '0' || word.data[0] > '9' ||
        int_parse(word, &number) || number < least || number > most)
        return false;
    *out = number;
    return true;
}

/* Whether text is <<N and nothing else. */
static bool take_count(Slice text, uint64_t *out_count)
{
    int64_t count;
    if (!slice_starts(text, SLICE_LITERAL("<<")))
        return false;
    Slice rest = slice_from(text, 2);
    if (!take_number(&rest, 0, INT64_MAX, &count) || rest.data)
        return false;
    *out_count = (uint64_t)count;
    return true;
}

static bool parse_body(ReplyKind kind, Slice rest, Reply *out)
{
    int64_t number = 0;
    switch (kind) {
    case REPLY_RESULT:
        if (!take_number(&rest, CODE_LEAST, CODE_MOST, &number))
            return false;
        break;
    case REPLY_CHILD:
    case REPLY_CHILD_NOW:
        if (!rest.bytes || !memchr(rest.data, '|', rest.bytes))
            return false;
        out->type = slice_cut(&rest, '|');
        if (!name_valid(out->type))
            return false;
        break;
    case REPLY_PROGRESS:
        if (!take_number(&rest, 0, PERCENT_MAX, &number))
            return false;
        break;
    case REPLY_OUTPUT:
        return take_number(&rest, 0, INT64_MAX, &out->ends[0]) &&
               take_number(&rest, 0, INT64_MAX, &out->ends[1]) && !rest.data;
    case REPLY_BAD:
        return false;
    }
    out->number = (int32_t)number;
    out->text = rest;
    return true;
}

static bool parse_line(Slice line, Reply *out)
{
    for (size_t i = 0; i < PREFIXES; i++) {
        Slice prefix = slice_text(prefixes[i].text);
        if (!slice_starts(line, prefix))
            continue;
        Slice rest = slice_from(line, prefix.bytes);
        Slice id = slice_cut(&rest, ' ');
        *out = (Reply){ .kind = prefixes[i].kind };
        if (!id_parse(id, &out->id) && parse_body(out->kind, rest, out))
            return true;
        break;
    }
    *out = (Reply){ .kind = REPLY_BAD, .text = line };
    if (out->text.bytes > BAD_MAX)
        out->text.bytes = BAD_MAX;
    return true;
}

static void cut(const ReplyReader *reader, Reply *reply)
{
    if (reply->kind != REPLY_RESULT || reply->text.bytes <= reader->result_bytes_max)
        return;
    reply->text.bytes = reader->result_bytes_max;
    reply->cut = true;
}

/* The line says that its text follows in so many bytes. */
static bool begin_counted(ReplyReader *reader, const Reply *reply)
{
    bool texts = reply->kind == REPLY_RESULT || reply->kind == REPLY_CHILD ||
                 reply->kind == REPLY_CHILD_NOW;
    if (!texts || !take_count(reply->text, &reader->left))
        return false;
    reader->counted = true;
    reader->head = *reply;
    buf_clear(&reader->type);
    buf_add_slice(&reader->type, reply->type);
    buf_clear(&reader->text);
    return true;
}

static size_t kept_max(const ReplyReader *reader)
{
    return reader->head.kind == REPLY_RESULT ? reader->result_bytes_max : REPLY_LINE_MAX;
}

static bool take_counted(ReplyReader *reader, Reply *out)
{
    size_t there = reader->in.bytes - reader->at;
    size_t part = there < reader->left ? there : (size_t)reader->left;
    size_t room = kept_max(reader) - reader->text.bytes;
    buf_add(&reader->text, reader->in.data + reader->at, part < room ? part : room);
    reader->head.cut = reader->head.cut || part > room;
    reader->at += part;
    reader->left -= part;
    if (reader->left)
        return false;
    reader->counted = false;
    *out = reader->head;
    out->type = buf_slice(&reader->type);
    out->text = buf_slice(&reader->text);
    return true;
}

bool reply_next(ReplyReader *reader, Reply *out_reply)
{
    for (;;) {
        if (reader->counted)
            return take_counted(reader, out_reply);
        Slice rest = slice_from(buf_slice(&reader->in), reader->at);
        const char *newline = rest.bytes ? memchr(rest.data, '\n', rest.bytes) : NULL;
        if (!newline)
            return false;
        Slice line = slice_of(rest.data, (size_t)(newline - rest.data));
        reader->at += line.bytes + 1;
        if (!line.bytes)
            continue; /* a newline after counted bytes */
        parse_line(line, out_reply);
        if (begin_counted(reader, out_reply))
            continue;
        cut(reader, out_reply);
        return true;
    }
}

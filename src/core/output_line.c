/* SPDX-License-Identifier: Apache-2.0 */
/* output_line.c - see output_line.h.
 *
 * L1  `line` holds only bytes of a line that still may mean something, or of a counted
 *     result: log of any length costs no memory.
 * L2  feeding the same bytes in other pieces gives the same events. */
#include "core/output_line.h"

#include "base/text.h"

#define KEPT_BYTES      (1u << 20) /* a larger buffer is given back after its line */
#define COUNT_DIGITS    18         /* of <<N: fits any integer */
#define PERCENT_MAX     100
#define RESULT_HEAD_MAX 32 /* "R: 200 <<N" with one digit more than N may have */
#define NOTE_BYTES_MAX  80 /* of a refused line */

static const struct Prefix {
    const char *text;
    LineKind kind;
} prefixes[] = {
    { "J: ", LINE_CHILD },    { "#J: ", LINE_CHILD },  { "J!: ", LINE_CHILD_NOW },
    { "P: ", LINE_PROGRESS }, { "R: ", LINE_RESULT },  { "J:", LINE_REFUSED },
    { "#J:", LINE_REFUSED },  { "J!:", LINE_REFUSED },
};
#define PREFIXES (sizeof prefixes / sizeof prefixes[0])

static size_t result_max(const LineParser *parser)
{
    return parser->result_bytes_max ? parser->result_bytes_max : RESULT_BYTES_MAX;
}

/* Whether a line that begins with `head` can still become one that means something. */
static bool may_mean(Slice head)
{
    for (size_t i = 0; i < PREFIXES; i++) {
        size_t bytes = strlen(prefixes[i].text);
        if (head.bytes < bytes)
            bytes = head.bytes;
        if (memcmp(head.data, prefixes[i].text, bytes) == 0)
            return true;
    }
    return false;
}

/* Takes a decimal number of `most` digits at most off the front of *rest. */
static bool take_number(Slice *rest, size_t most, uint64_t *out_number)
{
    uint64_t number = 0;
    size_t digits = 0;
    while (digits < rest->bytes && rest->data[digits] >= '0' &&
           rest->data[digits] <= '9') {
        if (digits == most)
            return false;
        number = number * 10 + (uint64_t)(rest->data[digits] - '0');
        digits++;
    }
    if (!digits)
        return false;
    *rest = slice_from(*rest, digits);
    *out_number = number;
    return true;
}

/* After the number: nothing, or a space and the rest. */
static bool take_space(Slice *rest)
{
    if (!rest->bytes)
        return true;
    if (rest->data[0] != ' ')
        return false;
    *rest = slice_from(*rest, 1);
    return true;
}

static void refuse(Slice line, const char *why, LineEvent *event)
{
    *event =
        (LineEvent){ .kind = LINE_REFUSED, .type = slice_text(why), .payload = line };
}

static void parse_child(Slice line, Slice rest, LineEvent *event)
{
    if (!rest.bytes || !memchr(rest.data, '|', rest.bytes)) {
        refuse(line, "there is no | between type and payload", event);
        return;
    }
    event->type = slice_cut(&rest, '|');
    event->payload = rest;
    if (!name_valid(event->type))
        refuse(line, "no type can have this name", event);
}

static bool parse_progress(Slice rest, LineEvent *event)
{
    uint64_t percent;
    if (!take_number(&rest, 3, &percent) || percent > PERCENT_MAX)
        return false;
    if (rest.bytes && rest.data[0] == '%')
        rest = slice_from(rest, 1);
    if (!take_space(&rest))
        return false;
    event->number = (int32_t)percent;
    event->payload = rest;
    return true;
}

/* Whether rest is <<N and nothing else. */
static bool parse_count(Slice rest, uint64_t *out_count)
{
    if (!slice_starts(rest, SLICE_LITERAL("<<")))
        return false;
    rest = slice_from(rest, 2);
    return take_number(&rest, COUNT_DIGITS, out_count) && !rest.bytes;
}

static bool parse_result(LineParser *parser, Slice rest, LineEvent *event)
{
    uint64_t code;
    if (!take_number(&rest, 3, &code) || code < 100 || code > 599)
        return false;
    if (!take_space(&rest))
        return false;

    uint64_t count;
    if (parse_count(rest, &count) && count) {
        parser->mode = LINE_COUNTED;
        parser->left = count;
        parser->code = (int32_t)code;
        parser->cut = false;
        buf_clear(&parser->line);
        return false;
    }
    if (parse_count(rest, &count))
        rest.bytes = 0;
    event->number = (int32_t)code;
    event->cut = parser->cut;
    if (rest.bytes > result_max(parser)) {
        rest.bytes = result_max(parser);
        event->cut = true;
    }
    event->payload = rest;
    return true;
}

static bool parse_line(LineParser *parser, Slice line, LineEvent *event)
{
    *event = (LineEvent){ 0 };
    for (size_t i = 0; i < PREFIXES; i++) {
        Slice prefix = slice_text(prefixes[i].text);
        if (!slice_starts(line, prefix))
            continue;
        Slice rest = slice_from(line, prefix.bytes);
        event->kind = prefixes[i].kind;
        switch (event->kind) {
        case LINE_CHILD:
        case LINE_CHILD_NOW:
            parse_child(line, rest, event);
            return true;
        case LINE_REFUSED:
            refuse(line, "a space belongs behind its colon", event);
            return true;
        case LINE_PROGRESS:
            return parse_progress(rest, event);
        case LINE_RESULT:
            return parse_result(parser, rest, event);
        }
    }
    return false;
}

/* What the last event borrowed is no longer needed. */
static void take_back(LineParser *parser)
{
    if (!parser->handed)
        return;
    parser->handed = false;
    if (parser->line.capacity > KEPT_BYTES)
        buf_done(&parser->line);
    buf_clear(&parser->line);
}

static void keep(LineParser *parser, Slice part)
{
    size_t kept = parser->line.bytes + part.bytes;
    size_t result_line_max = result_max(parser) + RESULT_HEAD_MAX;
    bool is_result = parser->line.bytes ? parser->line.data[0] == 'R'
                                        : part.bytes && part.data[0] == 'R';
    if (is_result && kept > result_line_max) {
        part.bytes = parser->line.bytes < result_line_max
                         ? result_line_max - parser->line.bytes
                         : 0;
        parser->cut = true;
    } else if (!is_result && kept > LINE_BYTES_MAX) {
        char first = parser->line.bytes ? parser->line.data[0] : part.data[0];
        parser->too_long = first != 'P';
        buf_done(&parser->line);
        parser->mode = LINE_SKIP;
        return;
    }
    buf_add_slice(&parser->line, part);
    parser->mode = may_mean(buf_slice(&parser->line)) ? LINE_KEEP : LINE_SKIP;
    if (parser->mode == LINE_SKIP)
        buf_clear(&parser->line);
}

static bool tell_too_long(LineParser *parser, LineEvent *event)
{
    bool told = parser->too_long;
    parser->too_long = false;
    if (told)
        refuse((Slice){ 0 }, "it is longer than 16 MiB", event);
    return told;
}

/* At the start of a line or inside one that may mean something. True with an event. */
static bool take_line(LineParser *parser, Slice *rest, LineEvent *event)
{
    if (!parser->line.bytes && !may_mean(*rest)) {
        parser->mode = LINE_SKIP;
        return false;
    }
    const char *newline = memchr(rest->data, '\n', rest->bytes);
    if (!newline) {
        keep(parser, *rest);
        *rest = slice_from(*rest, rest->bytes);
        return tell_too_long(parser, event);
    }
    Slice line = slice_of(rest->data, (size_t)(newline - rest->data));
    *rest = slice_from(*rest, line.bytes + 1);
    if (parser->line.bytes) {
        keep(parser, line);
        line = parser->mode == LINE_KEEP ? buf_slice(&parser->line) : (Slice){ 0 };
        parser->handed = true;
    }
    parser->mode = LINE_START;
    bool too_long = line.bytes > LINE_BYTES_MAX && line.data[0] != 'R';
    if (too_long)
        parser->too_long = line.data[0] != 'P';
    bool found =
        tell_too_long(parser, event) || (!too_long && parse_line(parser, line, event));
    if (parser->mode == LINE_COUNTED)
        parser->handed = false; /* parse_result emptied the buffer for the result */
    else
        parser->cut = false;
    return found;
}

static void give_result(LineParser *parser, LineEvent *event)
{
    *event = (LineEvent){ .kind = LINE_RESULT,
                          .number = parser->code,
                          .payload = buf_slice(&parser->line),
                          .cut = parser->cut || parser->left };
    parser->mode = LINE_START;
    parser->left = 0;
    parser->cut = false;
    parser->handed = true;
}

static bool take_counted(LineParser *parser, Slice *rest, LineEvent *event)
{
    size_t part = rest->bytes < parser->left ? rest->bytes : (size_t)parser->left;
    size_t room = result_max(parser) - parser->line.bytes;
    buf_add(&parser->line, rest->data, part < room ? part : room);
    parser->cut = parser->cut || part > room;
    parser->left -= part;
    *rest = slice_from(*rest, part);
    if (parser->left)
        return false;
    give_result(parser, event);
    return true;
}

bool line_next(LineParser *parser, Slice *rest, LineEvent *out_event)
{
    take_back(parser);
    while (rest->bytes) {
        const char *newline;
        switch (parser->mode) {
        case LINE_SKIP:
            newline = memchr(rest->data, '\n', rest->bytes);
            if (!newline) {
                *rest = slice_from(*rest, rest->bytes);
                return false;
            }
            *rest = slice_from(*rest, (size_t)(newline - rest->data) + 1);
            parser->mode = LINE_START;
            break;
        case LINE_START:
        case LINE_KEEP:
            if (take_line(parser, rest, out_event))
                return true;
            take_back(parser);
            break;
        case LINE_COUNTED:
            if (take_counted(parser, rest, out_event))
                return true;
            break;
        }
    }
    return false;
}

bool line_end(LineParser *parser, LineEvent *out_event)
{
    take_back(parser);
    if (parser->mode == LINE_KEEP) {
        Slice line = buf_slice(&parser->line);
        parser->mode = LINE_START;
        parser->handed = true;
        if (parse_line(parser, line, out_event))
            return true;
    }
    if (parser->mode == LINE_COUNTED) {
        give_result(parser, out_event);
        return true;
    }
    parser->mode = LINE_START;
    return false;
}

void line_done(LineParser *parser)
{
    buf_done(&parser->line);
    *parser = (LineParser){ .result_bytes_max = parser->result_bytes_max };
}

void line_note_add(LineNote *note, const LineEvent *refused)
{
    if (note->count++)
        return;
    Slice line = refused->payload;
    if (line.bytes > NOTE_BYTES_MAX)
        line.bytes = NOTE_BYTES_MAX;
    if (line.bytes)
        buf_printf(&note->first, "`" SLICE_FMT "%s`: ", SLICE_ARG(line),
                   line.bytes < refused->payload.bytes ? "..." : "");
    else
        buf_add_text(&note->first, "a J: line: ");
    buf_add_slice(&note->first, refused->type);
}

void line_note_done(LineNote *note)
{
    buf_done(&note->first);
    *note = (LineNote){ 0 };
}

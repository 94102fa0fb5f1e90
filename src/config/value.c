/* SPDX-License-Identifier: Apache-2.0 */
/* value.c - see value.h. */
#include "config/value.h"

#include "base/address.h"
#include "base/log.h"
#include "base/text.h"
#include "base/times.h"
#include "core/node/node.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>

static const char *const level_names[] = {
    [LOG_DEBUG] = "debug",
    [LOG_INFO] = "info",
    [LOG_WARN] = "warn",
    [LOG_ERROR] = "error",
    NULL,
};

static const char *const ack_names[] = {
    [ACK_JOURNAL] = "journal",
    [ACK_STORE] = "store",
    NULL,
};

static const char *const fate_names[] = {
    [FATE_KEEP] = "keep",
    [FATE_DELETE] = "delete",
    NULL,
};

static const char *const fairness_names[] = { [false] = "lane", [true] = "tenant", NULL };

const char *value_expected(ValueKind kind)
{
    switch (kind) {
    case VALUE_BOOL:
        return "on or off";
    case VALUE_COUNT:
        return "a whole number";
    case VALUE_DURATION:
        return "a duration such as 90s, 1h30m or PT20M";
    case VALUE_SIZE:
        return "a size such as 64M, 8MiB or a number of bytes";
    case VALUE_ADDRESS:
        return "an address such as 127.0.0.1:7420, or off";
    case VALUE_PATH:
        return "a path";
    case VALUE_FILE:
        return "the path of a file, or off";
    case VALUE_STORE:
        return "the address of a store such as sqlite:";
    case VALUE_RANGES:
        return "a list of address ranges such as 10.0.0.0/8";
    case VALUE_LEVEL:
        return "debug, info, warn or error";
    case VALUE_ACK:
        return "journal or store";
    case VALUE_TYPE:
        return "the name of a type, or nothing";
    case VALUE_FATE:
        return "keep or delete";
    case VALUE_FAIRNESS:
        return "lane or tenant";
    }
    return "a value";
}

static Err not_a(const ValueRule *rule, Slice text, Error *why)
{
    char quoted[LOG_QUOTE_BYTES];
    return error_set(why, ERR_INVALID, "%s is not %s", log_quote(text, quoted),
                     value_expected(rule->kind));
}

/* The text of a number of this kind, as value_text gives it. */
static void number_text(ValueKind kind, int64_t number, Buf *out)
{
    static const struct {
        int64_t bytes;
        char letter;
    } units[] = {
        { 1LL << 40, 'T' }, { 1 << 30, 'G' }, { 1 << 20, 'M' }, { 1 << 10, 'K' }
    };
    if (kind == VALUE_DURATION) {
        char text[DURATION_TEXT_BYTES];
        buf_add_text(out, duration_iso(number, text));
        return;
    }
    for (size_t i = 0; kind == VALUE_SIZE && i < sizeof units / sizeof *units; i++) {
        if (!number || number % units[i].bytes)
            continue;
        buf_printf(out, "%" PRId64 "%c", number / units[i].bytes, units[i].letter);
        return;
    }
    buf_printf(out, "%" PRId64, number);
}

static Err in_range(const ValueRule *rule, Slice text, int64_t number, Error *why)
{
    if (number >= rule->min && number <= rule->max)
        return ERR_OK;
    char quoted[LOG_QUOTE_BYTES];
    Buf range = { 0 };
    number_text(rule->kind, rule->min, &range);
    buf_add_text(&range, " to ");
    number_text(rule->kind, rule->max, &range);
    Err err = error_set(why, ERR_INVALID, "%s is out of range: %s",
                        log_quote(text, quoted), buf_cstr(&range));
    buf_done(&range);
    return err;
}

static Err parse_bool(const ValueRule *rule, Slice text, bool *out, Error *why)
{
    bool yes = slice_is(text, "on") || slice_is(text, "true");
    if (!yes && !slice_is(text, "off") && !slice_is(text, "false"))
        return not_a(rule, text, why);
    *out = yes;
    return ERR_OK;
}

static Err parse_count(const ValueRule *rule, Slice text, uint32_t *out, Error *why)
{
    int64_t number;
    if (int_parse(text, &number))
        return not_a(rule, text, why);
    Err err = in_range(rule, text, number, why);
    if (!err)
        *out = (uint32_t)number;
    return err;
}

static Err parse_duration(const ValueRule *rule, Slice text, int64_t *out, Error *why)
{
    int64_t number;
    Err err = duration_parse(text, &number, why);
    if (!err)
        err = in_range(rule, text, number, why);
    if (!err)
        *out = number;
    return err;
}

/* Bits to shift for a unit: M, m and MiB are all 2^20. -1 for anything else: MB means
 * two things to people, so it is none here. */
static int size_shift(Slice unit)
{
    static const char letters[] = "KMGT";
    if (!unit.bytes)
        return 0;
    if (unit.bytes != 1 && !(unit.bytes == 3 && memcmp(unit.data + 1, "iB", 2) == 0))
        return -1;
    for (int i = 0; letters[i]; i++)
        if (unit.data[0] == letters[i] ||
            (unit.bytes == 1 && unit.data[0] == letters[i] - 'A' + 'a'))
            return 10 * (i + 1);
    return -1;
}

static Err parse_size(const ValueRule *rule, Slice text, uint64_t *out, Error *why)
{
    size_t digits = 0;
    while (digits < text.bytes && text.data[digits] >= '0' && text.data[digits] <= '9')
        digits++;
    int64_t number;
    int shift = size_shift(slice_from(text, digits));
    if (shift < 0 || int_parse(slice_of(text.data, digits), &number))
        return not_a(rule, text, why);
    number = number > INT64_MAX >> shift ? INT64_MAX : number << shift;
    Err err = in_range(rule, text, number, why);
    if (!err)
        *out = (uint64_t)number;
    return err;
}

/* Splits HOST:PORT or [HOST]:PORT. */
static bool split_address(Slice text, Address *out, bool *out_bracketed)
{
    const char *colon = text.bytes ? memrchr(text.data, ':', text.bytes) : NULL;
    if (!colon)
        return false;
    Slice host = slice_of(text.data, (size_t)(colon - text.data));
    Slice port = slice_from(text, host.bytes + 1);
    int64_t number;
    if (port.bytes > 5 || int_parse(port, &number) || number < 0 || number > UINT16_MAX)
        return false;
    *out_bracketed =
        host.bytes > 2 && host.data[0] == '[' && host.data[host.bytes - 1] == ']';
    if (*out_bracketed)
        host = slice_of(host.data + 1, host.bytes - 2);
    else if (slice_is(host, "localhost"))
        host = SLICE_LITERAL("127.0.0.1");
    if (!host.bytes || host.bytes >= sizeof out->host || memchr(host.data, 0, host.bytes))
        return false;
    memcpy(out->host, host.data, host.bytes);
    out->host[host.bytes] = '\0';
    out->port = (uint16_t)number;
    out->on = true;
    return true;
}

static Err parse_address(const ValueRule *rule, Slice text, Address *out, Error *why)
{
    if (slice_is(text, "off") || slice_is(text, "false")) {
        *out = (Address){ 0 };
        return ERR_OK;
    }
    Address address = { 0 };
    bool bracketed = false;
    if (!split_address(text, &address, &bracketed))
        return not_a(rule, text, why);
    struct in_addr four;
    struct in6_addr six;
    if (bracketed && inet_pton(AF_INET6, address.host, &six) == 1)
        address.beyond = !IN6_IS_ADDR_LOOPBACK(&six);
    else if (!bracketed && inet_pton(AF_INET, address.host, &four) == 1)
        address.beyond = ntohl(four.s_addr) >> 24 != IN_LOOPBACKNET;
    else
        return not_a(rule, text, why);
    *out = address;
    return ERR_OK;
}

static Err parse_path(const ValueRule *rule, Slice text, Arena *arena, Error *why,
                      const char **out)
{
    if (!text.bytes || memchr(text.data, 0, text.bytes))
        return not_a(rule, text, why);
    if (text.data[0] == '~')
        return error_set(why, ERR_INVALID,
                         "\"~\" is not expanded: write the path of the home directory");
    *out = slice_cstr(arena, text);
    return ERR_OK;
}

static Err parse_store(const ValueRule *rule, Slice text, Arena *arena, Error *why,
                       const char **out)
{
    char quoted[LOG_QUOTE_BYTES];
    Slice rest = text;
    Slice scheme = slice_cut(&rest, ':');
    if (!rest.data || !scheme.bytes || memchr(text.data, 0, text.bytes))
        return not_a(rule, text, why);
    if (!slice_is(scheme, "sqlite") && !slice_is(scheme, "postgresql") &&
        !slice_is(scheme, "postgres")) /* the rest may hold a password: not repeated */
        return error_set(why, ERR_UNSUPPORTED,
                         "a store %s is not supported: only sqlite: and postgresql:",
                         log_quote(slice_of(text.data, scheme.bytes + 1), quoted));
    *out = slice_cstr(arena, text);
    return ERR_OK;
}

/* Kept with one comma and space between two. */
static Err parse_ranges(Slice text, Arena *arena, Error *why, const char **out)
{
    AddressRanges ranges = { 0 };
    Buf kept = { 0 };
    Err err = address_ranges_parse(text, &ranges, why);
    address_ranges_done(&ranges);
    for (Slice rest = text; !err && rest.bytes;) {
        size_t end = 0;
        while (end < rest.bytes && !strchr(ADDRESS_SEPARATORS, rest.data[end]))
            end++;
        if (end && kept.bytes)
            buf_add_text(&kept, ", ");
        buf_add(&kept, rest.data, end);
        rest = slice_from(rest, end + 1);
    }
    if (!err)
        *out = slice_cstr(arena, buf_slice(&kept));
    buf_done(&kept);
    return err;
}

static Err parse_word(const ValueRule *rule, Slice text, const char *const *words,
                      Error *why, int *out)
{
    for (int i = 0; words[i]; i++) {
        if (!slice_is(text, words[i]))
            continue;
        *out = i;
        return ERR_OK;
    }
    return not_a(rule, text, why);
}

static Err parse_type(const ValueRule *rule, Slice text, char *out, Error *why)
{
    if (text.bytes && !name_valid(text))
        return not_a(rule, text, why);
    if (text.bytes)
        memcpy(out, text.data, text.bytes);
    out[text.bytes] = '\0';
    return ERR_OK;
}

Err value_parse(const ValueRule *rule, Slice text, Arena *arena, void *out_field,
                Error *why)
{
    int word = 0;
    Err err = ERR_INVALID;
    switch (rule->kind) {
    case VALUE_BOOL:
        return parse_bool(rule, text, out_field, why);
    case VALUE_COUNT:
        return parse_count(rule, text, out_field, why);
    case VALUE_DURATION:
        return parse_duration(rule, text, out_field, why);
    case VALUE_SIZE:
        return parse_size(rule, text, out_field, why);
    case VALUE_ADDRESS:
        return parse_address(rule, text, out_field, why);
    case VALUE_PATH:
        return parse_path(rule, text, arena, why, out_field);
    case VALUE_FILE:
        if (!slice_is(text, "off") && !slice_is(text, "false"))
            return parse_path(rule, text, arena, why, out_field);
        *(const char **)out_field = "";
        return ERR_OK;
    case VALUE_STORE:
        return parse_store(rule, text, arena, why, out_field);
    case VALUE_RANGES:
        return parse_ranges(text, arena, why, out_field);
    case VALUE_LEVEL:
        err = parse_word(rule, text, level_names, why, &word);
        if (!err)
            *(LogLevel *)out_field = (LogLevel)word;
        return err;
    case VALUE_ACK:
        err = parse_word(rule, text, ack_names, why, &word);
        if (!err)
            *(Ack *)out_field = (Ack)word;
        return err;
    case VALUE_TYPE:
        return parse_type(rule, text, out_field, why);
    case VALUE_FATE:
        err = parse_word(rule, text, fate_names, why, &word);
        if (!err)
            *(Fate *)out_field = (Fate)word;
        return err;
    case VALUE_FAIRNESS:
        err = parse_word(rule, text, fairness_names, why, &word);
        if (!err)
            *(bool *)out_field = word != 0;
        return err;
    }
    return err;
}

static void address_text(const Address *address, Buf *out)
{
    if (!address->on)
        buf_add_text(out, "off");
    else if (strchr(address->host, ':'))
        buf_printf(out, "[%s]:%u", address->host, address->port);
    else
        buf_printf(out, "%s:%u", address->host, address->port);
}

void value_text(const ValueRule *rule, const void *field, Buf *out)
{
    switch (rule->kind) {
    case VALUE_BOOL:
        buf_add_text(out, *(const bool *)field ? "on" : "off");
        return;
    case VALUE_COUNT:
        number_text(rule->kind, *(const uint32_t *)field, out);
        return;
    case VALUE_DURATION:
    case VALUE_SIZE: /* an int64_t, or a uint64_t that parse_size kept in its range */
        number_text(rule->kind, *(const int64_t *)field, out);
        return;
    case VALUE_ADDRESS:
        address_text(field, out);
        return;
    case VALUE_FILE:
        buf_add_text(out,
                     **(const char *const *)field ? *(const char *const *)field : "off");
        return;
    case VALUE_PATH:
    case VALUE_STORE:
    case VALUE_RANGES:
        buf_add_text(out, *(const char *const *)field);
        return;
    case VALUE_LEVEL:
        buf_add_text(out, level_names[*(const LogLevel *)field]);
        return;
    case VALUE_ACK:
        buf_add_text(out, ack_names[*(const Ack *)field]);
        return;
    case VALUE_TYPE:
        buf_add_text(out, field);
        return;
    case VALUE_FATE:
        buf_add_text(out, fate_names[*(const Fate *)field]);
        return;
    case VALUE_FAIRNESS:
        buf_add_text(out, fairness_names[*(const bool *)field]);
        return;
    }
}

bool value_equal(const ValueRule *rule, const void *a, const void *b)
{
    Buf left = { 0 };
    Buf right = { 0 };
    value_text(rule, a, &left);
    value_text(rule, b, &right);
    bool equal = slice_equal(buf_slice(&left), buf_slice(&right));
    buf_done(&left);
    buf_done(&right);
    return equal;
}

static size_t value_bytes(ValueKind kind)
{
    switch (kind) {
    case VALUE_BOOL:
        return sizeof(bool);
    case VALUE_COUNT:
        return sizeof(uint32_t);
    case VALUE_DURATION:
        return sizeof(int64_t);
    case VALUE_SIZE:
        return sizeof(uint64_t);
    case VALUE_ADDRESS:
        return sizeof(Address);
    case VALUE_PATH:
    case VALUE_FILE:
    case VALUE_STORE:
    case VALUE_RANGES:
        return sizeof(const char *);
    case VALUE_LEVEL:
        return sizeof(LogLevel);
    case VALUE_ACK:
        return sizeof(Ack);
    case VALUE_TYPE:
        return NAME_BYTES_MAX + 1;
    case VALUE_FATE:
        return sizeof(Fate);
    case VALUE_FAIRNESS:
        return sizeof(bool);
    }
    return 0;
}

void value_copy(const ValueRule *rule, const void *from, Arena *arena, void *to)
{
    if (rule->kind == VALUE_PATH || rule->kind == VALUE_STORE ||
        rule->kind == VALUE_RANGES || rule->kind == VALUE_FILE) {
        const char *text = *(const char *const *)from;
        *(const char **)to = slice_cstr(arena, slice_text(text));
        return;
    }
    memcpy(to, from, value_bytes(rule->kind));
}

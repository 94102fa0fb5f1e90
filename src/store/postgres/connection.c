/* SPDX-License-Identifier: Apache-2.0 */
/* connection.c - see connection.h. */
#include "store/postgres/connection.h"

#include "base/text.h"
#include "base/times.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>

#define CONNECT_MS     5000 /* for each host, unless its url has connect_timeout */
#define SILENCES_MAX   2    /* the wait doubles with each */
#define PARAMETERS_MAX 64
#define ANY_HOST       (-1)

/* What the url leaves open. A dead peer is noticed within seconds: by what is not
 * acknowledged (tcp_user_timeout) or, while waiting for an answer, by keepalives. */
static const struct {
    const char *name;
    const char *value;
} defaults[] = {
    { "connect_timeout", "5" },
    { "keepalives", "1" },
    { "keepalives_idle", "3" },
    { "keepalives_interval", "2" },
    { "keepalives_count", "3" },
    { "tcp_user_timeout", "8000" },
    { "target_session_attrs", "read-write" },
    { "application_name", "pawl" },
    { "client_encoding", "UTF8" },
};

/* Plans must not hang on statistics that a fresh table has not got yet: what is asked for
 * is always a few rows by an index. */
static const char settings[] =
    "SELECT set_config('statement_timeout', '30000', true),"
    " set_config('lock_timeout', '8000', true),"
    " set_config('idle_in_transaction_session_timeout', '5000', true),"
    " set_config('enable_seqscan', 'off', true),"
    " set_config('enable_bitmapscan', 'off', true),"
    " set_config('enable_hashjoin', 'off', true),"
    " set_config('enable_mergejoin', 'off', true), set_config('jit', 'off', true)";
static const char untimed[] = "SELECT set_config('statement_timeout', '0', true)";

static const char *const begins[] = {
    [LINK_READ] = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    [LINK_WRITE] = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",
};

/* --- Failures --------------------------------------------------------------------------
 */

static void keep_words(PgLink *link, const char *text)
{
    size_t length = 0;
    while (text[length] && length < sizeof link->failure - 1) {
        link->failure[length] = text[length] == '\n' ? ' ' : text[length];
        length++;
    }
    while (length && link->failure[length - 1] == ' ')
        length--;
    link->failure[length] = '\0';
}

void link_fail(PgLink *link, Err err, const char *text)
{
    if (link->err)
        return;
    link->err = err;
    keep_words(link, text);
}

static bool state_is(const char *state, const char *start)
{
    return strncmp(state, start, strlen(start)) == 0;
}

/* Who meets another transaction, or its locks, comes again later, as to a server that is
 * away: it is no failure of a start, or of what was asked. */
static Err err_of_state(const char *state)
{
    static const struct {
        const char *start;
        Err err;
    } rows[] = {
        { "28", ERR_DENIED },         { "3D", ERR_DENIED },
        { "42501", ERR_DENIED },      { "53100", ERR_FULL },
        { "40", ERR_UNAVAILABLE },    { "55P03", ERR_UNAVAILABLE },
        { "57014", ERR_TIMEOUT },     { "XX001", ERR_CORRUPT },
        { "XX002", ERR_CORRUPT },     { "08", ERR_UNAVAILABLE },
        { "57P", ERR_UNAVAILABLE },   { "53", ERR_UNAVAILABLE },
        { "25006", ERR_UNAVAILABLE },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (state_is(state, rows[i].start))
            return rows[i].err;
    return ERR_IO;
}

static void fail_result(PgLink *link, const PGresult *result)
{
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    if (link->err)
        return;
    if (PQstatus(link->conn) != CONNECTION_OK || !state) {
        link_fail(link, ERR_UNAVAILABLE, PQerrorMessage(link->conn));
        return;
    }
    snprintf(link->state, sizeof link->state, "%s", state);
    link_fail(link, err_of_state(state), PQresultErrorMessage(result));
}

/* Two transactions met (40), waited too long for a lock, both were first to write a row
 * (23505), or a part of the archive has gone meanwhile (23514). */
bool link_may_repeat(const PgLink *link)
{
    return state_is(link->state, "40") || state_is(link->state, "55P03") ||
           state_is(link->state, "23505") || state_is(link->state, "23514");
}

/* --- Connecting ----------------------------------------------------------------------
 */

static void add_parameter(const char **names, const char **values, size_t *count,
                          const char *name, const char *value)
{
    for (size_t i = 0; i < *count; i++)
        if (strcmp(names[i], name) == 0)
            return;
    if (*count >= PARAMETERS_MAX)
        return;
    names[*count] = name;
    values[(*count)++] = value;
}

/* What the server says beside its answers ("terminating connection ...") is for its own
 * log; what fails is told by whoever gives up. */
static void hush(void *context, const char *text)
{
    (void)context;
    (void)text;
}

/* Item `index` of a list with commas; a list of one stands for all. Kept in `texts`. */
static const char *item_of(Arena *texts, const char *list, int index)
{
    Slice rest = slice_text(list);
    Slice item = rest;
    bool many = strchr(list, ',') != NULL;
    for (int i = 0; many && i <= index; i++)
        item = slice_cut(&rest, ',');
    return slice_cstr(texts, item);
}

static const char *option_value(const PQconninfoOption *options, const char *name)
{
    for (const PQconninfoOption *option = options; option->keyword; option++)
        if (strcmp(option->keyword, name) == 0)
            return option->val;
    return NULL;
}

static int count_hosts(const PQconninfoOption *options)
{
    const char *list = option_value(options, "hostaddr");
    if (!list)
        list = option_value(options, "host");
    int count = 1;
    for (; list && *list; list++)
        count += *list == ',';
    return count;
}

static bool names_hosts(const char *keyword)
{
    return strcmp(keyword, "host") == 0 || strcmp(keyword, "hostaddr") == 0 ||
           strcmp(keyword, "port") == 0;
}

/* Begins to connect to one host of the url; to any with ANY_HOST. */
static PGconn *start(const PQconninfoOption *options, int host)
{
    Arena texts = { 0 };
    const char *names[PARAMETERS_MAX + 1] = { NULL };
    const char *values[PARAMETERS_MAX + 1] = { NULL };
    size_t count = 0;
    for (const PQconninfoOption *option = options; option->keyword; option++) {
        if (!option->val)
            continue;
        const char *value = host != ANY_HOST && names_hosts(option->keyword)
                                ? item_of(&texts, option->val, host)
                                : option->val;
        add_parameter(names, values, &count, option->keyword, value);
    }
    for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++)
        add_parameter(names, values, &count, defaults[i].name, defaults[i].value);
    PGconn *conn = PQconnectStartParams(names, values, 0);
    if (conn)
        PQsetNoticeProcessor(conn, hush, NULL);
    arena_done(&texts);
    return conn;
}

static Err read_url(const char *url, PQconninfoOption **out, Error *why)
{
    char *bad = NULL;
    *out = PQconninfoParse(url, &bad);
    if (*out)
        return ERR_OK;
    Err err = error_set(why, ERR_INVALID, "store: cannot read its url: %s",
                        bad ? bad : "no memory");
    PQfreemem(bad);
    return err;
}

Err link_start(const char *url, PGconn **out, Error *why)
{
    PQconninfoOption *options;
    Err err = read_url(url, &options, why);
    if (err)
        return err;
    *out = start(options, ANY_HOST);
    PQconninfoFree(options);
    return *out ? ERR_OK : error_set(why, ERR_UNAVAILABLE, "store: no memory");
}

static bool wait_for(int fd, bool write, int64_t until_ms)
{
    struct pollfd wanted = { .fd = fd, .events = write ? POLLIN | POLLOUT : POLLIN };
    int64_t left = until_ms - clock_now().boot_ms;
    if (left <= 0 || fd < 0)
        return false;
    int ready = poll(&wanted, 1, (int)left);
    return ready > 0 || (ready < 0 && errno == EINTR);
}

/* After a silence the next wait is longer: a server that is only slow is heard in the
 * end. */
static int64_t patience_ms(const PgLink *link, int64_t most_ms)
{
    int64_t wait_ms = link->answer_ms ? link->answer_ms : LINK_ANSWER_MS;
    if (most_ms && wait_ms > most_ms)
        wait_ms = most_ms;
    return wait_ms << (link->silences < SILENCES_MAX ? link->silences : SILENCES_MAX);
}

/* As libpq wants it; the library looks at time-outs of single hosts only in its own
 * blocking calls. */
static bool finish_connecting(PgLink *link, int64_t host_ms)
{
    int64_t until_ms = clock_now().boot_ms + host_ms;
    bool write = true;
    for (;;) {
        if (!wait_for(PQsocket(link->conn), write, until_ms)) {
            link->silences++;
            return false;
        }
        PostgresPollingStatusType status = PQconnectPoll(link->conn);
        if (status == PGRES_POLLING_OK) /* sending must not wait for ever, either */
            return PQsetnonblocking(link->conn, 1) == 0;
        if (status == PGRES_POLLING_FAILED)
            return false;
        write = status == PGRES_POLLING_WRITING;
    }
}

/* Tries each host once, the one that last worked first. What they say goes into said. */
static bool try_hosts(PgLink *link, const PQconninfoOption *options, Buf *said)
{
    int count = count_hosts(options);
    const char *timeout = option_value(options, "connect_timeout");
    int64_t seconds;
    bool told = timeout && !int_parse(slice_text(timeout), &seconds) && seconds > 0;
    int64_t host_ms = patience_ms(link, told ? seconds * MS_PER_S : CONNECT_MS);
    int first = link->host < count ? link->host : 0;
    for (int i = 0; i < count; i++) {
        int host = (first + i) % count;
        unsigned silences = link->silences;
        link->conn = start(options, host);
        if (link->conn && finish_connecting(link, host_ms)) {
            link->host = host;
            return true;
        }
        const char *words = link->conn ? PQerrorMessage(link->conn) : "no memory";
        buf_printf(said, "%s%s%s", said->bytes ? "; " : "", words,
                   link->silences != silences ? " no answer" : "");
        PQfinish(link->conn);
        link->conn = NULL;
    }
    return false;
}

/* The server has told a state only in words: these do not change by waiting. */
static bool stays_wrong(const char *text)
{
    static const char *const words[] = { "authentication failed", "does not exist",
                                         "no pg_hba.conf entry", "no password supplied",
                                         "permission denied for database" };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(text, words[i]) && !strstr(text, "No such file"))
            return true;
    return false;
}

Err link_connect(PgLink *link, Error *why)
{
    if (link->conn && PQstatus(link->conn) == CONNECTION_OK)
        return ERR_OK;
    PQfinish(link->conn);
    link->conn = NULL;
    PQconninfoOption *options;
    Err err = read_url(link->url, &options, why);
    if (err)
        return err;
    Buf said = { 0 };
    if (try_hosts(link, options, &said)) {
        link->connects++;
    } else {
        keep_words(link, buf_cstr(&said));
        err = error_set(why, stays_wrong(buf_cstr(&said)) ? ERR_DENIED : ERR_UNAVAILABLE,
                        "store: cannot connect: %s", link->failure);
    }
    buf_done(&said);
    PQconninfoFree(options);
    return err;
}

void link_close(PgLink *link)
{
    PQfinish(link->conn);
    link->conn = NULL;
    mem_free(link->url);
    link->url = NULL;
    buf_done(&link->into);
}

/* --- Statements
 * -------------------------------------------------------------------------
 */

/* A connection that did not answer in time is given up: no one knows what it does. */
static bool wait_step(PgLink *link, bool write, int64_t until_ms)
{
    if (!wait_for(PQsocket(link->conn), write, until_ms)) {
        link_fail(link, ERR_UNAVAILABLE, "the server does not answer");
        link->silences++;
        PQfinish(link->conn);
        link->conn = NULL;
        return false;
    }
    if (PQconsumeInput(link->conn))
        return true;
    link_fail(link, ERR_UNAVAILABLE, PQerrorMessage(link->conn));
    return false;
}

static bool wait_answer(PgLink *link)
{
    int64_t until_ms = clock_now().boot_ms + patience_ms(link, 0);
    for (;;) {
        int unsent = PQflush(link->conn);
        if (unsent < 0 || (!unsent && !PQisBusy(link->conn)))
            return unsent >= 0;
        if (!wait_step(link, unsent != 0, until_ms))
            return false;
    }
}

/* Until the server, or what is in between, has taken all of it. */
static bool wait_taken(PgLink *link)
{
    int64_t until_ms = clock_now().boot_ms + patience_ms(link, 0);
    int unsent;
    while ((unsent = PQflush(link->conn)) > 0)
        if (!wait_step(link, true, until_ms))
            return false;
    if (unsent < 0)
        link_fail(link, ERR_UNAVAILABLE, PQerrorMessage(link->conn));
    return unsent == 0;
}

static PGresult *next_result(PgLink *link)
{
    if (!wait_answer(link))
        return NULL;
    return PQgetResult(link->conn);
}

/* The last result of what was sent; failures stick. Stops where a copy begins. */
static PGresult *finish(PgLink *link)
{
    PGresult *last = NULL;
    for (;;) {
        PGresult *result = link->conn ? next_result(link) : NULL;
        if (!result)
            break;
        PQclear(last);
        last = result;
        ExecStatusType status = PQresultStatus(result);
        if (status == PGRES_COPY_IN)
            break;
        if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
            fail_result(link, result);
    }
    if (!link->err && link->conn && PQstatus(link->conn) != CONNECTION_OK)
        link_fail(link, ERR_UNAVAILABLE, PQerrorMessage(link->conn));
    if (link->err) {
        PQclear(last);
        return NULL;
    }
    return last;
}

static bool sent(PgLink *link, int done)
{
    if (done)
        return true;
    link_fail(link, ERR_UNAVAILABLE, PQerrorMessage(link->conn));
    return false;
}

/* --- Statements that travel together
 * -----------------------------------------------------
 */

static bool send_statement(PgLink *link, const char *sql, PgParams *params)
{
    Oid types[PG_PARAMS_MAX];
    const char *values[PG_PARAMS_MAX];
    int lengths[PG_PARAMS_MAX];
    int formats[PG_PARAMS_MAX];
    int count = params ? params->count : 0;
    for (int i = 0; i < count; i++) {
        const PgParam *param = &params->items[i];
        types[i] = param->type;
        values[i] = param->null ? NULL : buf_cstr(&params->bytes) + param->at;
        lengths[i] = param->length;
        formats[i] = 1;
    }
    return sent(link, PQsendQueryParams(link->conn, sql, count, types, values, lengths,
                                        formats, 1));
}

/* The last answer of all that is under way, up to the mark that ends it: one NULL stands
 * behind the answer to each statement. */
static PGresult *finish_pipeline(PgLink *link)
{
    PGresult *last = NULL;
    unsigned nulls = 0;
    bool over = false;
    if (!sent(link, PQpipelineSync(link->conn)))
        return NULL;
    while (!over && link->conn && PQstatus(link->conn) == CONNECTION_OK &&
           nulls <= link->untold) {
        PGresult *result = next_result(link);
        ExecStatusType status = result ? PQresultStatus(result) : PGRES_EMPTY_QUERY;
        nulls += !result;
        over = status == PGRES_PIPELINE_SYNC;
        if (result && status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK && !over &&
            status != PGRES_PIPELINE_ABORTED)
            fail_result(link, result);
        if (over || !result) {
            PQclear(result);
        } else {
            PQclear(last);
            last = result;
        }
    }
    if (!over)
        link_fail(link, ERR_UNAVAILABLE,
                  link->conn ? PQerrorMessage(link->conn) : "the server does not answer");
    return last;
}

/* Reads what was not read yet; the answer to the last statement. */
static PGresult *finish_untold(PgLink *link)
{
    PGresult *last = NULL;
    if (link->untold && link->conn) {
        last = finish_pipeline(link);
        if (link->conn && !PQexitPipelineMode(link->conn))
            link_fail(link, ERR_UNAVAILABLE, PQerrorMessage(link->conn));
    }
    link->untold = 0;
    if (!link->err)
        return last;
    PQclear(last);
    return NULL;
}

/* --- Bulk copies
 * -------------------------------------------------------------------------
 */

#define COPY_PIECE_BYTES ((size_t)64 << 10)

static const char copy_header[] = "PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0"; /* and a NUL */
static const char copy_trailer[] = { '\377', '\377' };

static bool put(PgLink *link, const char *data, size_t bytes)
{
    return sent(link, PQputCopyData(link->conn, data, (int)bytes) == 1) &&
           wait_taken(link);
}

/* Before anything else is said. */
static void end_copy(PgLink *link)
{
    if (!link->into.bytes || link->err)
        return;
    buf_clear(&link->into);
    if (put(link, copy_trailer, sizeof copy_trailer) &&
        sent(link, PQputCopyEnd(link->conn, NULL) == 1))
        PQclear(finish(link));
}

static void begin_copy(PgLink *link, const char *into)
{
    Buf sql = { 0 };
    end_copy(link);
    PQclear(finish_untold(link));
    buf_printf(&sql, "COPY %s FROM STDIN (FORMAT binary)", into);
    if (!link->err && sent(link, PQsendQuery(link->conn, buf_cstr(&sql))))
        PQclear(finish(link));
    buf_done(&sql);
    if (!link->err && put(link, copy_header, sizeof copy_header))
        buf_add_text(&link->into, into);
}

void link_copy(PgLink *link, const char *into, Buf *rows)
{
    if (link->err || !rows->bytes)
        return;
    if (!slice_is(buf_slice(&link->into), into))
        begin_copy(link, into);
    for (size_t at = 0; at < rows->bytes && !link->err; at += COPY_PIECE_BYTES) {
        size_t left = rows->bytes - at;
        put(link, rows->data + at, left < COPY_PIECE_BYTES ? left : COPY_PIECE_BYTES);
    }
    buf_clear(rows);
}

/* --- What is said
 * ------------------------------------------------------------------------
 */

void link_script(PgLink *link, const char *sql)
{
    end_copy(link);
    PQclear(finish_untold(link));
    if (!link->err && sent(link, PQsendQuery(link->conn, sql)))
        PQclear(finish(link));
}

void link_later(PgLink *link, const char *sql, PgParams *params)
{
    end_copy(link);
    if (!link->err && !link->untold)
        sent(link, PQenterPipelineMode(link->conn));
    if (!link->err && send_statement(link, sql, params))
        link->untold++;
    if (params)
        params_clear(params);
}

PGresult *link_query(PgLink *link, const char *sql, PgParams *params)
{
    PGresult *result = NULL;
    end_copy(link);
    if (link->untold) {
        link_later(link, sql, params);
        return finish_untold(link);
    }
    if (!link->err && send_statement(link, sql, params))
        result = finish(link);
    if (params)
        params_clear(params);
    return result;
}

int64_t link_run(PgLink *link, const char *sql, PgParams *params)
{
    PGresult *result = link_query(link, sql, params);
    long long changed = 0;
    if (result)
        sscanf(PQcmdTuples(result), "%lld", &changed);
    PQclear(result);
    return changed;
}

/* --- Transactions
 * ------------------------------------------------------------------------
 */

static void begin_anew(PgLink *link)
{
    Error why = { 0 };
    link->err = ERR_OK;
    link->state[0] = '\0';
    link->failure[0] = '\0';
    link->committing = false;
    buf_clear(&link->into);
    link->untold = 0;
    Err err = link_connect(link, &why);
    if (err)
        link_fail(link, err, why.text);
}

PGresult *link_single(PgLink *link, const char *sql, PgParams *params)
{
    begin_anew(link);
    return link_query(link, sql, params);
}

Err link_single_end(PgLink *link, const char *doing, Error *why)
{
    if (link->err)
        return error_set(why, link->err, "store: cannot %s: %s", doing, link->failure);
    link->silences = 0;
    return ERR_OK;
}

void link_begin(PgLink *link, LinkMode mode)
{
    begin_anew(link);
    link_later(link, begins[mode], NULL);
    link_later(link, settings, NULL);
}

void link_rollback(PgLink *link)
{
    PQclear(finish_untold(link));
    if (!link->conn || PQstatus(link->conn) != CONNECTION_OK ||
        PQtransactionStatus(link->conn) == PQTRANS_IDLE)
        return;
    if (PQtransactionStatus(link->conn) == PQTRANS_ACTIVE) { /* in the middle of it */
        PQfinish(link->conn);
        link->conn = NULL;
        return;
    }
    Err err = link->err;
    link->err = ERR_OK;
    buf_clear(&link->into);
    link_script(link, "ROLLBACK");
    link->err = err ? err : link->err;
}

static bool in_failed_transaction(const PgLink *link)
{
    return link->conn && PQstatus(link->conn) == CONNECTION_OK &&
           PQtransactionStatus(link->conn) == PQTRANS_INERROR;
}

/* A COMMIT that waits for a standby must not be timed by the server: it would stop
 * waiting and say that all is well, although only the primary has it. */
Err link_end(PgLink *link, const char *doing, Error *why)
{
    link_later(link, untimed, NULL);
    link->committing = !link->err;
    link_later(link, "COMMIT", NULL);
    PQclear(finish_untold(link));
    if (link->err && in_failed_transaction(link))
        link->committing = false; /* something before it failed: it was passed over */
    if (link->err)
        link_rollback(link);
    return link_single_end(link, doing, why);
}

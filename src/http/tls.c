/* SPDX-License-Identifier: Apache-2.0 */
/* tls.c - see tls.h. */
#include "http/tls.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/times.h"

#include <gnutls/x509.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#define CHAIN_MAX 16
#define LOOK_MS   1000

/* What tells a file from the one that was there before under its name. */
typedef struct Stamp {
    dev_t device;
    ino_t number;
    off_t bytes;
    struct timespec changed;
} Stamp;

typedef struct Files {
    char *certificate; /* NULL: none */
    char *key;
    Stamp stamps[2];   /* when they were last read, for better or worse */
    int64_t look_boot; /* not before */
    bool looking;      /* someone does */
} Files;

typedef struct Pair {
    struct Pair *before; /* may still be used by handshakes: kept to the end */
    gnutls_pcert_st chain[CHAIN_MAX];
    unsigned int count;
    gnutls_privkey_t key;
} Pair;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Pair *current; /* under the lock */
static Files files;   /* likewise */

static void pair_free(Pair *pair)
{
    for (unsigned int i = 0; i < pair->count; i++)
        gnutls_pcert_deinit(&pair->chain[i]);
    if (pair->key)
        gnutls_privkey_deinit(pair->key);
    mem_free(pair);
}

static Err load_chain(Pair *pair, const char *path, Error *why)
{
    gnutls_datum_t bytes = { 0 };
    int code = gnutls_load_file(path, &bytes);
    if (code)
        return error_set(why, ERR_IO, "cannot read the certificate %s", path);
    unsigned int count = CHAIN_MAX;
    code = gnutls_pcert_list_import_x509_raw(pair->chain, &count, &bytes,
                                             GNUTLS_X509_FMT_PEM, 0);
    gnutls_free(bytes.data);
    if (code < 0)
        return error_set(why, ERR_INVALID, "%s holds no certificate (PEM): %s", path,
                         gnutls_strerror(code));
    pair->count = count;
    return ERR_OK;
}

static Err load_key(Pair *pair, const char *path, Error *why)
{
    gnutls_datum_t bytes = { 0 };
    if (gnutls_load_file(path, &bytes))
        return error_set(why, ERR_IO, "cannot read the key %s", path);
    int code = gnutls_privkey_init(&pair->key);
    if (!code)
        code = gnutls_privkey_import_x509_raw(pair->key, &bytes, GNUTLS_X509_FMT_PEM,
                                              NULL, 0);
    gnutls_memset(bytes.data, 0, bytes.size);
    gnutls_free(bytes.data);
    if (code < 0)
        return error_set(why, ERR_INVALID,
                         "%s holds no key (PEM, without a password): %s", path,
                         gnutls_strerror(code));
    return ERR_OK;
}

/* Keys that do not belong to the certificate would fail every handshake. */
static Err match(const char *certificate, const char *key, Error *why)
{
    gnutls_certificate_credentials_t both;
    if (gnutls_certificate_allocate_credentials(&both))
        return error_set(why, ERR_LIMIT, "cannot check the certificate");
    int code =
        gnutls_certificate_set_x509_key_file(both, certificate, key, GNUTLS_X509_FMT_PEM);
    gnutls_certificate_free_credentials(both);
    if (code >= 0)
        return ERR_OK;
    return error_set(why, ERR_INVALID, "%s does not belong to %s: %s", key, certificate,
                     gnutls_strerror(code));
}

static Err load(const char *certificate, const char *key, Pair **out, Error *why)
{
    if (!certificate[0] || !key[0])
        return error_set(why, ERR_INVALID,
                         "tls.certificate and tls.key go together: %s is missing",
                         key[0] ? "tls.certificate" : "tls.key");
    Pair *pair = MEM_NEW(Pair);
    Err err = load_chain(pair, certificate, why);
    if (!err)
        err = load_key(pair, key, why);
    if (!err)
        err = match(certificate, key, why);
    if (err)
        pair_free(pair);
    else
        *out = pair;
    return err;
}

Err tls_check(const char *certificate, const char *key, Error *why)
{
    Pair *pair;
    Err err = load(certificate, key, &pair, why);
    if (!err)
        pair_free(pair);
    return err;
}

Err tls_ends(const char *certificate, int64_t *out_wall_ms, Error *why)
{
    gnutls_datum_t bytes = { 0 };
    gnutls_x509_crt_t first = NULL; /* the one of this server; behind it who signed */
    if (gnutls_load_file(certificate, &bytes))
        return error_set(why, ERR_IO, "cannot read the certificate %s", certificate);
    int code = gnutls_x509_crt_init(&first);
    if (!code)
        code = gnutls_x509_crt_import(first, &bytes, GNUTLS_X509_FMT_PEM);
    time_t ends = code ? -1 : gnutls_x509_crt_get_expiration_time(first);
    gnutls_free(bytes.data);
    gnutls_x509_crt_deinit(first);
    if (ends == (time_t)-1)
        return error_set(why, ERR_INVALID, "%s does not say until when it is valid",
                         certificate);
    *out_wall_ms = (int64_t)ends * MS_PER_S;
    return ERR_OK;
}

/* Of a file that is not there nothing is said: it may be on its way. */
static bool stamp(const char *path, Stamp *out)
{
    struct stat facts;
    if (stat(path, &facts))
        return false;
    *out = (Stamp){ .device = facts.st_dev,
                    .number = facts.st_ino,
                    .bytes = facts.st_size,
                    .changed = facts.st_mtim };
    return true;
}

static bool same(const Stamp *a, const Stamp *b)
{
    return a->device == b->device && a->number == b->number && a->bytes == b->bytes &&
           a->changed.tv_sec == b->changed.tv_sec &&
           a->changed.tv_nsec == b->changed.tv_nsec;
}

static void show(Pair *pair)
{
    pair->before = current;
    current = pair;
}

Err tls_use(const char *certificate, const char *key, Error *why)
{
    Pair *pair;
    Stamp stamps[2] = { 0 }; /* before they are read: what comes later is seen later */
    stamp(certificate, &stamps[0]);
    stamp(key, &stamps[1]);
    Err err = load(certificate, key, &pair, why);
    if (err)
        return err;
    char *names[] = { mem_copy(certificate, strlen(certificate) + 1),
                      mem_copy(key, strlen(key) + 1) };
    pthread_mutex_lock(&lock);
    show(pair);
    mem_free(files.certificate);
    mem_free(files.key);
    files.certificate = names[0];
    files.key = names[1];
    memcpy(files.stamps, stamps, sizeof stamps);
    pthread_mutex_unlock(&lock);
    return ERR_OK;
}

/* Reads files that have changed since they were last read. One that cannot be used, as
 * when its key is still to come, is read again once something changes again. */
static void look(const char *certificate, const char *key, Stamp stamps[2])
{
    Error why = { 0 };
    Pair *pair;
    Stamp now[2];
    if (!stamp(certificate, &now[0]) || !stamp(key, &now[1]) ||
        (same(&now[0], &stamps[0]) && same(&now[1], &stamps[1])))
        return;
    memcpy(stamps, now, sizeof now);
    if (load(certificate, key, &pair, &why)) {
        log_event(LOG_ERROR, "tls.refused", "why=%s msg=\"the one before stays\"",
                  LOG_QUOTED(why.text));
        return;
    }
    pthread_mutex_lock(&lock);
    show(pair);
    pthread_mutex_unlock(&lock);
    log_event(LOG_INFO, "tls.reloaded", "certificate=%s", certificate);
}

/* With the lock, which is free while files are read. */
static void look_now_and_then(void)
{
    Files mine = files;
    int64_t now_boot = clock_now().boot_ms;
    if (mine.looking || now_boot < mine.look_boot || !mine.certificate)
        return;
    files.looking = true;
    mine.certificate = mem_copy(files.certificate, strlen(files.certificate) + 1);
    mine.key = mem_copy(files.key, strlen(files.key) + 1);
    pthread_mutex_unlock(&lock);
    look(mine.certificate, mine.key, mine.stamps);
    mem_free(mine.certificate);
    mem_free(mine.key);
    pthread_mutex_lock(&lock);
    memcpy(files.stamps, mine.stamps, sizeof mine.stamps);
    files.look_boot = now_boot + LOOK_MS;
    files.looking = false;
}

void tls_close(void)
{
    pthread_mutex_lock(&lock);
    for (Pair *pair = current; pair;) {
        Pair *before = pair->before;
        pair_free(pair);
        pair = before;
    }
    current = NULL;
    mem_free(files.certificate);
    mem_free(files.key);
    files = (Files){ 0 };
    pthread_mutex_unlock(&lock);
}

int tls_certificate(gnutls_session_t session, const gnutls_datum_t *authorities,
                    int authority_count, const gnutls_pk_algorithm_t *algorithms,
                    int algorithm_count, gnutls_pcert_st **out_chain,
                    unsigned int *out_count, gnutls_privkey_t *out_key)
{
    (void)session;
    (void)authorities;
    (void)authority_count;
    (void)algorithms;
    (void)algorithm_count;
    pthread_mutex_lock(&lock);
    look_now_and_then();
    Pair *pair = current;
    pthread_mutex_unlock(&lock);
    if (!pair)
        return -1;
    *out_chain = pair->chain;
    *out_count = pair->count;
    *out_key = pair->key;
    return 0;
}

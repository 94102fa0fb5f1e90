/* SPDX-License-Identifier: Apache-2.0 */
/* tls.h - the certificate of the TCP listener: loaded, checked, replaced while it serves.
 *
 * TLS 1.2 and 1.3 only. Handshakes that have begun keep the certificate they began with.
 * Files that have changed are taken by the next handshake, which looks at most once a
 * second: nobody needs to tell, and nothing wakes up for it.
 * There is one in a process: GnuTLS asks for it without saying who asks. */
#ifndef HTTP_TLS_H
#define HTTP_TLS_H

#include "base/err.h"

#include <gnutls/abstract.h>
#include <stdint.h>

#define TLS_PRIORITIES "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:%SERVER_PRECEDENCE"

/* Whether both files can be read, are what they should be, and belong together. */
MUST_CHECK Err tls_check(const char *certificate, const char *key, Error *why);

/* Until when the certificate is valid. */
MUST_CHECK Err tls_ends(const char *certificate, int64_t *out_wall_ms, Error *why);

/* The pair that is shown from now on, and the files that are looked at; after an error
 * the ones before. */
MUST_CHECK Err tls_use(const char *certificate, const char *key, Error *why);

/* Nobody is served any more. */
void tls_close(void);

/* For gnutls_certificate_set_retrieve_function2. */
int tls_certificate(gnutls_session_t session, const gnutls_datum_t *authorities,
                    int authority_count, const gnutls_pk_algorithm_t *algorithms,
                    int algorithm_count, gnutls_pcert_st **out_chain,
                    unsigned int *out_count, gnutls_privkey_t *out_key);

#endif

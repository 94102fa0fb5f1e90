/* SPDX-License-Identifier: Apache-2.0 */
/* ui.h - the dashboard: files that the build put into the program, and who looks at them.
 *
 * The files are the same for everyone and say nothing about jobs, so they need no token.
 * Every path below /ui/ that is no file is a page: the same document, whose base is
 * written by how deep the path is, so that it works below any prefix of a proxy. */
#ifndef API_UI_H
#define API_UI_H

#include "http/exchange.h"

/* One file; the table is made by web/tools/embed.mjs, in the order of its paths. */
typedef struct Asset {
    const char *path; /* below /ui/ */
    const char *type;
    const char *tag;             /* of its content, for ETag */
    const unsigned char *packed; /* by gzip */
    size_t packed_bytes;
    const unsigned char *plain;
    size_t plain_bytes;
} Asset;

extern const Asset ASSETS[];
extern const size_t ASSET_COUNT; /* 0: built without the dashboard */

void api_ui(Exchange *exchange);
void api_ui_slash(Exchange *exchange); /* /ui, without the slash */
void api_root(Exchange *exchange);
void api_me(Exchange *exchange);

#endif

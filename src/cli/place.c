/* SPDX-License-Identifier: Apache-2.0 */
/* place.c - see place.h. */
#include "cli/place.h"

#include "base/text.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static bool is_set(const char *text)
{
    return text && *text;
}

static void add_path(Buf *out, const char *path, const char *cwd)
{
    if (path[0] != '/')
        buf_printf(out, "%s/", strcmp(cwd, "/") == 0 ? "" : cwd);
    buf_add_text(out, path);
    while (out->bytes > 1 && out->data[out->bytes - 1] == '/')
        out->bytes--;
}

Err place_data(const PlaceEnv *env, Buf *out_path, Error *why)
{
    if (is_set(env->data_option))
        add_path(out_path, env->data_option, env->cwd);
    else if (is_set(env->pawl_data))
        add_path(out_path, env->pawl_data, env->cwd);
    else if (is_set(env->state_home) && env->state_home[0] == '/')
        buf_printf(out_path, "%s/pawl", env->state_home);
    else if (is_set(env->home))
        buf_printf(out_path, "%s/.local/state/pawl", env->home);
    else
        return error_set(why, ERR_NOT_FOUND,
                         "no data directory: set HOME or PAWL_DATA, or say --data DIR");
    return ERR_OK;
}

PlaceMeant place_meant(const PlaceNames *names)
{
    bool data = is_set(names->data_option) || is_set(names->pawl_data);
    if (is_set(names->server_option))
        return (PlaceMeant){ names->server_option, false };
    if (is_set(names->data_option))
        return (PlaceMeant){ NULL, true };
    if (is_set(names->pawl_server))
        return (PlaceMeant){ names->pawl_server, false };
    if (!data && is_set(names->job_url))
        return (PlaceMeant){ names->job_url, false };
    return (PlaceMeant){ NULL, data };
}

bool place_listens(const char *socket_path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    size_t bytes = strlen(socket_path);
    if (bytes >= sizeof address.sun_path)
        return false;
    memcpy(address.sun_path, socket_path, bytes);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    bool listens = connect(fd, (struct sockaddr *)&address, sizeof address) == 0;
    close(fd);
    return listens;
}

#define STATE_LISTEN 0x0A
#define LINE_BYTES   512

typedef struct Search {
    uint16_t port;
    uid_t user;
    PlaceOwner exact; /* at 127.0.0.1 itself: gets the connection before the next */
    PlaceOwner any;   /* at 0.0.0.0 or :: */
} Search;

static void note_owner(PlaceOwner *owner, bool ours)
{
    if (!ours)
        *owner = PLACE_OTHERS;
    else if (*owner == PLACE_NOBODY)
        *owner = PLACE_OURS;
}

/* One line of the table. Addresses are words of 32 bits in the order of the network,
 * written as if they were numbers of this machine. */
static void search_line(Search *search, const char *line)
{
    char address[33];
    char exact[9];
    char exact6[33];
    unsigned port;
    unsigned state;
    unsigned user;
    if (sscanf(line, " %*d: %32[0-9A-F]:%x %*[0-9A-F]:%*x %x %*x:%*x %*x:%*x %*x %u",
               address, &port, &state, &user) != 4 ||
        port != search->port || state != STATE_LISTEN)
        return;
    unsigned loopback = htonl(INADDR_LOOPBACK);
    snprintf(exact, sizeof exact, "%08X", loopback);
    snprintf(exact6, sizeof exact6, "%016X%08X%08X", 0U, (unsigned)htonl(0xFFFF),
             loopback);
    bool ours = user == search->user || user == 0;
    if (strcmp(address, exact) == 0 || strcmp(address, exact6) == 0)
        note_owner(&search->exact, ours);
    else if (strspn(address, "0") == strlen(address))
        note_owner(&search->any, ours);
}

static bool search_table(Search *search, const char *tables, const char *name)
{
    char line[LINE_BYTES];
    Buf path = { 0 };
    buf_printf(&path, "%s/%s", tables, name);
    FILE *file = fopen(buf_cstr(&path), "re");
    buf_done(&path);
    while (file && fgets(line, sizeof line, file))
        search_line(search, line);
    if (file)
        fclose(file);
    return file != NULL;
}

PlaceOwner place_owner(const char *tables, uint16_t port, uid_t user)
{
    Search search = { .port = port, .user = user };
    if (!search_table(&search, tables, "tcp"))
        return PLACE_UNKNOWN;
    search_table(&search, tables, "tcp6"); /* not there without IPv6 */
    return search.exact != PLACE_NOBODY ? search.exact : search.any;
}

uint16_t place_port(const char *path)
{
    static const char host[] = "127.0.0.1:";
    char line[64];
    int64_t port = 0;
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    bool read = fgets(line, sizeof line, file) != NULL;
    fclose(file);
    if (!read || strncmp(line, host, strlen(host)) != 0)
        return 0;
    line[strcspn(line, "\r\n")] = '\0';
    if (int_parse(slice_text(line + strlen(host)), &port) || port < 1 ||
        port > UINT16_MAX)
        return 0;
    return (uint16_t)port;
}

bool place_attempts_token(const char *token)
{
    return strlen(token) == PLACE_TOKEN_DIGITS &&
           strspn(token, "0123456789abcdef") == PLACE_TOKEN_DIGITS;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* place.c - see place.h. */
#include "cli/place.h"

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
        buf_printf(out, "%s/", cwd);
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

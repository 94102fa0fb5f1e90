/* SPDX-License-Identifier: Apache-2.0 */
/* zone_file.c - see zone_file.h. */
#include "model/zone_file.h"

#include "core/zone.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ZONE_DIR "/usr/share/zoneinfo"

/* Letters, digits and _ + - in parts between slashes: no way out of the directory. */
static bool name_good(Slice name)
{
    if (!name.bytes || name.bytes > ZONE_NAME_MAX)
        return false;
    char before = '/';
    for (size_t i = 0; i < name.bytes; i++) {
        char c = name.data[i];
        bool letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
        bool other = (c >= '0' && c <= '9') || c == '_' || c == '+' || c == '-';
        if (!letter && !(before != '/' && (other || c == '/')))
            return false;
        before = c;
    }
    return before != '/';
}

static Err no_zone(Slice name, Error *why)
{
    return error_set(
        why, ERR_NOT_FOUND,
        "there is no time zone \"" SLICE_FMT "\"; names are as in " ZONE_DIR
        ": UTC, Europe/Paris, America/New_York",
        SLICE_ARG(slice_of(name.data,
                           name.bytes > ZONE_NAME_MAX ? ZONE_NAME_MAX : name.bytes)));
}

static Err read_all(int fd, Buf *out)
{
    for (;;) {
        ssize_t got = read(fd, buf_room(out, 4096), 4096);
        if (got < 0)
            return ERR_IO;
        out->bytes += (size_t)got;
        if (!got || out->bytes > ZONE_BYTES_MAX)
            return ERR_OK;
    }
}

Err zone_file_read(Slice name, Buf *out, Error *why)
{
    char path[512];
    if (slice_is(name, "UTC"))
        return ERR_OK;
    if (!name_good(name))
        return no_zone(name, why);
    const char *dir = getenv("TZDIR");
    snprintf(path, sizeof path, "%s/" SLICE_FMT, dir && *dir ? dir : ZONE_DIR,
             SLICE_ARG(name));
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return no_zone(name, why);
    Buf bytes = { 0 };
    Zone zone = { 0 };
    Err err = read_all(fd, &bytes);
    close(fd);
    if (err)
        no_zone(name, why); /* a directory, such as Europe */
    else
        err = zone_parse(buf_slice(&bytes), &zone, why);
    if (!err)
        buf_add_slice(out, buf_slice(&bytes));
    zone_done(&zone);
    buf_done(&bytes);
    return err;
}

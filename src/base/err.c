/* SPDX-License-Identifier: Apache-2.0 */
/* err.c - see err.h. */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *err_name(Err err)
{
    switch (err) {
    case ERR_OK:
        return "ok";
    case ERR_INVALID:
        return "invalid";
    case ERR_NOT_FOUND:
        return "not_found";
    case ERR_CONFLICT:
        return "conflict";
    case ERR_DENIED:
        return "denied";
    case ERR_LIMIT:
        return "limit";
    case ERR_FULL:
        return "full";
    case ERR_BUSY:
        return "busy";
    case ERR_IO:
        return "io";
    case ERR_CORRUPT:
        return "corrupt";
    case ERR_UNAVAILABLE:
        return "unavailable";
    case ERR_TIMEOUT:
        return "timeout";
    case ERR_UNSUPPORTED:
        return "unsupported";
    }
    return "unknown";
}

Err err_from_errno(int error_number)
{
    switch (error_number) {
    case 0:
        return ERR_OK;
    case ENOENT:
    case ESRCH:
        return ERR_NOT_FOUND;
    case EACCES:
    case EPERM:
    case EROFS:
        return ERR_DENIED;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return ERR_FULL;
    case EAGAIN:
    case EBUSY:
    case EADDRINUSE:
        return ERR_BUSY;
    case EEXIST:
        return ERR_CONFLICT;
    case EMFILE:
    case ENFILE:
    case ENAMETOOLONG:
        return ERR_LIMIT;
    case ECONNREFUSED:
    case ECONNRESET:
    case EPIPE:
        return ERR_UNAVAILABLE;
    case ETIMEDOUT:
        return ERR_TIMEOUT;
    case EINVAL:
        return ERR_INVALID;
    default:
        return ERR_IO;
    }
}

Err error_set(Error *why, Err code, const char *format, ...)
{
    if (!why)
        return code;
    va_list args;
    va_start(args, format);
    vsnprintf(why->text, sizeof why->text, format, args);
    va_end(args);
    why->code = code;
    return code;
}

Err error_errno(Error *why, const char *format, ...)
{
    int error_number = errno;
    Err code = err_from_errno(error_number);
    if (!why)
        return code;
    va_list args;
    va_start(args, format);
    int bytes = vsnprintf(why->text, sizeof why->text, format, args);
    va_end(args);
    if (bytes >= 0 && (size_t)bytes < sizeof why->text)
        snprintf(why->text + bytes, sizeof why->text - (size_t)bytes, ": %s",
                 strerror(error_number));
    why->code = code;
    return code;
}

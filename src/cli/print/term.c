/* SPDX-License-Identifier: Apache-2.0 */
/* term.c - see term.h. */
#include "cli/print/term.h"

#include "base/text.h"

#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define WIDTH_DEFAULT 80
#define WIDTH_MIN     20
#define WIDTH_MAX     1000

static bool user_utf8;

void term_init(void)
{
    /* Only the character type: numbers and times of data are nobody's locale. */
    user_utf8 = setlocale(LC_CTYPE, "") && strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    if (!user_utf8)
        setlocale(LC_CTYPE, "C.UTF-8");
}

static size_t width_of(int fd)
{
    struct winsize size;
    int64_t columns = 0;
    const char *named = getenv("COLUMNS");
    if (ioctl(fd, TIOCGWINSZ, &size) == 0)
        columns = size.ws_col;
    if (!columns && (!named || int_parse(slice_text(named), &columns)))
        columns = 0;
    if (columns <= 0)
        return WIDTH_DEFAULT;
    return columns < WIDTH_MIN   ? WIDTH_MIN
           : columns > WIDTH_MAX ? WIDTH_MAX
                                 : (size_t)columns;
}

static bool colour_wanted(void)
{
    const char *no = getenv("NO_COLOR");
    const char *kind = getenv("TERM");
    return !(no && *no) && kind && *kind && strcmp(kind, "dumb") != 0;
}

Term term_of(int fd)
{
    if (!isatty(fd))
        return (Term){ .utf8 = user_utf8 };
    return (Term){
        .is_terminal = true,
        .colour = colour_wanted(),
        .utf8 = user_utf8,
        .width = width_of(fd),
    };
}

const char *term_on(const Term *term, Colour colour)
{
    if (!term->colour)
        return "";
    switch (colour) {
    case COLOUR_PLAIN:
        return "";
    case COLOUR_BOLD:
        return "\x1b[1m";
    case COLOUR_DIM:
        return "\x1b[2m";
    case COLOUR_RED:
        return "\x1b[31m";
    case COLOUR_GREEN:
        return "\x1b[32m";
    case COLOUR_YELLOW:
        return "\x1b[33m";
    case COLOUR_BLUE:
        return "\x1b[34m";
    }
    return "";
}

const char *term_off(const Term *term, Colour colour)
{
    return term->colour && colour != COLOUR_PLAIN ? "\x1b[0m" : "";
}

Colour term_state_colour(const char *state)
{
    static const struct {
        const char *state;
        Colour colour;
    } colours[] = {
        { "running", COLOUR_BLUE },    { "done", COLOUR_GREEN },
        { "failed", COLOUR_RED },      { "rejected", COLOUR_RED },
        { "retrying", COLOUR_YELLOW }, { "cancelled", COLOUR_DIM },
        { "held", COLOUR_YELLOW },     { "paused", COLOUR_YELLOW },
        { "halted", COLOUR_YELLOW },   { "blocked", COLOUR_YELLOW },
    };
    for (size_t i = 0; i < sizeof colours / sizeof *colours; i++)
        if (strcmp(state, colours[i].state) == 0)
            return colours[i].colour;
    return COLOUR_PLAIN;
}

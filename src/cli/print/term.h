/* SPDX-License-Identifier: Apache-2.0 */
/* term.h - what the terminal at the other end can show.
 *
 * Colours and bars appear only on a terminal; NO_COLOR and TERM=dumb are honoured. */
#ifndef CLI_PRINT_TERM_H
#define CLI_PRINT_TERM_H

#include <stdbool.h>
#include <stddef.h>

typedef struct Term {
    bool is_terminal;
    bool colour;
    bool utf8;    /* the user's locale; decides only what bars are drawn with */
    size_t width; /* columns; 0: no limit, because it is no terminal */
} Term;

typedef enum Colour {
    COLOUR_PLAIN,
    COLOUR_BOLD,
    COLOUR_DIM,
    COLOUR_RED,
    COLOUR_GREEN,
    COLOUR_YELLOW,
    COLOUR_BLUE,
} Colour;

/* Notes the user's locale and sets the UTF-8 one that widths are taken from. */
void term_init(void);

Term term_of(int fd);

/* What switches the colour on and off again; "" where it is not to be used. */
const char *term_on(const Term *term, Colour colour);
const char *term_off(const Term *term, Colour colour);

/* The colour and the mark of a job's state. */
Colour term_state_colour(const char *state);

#endif

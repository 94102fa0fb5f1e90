/* SPDX-License-Identifier: Apache-2.0 */
/* screen.h - a whole terminal for one command: drawn as a picture, read key by key.
 *
 * Plain ANSI sequences on the alternate screen, so that what stood there before comes
 * back at the end. Ctrl-C is noted (interrupt.h) and ends the waiting for a key. */
#ifndef CLI_PRINT_SCREEN_H
#define CLI_PRINT_SCREEN_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>
#include <termios.h>

typedef struct Screen {
    struct termios before;
    size_t rows;
    size_t columns;
} Screen;

typedef enum Key {
    KEY_NONE = 0, /* the time is over */
    KEY_UP = 256, /* below: the character itself */
    KEY_DOWN,
    KEY_LEAVE, /* Ctrl-C, or no one is there any more */
} Key;

/* False: standard input and output are no terminal. */
bool screen_open(Screen *screen);
void screen_close(Screen *screen);

/* Lines that do not fit are left out; the size is asked for anew. */
void screen_draw(Screen *screen, Slice text);

/* A character or a Key, within that time. */
int screen_key(int64_t timeout_ms);

#endif

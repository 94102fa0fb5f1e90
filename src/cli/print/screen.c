/* SPDX-License-Identifier: Apache-2.0 */
/* screen.c - see screen.h. */
#include "cli/print/screen.h"

#include "cli/interrupt.h"

#include <poll.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define ROWS_DEFAULT    24
#define COLUMNS_DEFAULT 80
#define SEQUENCE_MS     50 /* the rest of an arrow key comes at once */

static void measure(Screen *screen)
{
    struct winsize size = { 0 };
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size))
        size = (struct winsize){ 0 };
    screen->rows = size.ws_row ? size.ws_row : ROWS_DEFAULT;
    screen->columns = size.ws_col ? size.ws_col : COLUMNS_DEFAULT;
}

bool screen_open(Screen *screen)
{
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) ||
        tcgetattr(STDIN_FILENO, &screen->before))
        return false;
    struct termios raw = screen->before;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    if (tcsetattr(STDIN_FILENO, TCSAFLUSH, &raw))
        return false;
    interrupt_catch();
    measure(screen);
    fputs("\x1b[?1049h\x1b[?25l", stdout);
    fflush(stdout);
    return true;
}

void screen_close(Screen *screen)
{
    fputs("\x1b[?25h\x1b[?1049l", stdout);
    fflush(stdout);
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &screen->before);
}

void screen_draw(Screen *screen, Slice text)
{
    measure(screen);
    fputs("\x1b[H", stdout);
    for (size_t row = 0; row < screen->rows && text.bytes; row++) {
        Slice line = slice_cut(&text, '\n');
        fwrite(line.data, 1, line.bytes, stdout);
        fputs(row + 1 < screen->rows ? "\x1b[K\r\n" : "\x1b[K", stdout);
    }
    fputs("\x1b[J", stdout);
    fflush(stdout);
}

/* One byte of standard input; KEY_NONE: not within that time. */
static int read_byte(int64_t timeout_ms)
{
    struct pollfd fds[] = { { .fd = STDIN_FILENO, .events = POLLIN },
                            { .fd = interrupt_fd(), .events = POLLIN } };
    unsigned char byte;
    int found = poll(fds, 2, (int)timeout_ms);
    if (interrupt_seen())
        return KEY_LEAVE;
    if (found <= 0 || !fds[0].revents)
        return KEY_NONE;
    return read(STDIN_FILENO, &byte, 1) == 1 ? byte : KEY_LEAVE;
}

int screen_key(int64_t timeout_ms)
{
    int key = read_byte(timeout_ms);
    if (key != '\x1b')
        return key;
    if (read_byte(SEQUENCE_MS) != '[')
        return key;
    switch (read_byte(SEQUENCE_MS)) {
    case 'A':
        return KEY_UP;
    case 'B':
        return KEY_DOWN;
    default:
        return KEY_NONE;
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/* interpreter.c - see interpreter.h. */
#include "run/context/interpreter.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAMES_MAX    3
#define PATH_DEFAULT "/usr/local/bin:/usr/bin:/bin"

static const struct Interpreter {
    Lang lang;
    const char *names[NAMES_MAX]; /* the first that is there */
    const char *take_code;        /* the option before the program's text */
    const char *boot;
} interpreters[] = {
    { LANG_NODE, { "node", "nodejs" }, "-e", boot_js },
    { LANG_PYTHON, { "python3" }, "-c", boot_py },
    { LANG_PERL, { "perl" }, "-e", boot_pl },
    { LANG_PHP, { "php" }, "-r", boot_php },
    { LANG_RUBY, { "ruby" }, "-e", boot_rb },
    { LANG_LUA, { "lua5.4", "lua", "lua5.3" }, "-e", boot_lua },
};
#define INTERPRETERS (sizeof interpreters / sizeof *interpreters)

static const struct Interpreter *interpreter_of(Lang lang)
{
    for (size_t i = 0; i < INTERPRETERS; i++)
        if (interpreters[i].lang == lang)
            return &interpreters[i];
    return NULL;
}

const char *interpreter_name(Lang lang)
{
    const struct Interpreter *found = interpreter_of(lang);
    return found ? found->names[0] : lang_name(lang);
}

/* Adds the absolute path of a program, NUL included. */
static bool add_program(Slice path, const char *name, Buf *out)
{
    while (path.data) {
        Slice dir = slice_cut(&path, ':');
        if (!dir.bytes || dir.data[0] != '/')
            continue; /* where we stand is no place to look for programs */
        size_t before = out->bytes;
        struct stat file;
        buf_printf(out, SLICE_FMT "/%s", SLICE_ARG(dir), name);
        buf_add_char(out, '\0');
        const char *program = out->data + before;
        if (access(program, X_OK) == 0 && stat(program, &file) == 0 &&
            S_ISREG(file.st_mode))
            return true;
        out->bytes = before;
    }
    return false;
}

static void add_word(Buf *out, const char *word)
{
    buf_add(out, word, strlen(word) + 1);
}

bool interpreter_argv(Lang lang, const char *path, Buf *out)
{
    const struct Interpreter *found = interpreter_of(lang);
    if (!path)
        path = getenv("PATH");
    bool there = false;
    for (size_t i = 0; found && !there && i < NAMES_MAX && found->names[i]; i++)
        there = add_program(slice_text(path ? path : PATH_DEFAULT), found->names[i], out);
    if (!there)
        return false;
    add_word(out, found->take_code);
    add_word(out, found->boot);
    return true;
}

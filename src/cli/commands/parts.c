/* SPDX-License-Identifier: Apache-2.0 */
/* parts.c - pawl parts: a command that works through many parts and may be killed. */
#include "cli/command.h"

#include "cli/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define READ_BYTES 65536

extern char **environ;

static Fault usage(const char *hint)
{
    return (Fault){ CLI_USAGE, "usage", hint };
}

static int broken(const Cli *cli, const Error *why)
{
    return cli_fail(cli, (Fault){ CLI_FAILED, "parts", NULL }, "%s", why->text);
}

static int open_parts(const Cli *cli, Parts *parts)
{
    Error why = { 0 };
    const char *dir = args_value(&cli->args, "dir");
    if (!dir)
        dir = getenv("PAWL_STATE_DIR");
    if (!dir)
        return cli_fail(cli, usage("in a job with keep_state it is $PAWL_STATE_DIR"),
                        "where are the parts kept? give --dir");
    return parts_open(parts, dir, &why) ? broken(cli, &why) : CLI_DONE;
}

/* All that can be read, as the bytes of the current part. */
static Err take_bytes(Parts *parts, int fd, Error *why)
{
    char *block = mem_alloc(READ_BYTES);
    Err err = ERR_OK;
    while (!err) {
        ssize_t got = read(fd, block, READ_BYTES);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            err = error_errno(why, "cannot read the part");
        if (got <= 0)
            break;
        err = parts_write(parts, slice_of(block, (size_t)got), why);
    }
    mem_free(block);
    return err;
}

/* --- One part ------------------------------------------------------------------------
 */

/* Exit 0: do it; 1: it is done. */
static int begin(Cli *cli, Parts *parts)
{
    Error why = { 0 };
    Slice name = slice_text(cli->args.operands[1]);
    if (parts_is_done(parts, name))
        return CLI_FAILED;
    return parts_begin(parts, name, &why) ? broken(cli, &why) : CLI_DONE;
}

static int finish(Cli *cli, Parts *parts)
{
    Error why = { 0 };
    Slice name = slice_text(cli->args.operands[1]);
    const char *file = cli->args.operands[2];
    if (parts_is_done(parts, name))
        return CLI_DONE;
    bool standard = strcmp(file, "-") == 0;
    int fd = standard ? STDIN_FILENO : open(file, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return cli_fail(cli, (Fault){ CLI_NOT_FOUND, "io", NULL }, "cannot open %s: %s",
                        file, strerror(errno));
    Err err = parts_begin(parts, name, &why);
    if (!err)
        err = take_bytes(parts, fd, &why);
    if (!err)
        err = parts_finish(parts, name, &why);
    if (!standard)
        close(fd);
    return err ? broken(cli, &why) : CLI_DONE;
}

/* --- Many ----------------------------------------------------------------------------
 */

/* The command with {} replaced by the part's name, or the name added. */
static char **command_for(const Cli *cli, Arena *arena, const char *name)
{
    const Args *args = &cli->args;
    size_t count = args->operand_count - 1;
    char **words = arena_take(arena, (count + 2) * sizeof *words);
    bool placed = false;
    for (size_t i = 0; i < count; i++) {
        words[i] = args->operands[i + 1];
        if (strcmp(words[i], "{}") != 0)
            continue;
        words[i] = slice_cstr(arena, slice_text(name));
        placed = true;
    }
    if (!placed)
        words[count] = slice_cstr(arena, slice_text(name));
    return words;
}

static Err start(char **words, int *out_fd, pid_t *out_pid, Error *why)
{
    int ends[2];
    posix_spawn_file_actions_t actions;
    if (pipe2(ends, O_CLOEXEC))
        return error_errno(why, "cannot make a pipe");
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    int failed = posix_spawnp(out_pid, words[0], &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (failed) {
        close(ends[0]);
        return error_set(why, ERR_NOT_FOUND, "cannot run %s: %s", words[0],
                         strerror(failed));
    }
    *out_fd = ends[0];
    return ERR_OK;
}

static int wait_for_end(pid_t pid)
{
    int status;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return CLI_FAILED;
    return WIFEXITED(status) ? WEXITSTATUS(status) : CLI_SIGNAL_BASE + WTERMSIG(status);
}

static int run_part(const Cli *cli, Parts *parts, const char *name)
{
    Arena arena = { 0 };
    Error why = { 0 };
    int fd = -1;
    pid_t pid = -1;
    Err err = parts_begin(parts, slice_text(name), &why);
    if (!err)
        err = start(command_for(cli, &arena, name), &fd, &pid, &why);
    arena_done(&arena);
    if (err)
        return broken(cli, &why);
    err = take_bytes(parts, fd, &why);
    close(fd); /* a command whose output cannot be kept ends by SIGPIPE */
    int code = wait_for_end(pid);
    if (!err)
        err = code ? parts_abandon(parts, &why)
                   : parts_finish(parts, slice_text(name), &why);
    return err ? broken(cli, &why) : code;
}

static int output(Cli *cli, Parts *parts)
{
    Error why = { 0 };
    const char *path = cli->args.operand_count > 1 ? cli->args.operands[1] : NULL;
    if (!path)
        path = getenv("PAWL_OUTPUT");
    if (!path)
        return cli_fail(cli, usage("for a unit of a processor it is $PAWL_OUTPUT"),
                        "where does the output go?");
    return parts_copy(parts, path, &why) ? broken(cli, &why) : CLI_DONE;
}

/* Each line of standard input is a part. Ends with the first command that fails. */
static int run(Cli *cli, Parts *parts)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t bytes;
    int code = CLI_DONE;
    while (!code && (bytes = getline(&line, &room, stdin)) > 0) {
        if (line[bytes - 1] == '\n')
            line[--bytes] = '\0';
        if (!bytes || parts_is_done(parts, slice_text(line)))
            continue;
        code = run_part(cli, parts, line);
    }
    free(line);
    if (!code && getenv("PAWL_OUTPUT")) {
        Error why = { 0 };
        if (parts_copy(parts, getenv("PAWL_OUTPUT"), &why))
            code = broken(cli, &why);
    }
    return code;
}

static int ls(Cli *cli, Parts *parts)
{
    (void)cli;
    for (uint32_t i = 1; i <= parts->begun.count; i++) {
        Slice name = names_text(&parts->begun, i);
        printf("%s " SLICE_FMT "\n", names_find(&parts->done, name) ? "done " : "begun",
               SLICE_ARG(name));
    }
    return CLI_DONE;
}

int cmd_parts(Cli *cli)
{
    static const struct {
        const char *name;
        size_t words_min;
        size_t words_max;
        int (*run)(Cli *cli, Parts *parts);
    } verbs[] = {
        { "run", 2, SIZE_MAX, run }, { "begin", 2, 2, begin }, { "finish", 3, 3, finish },
        { "output", 1, 2, output },  { "ls", 1, 1, ls },
    };
    size_t count = cli->args.operand_count;
    const char *name = count ? cli->args.operands[0] : "ls";
    count = count ? count : 1;
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        Parts parts;
        if (strcmp(verbs[i].name, name) != 0)
            continue;
        if (count < verbs[i].words_min || count > verbs[i].words_max)
            return cli_fail(cli, usage("pawl parts --help"), "pawl parts %s: %s", name,
                            count < verbs[i].words_min ? "something is missing"
                                                       : "too many words");
        int code = open_parts(cli, &parts);
        if (code)
            return code;
        code = verbs[i].run(cli, &parts);
        parts_close(&parts);
        return code;
    }
    return cli_fail(cli, usage("pawl parts --help"), "pawl parts does not know \"%s\"",
                    name);
}

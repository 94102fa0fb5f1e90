/* SPDX-License-Identifier: Apache-2.0 */
/* help.c - see help.h. */
#include "cli/print/help.h"

#define WIDTH        80
#define OPTION_WIDTH 28 /* names of options take this much, help text the rest */

const Topic help_topics[] = {
    { "times", "how moments and durations are written",
      "A moment (--at) is one of\n"
      "  18:30                     the next such local time\n"
      "  9am, 6:30pm               the same on a clock of twelve hours\n"
      "  tomorrow 9:00             also: today 18:30\n"
      "  mon 08:00, next friday    the next such day; without a time its midnight\n"
      "  2030-01-31T08:00          local time; 2030-01-31 is its first minute\n"
      "  2030-01-31T08:00:00Z      RFC 3339, with Z or an offset such as +01:00\n"
      "  +90m                      that long from now\n"
      "A duration (--in, --timeout, --max-run-time) is 90s, 1h30m, 2d, 200ms, a bare\n"
      "number of seconds, or ISO 8601 such as PT1H30M. Months and years have no fixed\n"
      "length and are refused.\n" },
    { "queries", "how jobs are chosen by ls and --match",
      "Every term must hold; a leading minus negates it; commas are alternatives.\n"
      "  state:failed,rejected     deferred blocked ready held running paused halted\n"
      "                            retrying done failed rejected cancelled\n"
      "  type:mail.*  queue:default  tag:import  name:nightly  node:ID  id:ID\n"
      "  schedule:nightly  group:map-1  parent:ID\n"
      "  priority:>=5              also < <= >\n"
      "  created:>-2h              later than two hours ago; also a date or RFC 3339\n"
      "  run:>30s                  ran, or has been running, longer than that\n"
      "  error:\"connection refused\"  payload:word\n"
      "Example: pawl ls 'state:failed type:mail.* created:>-2h -tag:test'\n" },
    { "exit-codes", "what the exit code of pawl says",
      "  0    done\n"
      "  1    failed\n"
      "  2    wrong usage\n"
      "  3    not found\n"
      "  4    not allowed\n"
      "  5    conflict: not in this state\n"
      "  6    the daemon cannot be reached\n"
      "  10   wait: a job failed or was rejected\n"
      "  11   wait: a job was cancelled\n"
      "  124  the time is over\n"
      "run --wait ends with the command's own exit code, and with\n"
      "  125  pawl itself failed\n"
      "  126  the command cannot be executed\n"
      "  127  there is no such command\n"
      "  128+N  signal N ended it; 130 also: Ctrl-C ended the waiting\n" },
    { "environment", "the variables that pawl reads",
      "  PAWL_SERVER       the daemon to ask and no other: http://HOST:PORT or "
      "unix:PATH\n"
      "  PAWL_API_URL      in a job: the daemon that runs it, asked unless you name one\n"
      "  PAWL_DATA         the data directory: the daemon in it and no other\n"
      "  PAWL_TENANT       whose jobs; a job that runs has its own tenant there\n"
      "  PAWL_TOKEN        the token\n"
      "  PAWL_CA           certificates to trust for https\n"
      "  XDG_STATE_HOME    the data directory is pawl in it (default: ~/.local/state)\n"
      "  NO_COLOR          when not empty: no colours\n"
      "  COLUMNS, TZ       as everywhere\n" },
    { 0 },
};

static void spaces(Buf *out, size_t count)
{
    for (size_t i = 0; i < count; i++)
        buf_add_char(out, ' ');
}

void help_wrap(Buf *out, const char *text, size_t indent, size_t width)
{
    Slice paragraphs = slice_text(text);
    while (paragraphs.bytes) {
        Slice words = slice_cut(&paragraphs, '\n');
        size_t column = 0;
        while (words.bytes) {
            Slice word = slice_cut(&words, ' ');
            if (column && column + 1 + word.bytes > width) {
                buf_add_char(out, '\n');
                column = 0;
            }
            spaces(out, column ? 1 : indent);
            buf_add_slice(out, word);
            column = (column ? column + 1 : indent) + word.bytes;
        }
        buf_add_char(out, '\n');
    }
}

void help_option_name(const Option *option, Buf *out)
{
    if (option->letter)
        buf_printf(out, "-%c, ", option->letter);
    buf_printf(out, "--%s", option->name);
    if (option->value)
        buf_printf(out, " %s", option->value);
}

static void add_options(const Option *option, Buf *out)
{
    for (; option->name; option++) {
        Buf name = { 0 };
        Buf help = { 0 };
        help_option_name(option, &name);
        help_wrap(&help, option->help, OPTION_WIDTH, WIDTH);
        spaces(out, 2);
        buf_add_slice(out, buf_slice(&name));
        /* The help text stands beside the name where there is room, else below it. */
        size_t used = 2 + name.bytes;
        if (used < OPTION_WIDTH - 1)
            buf_add(out, help.data + used, help.bytes - used);
        else
            buf_printf(out, "\n%s", buf_cstr(&help));
        buf_done(&name);
        buf_done(&help);
    }
}

static void add_lines(const char *lines, size_t indent, Buf *out)
{
    Slice rest = slice_text(lines);
    while (rest.bytes) {
        Slice line = slice_cut(&rest, '\n');
        spaces(out, indent);
        buf_add_slice(out, line);
        buf_add_char(out, '\n');
    }
}

static void add_title(const Term *term, const char *title, Buf *out)
{
    buf_printf(out, "\n%s%s%s\n", term_on(term, COLOUR_BOLD), title,
               term_off(term, COLOUR_BOLD));
}

void help_command(const Command *command, const Term *term, Buf *out)
{
    add_lines(command->example, 2, out);
    buf_printf(out, "\npawl %s - %s\n", command->name, command->summary);
    buf_printf(out, "usage: pawl %s%s%s\n", command->name, *command->usage ? " " : "",
               command->usage);
    if (command->detail) {
        buf_add_char(out, '\n');
        help_wrap(out, command->detail, 0, WIDTH);
    }
    if (command->options[0])
        add_title(term, "options", out);
    for (size_t i = 0; command->options[i]; i++)
        add_options(command->options[i], out);
    add_title(term, "options of every command", out);
    add_options(global_options, out);
}

/* Actions on jobs stand together: so the overview fits a screen. Returns the last. */
static const Command *add_actions(const Command *command, Buf *out)
{
    for (buf_add_char(out, ' '); command->run == cmd_act; command++)
        buf_printf(out, " %s", command->name);
    buf_printf(out, "\n%14sact on jobs, by id or --match QUERY\n", "");
    return command - 1;
}

void help_overview(const Term *term, Buf *out)
{
    buf_add_text(out,
                 "  pawl run --wait -- echo hello     queue a command and wait for it\n"
                 "  pawl ls                           list jobs\n");
    add_title(term, "usage: pawl COMMAND [options]", out);
    for (const Command *command = commands; command->name; command++)
        if (command->run == cmd_act)
            command = add_actions(command, out);
        else if (!command->hidden)
            buf_printf(out, "  %-12s%s\n", command->name, command->summary);
    add_title(term, "topics", out);
    for (const Topic *topic = help_topics; topic->name; topic++)
        buf_printf(out, "  %s", topic->name);
    buf_add_text(out, "\n\nMore: pawl COMMAND --help, pawl help TOPIC\n");
}

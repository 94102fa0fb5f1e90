/* SPDX-License-Identifier: Apache-2.0 */
/* transfer.c - see transfer.h.
 *
 * The scripts take everything as arguments, so that no name can become code. */
#include "pipeline/forward/transfer.h"

#include "core/job.h"

#include <stdio.h>

/* $1 directory or name of the processor, $2 unit, $3 "sender delivery", $4 "sender ".
 * Prints `delivered`, or the input directory to send to. */
#define PREPARE                                                                          \
    "case $1 in /*) d=$1;; *) "                                                          \
    "d=${PAWL_DATA:-${XDG_STATE_HOME:-$HOME/.local/state}/pawl}/processors/$1;; esac\n"  \
    "cd -- \"$d/input\" && [ -d receive ] && [ -d work ] || {\n"                         \
    "  echo \"$d is not the directory of a processor\" >&2; exit 66; }\n"                \
    "mkdir -p ../.pawl/arrived || exit 66\n"                                             \
    "has() { [ -e \"$1\" ] || [ -L \"$1\" ]; }\n"                                        \
    "a=../.pawl/arrived/$2\n"                                                            \
    "was=$(readlink \"$a\" || cat \"$a\" 2>/dev/null)\n"                                 \
    "there=\n"                                                                           \
    "for b in active processed failed; do has \"$b/$2\" && there=input/$b; done\n"       \
    "has \"work/$2\" && waits=1 || waits=\n"                                             \
    "if [ \"$was\" = \"$3\" ]; then\n"                                                   \
    "  if [ -n \"$there$waits\" ] || ! has \"receive/$2\"; then\n"                       \
    "    echo delivered; exit 0; fi\n"                                                   \
    "fi\n"                                                                               \
    "case $was in \"$4\"*) own=1;; *) own=;; esac\n"                                     \
    "[ -n \"$waits\" ] && [ -z \"$own\" ] && there=input/work\n"                         \
    "if [ -n \"$there\" ]; then\n"                                                       \
    "  echo \"there is already a unit of this name in $d/$there\" >&2; exit 73; fi\n"    \
    "rm -f -- \"../.pawl/arrived/$2\" && sync ../.pawl/arrived || exit 1\n"              \
    "if [ -n \"$waits\" ]; then\n"                                                       \
    "  rm -rf -- \"receive/$2\" && mv -T -- \"work/$2\" \"receive/$2\" || exit 1; fi\n"  \
    "pwd -P\n"

#define COMMIT                                                                           \
    "case $1 in /*) d=$1;; *) "                                                          \
    "d=${PAWL_DATA:-${XDG_STATE_HOME:-$HOME/.local/state}/pawl}/processors/$1;; esac\n"  \
    "cd -- \"$d/input\" || exit 66\n"                                                    \
    "n=../.pawl/arriving.$$\n"                                                           \
    "printf %s \"$3\" > \"$n\" && sync \"$n\" && "                                       \
    "mv -fT -- \"$n\" \"../.pawl/arrived/$2\" && sync ../.pawl/arrived || exit 1\n"      \
    "mv -nT -- \"receive/$2\" \"work/$2\"\n"                                             \
    "if [ -e \"receive/$2\" ] || [ -L \"receive/$2\" ]; then\n"                          \
    "  rm -f -- \"../.pawl/arrived/$2\"\n"                                               \
    "  echo \"there is already a unit of this name in $d/input/work\" >&2; exit 73; "    \
    "fi\n"                                                                               \
    "sync work receive\n"

/* Arguments of all: $1 unit, $2 key, $3 delivery, $4 source path, $5 sender, $6 address,
 * $7 host, $8 quoted arguments for the other side, $9 ssh, ${10} bandwidth;
 * ${11} and ${12} are the scripts above. */
#define BEGIN                                                                            \
    "unit=$1 source=$4 record=\"$5 $3\"\n"                                               \
    "[ -e \"$source\" ] || { echo \"the unit is gone\" >&2; exit 74; }\n"

static const char ssh_script[] = BEGIN
    "command -v rsync >/dev/null || { echo 'rsync is not installed' >&2; exit 69; }\n"
    "ssh=$9\n"
    "command -v ${ssh%% *} >/dev/null || { echo 'ssh is not installed' >&2; exit 69; }\n"
    "limit=${10}\n"
    "far() { printf %s \"$1\" | $ssh \"$2\" \"sh -s -- $3\"; }\n"
    "to=$(far \"${11}\" \"$7\" \"$8\") || exit\n"
    "[ \"$to\" = delivered ] && exit 0\n"
    "rsync -a -s --delete --force --no-owner --no-group --no-devices --no-specials "
    "--fsync ${limit:+--bwlimit=$limit} --timeout=120 -e \"$ssh\" -- \"$source\" "
    "\"$7:$to/receive/\" || exit\n"
    "far \"${12}\" \"$7\" \"$8\"\n";

static const char daemon_script[] = BEGIN
    "command -v rsync >/dev/null || { echo 'rsync is not installed' >&2; exit 69; }\n"
    "limit=${10}\n"
    "send() { rsync -a --no-owner --no-group --no-devices --no-specials --fsync "
    "${limit:+--bwlimit=$limit} --timeout=120 --contimeout=30 \"$@\"; }\n"
    "mkdir -p \"$PAWL_TEMP_DIR/begun\" \"$PAWL_TEMP_DIR/whole\" || exit\n"
    "printf begun > \"$PAWL_TEMP_DIR/begun/$unit\" || exit\n"
    "printf %s \"$record\" > \"$PAWL_TEMP_DIR/whole/$unit\" || exit\n"
    "send -I -- \"$PAWL_TEMP_DIR/begun/$unit\" \"$6/input/receive/.arrived/\" || exit\n"
    "send --delete --force --copy-dest=../work -- \"$source\" \"$6/input/receive/\" "
    "|| exit\n"
    "send -I -- \"$PAWL_TEMP_DIR/whole/$unit\" \"$6/input/receive/.arrived/\"\n";

#define FIXED_WORDS 4 /* /bin/sh -c SCRIPT pawl-forward */

void shell_quote(Buf *out, Slice text)
{
    buf_add_char(out, '\'');
    for (size_t i = 0; i < text.bytes; i++) {
        if (text.data[i] == '\'')
            buf_add_text(out, "'\\''");
        else
            buf_add_char(out, text.data[i]);
    }
    buf_add_char(out, '\'');
}

static void add_word(Buf *out, Slice word)
{
    buf_add_slice(out, word);
    buf_add_char(out, '\0');
}

/* The four arguments of PREPARE and COMMIT, quoted for the shell over there. */
static void add_far_arguments(Buf *out, const TransferOrder *order)
{
    Buf text = { 0 };
    shell_quote(out, order->place->path);
    buf_add_char(out, ' ');
    shell_quote(out, slice_text(order->unit));
    buf_add_char(out, ' ');
    buf_printf(&text, "%s %s", order->sender, order->delivery);
    shell_quote(out, buf_slice(&text));
    buf_add_char(out, ' ');
    buf_clear(&text);
    buf_printf(&text, "%s ", order->sender);
    shell_quote(out, buf_slice(&text));
    buf_done(&text);
}

static const char *script_of(PlaceKind kind)
{
    switch (kind) {
    case PLACE_LOCAL: /* copy_unit.h */
    case PLACE_SSH:
        return ssh_script;
    case PLACE_RSYNC:
        return daemon_script;
    }
    return ssh_script;
}

void transfer_command(Buf *out, const TransferOrder *order)
{
    const Place *place = order->place;
    Buf far = { 0 };
    char bandwidth[24] = "";
    if (order->forward->bandwidth)
        snprintf(bandwidth, sizeof bandwidth, "%lld",
                 (long long)order->forward->bandwidth);
    add_far_arguments(&far, order);
    const Slice words[] = {
        SLICE_LITERAL("/bin/sh"),
        SLICE_LITERAL("-c"),
        slice_text(script_of(place->kind)),
        SLICE_LITERAL("pawl-forward"),
        slice_text(order->unit),
        slice_text(place->key),
        slice_text(order->delivery),
        slice_text(order->source),
        slice_text(order->sender),
        place->path,
        place->host,
        buf_slice(&far),
        order->forward->ssh.bytes ? order->forward->ssh : SLICE_LITERAL("ssh"),
        slice_text(bandwidth),
        SLICE_LITERAL(PREPARE),
        SLICE_LITERAL(COMMIT),
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        add_word(out, words[i]);
    buf_done(&far);
}

bool transfer_parse(Slice command, Slice *out_unit, Slice *out_key, Slice *out_delivery)
{
    Slice words[FIXED_WORDS + 3];
    for (size_t i = 0; i < FIXED_WORDS + 3; i++)
        if (!list_next(&command, &words[i]))
            return false;
    if (!slice_is(words[FIXED_WORDS - 1], "pawl-forward"))
        return false;
    *out_unit = words[FIXED_WORDS];
    *out_key = words[FIXED_WORDS + 1];
    *out_delivery = words[FIXED_WORDS + 2];
    return true;
}

const char *transfer_problem(int exit_status)
{
    switch ((TransferExit)exit_status) {
    case TRANSFER_NO_PLACE:
        return "the destination is not there, or no directory of a processor";
    case TRANSFER_NO_PROGRAM:
        return "rsync or ssh is not installed here";
    case TRANSFER_CLASH:
        return "the destination has a unit of this name already";
    }
    return "the transfer failed";
}

# SPDX-License-Identifier: Apache-2.0
"""witness - jobs that write down themselves that they ran.

One shell per job, no other process: it appends "S id attempt marker seconds" to the
witness file when it begins and "E id attempt marker status seconds" when it ends, each in
one write, and says its result on standard output. The seconds are the boot clock's.
"""
import pathlib

from lib.history import AGAIN

# $1 witness file, $2 marker, $3 exit status, $4 seconds to sleep
SCRIPT = """\
read -r now rest </proc/uptime
echo "S $PAWL_JOB_ID $PAWL_ATTEMPT $2 $now" >>"$1"
[ "$4" = 0 ] || sleep "$4"
status=$3
if [ "$status" = 75 ] && [ $((PAWL_ATTEMPT % 2)) = 0 ]; then status=0; fi
[ "$status" != 0 ] || echo "R: 200 $2.$PAWL_ATTEMPT"
read -r now rest </proc/uptime
echo "E $PAWL_JOB_ID $PAWL_ATTEMPT $2 $status $now" >>"$1"
exit "$status"
"""

KINDS = ("ok", "ok", "ok", "ok", "fail", "error", "flaky")
STATUS = {"ok": 0, "fail": 65, "error": 3, "flaky": AGAIN}


class Witness:
    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.path.touch()

    def lines(self):
        return self.path.read_text().splitlines()

    def job(self, marker, kind="ok", seconds=0, **fields):
        """The object to submit. Its name is the marker, so that it can be found again."""
        job = {"name": marker, "protocol": True,
               "command": ["/bin/sh", "-c", SCRIPT, "sh", str(self.path), marker,
                           str(STATUS[kind]), str(seconds)]}
        if kind == "error":
            job["max_retries"] = 0
        if kind == "flaky":
            job["retry_delay"] = 0.02
        return {**job, **fields}

# SPDX-License-Identifier: Apache-2.0
"""Jobs that run as another account: who may be named, what such a job is and gets, and
that nothing of root's is left to it. The accounts `nobody` and `daemon` exist on every
Debian; switching needs root."""
import grp
import json
import os
import pathlib
import pwd
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import wait_for       # noqa: E402
from lib.daemon import Place       # noqa: E402

SECONDS = 120
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="switching accounts needs root")

SEEN = """
import json, os, sys
def may(path, how):
    try:
        return os.access(path, how)
    except OSError:
        return False
e = os.environ
data = e["PAWL_JOB_FILE"].rsplit("/run/", 1)[0]
names = ["pawl.db", "journal", "logs", "identity", "drop", "pawl.sock", "launch.sock", "run",
         "launch.pids", "pawl.lock", "state"]
open(e["PAWL_TEMP_DIR"] + "/mine", "w").write("x")
if "PAWL_STATE_DIR" in e:
    open(e["PAWL_STATE_DIR"] + "/kept", "a").write("x")
print(json.dumps({
    "uid": os.getresuid(), "gid": os.getresgid(), "groups": sorted(os.getgroups()),
    "home": e.get("HOME"), "user": e.get("USER"), "logname": e.get("LOGNAME"),
    "cwd": os.getcwd(), "stdin": sys.stdin.read(),
    "document": len(open(e["PAWL_JOB_FILE"]).read()),
    "document_writable": may(e["PAWL_JOB_FILE"], os.W_OK),
    "run_writable": may(os.path.dirname(e["PAWL_JOB_FILE"]), os.W_OK),
    "readable": [name for name in names if may(data + "/" + name, os.R_OK)],
    "writable": [name for name in names if may(data + "/" + name, os.W_OK)],
    "fds": sorted(int(fd) for fd in os.listdir("/proc/self/fd") if int(fd) > 2)[:-1],
    "caps": [line.split()[1] for line in open("/proc/self/status")
             if line.startswith(("CapEff", "CapPrm"))],
}))
"""


class Home:
    def __init__(self, place):
        place.path.chmod(0o755) # the way to the data directory is the administrator's
        self.policy = place.path / "users"
        self.path = place.path
        env = {"PAWL_USERS_FILE": str(self.policy), "PATH": "/usr/bin:/bin"}
        self.node = place.daemon("--slots", "4", env=env)

    def start(self):
        self.node.start()
        self.api = self.node.api()
        return self

    def allow(self, text, mode=0o644):
        self.policy.write_text(text)
        self.policy.chmod(mode)

    def refused(self, words, **fields):
        problem = self.api.add(status=422, command=["id"], **fields)
        assert problem["code"] == "run_as_not_allowed", problem
        assert words in problem["detail"], problem

    def run(self, **fields):
        job = self.api.add(**fields)
        return self.api.until(job["id"], seconds=SECONDS)


@pytest.fixture
def home():
    with Place() as place:
        yield Home(place).start()


def account(name):
    found = pwd.getpwnam(name)
    groups = {group.gr_gid for group in grp.getgrall() if name in group.gr_mem}
    return found, sorted(groups | {found.pw_gid})


def test_naming_root_is_never_allowed(home):
    """S0.20: by name or number, whatever the policy says; root's daemon or not."""
    home.allow("*: root 0 toor nobody\n")
    for user in ("root", "0", "00"):
        home.refused("never", user=user)
    for entry in pwd.getpwall(): # other names for uid 0, where there are some
        if entry.pw_uid == 0:
            home.refused("never", user=entry.pw_name)


@needs_root
def test_only_what_the_policy_allows_is_taken(home):
    """S0.21: refused at submission with a clear reason; checked anew each time."""
    home.refused("no policy file", user="nobody")
    home.allow("default: daemon\nacme: nobody\n")
    home.refused("does not allow", user="nobody")
    home.refused("no such account", user="no-such-account")
    home.api.add(command=["true"], user="nobody", tenant="acme")
    home.api.add(command=["true"], user="daemon")
    home.api.add(command=["true"], user=str(pwd.getpwnam("daemon").pw_uid))
    home.allow("default: daemon\n", mode=0o666)
    home.refused("not to be trusted", user="daemon")
    home.allow("this makes no sense\n")
    home.refused("not to be trusted", user="daemon")
    os.chown(home.policy, pwd.getpwnam("nobody").pw_uid, 0)
    home.refused("not to be trusted", user="daemon")


@pytest.mark.skipif(os.geteuid() == 0, reason="we are root")
def test_a_daemon_that_is_not_root_refuses(home):
    home.allow("*: nobody\n")
    home.refused("does not run as root", user="nobody")


@needs_root
@pytest.mark.parametrize("name", ["nobody", "daemon"])
def test_a_job_is_that_account_and_nothing_more(home, name):
    """S0.20, S0.55: uid, gid, groups, HOME and USER; its folders are its own; nothing of
    the daemon's can be read or written."""
    home.allow(f"default: {name}\n")
    job = home.run(command=["/usr/bin/python3", "-c", SEEN], user=name, payload="hello",
                   keep_state=True)
    assert job["state"] == "done", (job, home.api.log(job["id"], stream="stderr"))
    assert job["user"] == name
    seen = json.loads(home.api.log(job["id"]))
    entry, groups = account(name)
    assert seen["uid"] == [entry.pw_uid] * 3 and seen["gid"] == [entry.pw_gid] * 3
    assert seen["groups"] == groups
    assert seen["home"] == entry.pw_dir and seen["user"] == seen["logname"] == name
    assert seen["cwd"] == (entry.pw_dir if os.path.isdir(entry.pw_dir) else "/")
    assert seen["stdin"] == "hello\n" and seen["document"] > 10
    assert not seen["document_writable"] and not seen["run_writable"]
    assert not seen["readable"] and not seen["writable"]
    assert not seen["fds"]
    assert all(int(caps, 16) == 0 for caps in seen["caps"])
    kept = home.node.data / "state" / job["id"]
    assert kept.stat().st_uid == entry.pw_uid and kept.stat().st_mode & 0o777 == 0o700
    assert (kept / "kept").read_text() == "x"
    wait_for(lambda: not any((home.node.data / "run").glob(f"{job['id']}.*")), SECONDS)


@needs_root
def test_one_account_does_not_see_what_another_keeps(home):
    home.allow("default: nobody daemon\n")
    first = home.api.add(user="daemon", keep_state=True, command=[
        "sh", "-c", 'echo secret > "$PAWL_TEMP_DIR/s"; echo secret > "$PAWL_STATE_DIR/s"; '
                    'echo "$PAWL_TEMP_DIR $PAWL_STATE_DIR $PAWL_JOB_FILE"; '
                    f'while [ ! -e {home.path}/go ]; do sleep 0.05; done'])
    paths = wait_for(lambda: home.api.log(first["id"]).decode().split(), SECONDS)
    look = "; ".join(f'cat "{path}/s" "{path}"; ls "{path}/"; touch "{path}/mine"'
                     for path in paths)
    second = home.run(user="nobody", command=["sh", "-c", f"({look}) 2>/dev/null; exit 0"])
    assert second["state"] == "done"
    assert home.api.log(second["id"]) == b""
    (home.path / "go").touch()
    assert home.api.until(first["id"], seconds=SECONDS)["state"] == "done"


@needs_root
def test_the_launcher_has_the_last_word(home):
    """S0.21: what was allowed when the job came may not be when it starts."""
    home.allow("default: nobody\n")
    job = home.api.add(command=["true"], user="nobody", held=True)
    home.policy.unlink()
    home.api.act(job["id"], "release")
    job = home.api.until(job["id"], seconds=SECONDS)
    assert job["state"] == "rejected" and job["exitcode"] == 503
    assert "user nobody" in job["error"], job
    home.allow("default: nobody\n")
    home.api.act(job["id"], "retry")
    assert home.api.until(job["id"], seconds=SECONDS)["state"] == "done"


@needs_root
def test_failures_to_start_are_told_as_ever(home):
    home.allow("default: nobody\n")
    job = home.run(command=["/no/such/program"], user="nobody")
    assert job["exitcode"] == 503 and "No such file" in job["error"]
    job = home.run(command=["true"], user="nobody", cwd="/root")
    assert job["exitcode"] == 503 and "/root" in job["error"]
    job = home.run(command=["sh", "-c", "exit 7"], user="nobody")
    assert job["exit_status"] == 7


@needs_root
def test_such_a_job_is_stopped_and_paused_as_any_other(home):
    home.allow("default: nobody\n")
    job = home.api.add(command=["sh", "-c", "sleep 600 & wait"], user="nobody")
    home.api.until(job["id"], "running", SECONDS)
    home.api.act(job["id"], "pause")
    home.api.until(job["id"], "paused", SECONDS)
    home.api.act(job["id"], "kill")
    assert home.api.until(job["id"], seconds=SECONDS)["state"] == "cancelled"
    wait_for(lambda: not home.node.jobs(), SECONDS)


@needs_root
def test_a_handler_may_name_the_account_of_its_jobs(home):
    home.allow("default: nobody\n")
    body = {"lang": "sh", "body": "id -un", "user": "daemon"}
    answer = home.api.request("PUT", "/handlers/who", body)
    assert answer.status == 422 and answer.json()["code"] == "run_as_not_allowed", answer
    answer = home.api.request("PUT", "/handlers/who", {**body, "user": "nobody"})
    assert answer.status == 201 and answer.json()["user"] == "nobody", answer
    job = home.run(type="who")
    assert job["state"] == "done" and job["user"] == "nobody"
    assert home.api.log(job["id"]) == b"nobody\n"
    answer = home.api.request("PUT", "/handlers/who", {"lang": "pull", "user": "nobody"})
    assert answer.status == 422, answer


@needs_root
def test_a_warm_context_is_its_users_own(home):
    """Jobs of one handler that name different accounts do not share a process."""
    home.allow("default: nobody daemon\n")
    body = ("import os\n"
            "open(os.environ['PAWL_TEMP_DIR'] + '/mine', 'w').write('x')\n"
            "return '%d %d' % (os.getpid(), os.getuid())")
    answer = home.api.request("PUT", "/handlers/warm", {"lang": "python", "body": body})
    assert answer.status == 201, answer
    seen = {}
    for user in ("nobody", "daemon", "nobody"):
        job = home.run(type="warm", user=user)
        assert job["state"] == "done", job
        answer = home.api.request("GET", f"/jobs/{job['id']}/result")
        pid, uid = answer.body.decode().split()
        assert int(uid) == pwd.getpwnam(user).pw_uid
        seen.setdefault(user, set()).add(pid)
    assert not seen["nobody"] & seen["daemon"]
    home.allow("default: daemon\n")
    home.refused("does not allow", user="nobody")


@needs_root
def test_a_control_file_may_name_the_account(home):
    """S0.22, S0.55: <user>, subject to the list."""
    home.allow("default: nobody\n")
    module = home.path / "who"
    module.write_text('#!/bin/sh\nid -un > "$PAWL_TEMP_DIR/x"; cat "$PAWL_TEMP_DIR/x"\n')
    module.chmod(0o755)

    def post(user):
        text = (f'<batch-job xmlns="urn://batch-master"><module>who</module><modules-root>'
                f"{home.path}</modules-root><user>{user}</user></batch-job>")
        return home.api.request("POST", "/jobs?wait=PT60S", text.encode(),
                                {"Content-Type": "application/xml"})
    answer = post("nobody")
    assert answer.status == 200 and answer.json()["result"] == "nobody\n", answer
    assert post("daemon").status == 422
    assert post("root").status == 422


@needs_root
def test_jobs_of_another_account_survive_the_daemon(home):
    home.allow("default: nobody\n")
    job = home.api.add(user="nobody", command=[
        "sh", "-c", f"while [ ! -e {home.path}/go ]; do sleep 0.05; done; id -un"])
    home.api.until(job["id"], "running", SECONDS)
    wait_for(home.node.jobs, SECONDS)
    home.node.restart()
    home.api = home.node.api()
    (home.path / "go").touch()
    job = home.api.until(job["id"], seconds=SECONDS)
    assert job["state"] == "done" and job["attempt"] == 1
    assert home.api.log(job["id"]) == b"nobody\n"

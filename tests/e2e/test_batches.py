# SPDX-License-Identifier: Apache-2.0
"""Batches against a real daemon: many jobs through one process, in order, fairly, and
what a shell makes of a whole batch."""
import pathlib
import sys
import uuid

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib.api import wait_for               # noqa: E402
from lib.daemon import Place               # noqa: E402

SECONDS = 120
PATH = "/usr/local/bin:/usr/bin:/bin"
FINAL = ("done", "failed", "rejected", "cancelled")


@pytest.fixture(scope="module")
def home():
    with Place() as place:
        yield place


@pytest.fixture(scope="module")
def node(home):
    return home.daemon("--slots", "1", "--set", "daemon.grace=500ms",
                       "--set", "contexts.jobs=1000000", env={"PATH": PATH}).start()


class Tenant:
    """A tenant of the test's own, so that tests do not see each other."""

    def __init__(self, node):
        self.node, self.api = node, node.api(SECONDS)
        self.name = self.api.tenant = "t" + uuid.uuid4().hex[:10]

    def set(self, type, lang, body, **fields):
        answer = self.api.request("PUT", f"/handlers/{type}?tenant={self.name}",
                                  {"lang": lang, "body": body, **fields})
        assert answer.status in (200, 201), answer

    def lines(self, type, payloads, query=""):
        answer = self.api.request("POST", f"//{self.name}/job/{type}/add{query}",
                                  "".join(line + "\n" for line in payloads).encode())
        assert answer.status == 200, answer
        return answer.json()["ids"]

    def job(self, id):
        return self.api.job(f"{id}?tenant={self.name}")

    def until(self, id, *states):
        def there():
            job = self.job(id)
            return job if job["state"] in (states or FINAL) else None
        return wait_for(there, SECONDS, lambda: f"{self.job(id)}\n{self.node.tail()}")

    def result(self, id):
        answer = self.api.request("GET", f"/jobs/{id}/result?tenant={self.name}")
        assert answer.status == 200, answer
        return answer.body.decode()

    def count(self, **query):
        text = "&".join(f"{name}={value}" for name, value in query.items())
        return len(self.api.get(f"/jobs?tenant={self.name}&limit=1000&{text}")["items"])


@pytest.fixture
def mine(node):
    return Tenant(node)


def hold_the_slot(tenant, home):
    """A job that keeps the only slot until the returned function is called: what is added
    meanwhile is all there when the next pass looks."""
    gate = home.path / uuid.uuid4().hex
    tenant.set("gate", "sh", f"while [ ! -e {gate} ]; do sleep 0.05; done")
    tenant.until(tenant.lines("gate", ["x"])[0], "running")
    return gate.touch


def test_thousands_of_lines_run_in_order_each_once(mine, home):
    """S2.36, S2.41, S2.86: small batches, every job once, in the order they came."""
    witness = home.path / uuid.uuid4().hex
    mine.set("t", "python", "out.write(payload + '\\n')",
             before=f"out = open({str(witness)!r}, 'a', buffering=1)")
    count = 5000
    ids = mine.lines("t", [str(n) for n in range(count)])
    assert len(set(ids)) == count
    mine.until(ids[-1], "done")
    wait_for(lambda: mine.count(state="ready,running") == 0, SECONDS)
    assert witness.read_text().split() == [str(n) for n in range(count)]
    assert mine.job(ids[count // 2])["attempt"] == 1


def test_priority_holds_while_a_context_is_busy(mine, home):
    """S2.46: a warm context takes more of its own type, but never what others should
    have had first."""
    witness = home.path / uuid.uuid4().hex
    gate = home.path / uuid.uuid4().hex
    mine.set("t", "python", f"""
import os, time
while payload == "wait" and not os.path.exists({str(gate)!r}): time.sleep(0.01)
with open({str(witness)!r}, "a") as out: out.write(payload + "\\n")""")
    first = mine.lines("t", ["wait"])[0]
    mine.until(first, "running")
    low = mine.lines("t", ["low"] * 20, "?priority=1")
    high = mine.lines("t", ["high"] * 20, "?priority=9")
    gate.touch()
    for id in low + high:
        mine.until(id, "done")
    order = witness.read_text().split()
    assert order[0] == "wait" and sorted(order[1:]) == ["high"] * 20 + ["low"] * 20
    assert order.index("low", 1) > 20 - 5, order # a few may have been in its hands


def test_two_tenants_get_the_same_share_of_one_slot(node, home):
    """S2.30: fairness counts jobs, whoever's context is warm."""
    one, two = Tenant(node), Tenant(node)
    for tenant in (one, two):
        tenant.set("t", "python", "return payload")
    release = hold_the_slot(one, home)
    ids = {tenant: tenant.lines("t", [str(n) for n in range(600)]) for tenant in (one, two)}
    release()
    wait_for(lambda: all(t.count(state="done", type="t") == 600 for t in (one, two)), SECONDS)
    ends = sorted((job["finished_at"], t is one) for t in (one, two) for job in node.api().request(
        "GET", f"/jobs?tenant={t.name}&type=t&limit=1000").json()["items"])
    first = sum(mine for _, mine in ends[:600])
    assert abs(first - (600 - first)) <= 300, first
    for tenant in (one, two):
        tenant.until(ids[tenant][-1], "done")


@pytest.mark.parametrize("lang", ["sh", "bash"])
def test_a_shell_gets_the_payloads_of_a_batch_as_lines(mine, home, lang):
    """S2.42: one process for the batch; its outcome is that of every job."""
    release = hold_the_slot(mine, home)
    mine.set("t", lang, "echo log $$; sort -r > /dev/null; echo 'J: child|x'; "
                        "echo \"R: 200 pid $$\"", batch=100)
    ids = mine.lines("t", [f"line {n}" for n in range(30)])
    release()
    jobs = [mine.until(id) for id in ids]
    assert {job["state"] for job in jobs} == {"done"}
    pids = {mine.result(id) for id in ids}
    assert len(pids) == 1, "one process"
    log = mine.api.log(ids[0], tenant=mine.name).decode()
    assert log.startswith("log ") and "R: 200 pid" in log
    wait_for(lambda: mine.count(type="child") == 1, SECONDS)


def test_a_shell_that_fails_fails_its_whole_batch(mine):
    mine.set("t", "sh", "cat > /dev/null; exit 65", batch=10)
    jobs = [mine.until(id) for id in mine.lines("t", ["a", "b", "c"])]
    assert {(job["state"], job["exitcode"], job["exit_status"]) for job in jobs} == {
        ("failed", 465, 65)}
    mine.set("u", "sh", "cat > /dev/null; exit 3", batch=10, exit_map={"3": 404})
    assert mine.until(mine.lines("u", ["a"])[0])["exitcode"] == 404


def test_a_line_over_the_limit_and_a_line_with_nul(home):
    """S2.8, S2.76: refused with its number, and nothing of the request is lost or torn."""
    node = home.daemon("--slots", "1", "--set", "limits.payload=64K",
                       data=home.path / "small", env={"PATH": PATH}).start()
    tenant = Tenant(node)
    tenant.set("t", "python", "return payload")
    answer = tenant.api.request("POST", f"//{tenant.name}/job/t/add",
                                b"small\n" + b"x" * 70000 + b"\n")
    assert answer.status == 413 and answer.json()["code"] == "payload_too_large", answer
    id = tenant.lines("t", ["a\0b"])[0]
    tenant.until(id, "done")
    assert tenant.result(id) == "a\0b"
    assert tenant.count(state="done") == 1
    node.stop()

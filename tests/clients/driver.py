# SPDX-License-Identifier: Apache-2.0
"""driver - the Python client, driven by scenarios.py: see there for what it is asked."""
import asyncio
import base64
import json
import os
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "clients/python"))

import pawl # noqa: E402  pylint: disable=wrong-import-position


def wait(job):
    job.progress(10, "waiting")
    while not os.path.exists(job.payload):
        time.sleep(0.02)
    return "waited"


def stoppable(job):
    job.progress(10, "until told")
    while not job.cancelled:
        time.sleep(0.02)
    pathlib.Path(job.payload).touch()


def fail(job):
    raise pawl.Fail("no such thing")


def retry(job):
    if job.attempt == 1:
        raise pawl.Retry("not yet")
    return "second"


def snooze(job):
    if job.attempt == 1:
        raise pawl.Snooze(0.1, "later")
    return "woke"


def crash(job):
    raise ValueError("broken")


def child(job):
    job.add("echo", "of " + job.id, priority=7)


HANDLERS = {"upper": lambda job: job.payload.upper(), "echo": lambda job: job.payload,
            "number": lambda job: {"n": job.json()["n"] + 1}, "wait": wait,
            "stoppable": stoppable, "fail": fail, "retry": retry, "snooze": snooze,
            "crash": crash, "child": child}


def payload_of(ask):
    return base64.b64decode(ask["base64"]) if "base64" in ask else \
        ask["json"] if "json" in ask else ask.get("text")


def value_of(value):
    return None if value is None else {"text": value} if isinstance(value, str) else \
        {"base64": base64.b64encode(value).decode()}


def shown(job):
    return {"id": job["id"], "state": job["state"], "error": job["error"],
            "attempt": job["attempt"], "payload": value_of(job["payload"]),
            "result": value_of(job.get("result"))}


def answer(state, ask):
    client = state.get("client")
    if ask["do"] == "open":
        state["client"] = pawl.Client(ask["url"], ask.get("token"), ask.get("tenant"),
                                      retry_for=ask.get("retry_for", 30),
                                      keyless=ask.get("keyless", False))
        state["worker"] = pawl.Worker(state["client"], HANDLERS)
        return None
    if ask["do"] == "add":
        return client.add(ask["type"], payload_of(ask), ask.get("key"), **ask.get("fields", {}))
    if ask["do"] == "add_many":
        return client.add_many([{"type": job["type"], "payload": payload_of(job),
                                 **job.get("fields", {})} for job in ask["jobs"]])
    if ask["do"] == "get":
        return shown(client.get(ask["id"]))
    if ask["do"] == "wait":
        return shown(client.wait(ask["id"], ask["timeout"]))
    if ask["do"] == "cancel":
        return client.cancel(ask["id"])["state"]
    return state["worker"].run() # "run": what waits in a fake


def obey(answer_to):
    for line in sys.stdin:
        try:
            said = {"ok": answer_to(json.loads(line))}
        except pawl.Error as why:
            said = {"error": {"code": why.code, "status": why.status, "ids": why.ids}}
        print(json.dumps(said), flush=True)


def main():
    if sys.argv[1] == "client":
        state = {}
        obey(lambda ask: answer(state, ask))
    else:
        ask = json.loads(sys.argv[2])
        pawl.Worker(pawl.Client(ask["url"], tenant=ask["tenant"]), HANDLERS,
                    ask["concurrency"], lease=ask["lease"], poll=0.5).run()


# --- asyncio ---------------------------------------------------------------------------

async def async_wait(job):
    job.progress(10, "waiting")
    while not os.path.exists(job.payload):
        await asyncio.sleep(0.02)
    return "waited"


async def async_stoppable(job):
    job.progress(10, "until told")
    try:
        await asyncio.sleep(3600)
    finally: # the task is cancelled
        pathlib.Path(job.payload).touch()


def coroutine(handler):
    async def made(job):
        return handler(job)
    return made


ASYNC_HANDLERS = {**{type: coroutine(handler) for type, handler in HANDLERS.items()},
                  "wait": async_wait, "stoppable": async_stoppable}


async def async_answer(state, ask):
    client = state.get("client")
    if ask["do"] == "open":
        state["client"] = pawl.AsyncClient(ask["url"], ask.get("token"), ask.get("tenant"),
                                           retry_for=ask.get("retry_for", 30),
                                           keyless=ask.get("keyless", False))
        state["worker"] = pawl.AsyncWorker(state["client"], ASYNC_HANDLERS)
        return None
    if ask["do"] == "add":
        return await client.add(ask["type"], payload_of(ask), idempotency_key=ask.get("key"),
                                **ask.get("fields", {}))
    if ask["do"] == "add_many":
        return await client.add_many([{"type": job["type"], "payload": payload_of(job),
                                       **job.get("fields", {})} for job in ask["jobs"]])
    if ask["do"] == "get":
        return shown(await client.get(ask["id"]))
    if ask["do"] == "wait":
        return shown(await client.wait(ask["id"], ask["timeout"]))
    if ask["do"] == "cancel":
        return (await client.cancel(ask["id"]))["state"]
    return await state["worker"].run()


async def async_work(ask):
    await pawl.AsyncWorker(pawl.AsyncClient(ask["url"], tenant=ask["tenant"]), ASYNC_HANDLERS,
                           ask["concurrency"], lease=ask["lease"], poll=0.5).run()


def async_main():
    if sys.argv[1] == "client":
        loop, state = asyncio.new_event_loop(), {}
        obey(lambda ask: loop.run_until_complete(async_answer(state, ask)))
    else:
        asyncio.run(async_work(json.loads(sys.argv[2])))


if __name__ == "__main__":
    if sys.argv[1] == "asyncio":
        del sys.argv[1]
        async_main()
    else:
        main()

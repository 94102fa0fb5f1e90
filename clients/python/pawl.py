# SPDX-License-Identifier: Apache-2.0
"""pawl - add jobs to a pawl daemon and work on them. One file, standard library only.

    import pawl

    client = pawl.Client("http://127.0.0.1:7420")      # or https://HOST, unix:PATH
    id = client.add("mail", {"to": "ann"})             # text, bytes, or any JSON value
    print(client.wait(id)["result"])

    def mail(job):
        job.progress(50, "half")
        return "sent to " + job.json()["to"]

    pawl.Worker(client, {"mail": mail}, concurrency=4).run()    # until SIGTERM

An add is sent with a key of its own, so that it can be sent again after a lost answer
without adding twice. `AsyncClient` and `AsyncWorker` are the same for asyncio.
`Client("fake:")` keeps jobs in memory, `Client("inline:")` also runs them at once: for the
tests of your application.
"""
import asyncio
import base64
import concurrent.futures
import contextlib
import http.client
import json
import logging
import os
import random
import signal
import socket
import ssl
import threading
import time
import urllib.parse
import uuid

__all__ = ["Client", "Worker", "AsyncClient", "AsyncWorker", "Job", "Error", "Unreachable",
           "Retry", "Fail", "Snooze", "FINAL"]

VERSION = "0.2.0"
FINAL = ("done", "failed", "rejected", "cancelled")
AGAIN = (429, 502, 503, 504) # refused for now: nothing was done
PAUSE_MAX = 5                # seconds between two tries when the daemon names none

log = logging.getLogger("pawl")


# --- What can go wrong -----------------------------------------------------------------

class Error(Exception):
    """The daemon refused. `code` is a stable word such as `job_not_found`; `status` is
    that of HTTP, 0 if nobody answered. Of add_many: `ids` has None where a job was
    refused, and `errors` has (index, problem)."""

    def __init__(self, code, detail, status=0, hint=None, ids=None, errors=None):
        super().__init__(f"{detail} [{code}]" + (f": {hint}" if hint else ""))
        self.code, self.detail, self.status, self.hint = code, detail, status, hint
        self.ids, self.errors = ids or [], errors or []


class Unreachable(Error):
    """No answer. `sent` says that the request may have been carried out; `kept`, that it went
    over a connection that had been kept open, which the daemon may have hung up meanwhile."""

    def __init__(self, detail, sent, kept=False):
        super().__init__("daemon_unreachable", detail)
        self.sent, self.kept = sent, kept


class Outcome(Exception):
    """What a handler raises to end its job other than by a result or an error."""
    exitcode, after = 500, None


class Retry(Outcome):
    """Try the job again after its usual delay; counts as a try."""
    exitcode = 175


class Fail(Outcome):
    """Never try the job again."""
    exitcode = 400


class Snooze(Retry):
    """Not now: try again in `seconds`. Where the daemon knows `again_in` it costs no try
    and the time is kept; otherwise this is a Retry."""

    def __init__(self, seconds, why="snoozed"):
        super().__init__(why)
        self.after = seconds


# --- Values ------------------------------------------------------------------------------

def _put(fields, name, value):
    """Text as it is, bytes as base64, any other value as JSON text."""
    if isinstance(value, (bytes, bytearray)):
        fields[name + "_base64"] = base64.b64encode(value).decode()
    elif value is not None:
        fields[name] = value if isinstance(value, str) else json.dumps(value)


def _new_job(type, payload, fields): # pylint: disable=redefined-builtin
    made = {"type": type, **fields}
    _put(made, "payload", payload)
    return made


def _payload(fields):
    if fields.get("payload_base64") is not None:
        return base64.b64decode(fields["payload_base64"])
    return fields.get("payload")


def _text_or_bytes(data):
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


# --- The connection ------------------------------------------------------------------------

class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def _connector(url, timeout, context):
    """A function that makes a connection to the daemon at the URL."""
    if url.startswith("unix:"):
        path = url[5:]
        return lambda: _UnixConnection(path, timeout)
    parts = urllib.parse.urlsplit(url)
    if parts.scheme == "https":
        return lambda: http.client.HTTPSConnection(
            parts.hostname, parts.port or 443, timeout=timeout,
            context=context or ssl.create_default_context())
    if parts.scheme == "http":
        return lambda: http.client.HTTPConnection(parts.hostname, parts.port or 80,
                                                  timeout=timeout)
    raise ValueError(f"not http://, https://, unix:PATH, fake: or inline: {url!r}")


class _Http:
    """Sends requests, and again while that makes sense. One connection for each thread."""

    def __init__(self, connect, token, retry_for):
        self._connect, self._token, self.retry_for = connect, token, retry_for
        self._local = threading.local()

    def once(self, method, path, body, headers):
        """(status, headers, body) of one try."""
        conn = getattr(self._local, "conn", None)
        sent, kept = False, conn is not None
        try:
            if conn is None:
                conn = self._local.conn = self._connect()
                conn.connect()
            sent = True
            conn.request(method, path, body, headers)
            answer = conn.getresponse()
            return answer.status, answer.headers, answer.read()
        except (OSError, http.client.HTTPException) as why:
            self.close()
            raise Unreachable(f"no answer: {why or type(why).__name__}", sent, kept) from why

    def close(self):
        conn = getattr(self._local, "conn", None)
        self._local.conn = None
        if conn:
            conn.close()

    def call(self, method, path, body=None, key=None, repeat=True, retry_for=None, but=None):
        """(status, body). repeat: it may be sent again although it may have been done.
        but: a code with which it is not sent again, unless it may have been done."""
        headers = {"User-Agent": f"pawl-python/{VERSION}"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        if body is not None:
            headers["Content-Type"] = "application/json"
            body = json.dumps(body).encode()
        if path.startswith("/api/v1/jobs?") or path == "/api/v1/jobs":
            headers["Prefer"] = "return=minimal" # only its id is wanted
        if key:
            headers["Idempotency-Key"] = key
        retry_for = self.retry_for if retry_for is None else retry_for
        until, pause, done = time.monotonic() + retry_for, 0.05, False
        while True:
            if not repeat:
                self.close() # so that a connection that was hung up is not taken for a loss
            try:
                status, answered, data = self.once(method, path, body, headers)
                error, wait = _refusal(status, data), answered.get("Retry-After")
            except Unreachable as why:
                if why.sent and not repeat:
                    raise
                error, wait, done = why, None, done or why.sent
                if why.kept: # a new connection has none of its own
                    continue
            if error is None:
                return status, data
            if not _again(error) or (error.code == but and not done):
                raise error
            wait = float(wait) if wait and wait.isdigit() else pause * random.uniform(0.5, 1)
            if time.monotonic() + wait > until:
                raise error
            time.sleep(wait)
            pause = min(pause * 2, PAUSE_MAX)


def _refusal(status, data):
    """The Error that an answer tells, or None."""
    if status < 400:
        return None
    try:
        problem = json.loads(data)
    except ValueError:
        problem = {}
    if not isinstance(problem, dict):
        problem = {}
    return Error(problem.get("code", f"http_{status}"),
                 problem.get("detail") or problem.get("title") or f"status {status}",
                 status, problem.get("hint"))


def _again(error):
    return isinstance(error, Unreachable) or error.status in AGAIN or \
        error.code == "idempotency_in_progress"


# --- Adding and asking ------------------------------------------------------------------------

class Client:
    """Adds jobs and asks for them. May be shared by threads.

    url        http://HOST:PORT, https://HOST, unix:PATH, fake: or inline:
               (default: $PAWL_SERVER, else http://127.0.0.1:7420)
    token      a token of the daemon (default: $PAWL_TOKEN)
    tenant     whose jobs (default: the token's, else `default`)
    timeout    seconds for one answer
    retry_for  seconds during which a request that got no answer, or a 429 or 503, is sent
               again; `Retry-After` is obeyed
    keyless    True: where the daemon cannot take keys, because it is cut off from its
               store, add without one; a lost answer is then an error, not tried again
    context    an ssl.SSLContext of your own
    """

    def __new__(cls, url=None, *_, **__):
        url = url or os.environ.get("PAWL_SERVER", "")
        return object.__new__(_Fake if url in ("fake:", "inline:") else cls)

    def __init__(self, url=None, token=None, tenant=None, timeout=60, retry_for=30,
                 keyless=False, context=None):
        url = url or os.environ.get("PAWL_SERVER") or "http://127.0.0.1:7420"
        self.url, self.tenant, self.keyless = url, tenant, keyless
        self._http = _Http(_connector(url, timeout, context),
                           token or os.environ.get("PAWL_TOKEN"), retry_for)

    def close(self):
        """Closes the connection of this thread."""
        self._http.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _path(self, path):
        tenant = f"?tenant={urllib.parse.quote(self.tenant)}" if self.tenant else ""
        return "/api/v1" + path + tenant

    def add(self, type, payload=None, idempotency_key=None, **fields):
        """Adds a job; returns its id. fields: queue, priority, delay, max_retries, …"""
        body = _new_job(type, payload, fields)
        _, data = self._add(body, idempotency_key)
        return json.loads(data)["id"]

    def add_many(self, jobs, idempotency_key=None):
        """Adds many jobs in one request: dicts with `type`, `payload` and further fields.
        Returns their ids in order. If some were refused, raises Error with `ids` and
        `errors`; the others are added."""
        made = [_new_job(job["type"], job.get("payload"),
                         {k: v for k, v in job.items() if k not in ("type", "payload")})
                for job in jobs]
        if not made:
            return []
        _, data = self._add(made, idempotency_key)
        lines = [json.loads(line) for line in data.splitlines()]
        told = [line for line in lines if "line" in line]
        if len(told) != len(made):
            raise Unreachable("the answer is not whole", sent=True)
        errors = [(line["line"] - 1, line["error"]) for line in told if "error" in line]
        ids = [line.get("id") for line in told]
        if errors:
            raise Error(errors[0][1]["code"], f"{len(errors)} of {len(ids)} jobs were refused: "
                        f"{errors[0][1]['detail']}", 422, None, ids, errors)
        return ids

    def _add(self, body, key):
        try:
            return self._http.call("POST", self._path("/jobs"), body, key or str(uuid.uuid4()),
                                   but="store_unavailable" if self.keyless else None)
        except Error as why:
            if not self.keyless or why.code != "store_unavailable":
                raise
        return self._http.call("POST", self._path("/jobs"), body, repeat=False)

    def get(self, id):
        """The job: a dict with the fields of the reference, and `payload` as it was sent."""
        _, data = self._http.call("GET", self._path(f"/jobs/{id}"))
        job = json.loads(data)
        job["payload"] = _payload(job)
        return job

    def result(self, id):
        """The result of a job: text, or bytes if it is no text; None if there is none."""
        try:
            return _text_or_bytes(self._http.call("GET", self._path(f"/jobs/{id}/result"))[1])
        except Error as why:
            if why.code == "result_not_found":
                return None
            raise

    def wait(self, id, timeout=None):
        """Waits until the job is final; returns it with its `result`. Raises Error
        `timeout` when the seconds are over."""
        until = time.monotonic() + (float("inf") if timeout is None else timeout)
        pause = 0.02
        while True:
            job = self.get(id)
            if job["state"] in FINAL:
                job["result"] = self.result(id) if job["result_size"] else None
                return job
            left = until - time.monotonic()
            if left <= 0:
                raise Error("timeout", f"job {id} is still {job['state']}")
            time.sleep(min(pause, left))
            pause = min(pause * 1.5, 1)

    def cancel(self, id, reason=None):
        """Asks for the job's end; returns the job. One that is cancelled already stays so."""
        try:
            _, data = self._http.call("POST", self._path(f"/jobs/{id}/cancel"),
                                      {"reason": reason} if reason else {})
            return json.loads(data)
        except Error as why:
            if why.code == "invalid_state":
                job = self.get(id)
                if job["state"] == "cancelled" or job["cancelling"]:
                    return job
            raise

    # What the worker asks for.

    def _claim(self, what):
        status, data = self._http.call("POST", self._path("/claims"), what, retry_for=0)
        return json.loads(data)["jobs"] if status == 200 else []

    def _tell(self, what, items, retry_for=None):
        _, data = self._http.call("POST", self._path(f"/claims/{what}"), {"items": items},
                                  retry_for=retry_for)
        return [item["status"] for item in json.loads(data)["items"]]


class _Fake(Client):
    """Jobs in memory: `fake:` keeps them until a Worker runs, `inline:` runs them in add."""

    def __init__(self, url=None, *_, **__): # pylint: disable=super-init-not-called
        self.url = url or os.environ["PAWL_SERVER"]
        self.tenant, self.jobs, self.handlers = None, [], {}
        self._lock = threading.Lock()

    def close(self):
        pass

    def add(self, type, payload=None, idempotency_key=None, **fields):
        with self._lock:
            for job in self.jobs:
                if idempotency_key and job["key"] == idempotency_key:
                    return job["id"]
            job = {**fields, "id": f"{len(self.jobs) + 1:013d}", "type": type,
                   "payload": payload if isinstance(payload, (str, bytes, type_of(None)))
                   else json.dumps(payload), "key": idempotency_key, "state": "ready",
                   "attempt": 0, "error": None, "result": None, "cancelling": False}
            self.jobs.append(job)
        if self.url == "inline:":
            self.run_one(job)
        return job["id"]

    def add_many(self, jobs, idempotency_key=None):
        return [self.add(**job) for job in jobs]

    def run_one(self, job):
        if job["type"] not in self.handlers:
            raise Error("handler_not_found", f"no handler for {job['type']!r}")
        job["attempt"] += 1
        end = _perform(self.handlers[job["type"]], Job(job, None))
        job["state"] = {1: "retrying", 2: "done", 4: "failed"}.get(end["exitcode"] // 100,
                                                                   "rejected")
        result = end.get("result")
        job["result"] = result if result is None or isinstance(result, str) \
            else json.dumps(result)
        if "result_base64" in end:
            job["result"] = base64.b64decode(end["result_base64"])
        job["error"] = end.get("error")
        for child in end.get("jobs", []):
            self.add(child["type"], _payload(child))

    def run_all(self):
        """Runs what waits, and what that adds."""
        for job in self.jobs: # grows meanwhile
            if job["state"] == "ready":
                self.run_one(job)

    def get(self, id):
        for job in self.jobs:
            if job["id"] == id:
                return dict(job)
        raise Error("job_not_found", f"There is no such job: {id!r}", 404)

    def result(self, id):
        return self.get(id)["result"]

    def wait(self, id, timeout=None):
        job = self.get(id)
        if job["state"] not in FINAL:
            raise Error("timeout", f"job {id} is still {job['state']}")
        return job

    def cancel(self, id, reason=None):
        for job in self.jobs:
            if job["id"] == id and job["state"] not in ("done", "failed", "rejected"):
                job["state"] = "cancelled"
        return self.get(id)


type_of = type # where a parameter has its name


# --- Working ---------------------------------------------------------------------------------

class Job:
    """A job in hand. `payload` is text or bytes; json() is its value. `fields` has the rest."""

    def __init__(self, fields, worker):
        self.fields, self._worker = fields, worker
        self.id, self.type, self.attempt = fields["id"], fields["type"], fields["attempt"]
        self.payload = _payload(fields)
        self.cancelled = False # someone asked for its end, or it is not ours any more: stop
        self.children = []
        self._progress = {}

    def json(self):
        return json.loads(self.payload)

    def progress(self, percent, message=None):
        """Tells how far the job is: with the next heartbeat, which comes at once."""
        told = {"progress": int(percent)}
        if message is not None:
            told["message"] = message
        self._progress = told
        if self._worker:
            self._worker.beat()

    def add(self, type, payload=None, **fields):
        """Adds a job together with the end of this one, if that is no retry."""
        self.children.append(_new_job(type, payload, fields))

    def item(self, **more):
        return {"id": self.id, "attempt": self.attempt, "token": self.fields["token"],
                **self._progress, **more}


def _result(job, value):
    end = {"exitcode": 200}
    if isinstance(value, (bytes, bytearray)):
        _put(end, "result", value)
    elif value is not None:
        end["result"] = value
    if job.children:
        end["jobs"] = job.children
    return end


def _failure(why):
    """The fields of a finish that tell an exception."""
    if not isinstance(why, Outcome):
        log.exception("a handler failed", exc_info=why)
        return {"exitcode": 500, "error": f"{type(why).__name__}: {why}"}
    end = {"exitcode": why.exitcode, "error": str(why) or type(why).__name__}
    if why.after is not None:
        end["again_in"] = f"PT{why.after:f}S"
    return end


def _perform(handler, job):
    try:
        return _result(job, handler(job))
    except Exception as why: # pylint: disable=broad-except
        return _failure(why)


class _Held:
    """The jobs in hand: claims, heartbeats and results of them, for both kinds of worker."""

    def __init__(self, client, handlers, options):
        self.client, self.handlers = client, handlers
        self.lease, self.poll = options["lease"], options["poll"]
        self.what = {"types": sorted(handlers), "lease": f"PT{self.lease}S",
                     "worker": options["name"] or f"{socket.gethostname()}:{os.getpid()}"}
        if options["queues"]:
            self.what["queues"] = options["queues"]
        self.jobs, self._lock, self._again_in = {}, threading.Lock(), True

    def claim(self, free, worker):
        """Up to `free` jobs; waits a moment for the first. Nobody there is no error."""
        until = time.monotonic() + self.poll
        try:
            found = self.client._claim({**self.what, "max": free, "wait": f"PT{self.poll}S"})
        except Error as why:
            if not _again(why):
                raise
            log.warning("%s; asking again", why)
            time.sleep(random.uniform(0.1, 0.5))
            return []
        if not found: # a daemon that does not let us wait is not asked all the time
            time.sleep(max(0, until - time.monotonic()))
        made = [Job(fields, worker) for fields in found]
        with self._lock:
            self.jobs.update({(job.id, job.attempt): job for job in made})
        return made

    def renew(self):
        """Tells that all are still being worked on. Returns those that should end."""
        with self._lock:
            jobs = [job for job in self.jobs.values() if not job.cancelled]
        if not jobs:
            return []
        try:
            words = self.client._tell("renew", [job.item() for job in jobs], retry_for=0)
        except Error as why:
            log.warning("cannot renew: %s", why)
            return []
        ended = [job for job, word in zip(jobs, words) if word != "ok"]
        for job in ended:
            job.cancelled = True
        return ended

    def finish(self, job, end):
        """Tells the result until a daemon has heard it, or the lease must be over."""
        try:
            return self._finish(job, dict(end))
        except Error as why:
            log.error("the result of %s is lost: %s", job.id, why)
            return "lost"
        finally:
            with self._lock:
                self.jobs.pop((job.id, job.attempt), None)

    def _finish(self, job, end):
        if not self._again_in:
            end.pop("again_in", None)
        try:
            return self.client._tell("finish", [job.item(**end)],
                                     retry_for=max(self.lease, 600))[0]
        except Error as why:
            if why.code == "unknown_field" and end.pop("again_in", None):
                self._again_in = False # a daemon before 0.2
                return self._finish(job, end)
            if why.status not in (400, 413, 422):
                raise
            # It cannot take such a result, and never will.
            return self.client._tell("finish", [job.item(exitcode=500, error=str(why))])[0]


def _options(name, queues, lease, poll):
    if lease < 1:
        raise ValueError("a lease is at least a second")
    return {"name": name, "queues": queues, "lease": lease, "poll": poll}


class Worker:
    """Takes jobs and does them with threads until it is stopped.

    handlers     type → function(job). What it returns is the result (None, text, bytes, or
                 a JSON value). Retry, Fail, Snooze end the job so; any other exception is
                 an error, tried again as the job says.
    concurrency  jobs at a time
    queues       only these
    lease        seconds after which a worker that is not heard from has lost its jobs; it
                 is renewed three times in that time
    poll         seconds that one question for work waits: a stop takes at most as long
    """

    def __init__(self, client, handlers, concurrency=1, queues=None, lease=30, name=None,
                 poll=2):
        self.client, self.handlers, self.concurrency = client, handlers, concurrency
        self._stopping, self._beat = threading.Event(), threading.Event()
        self._free = threading.Semaphore(concurrency)
        if isinstance(client, _Fake):
            client.handlers = handlers
        else:
            self._held = _Held(client, handlers, _options(name, queues, lease, poll))

    def stop(self, *_):
        """Takes no more jobs. run() returns when those in hand are done."""
        self._stopping.set()

    def beat(self):
        """A heartbeat now."""
        self._beat.set()

    def run(self, signals=True):
        """Works until stop(), or SIGTERM or SIGINT if this is the main thread. Of a fake
        client: until nothing waits."""
        if isinstance(self.client, _Fake):
            return self.client.run_all()
        with _signals(self.stop, signals), \
                concurrent.futures.ThreadPoolExecutor(self.concurrency) as pool:
            beats = threading.Thread(target=self._heartbeat, daemon=True)
            beats.start()
            try:
                while not self._stopping.is_set():
                    self._take(pool)
            finally: # the jobs in hand are waited for
                self._stopping.set()
        return None

    def _take(self, pool):
        free = 0
        while free < self.concurrency and self._free.acquire(blocking=False):
            free += 1
        if not free: # all are busy
            if self._free.acquire(timeout=0.5):
                self._free.release()
            return
        jobs = []
        try:
            jobs = self._held.claim(free, self)
        finally:
            for _ in range(free - len(jobs)):
                self._free.release()
        for job in jobs:
            pool.submit(self._work, job)

    def _work(self, job):
        try:
            self._held.finish(job, _perform(self.handlers[job.type], job))
        finally:
            self._free.release()

    def _heartbeat(self):
        while not self._stopping.is_set() or self._held.jobs:
            self._beat.wait(self._held.lease / 3)
            self._beat.clear()
            self._held.renew()
            time.sleep(0.05) # progress that comes all the time is told at most so often


@contextlib.contextmanager
def _signals(stop, wanted):
    """SIGTERM and SIGINT call stop; a second one does what it did before."""
    if not wanted or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {}

    def heard(number, _):
        for known, old in before.items():
            signal.signal(known, old)
        log.info("signal %d: finishing what is in hand", number)
        stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        before[number] = signal.signal(number, heard)
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


# --- asyncio -----------------------------------------------------------------------------------

class AsyncClient:
    """As Client; every method is a coroutine. The requests are made by a few threads."""

    def __init__(self, *args, threads=16, **named):
        self.client = args[0] if args and isinstance(args[0], Client) else \
            Client(*args, **named)
        self._pool = concurrent.futures.ThreadPoolExecutor(threads, "pawl")

    async def _call(self, function, *args, **named):
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pool, lambda: function(*args, **named))

    async def add(self, type, payload=None, **fields):
        return await self._call(self.client.add, type, payload, **fields)

    async def add_many(self, jobs, **named):
        return await self._call(self.client.add_many, jobs, **named)

    async def get(self, id):
        return await self._call(self.client.get, id)

    async def result(self, id):
        return await self._call(self.client.result, id)

    async def wait(self, id, timeout=None):
        return await self._call(self.client.wait, id, timeout)

    async def cancel(self, id, reason=None):
        return await self._call(self.client.cancel, id, reason)

    def close(self):
        self._pool.shutdown(wait=False)

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        self.close()


class AsyncWorker:
    """As Worker; the handlers are coroutine functions and run on the event loop. A job
    whose end is asked for, or whose lease is lost, has its task cancelled."""

    def __init__(self, client, handlers, concurrency=1, queues=None, lease=30, name=None,
                 poll=2):
        self.client, self.handlers, self.concurrency = client, handlers, concurrency
        self._loop = self._stopping = self._beat = None
        self._stopped, self._tasks = False, {}
        if isinstance(client.client, _Fake):
            client.client.handlers = {
                type: lambda job, handler=handler: asyncio.run(handler(job))
                for type, handler in handlers.items()}
        else:
            self._held = _Held(client.client, handlers, _options(name, queues, lease, poll))

    def stop(self, *_):
        self._stopped = True
        if self._loop:
            self._loop.call_soon_threadsafe(self._stopping.set)

    def beat(self):
        self._loop.call_soon_threadsafe(self._beat.set)

    async def run(self, signals=True):
        if isinstance(self.client.client, _Fake):
            return await self.client._call(self.client.client.run_all)
        self._loop = asyncio.get_running_loop()
        self._stopping, self._beat = asyncio.Event(), asyncio.Event()
        with _signals(self.stop, signals):
            beats = asyncio.create_task(self._heartbeat())
            try:
                while not self._stopping.is_set() and not self._stopped:
                    await self._take()
                while self._tasks:
                    await asyncio.wait(list(self._tasks.values()))
            finally:
                beats.cancel()
        return None

    async def _take(self):
        free = self.concurrency - len(self._tasks)
        if not free:
            await asyncio.wait(list(self._tasks.values()), timeout=0.5,
                               return_when=asyncio.FIRST_COMPLETED)
            return
        for job in await self.client._call(self._held.claim, free, self):
            self._tasks[job] = asyncio.create_task(self._work(job))

    async def _work(self, job):
        try:
            work = job.task = asyncio.ensure_future(self.handlers[job.type](job))
            try:
                end = _result(job, await work)
            except asyncio.CancelledError:
                end = {"exitcode": 500, "error": "cancelled"}
            except Exception as why: # pylint: disable=broad-except
                end = _failure(why)
            await self.client._call(self._held.finish, job, end)
        finally:
            del self._tasks[job]

    async def _heartbeat(self):
        while True:
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._beat.wait(), self._held.lease / 3)
            self._beat.clear()
            for job in await self.client._call(self._held.renew):
                job.task.cancel()
            await asyncio.sleep(0.05)

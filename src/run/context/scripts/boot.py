# SPDX-License-Identifier: Apache-2.0
"""The Python side of a warm context: docs/reference/contexts.md says what it speaks."""
import ast
import json
import os
import re
import sys
import traceback

# Jobs are read from a copy: bodies and what they start see an empty standard input.
JOBS = os.fdopen(os.dup(0), "rb", 1 << 20)
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
REPLY = int(os.environ["PAWL_REPLY_FD"])
os.set_inheritable(REPLY, False)


NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]{0,127}")  # of a type


class Outcome(Exception):
    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class pawl:
    """What a body can ask for."""

    current = ""

    @staticmethod
    def retry(message=""):
        raise Outcome(100, message)

    @staticmethod
    def fail(message=""):
        raise Outcome(400, message)

    @staticmethod
    def add(type, payload=""):
        if not NAME.fullmatch(str(type)):
            raise ValueError("pawl.add: %r is not the name of a type" % (type,))
        say("J: %s %s|" % (pawl.current, type), to_bytes(payload))

    @staticmethod
    def progress(percent, message=""):
        line = "P: %s %d %s" % (pawl.current, percent, message)
        write(line.replace("\n", " ").encode("utf-8", "surrogateescape") + b"\n")


def write(data):
    put = os.write(REPLY, data)
    while put < len(data):
        data = data[put:]
        put = os.write(REPLY, data)


def to_bytes(value):
    if value is None:
        return b""
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    if not isinstance(value, str):
        value = json.dumps(value, ensure_ascii=False)
    return value.encode("utf-8", "surrogateescape")


def say(head, text):
    """One line, or its head and a count where the text does not fit into a line."""
    head = head.encode()
    if b"\n" in text or text[:2] == b"<<":
        write(head + b"<<%d\n" % len(text) + text)
    else:
        write(head + text + b"\n")


class Handler:
    def __init__(self, parts):
        self.name = parts["name"]
        SOURCES.add(self.name)
        self.parts = parts
        self.ready = False

    def script(self, part):
        code = self.parts.get(part)
        if code:
            source = "%s %s" % (self.name, part)
            SOURCES.add(source)
            exec(compile(code, source, "exec"), SCOPE)

    def prepare(self):
        """Once in a context; again with the next batch if it failed."""
        if self.ready:
            return
        function = ast.parse("def body(payload, job): pass").body[0]
        # A body is what stands inside a function: `return` is allowed.
        function.body = ast.parse(self.parts["body"], self.name).body or function.body
        module = ast.Module(body=[function], type_ignores=[])
        scope = {}
        self.script("before")
        exec(compile(module, self.name, "exec"), SCOPE, scope)
        self.body = scope["body"]
        self.ready = True


def complaint(error, where=""):
    """One line for the job, with the line of the handler's own code; the whole story goes
    to its log."""
    traceback.print_exception(type(error), error, error.__traceback__)
    line = None
    text = error
    if isinstance(error, SyntaxError) and error.filename in SOURCES:
        line, text = error.lineno, error.msg
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename in SOURCES:
            line = frame.lineno
    text = "%s%s: %s" % (where, type(error).__name__, text)
    return text if line is None else "%s (line %d)" % (text, line)


def run(job, trouble):
    """The exit code and the result's bytes."""
    if trouble:
        return 500, trouble.encode("utf-8", "replace")
    payload = job.get("payload")
    if payload is None and "payload_base64" in job:
        import base64
        raw = base64.b64decode(job["payload_base64"])
        payload = raw.decode("utf-8", "surrogateescape")
    try:
        return 200, to_bytes(HANDLERS[job["handler"]].body(payload or "", job))
    except Outcome as outcome:
        return outcome.code, to_bytes(str(outcome))
    except BaseException as error:
        return 500, complaint(error).encode("utf-8", "replace")


def begin_batch(handler):
    """What went wrong, for every job of the batch."""
    for step in (handler.prepare, lambda: handler.script("beforeEach")):
        try:
            step()
        except BaseException as error:
            return complaint(error, "before the job: ")
    return ""


def end_batch(handler):
    try:
        handler.script("afterEach")
    except BaseException as error:
        complaint(error)


def printed(stream):
    """Bytes so far; they are appended, wherever we look. Of a stream that the body has
    replaced, none."""
    try:
        return os.lseek(stream, 0, os.SEEK_END)
    except OSError:
        return 0


def main():
    seen_out = seen_err = 0
    batch = None
    trouble = ""
    scan = json.JSONDecoder().scan_once # a line is one object from its first byte on
    flushes = sys.stdout.flush, sys.stderr.flush
    for line in JOBS:
        job, _ = scan(line.decode(), 0)
        parts = job.get("handler")
        if isinstance(parts, dict):
            HANDLERS[parts["name"]] = Handler(parts)
            continue
        # The body may do with its job what it likes.
        pawl.current = current = job["id"]
        last = job.get("last")
        if batch is None:
            batch = HANDLERS[parts]
            trouble = begin_batch(batch)
        code, text = run(job, trouble)
        if last:
            end_batch(batch)
            batch = None
        for flush in flushes:
            flush()
        out, err = printed(1), printed(2)
        if out != seen_out or err != seen_err:
            seen_out, seen_err = out, err
            write(b"O: %s %d %d\n" % (current.encode(), out, err))
        say("R: %s %d " % (current, code), text)
    if batch:
        end_batch(batch)


HANDLERS = {}
SOURCES = set()  # what our own code is called in tracebacks
SCOPE = {"__name__": "pawl", "pawl": pawl}
main()

# SPDX-License-Identifier: Apache-2.0
"""fault_proxy - a TCP proxy that does to connections what networks do.

A process of its own: tests talk to it in lines of JSON. Each *door* is a port on loopback
that leads to one Unix socket; faults are set for one door at a time:

    delay(door, seconds)  every piece comes that much later
    hold(door)            a black hole: nothing gets through in either direction, nothing
                          is refused or closed; pass_(door) ends it, and what was held back
                          arrives then
    refuse(door)          new connections are closed at once; those there are stay
    cut(door)             all connections are reset, now
    half(door)            all connections stay half open: the far side is gone, the near
                          one hears nothing of it, ever; new ones work
    cut_after(door, n)    all connections are reset once, when n more pieces have come from the
                          near side
    at_commits(door, ...) connections are lost around every n-th COMMIT: `before` it gets
                          to the server, or `after` the server has done it and before the
                          answer gets back
"""
import asyncio
import json
import socket
import struct
import subprocess
import sys

PIECE = 1 << 16
COMMIT = b"COMMIT\0" # the end of a statement, and the server's word that it is done


class FaultProxy:
    """The test's side."""

    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, "-B", __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, start_new_session=True)

    def ask(self, **what):
        self.process.stdin.write(json.dumps(what) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def open(self, door, target):
        """Returns its port."""
        return self.ask(do="open", door=door, target=str(target))["port"]

    def delay(self, door, seconds):
        self.ask(do="delay", door=door, seconds=seconds)

    def hold(self, door):
        self.ask(do="hold", door=door)

    def pass_(self, door):
        """The end of delay, hold, refuse and at_commits."""
        self.ask(do="pass", door=door)

    def refuse(self, door):
        self.ask(do="refuse", door=door)

    def cut(self, door):
        self.ask(do="cut", door=door)

    def half(self, door):
        self.ask(do="half", door=door)

    def cut_after(self, door, pieces):
        self.ask(do="cut_after", door=door, pieces=pieces)

    def at_commits(self, door, every, when):
        self.ask(do="commits", door=door, every=every, when=when)

    def lost_commits(self, door):
        """How many connections at_commits has lost."""
        return self.ask(do="count", door=door)["lost"]

    def cleanup(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


# --- The process -------------------------------------------------------------------------


class Door:
    def __init__(self, target):
        self.target = target
        self.links = set()
        self.server = None
        self.lost = 0
        self.flows = asyncio.Event()
        self.do_pass({})

    def do_pass(self, _):
        self.delay, self.refuses, self.every, self.commits, self.when = 0, False, 0, 0, None
        self.pieces = 0 # that may still come before all is cut; 0: any
        self.flows.set()

    def do_hold(self, _):
        self.flows.clear()

    def do_delay(self, what):
        self.delay = what["seconds"]

    def do_refuse(self, _):
        self.refuses = True

    def do_cut(self, _):
        for link in list(self.links):
            link.end()

    def do_half(self, _):
        for link in list(self.links):
            link.leave()

    def do_cut_after(self, what):
        self.pieces = what["pieces"]

    def do_commits(self, what):
        self.every, self.when, self.commits = what["every"], what["when"], 0

    def due(self):
        """Whether this COMMIT is one to lose its connection at."""
        if not self.every:
            return False
        self.commits += 1
        return self.commits % self.every == 0

    async def serve(self, reader, writer):
        if self.refuses:
            writer.transport.abort()
            return
        link = Link(self, reader, writer)
        self.links.add(link)
        try:
            await link.run()
        except OSError:
            pass
        finally:
            self.links.discard(link)
            link.end()


class Link:
    """One connection through a door."""

    def __init__(self, door, reader, writer):
        self.door, self.reader, self.writer = door, reader, writer
        self.far = None
        self.dead = False      # the far side is gone, and the near one is not told
        self.answer_ends = False # the answer to come is the last thing that happens

    async def run(self):
        await self.door.flows.wait()
        far_reader, self.far = await asyncio.open_unix_connection(self.door.target)
        pumps = [asyncio.ensure_future(self.pump(self.reader, self.far, self.is_commit)),
                 asyncio.ensure_future(self.pump(far_reader, self.writer, self.is_answer))]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
        while self.dead and await self.reader.read(PIECE):
            pass # the near side speaks to no one

    async def pump(self, reader, writer, must_end):
        while (piece := await reader.read(PIECE)):
            await self.door.flows.wait()
            if self.door.delay:
                await asyncio.sleep(self.door.delay)
            if self.dead:
                return
            if must_end(piece):
                self.door.lost += 1
                self.end()
                return
            writer.write(piece)
            await writer.drain()

    def is_commit(self, piece):
        if self.door.pieces:
            self.door.pieces -= 1
            if not self.door.pieces:
                self.door.do_cut({})
        if COMMIT not in piece or not self.door.due():
            return False
        self.answer_ends = self.door.when == "after"
        return not self.answer_ends

    def is_answer(self, piece):
        return self.answer_ends and COMMIT in piece

    def end(self):
        """Reset, not closed: as when a machine is gone."""
        for writer in (self.writer, self.far):
            if not writer:
                continue
            near = writer.get_extra_info("socket")
            if writer is self.writer and near and not writer.is_closing():
                near.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()

    def leave(self):
        self.dead = True
        if self.far:
            self.far.transport.abort()


async def listen(doors, what):
    door = doors[what["door"]] = Door(what["target"])
    door.server = await asyncio.start_server(door.serve, "127.0.0.1", 0)
    return {"port": door.server.sockets[0].getsockname()[1]}


async def main():
    doors = {}
    orders = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(orders), sys.stdin)
    while (line := await orders.readline()):
        what = json.loads(line)
        if what["do"] == "open":
            answer = await listen(doors, what)
        elif what["do"] == "count":
            answer = {"lost": doors[what["door"]].lost}
        else:
            getattr(doors[what["door"]], "do_" + what["do"])(what)
            answer = {}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    asyncio.run(main())

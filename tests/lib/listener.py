# SPDX-License-Identifier: Apache-2.0
"""listener - someone who reads GET /events."""
import http.client
import json
import socket
import threading

from lib.api import wait_for


class Listener:
    """Reads GET /events in a thread."""

    def __init__(self, node, tenant, last=None, follow=1, token=None):
        self.events, self.conn = [], http.client.HTTPConnection(*node.address(), timeout=90)
        headers = {"Last-Event-ID": last} if last else {}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        named = f"tenant={tenant}&" if tenant else ""
        self.conn.request("GET", f"/api/v1/events?{named}follow={follow}", headers=headers)
        self.answer = self.conn.getresponse()
        assert self.answer.status == 200, self.answer.read()
        assert self.answer.headers["Content-Type"] == "text/event-stream"
        self.answer.readline() # the answer has begun: from now on nothing is missed
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        event = {}
        try:
            for line in self.answer:
                name, _, value = line.decode().rstrip("\n").partition(": ")
                if name in ("id", "event", "data"):
                    event[name] = value
                elif event:
                    self.events.append(event)
                    event = {}
        except (OSError, ValueError, http.client.HTTPException):
            pass

    def types(self):
        return [event["type"].rpartition(".")[2] for event in self.data()]

    def data(self):
        return [json.loads(event["data"]) for event in self.events if "event" not in event]

    def names(self):
        """What names each event for ever."""
        return [(event["source"], event["id"]) for event in self.data()]

    def resets(self):
        return sum("event" in event for event in self.events)

    def close(self):
        self.conn.sock.shutdown(socket.SHUT_RDWR)
        self.thread.join(120)

    def until(self, count):
        wait_for(lambda: len(self.events) >= count, 120, lambda: str(self.events))
        return self.events

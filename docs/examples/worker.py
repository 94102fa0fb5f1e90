#!/usr/bin/env python3
"""A pull worker: python3 worker.py [http://127.0.0.1:7420]. Does jobs of type `upper`."""
import json, sys, threading, urllib.request

API = (sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:7420") + "/api/v1/claims"

def post(path, body):
    request = urllib.request.Request(API + path, json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=90) as answer:
        return json.load(answer) if answer.status == 200 else {}

def work(job):
    return 200, job["payload"].strip().upper()

def renew(item, done):
    while not done.wait(10): # a third of the lease
        status = post("/renew", {"items": [item]})["items"][0]["status"]
        if status != "ok":
            print(item["id"], status, "- its result will not count")
            return

while True:
    claim = {"types": ["upper"], "wait": "PT30S", "lease": "PT30S", "worker": "example.py"}
    for job in post("", claim).get("jobs", []):
        item, done = {key: job[key] for key in ("id", "attempt", "token")}, threading.Event()
        threading.Thread(target=renew, args=(item, done), daemon=True).start()
        try:
            code, result = work(job)
        except Exception as error: # tried again later
            code, result = 500, repr(error)
        done.set()
        post("/finish", {"items": [{**item, "exitcode": code, "result": result}]})

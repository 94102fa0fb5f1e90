#!/usr/bin/env python3
"""A pull worker: python3 worker.py [URL]. Does jobs of type `upper` until SIGTERM."""
import pathlib
import sys

# Or install the client (pip install clients/python), or copy pawl.py beside your program.
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "clients/python"))
import pawl


def upper(job):
    if not job.payload.strip():
        raise pawl.Fail("there is nothing to do") # never tried again
    job.progress(50, "half of it")
    return job.payload.strip().upper()


client = pawl.Client(sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:7420")
pawl.Worker(client, {"upper": upper}, concurrency=2, name="example.py").run()

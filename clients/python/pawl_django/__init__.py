# SPDX-License-Identifier: Apache-2.0
"""pawl_django - tasks of a Django project as jobs of pawl.

    INSTALLED_APPS = [..., "pawl_django"]                  # settings.py
    PAWL = {"URL": "http://127.0.0.1:7420"}                # also TOKEN, TENANT, TYPE

    from pawl_django import task                           # tasks.py of an app

    @task(queue="mail", max_retries=3)
    def greet(name):
        return "hello " + name

    greet("ann")                     # at once, here
    id = greet.delay("ann")          # by a worker: python manage.py pawl_worker
    greet.delay_on_commit("ann")     # when the transaction is committed

All tasks are jobs of one type, `django` unless PAWL["TYPE"] says another, which must be for
workers: pawl handler set django --lang pull.
"""
import functools
import json
import threading

import pawl
from django.conf import settings
from django.core.serializers.json import DjangoJSONEncoder
from django.db import close_old_connections, transaction

TASKS = {} # name → Task
_made = {}
_lock = threading.Lock()


def option(name, default=None):
    return getattr(settings, "PAWL", {}).get(name, default)


def client():
    """The client of this process, made by the settings."""
    with _lock:
        where = (option("URL"), option("TOKEN"), option("TENANT"))
        if where not in _made:
            made = _made[where] = pawl.Client(where[0], where[1], where[2])
            pawl.Worker(made, handlers()) # inline: clients run by these
        return _made[where]


def handlers():
    return {option("TYPE", "django"): perform}


def perform(job):
    """Runs the task that a job names, with connections to the database of its own."""
    asked = job.json()
    if asked["task"] not in TASKS:
        raise pawl.Fail(f"there is no task {asked['task']!r} here")
    close_old_connections()
    try:
        made = TASKS[asked["task"]]
        more = {"job": job} if made.bind else {}
        return made(*asked["args"], **asked["kwargs"], **more)
    finally:
        close_old_connections()


class Task:
    """A function that can also be done later. fields: those of its jobs."""

    def __init__(self, function, bind, fields):
        functools.update_wrapper(self, function)
        self.function, self.bind, self.fields = function, bind, fields
        self.name = f"{function.__module__}.{function.__qualname__}"
        TASKS[self.name] = self

    def __call__(self, *args, **kwargs):
        return self.function(*args, **kwargs)

    def using(self, **fields):
        """A way to say fields of one job: greet.using(delay="PT1M").delay("ann")."""
        return _Ready(self, {**self.fields, **fields})

    def delay(self, *args, **kwargs):
        """Adds a job; returns its id."""
        return self.using().delay(*args, **kwargs)

    def delay_on_commit(self, *args, **kwargs):
        """Adds it when the transaction is committed, and not if it is rolled back."""
        self.using().delay_on_commit(*args, **kwargs)


class _Ready:
    def __init__(self, made, fields):
        self._task, self._fields = made, {"name": made.name[-255:], **fields}

    def delay(self, *args, **kwargs):
        payload = json.dumps({"task": self._task.name, "args": args, "kwargs": kwargs},
                             cls=DjangoJSONEncoder)
        return client().add(option("TYPE", "django"), payload, **self._fields)

    def delay_on_commit(self, *args, **kwargs):
        transaction.on_commit(lambda: self.delay(*args, **kwargs))


def task(function=None, *, bind=False, **fields):
    """@task, or @task(queue=…, priority=…, max_retries=…). bind: the function gets the
    pawl.Job as its keyword argument `job`, for progress and cancelled."""
    if function is None:
        return lambda made: Task(made, bind, fields)
    return Task(function, bind, fields)

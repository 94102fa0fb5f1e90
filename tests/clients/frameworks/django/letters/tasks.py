# SPDX-License-Identifier: Apache-2.0
"""tasks of the application."""
import pawl
from django.db import connection

from pawl_django import task


@task(queue="mail", priority=7)
def greet(name, when=None):
    with connection.cursor() as cursor:
        cursor.execute("select 40 + 2")
        return f"hello {name} {when} {cursor.fetchone()[0]}"


@task(bind=True)
def far(job):
    job.progress(40, "on the way")
    raise pawl.Fail(f"job {job.id} gets no further")

# SPDX-License-Identifier: Apache-2.0
"""add - what a view of the project would do; prints the ids of the jobs."""
import datetime
import json
import os
import sys

os.environ["DJANGO_SETTINGS_MODULE"] = "settings"

import django # noqa: E402  pylint: disable=wrong-import-position

django.setup()

from django.db import transaction # noqa: E402  pylint: disable=wrong-import-position
from letters.tasks import far, greet # noqa: E402  pylint: disable=wrong-import-position
import pawl_django # noqa: E402  pylint: disable=wrong-import-position

assert greet("me").startswith("hello me None") # a task is still a function
ids = [greet.delay("ann", when=datetime.date(2026, 1, 2)), far.delay(),
       greet.using(delay="PT0.2S", queue="slow").delay("bob")]
with transaction.atomic():
    greet.delay_on_commit("committed")
try:
    with transaction.atomic():
        greet.delay_on_commit("rolled back")
        raise KeyError
except KeyError:
    pass
if sys.argv[1:] == ["results"]:
    print(json.dumps([pawl_django.client().get(id)["result"] for id in ids]))
else:
    print(json.dumps(ids))

# SPDX-License-Identifier: Apache-2.0
"""python manage.py pawl_worker: does the tasks until SIGTERM."""
import pawl
from django.core.management.base import BaseCommand

import pawl_django


class Command(BaseCommand):
    help = "Does the project's tasks until SIGTERM, which lets those in hand finish."

    def add_arguments(self, parser):
        parser.add_argument("--concurrency", type=int, default=4, help="tasks at a time")
        parser.add_argument("--queue", action="append", help="only this one; may be repeated")
        parser.add_argument("--lease", type=float, default=30,
                            help="seconds after which a worker that is not heard from has lost its tasks")

    def handle(self, *args, **options):
        self.stderr.write(f"{len(pawl_django.TASKS)} tasks")
        pawl.Worker(pawl_django.client(), pawl_django.handlers(), options["concurrency"],
                    queues=options["queue"], lease=options["lease"]).run()

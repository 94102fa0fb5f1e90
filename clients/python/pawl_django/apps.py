# SPDX-License-Identifier: Apache-2.0
"""The application: finds the tasks of all others."""
from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules


class PawlConfig(AppConfig):
    name = "pawl_django"

    def ready(self):
        autodiscover_modules("tasks")

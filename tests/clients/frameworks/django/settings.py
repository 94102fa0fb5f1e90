# SPDX-License-Identifier: Apache-2.0
"""settings of a small project: one application with tasks, one database."""
import os

SECRET_KEY = "of a test"
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
INSTALLED_APPS = ["pawl_django", "letters"]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": os.environ["TEST_DATABASE"]}}
PAWL = {"URL": os.environ["TEST_URL"], "TENANT": os.environ.get("TEST_TENANT")}

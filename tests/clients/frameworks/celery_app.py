# SPDX-License-Identifier: Apache-2.0
"""celery_app - adds tasks by Celery itself, to the Redis at REDIS_SOCKET."""
import os

from celery import Celery

app = Celery("letters", broker="redis+socket://" + os.environ["REDIS_SOCKET"])


@app.task(name="letters.letter")
def letter(to, greeting="hello"):
    return f"{greeting} {to}"


if __name__ == "__main__":
    letter.delay("ann", greeting="Grüß")
    letter.apply_async(("bob",), queue="mail", countdown=3600)

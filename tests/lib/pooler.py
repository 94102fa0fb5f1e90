# SPDX-License-Identifier: Apache-2.0
"""pooler - Debian's pgbouncer between nodes and a PostgreSQL server of a test's own."""
import subprocess

from lib.api import wait_for
from lib.postgres import SECONDS, as_postgres


class Pooler:
    """Debian's pgbouncer in front of a server."""

    def __init__(self, database):
        self.home = database.home / "pool"
        self.home.mkdir(mode=0o777)
        self.home.chmod(0o777)
        (self.home / "pgbouncer.ini").write_text(
            f"[databases]\npostgres = host={database.home} user=pawl\n[pgbouncer]\n"
            f"listen_addr =\nunix_socket_dir = {self.home}\nlisten_port = 6543\n"
            "auth_type = any\npool_mode = transaction\ndefault_pool_size = 3\n"
            f"logfile = {self.home}/log\npidfile = {self.home}/pid\n"
            "ignore_startup_parameters = extra_float_digits\n")
        self.process = None

    def start(self):
        self.process = subprocess.Popen(
            as_postgres("/usr/sbin/pgbouncer", "-q", self.home / "pgbouncer.ini"),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True, cwd="/")
        wait_for(lambda: (self.home / ".s.PGSQL.6543").exists(), SECONDS, self.tail)
        return self

    def tail(self):
        log = self.home / "log"
        return log.read_text()[-2000:] if log.exists() else "no log"

    def url(self):
        return f"postgresql:///postgres?host={self.home}&port=6543&user=pawl"

    def cleanup(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

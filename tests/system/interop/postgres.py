"""A PostgreSQL server for the tests. Its cluster and its socket are in a temporary directory and last as long as the
test."""
import contextlib
import glob
import os
import pwd
import shutil
import subprocess
import tempfile

import common  # noqa: F401: finds the harness
from harness import Inconclusive, Skip, need, work_directory

MARK = b"-- that was all --"


def programs():
    """The folder of initdb and pg_ctl, of the newest version that is installed."""
    found = glob.glob("/usr/lib/postgresql/*/bin/initdb")
    if not found or shutil.which("psql") is None:
        raise Inconclusive("there is no PostgreSQL server", retry=False)
    return os.path.dirname(max(found, key=lambda path: float(path.split("/")[4])))


def as_server():
    """The words to put before a command so that it runs as a user that the server accepts."""
    if os.geteuid() != 0:
        return []
    try:
        pwd.getpwnam("postgres")
    except KeyError:
        raise Skip("there is no user postgres, and the server does not run as root") from None
    return ["runuser", "-u", "postgres", "--"]


@contextlib.contextmanager
def server():
    """Yields the server's directory, which every user can read and which contains the server's socket."""
    folder, user = programs(), as_server()
    directory = tempfile.mkdtemp(prefix="postgres.", dir=work_directory())
    cluster, socket = os.path.join(directory, "cluster"), os.path.join(directory, "socket")

    def run(name, *args):
        done = subprocess.run([*user, os.path.join(folder, name), "-D", cluster, *args], cwd="/",
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        need(done.returncode == 0, "%s: %s" % (name, done.stderr))

    try:
        os.chmod(directory, 0o755)
        for path in (cluster, socket):
            os.mkdir(path)
            if user:
                shutil.chown(path, "postgres")
        run("initdb", "--username=postgres", "--auth=trust", "--encoding=SQL_ASCII", "--no-locale", "--no-sync")
        options = "-c listen_addresses='' -c fsync=off -c unix_socket_directories='%s'" % socket
        run("pg_ctl", "--wait", "--log", os.path.join(cluster, "log"), "--options", options, "start")
        try:
            yield directory
        finally:
            run("pg_ctl", "--wait", "--mode", "immediate", "stop")
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def client_environment(directory):
    """The environment in which psql, without options, connects to the server."""
    plain = {key: value for key, value in os.environ.items() if not key.startswith("PG")}
    return dict(plain, PGHOST=os.path.join(directory, "socket"), PGUSER="postgres", PGDATABASE="postgres")


class Session:
    """A psql that executes one statement after another."""

    def __init__(self, directory):
        self.psql = subprocess.Popen(["psql", "-X", "-q", "-A", "-t"], env=client_environment(directory),
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def ask(self, statement):
        """The lines of the answer, or None if the server reports an error."""
        self.psql.stdin.write(statement.encode() + b";\n\\echo " + MARK + b" :ERROR\n")
        self.psql.stdin.flush()
        lines = []
        while True:
            line = self.psql.stdout.readline()
            need(line, "psql has ended")
            if line.startswith(MARK):
                return None if line.split()[-1] == b"true" else lines
            lines.append(line.rstrip(b"\n"))

    def close(self):
        self.psql.stdin.close()
        self.psql.wait()
        self.psql.stdout.close()

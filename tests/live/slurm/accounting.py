"""Accounting: a MariaDB of our own, one slurmdbd for all clusters, and what sacctmgr puts into it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Iterable
from pathlib import Path

from .clusters import Cluster
from .conf import Place, slurmdbd_conf
from .daemons import Daemons, wait_until
from .host import TestbedError, program

SETUP_SQL = (
    "create database if not exists slurm_acct;"
    "create user if not exists slurm@localhost identified by 'slurm';"
    "grant all on slurm_acct.* to slurm@localhost"
)
# A database that lives for one test run trades safety for speed: the tables are there in 5 s instead of 22 s.
FAST = (
    "--innodb-buffer-pool-size=64M",
    "--innodb-log-file-size=16M",
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-flush-method=nosync",
    "--innodb-doublewrite=0",
    "--innodb-lock-wait-timeout=900",
    "--performance-schema=OFF",
    "--skip-log-bin",
    "--skip-name-resolve",
)


class Accounting:
    """slurmdbd and the database behind it."""

    def __init__(self, place: Place, daemons: Daemons) -> None:
        self.place = place
        self.daemons = daemons
        self.folder = place.root / "accounting"
        self.database = place.root / "mysql"

    def start(self) -> None:
        """Start both, and wait until slurmdbd takes connections."""
        self._start_database()
        self.folder.mkdir(exist_ok=True)
        conf = self.folder / "slurmdbd.conf"
        conf.touch(mode=0o600)
        conf.write_text(slurmdbd_conf(self.place))
        self.start_slurmdbd()

    def start_slurmdbd(self) -> None:
        """Start slurmdbd alone. It looks for its conf beside SLURM_CONF, and for the database at MYSQL_UNIX_PORT."""
        env = {"SLURM_CONF": str(self.folder / "slurm.conf"), "MYSQL_UNIX_PORT": str(self.database / "sock")}
        argv = [*self.place.host.launch, str(self.place.root / "bin" / "slurmdbd"), "-D"]
        self.daemons.start("slurmdbd", argv, env)
        wait_until(self._listens, 30, f"slurmdbd did not listen (see {self.folder}/slurmdbd.log)")

    def stop_slurmdbd(self, *, sig: int = signal.SIGTERM) -> None:
        """Stop slurmdbd; the database stays."""
        self.daemons.stop(["slurmdbd"], sig=sig)

    def stop(self) -> None:
        """Stop both."""
        self.stop_slurmdbd()
        self.daemons.stop(["mariadbd"])

    def _start_database(self) -> None:
        folder = self.database
        own = folder / "tmp"  # a server that starts removes the temporary tables of all others in the same folder
        own.mkdir(parents=True, exist_ok=True)
        if not (folder / "data" / "mysql").exists():
            install = [str(program("mariadb-install-db")), "--no-defaults", f"--datadir={folder}/data", "--user=root"]
            made = subprocess.run(
                [*install, "--skip-test-db", "--auth-root-authentication-method=normal"],
                capture_output=True,
                text=True,
                check=False,
                env={**os.environ, "TMPDIR": str(own)},
            )
            if made.returncode:
                raise TestbedError(f"mariadb-install-db failed: {made.stderr.strip() or made.stdout.strip()}")
        argv = [str(program("mariadbd")), "--no-defaults", f"--datadir={folder}/data", f"--socket={folder}/sock"]
        argv += ["--skip-networking", "--user=root", f"--pid-file={folder}/pid", f"--tmpdir={own}", *FAST]
        self.daemons.start("mariadbd", argv)
        wait_until(self._database_answers, 60, f"MariaDB did not answer (see {self.daemons.logs}/mariadbd.out)")

    def _database_answers(self) -> bool:
        if self.daemons.pid("mariadbd") is None:
            raise TestbedError(f"MariaDB died at start: {self.daemons.last_words('mariadbd')}")
        client = [str(program("mariadb")), "--no-defaults", f"--socket={self.database}/sock", "-uroot"]
        return subprocess.run([*client, "-e", SETUP_SQL], capture_output=True, check=False).returncode == 0

    def _listens(self) -> bool:
        if self.daemons.pid("slurmdbd") is None:
            log = self.folder / "slurmdbd.log"
            words = log.read_text(errors="replace").splitlines()[-3:] if log.exists() else []
            raise TestbedError(f"slurmdbd died at start: {' / '.join(words) or self.daemons.last_words('slurmdbd')}")
        with socket.socket() as probe:
            probe.settimeout(1)
            return probe.connect_ex((self.place.host.address, self.place.accounting_port)) == 0

    def add_clusters(self, clusters: Iterable[Cluster]) -> None:
        """Clusters, accounts, users and bare QOS: before any slurmctld, which dies of a partition with unknown QOS."""
        clusters = tuple(clusters)
        lines = [f"add cluster {','.join(cluster.name for cluster in clusters)}"]
        lines.append(f"add qos {','.join(name for cluster in clusters for name in cluster.qos)}")
        for cluster in clusters:
            accounts, qos = ",".join(cluster.accounts), ",".join(("normal", *cluster.qos))
            lines.append(f"add account {accounts} cluster={cluster.name} Description=test Organization=test QOS={qos}")
            lines.append(f"add user root account={accounts} cluster={cluster.name}")
        self._sacctmgr("clusters", lines, self.place.conf(clusters[0]))

    def set_limits(self, clusters: Iterable[Cluster]) -> None:
        """Limits: after the controllers have registered, which is what makes gres/gpu known."""
        clusters = tuple(clusters)
        lines = [f"modify qos {name} set {limits}" for cluster in clusters for name, limits in cluster.qos.items()]
        lines += [
            f"modify account {account} where cluster={cluster.name} set {limit}"
            for cluster in clusters
            for account, limit in cluster.limits.items()
        ]
        self._sacctmgr("limits", lines, self.place.conf(clusters[0]))

    def _sacctmgr(self, step: str, lines: list[str], conf: Path) -> None:
        """One sacctmgr reads all lines on its standard input. A step that was done is not done again."""
        done = self.folder / f"{step}.done"
        if done.exists():
            return
        answer = subprocess.run(
            [str(program("sacctmgr")), "-i"],
            input="\n".join([*lines, "quit", ""]),
            env={**os.environ, "SLURM_CONF": str(conf)},
            capture_output=True,
            text=True,
            check=False,
        )
        said = answer.stdout + answer.stderr
        (self.daemons.logs / f"sacctmgr-{step}.out").write_text(said)
        if answer.returncode or "rror" in said:
            raise TestbedError(f"sacctmgr could not set up {step}: {said.strip()[-800:]}")
        done.touch()

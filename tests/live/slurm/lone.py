"""One cluster without accounting: a controller and nodes of its own, up in a second or two, with no database behind it."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType

from . import leftovers
from .clusters import DELTA, Cluster
from .conf import NVIDIA_MAJOR, Place, cgroup_conf, gpu_devices, gres_conf, slurm_conf
from .daemons import Daemons, wait_until
from .host import PortRange, look, program


class LoneCluster:
    """A context manager; ``conf`` is the value of SLURM_CONF. Its nodes are those of ``cluster``."""

    def __init__(self, cluster: Cluster = DELTA) -> None:
        host = look()
        self.root = Path(tempfile.mkdtemp(prefix="diamond-lone-"))
        self._ports = PortRange(host.address)
        self._cluster = cluster
        self._place = Place(root=self.root, host=host, first_port=self._ports.first)
        self._daemons = Daemons(self.root)

    @property
    def conf(self) -> Path:
        """What SLURM_CONF must be."""
        return self._place.conf(self._cluster)

    def __enter__(self) -> LoneCluster:  # noqa: PYI034 - Python 3.10 has no Self
        self._write()
        try:
            self._start("slurmctld", "slurmctld", "-D")
            for node in self._cluster.node_names:
                self._start(f"slurmd-{node}", "slurmd", "-D", "-N", node)
            wait_until(self._is_ready, 60, f"The lone cluster was not ready (see {self.root})")
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop everything that was started here."""
        for prefix in ("slurmd-", "slurmctld"):
            self._daemons.stop([name for name in self._daemons.names() if name.startswith(prefix)])
        leftovers.end(self.root, self._place.job_ids)
        self._ports.release()
        leftovers.remove(self.root)

    def run(self, *argv: str, stdin: str = "") -> str:
        """Run a command there; what it printed."""
        done = subprocess.run(
            argv, input=stdin, env={**os.environ, "SLURM_CONF": str(self.conf)}, capture_output=True, text=True,
            timeout=30, check=True,
        )  # fmt: skip
        return done.stdout

    def _write(self) -> None:
        cluster, folder = self._cluster, self._place.folder(self._cluster)
        for name in ("state", "log", "dev", *(f"spool/{node}" for node in cluster.node_names)):
            (folder / name).mkdir(parents=True, exist_ok=True)
        for number in range(gpu_devices(cluster)):
            os.mknod(folder / "dev" / f"nvidia{number}", 0o666 | stat.S_IFCHR, os.makedev(NVIDIA_MAJOR, number))
        text = re.sub(r"^AccountingStorage.*\n", "", slurm_conf(cluster, self._place), flags=re.MULTILINE)
        text = re.sub(r" TRESBillingWeights=\S+", "", text)  # refused where nothing counts TRES
        (folder / "slurm.conf").write_text(text)
        (folder / "gres.conf").write_text(gres_conf(cluster, self._place))
        (folder / "cgroup.conf").write_text(cgroup_conf(self._place))
        (self.root / "bin").mkdir()
        for name in ("slurmctld", "slurmd"):  # Debian's slurmctld-wlm refuses its own plugins under that name
            (self.root / "bin" / name).symlink_to(str(program(name)))

    def _start(self, name: str, command: str, *options: str) -> None:
        argv = [*self._place.host.launch, str(self.root / "bin" / command), *options]
        self._daemons.start(name, argv, {"SLURM_CONF": str(self.conf)})

    def _is_ready(self) -> bool:
        done = subprocess.run(
            ["sinfo", "-h", "-a", "-N", "-o", "%T"], env={**os.environ, "SLURM_CONF": str(self.conf)},
            capture_output=True, text=True, timeout=30, check=False,
        )  # fmt: skip
        return done.returncode == 0 and set(done.stdout.split()) == {"idle"}

"""The configuration files of the clusters as text: pure functions of a cluster and of where it lives."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .clusters import CLUSTERS, Cluster
from .host import FIRST_PORT, PORTS_PER_TESTBED, Host

NVIDIA_MAJOR = 195
COMMON = (
    "SelectType=select/cons_tres",
    "SlurmdParameters=config_overrides",  # nodes may claim more hardware than this machine has
    "ReturnToService=2",
    "GresTypes=gpu",
    "MpiDefault=none",
    "MailProg=/bin/true",
    "KillWait=2",
    "MinJobAge=60",
    "MaxJobCount=60000",  # a minute keeps what benchmarks cancel
    "SlurmctldTimeout=30",
    "SlurmdTimeout=30",
    "PriorityType=priority/multifactor",
    "SchedulerType=sched/backfill",
    "SchedulerParameters=bf_interval=5,sched_interval=5,batch_sched_delay=0,sched_min_interval=0",
)
"""What all clusters have in common."""


@dataclass(frozen=True)
class Place:
    """Where one testbed lives: its folder, its machine, its ports."""

    root: Path
    host: Host
    first_port: int

    @property
    def accounting_port(self) -> int:
        """Where slurmdbd listens."""
        return self.first_port

    def ports(self, cluster: Cluster) -> int:
        """The first of the 100 ports of a cluster."""
        return self.first_port + 10 + 100 * list(CLUSTERS).index(cluster.name)

    def folder(self, cluster: Cluster) -> Path:
        """The folder of a cluster."""
        return self.root / "sites" / cluster.name

    def conf(self, cluster: Cluster) -> Path:
        """What SLURM_CONF must be to speak to this cluster."""
        return self.folder(cluster) / "slurm.conf"

    @property
    def job_ids(self) -> range:
        """The job ids of this testbed. Slurm names a job's cgroup after node, user and job id, so two testbeds at once
        would share cgroups, and kill each other's jobs, if both counted from 1.
        """
        first = 1_000_001 + (self.first_port - FIRST_PORT) // PORTS_PER_TESTBED * 1_500_000
        return range(first, first + 1_500_000)


def slurm_conf(cluster: Cluster, place: Place) -> str:
    """slurm.conf. Everything listens on loopback and lives below the testbed's folder."""
    folder, port, host = place.folder(cluster), place.ports(cluster), place.host
    lines = [
        f"ClusterName={cluster.name}",
        f"SlurmctldHost={host.name}({host.address})",
        f"SlurmctldPort={port}",
        f"SlurmdPort={port + 1}",
        "AuthType=auth/none",
        "CredType=cred/none",
        "AuthInfo=cred_expire=5",  # a requeued job waits 6 s, not 121 s
        "SlurmUser=root",
        "SlurmdUser=root",
        "CommunicationParameters=NoCtldInAddrAny,NoInAddrAny",  # without it every daemon listens on 0.0.0.0
        f"SrunPortRange={port + 60}-{port + 99}",
        f"StateSaveLocation={folder}/state",
        f"SlurmdSpoolDir={folder}/spool/%n",
        f"SlurmctldPidFile={folder}/slurmctld.pid",
        f"SlurmdPidFile={folder}/slurmd.%n.pid",
        f"SlurmctldLogFile={folder}/log/slurmctld.log",
        f"SlurmdLogFile={folder}/log/slurmd.%n.log",
        *_containment(host),
        f"FirstJobId={place.job_ids.start}",
        *COMMON,
        "AccountingStorageType=accounting_storage/slurmdbd",
        f"AccountingStorageHost={host.address}",
        f"AccountingStoragePort={place.accounting_port}",
        "AccountingStorageEnforce=associations,limits,qos",
        "AccountingStorageTRES=gres/gpu",
        *cluster.options,
        *_nodes(cluster, place),
        *(f"PartitionName={line}" for line in cluster.partitions),
    ]
    if cluster.submit_lua:
        lines.append("JobSubmitPlugins=lua")
    return "\n".join(lines) + "\n"


def _containment(host: Host) -> list[str]:
    """How jobs are tracked and held to their memory. Without cgroups slurmd samples every 2 s and kills."""
    lines = ["JobAcctGatherType=jobacct_gather/linux", "JobAcctGatherFrequency=task=2"]
    if host.cgroup:
        return [*lines, "ProctrackType=proctrack/cgroup", "TaskPlugin=task/cgroup"]
    return [
        *lines,
        "ProctrackType=proctrack/linuxproc",
        "TaskPlugin=task/none",
        "JobAcctGatherParams=OverMemoryKill",
    ]


def _nodes(cluster: Cluster, place: Place) -> list[str]:
    lines, port = [], place.ports(cluster) + 10
    for row in cluster.nodes:
        last = port + row.count - 1
        line = (
            f"NodeName={row.range} NodeHostname={place.host.name} NodeAddr={place.host.address}"
            f" Port={port if row.count == 1 else f'{port}-{last}'}"
            f" Sockets={row.sockets} CoresPerSocket={row.cores} ThreadsPerCore=1 RealMemory={row.memory_mb}"
        )
        if row.feature:
            line += f" Feature={row.feature}"
        if row.gpus:
            line += f" Gres=gpu:{row.gpu_type}:{row.gpus}"
        lines.append(line)
        port = last + 1
    return lines


def gres_conf(cluster: Cluster, place: Place) -> str:
    """gres.conf. GPUs need character devices: a plain file gives jobs no CUDA_VISIBLE_DEVICES, a bare count none at all."""
    return "".join(
        f"NodeName={row.range} Name=gpu Type={row.gpu_type} File={place.folder(cluster)}/dev/nvidia[0-{row.gpus - 1}]\n"
        for row in cluster.nodes
        if row.gpus
    )


def gpu_devices(cluster: Cluster) -> int:
    """How many device files the nodes of a cluster share."""
    return max((row.gpus for row in cluster.nodes), default=0)


def cgroup_conf(place: Place) -> str:
    """cgroup.conf: memory is held to by the kernel where cgroup v1 can be written; cgroups are left alone elsewhere."""
    if place.host.cgroup:
        return (
            "CgroupPlugin=cgroup/v1\nCgroupMountpoint=/sys/fs/cgroup\n"
            "ConstrainRAMSpace=yes\nConstrainCores=no\nConstrainDevices=no\n"
        )
    if place.host.slurm_version >= (23, 2):
        return "CgroupPlugin=disabled\n"
    return "CgroupPlugin=cgroup/v1\nConstrainRAMSpace=no\nConstrainCores=no\nConstrainDevices=no\n"


def slurmdbd_conf(place: Place) -> str:
    """slurmdbd.conf: one slurmdbd serves all clusters."""
    folder = place.root / "accounting"
    return "\n".join(
        (
            f"DbdHost={place.host.name}",
            f"DbdAddr={place.host.address}",
            f"DbdPort={place.accounting_port}",
            "AuthType=auth/none",
            "SlurmUser=root",
            "StorageType=accounting_storage/mysql",
            "StorageHost=localhost",
            "StorageUser=slurm",
            "StoragePass=slurm",
            "StorageLoc=slurm_acct",
            f"LogFile={folder}/slurmdbd.log",
            f"PidFile={folder}/slurmdbd.pid",
            "CommunicationParameters=NoInAddrAny",  # not in its manual, yet it keeps slurmdbd on loopback
            "CommitDelay=0",
            "",
        )
    )

"""What the three clusters look like: modelled on NCSA Delta, Purdue Anvil and TACC Vista, at the size of a laptop."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Nodes:
    """A row of equal nodes ``prefix01 … prefixNN``. The hardware may be larger than this machine: Slurm only counts."""

    prefix: str
    count: int
    sockets: int
    cores: int
    memory_mb: int
    gpu_type: str = ""
    gpus: int = 0
    feature: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """Each node's name."""
        return tuple(f"{self.prefix}{i:02d}" for i in range(1, self.count + 1))

    @property
    def range(self) -> str:
        """The names as a Slurm node list."""
        return self.names[0] if self.count == 1 else f"{self.prefix}[01-{self.count:02d}]"


@dataclass(frozen=True)
class Cluster:
    """One cluster: its nodes, its partitions as slurm.conf writes them, its accounts and its limits.

    ``qos`` and ``limits`` are set once the controllers have registered; before that slurmdbd knows no gres/gpu.
    """

    name: str
    nodes: tuple[Nodes, ...]
    partitions: tuple[str, ...]
    options: tuple[str, ...]
    accounts: tuple[str, ...]
    default_partition: str
    qos: dict[str, str] = field(default_factory=dict)
    limits: dict[str, str] = field(default_factory=dict)
    submit_lua: str = ""

    @property
    def node_names(self) -> tuple[str, ...]:
        """All nodes of the cluster."""
        return tuple(name for row in self.nodes for name in row.names)

    @property
    def partition_names(self) -> tuple[str, ...]:
        """All partitions, hidden ones too."""
        return tuple(line.split()[0] for line in self.partitions)


DELTA = Cluster(
    name="delta",
    nodes=(
        Nodes("cn", 2, sockets=2, cores=64, memory_mb=257000),
        Nodes("gpua", 2, sockets=1, cores=64, memory_mb=257000, gpu_type="a100", gpus=4),
        Nodes("gpub", 2, sockets=1, cores=64, memory_mb=257000, gpu_type="a40", gpus=4),
        Nodes("gpuc", 1, sockets=2, cores=64, memory_mb=2060000, gpu_type="a100", gpus=8),
    ),
    partitions=(
        (
            "cpu Nodes=cn[01-02] Default=YES DefaultTime=30 MaxTime=2-00:00:00 DefMemPerCPU=1000"
            " TRESBillingWeights=CPU=1.0,Mem=0.5G"
        ),
        "cpu-interactive Nodes=cn[01-02] DefaultTime=30 MaxTime=1:00:00 DefMemPerCPU=1000 PriorityJobFactor=10",
        (
            "gpuA100x4 Nodes=gpua[01-02] DefaultTime=30 MaxTime=2-00:00:00 DefMemPerCPU=1000"
            " TRESBillingWeights=GRES/gpu=1000.0"
        ),
        (
            "gpuA100x4-preempt Nodes=gpua[01-02] DefaultTime=30 MaxTime=2-00:00:00 DefMemPerCPU=1000"
            " PreemptMode=CANCEL PriorityTier=0"
        ),
        (
            "gpuA40x4 Nodes=gpub[01-02] DefaultTime=30 MaxTime=2-00:00:00 DefMemPerCPU=1000"
            " TRESBillingWeights=GRES/gpu=500.0"
        ),
        "gpuA40x4-interactive Nodes=gpub[01-02] DefaultTime=30 MaxTime=1:00:00 DefMemPerCPU=1000 PriorityJobFactor=10",
        "gpuA100x8 Nodes=gpuc01 DefaultTime=30 MaxTime=2-00:00:00 DefMemPerCPU=1000",
        "staff Nodes=ALL Hidden=YES AllowGroups=root MaxTime=UNLIMITED",
    ),
    options=(
        "SelectTypeParameters=CR_Core_Memory",
        "EnforcePartLimits=ALL",
        "PreemptType=preempt/partition_prio",
        "PreemptMode=CANCEL",
    ),
    accounts=("bbka-delta-cpu", "bbka-delta-gpu"),
    default_partition="cpu",
    limits={"bbka-delta-gpu": "GrpTRESMins=gres/gpu=600000"},
)

ANVIL = Cluster(
    name="anvil",
    nodes=(
        Nodes("a", 4, sockets=2, cores=64, memory_mb=257400),
        Nodes("b", 1, sockets=2, cores=64, memory_mb=1031000),
        Nodes("g", 2, sockets=2, cores=64, memory_mb=515000, gpu_type="a100", gpus=4),
        Nodes("h", 2, sockets=2, cores=48, memory_mb=1031000, gpu_type="h100", gpus=4),
    ),
    partitions=(
        "debug Nodes=a[01-02] DefaultTime=30 MaxTime=2:00:00 MaxNodes=2 OverSubscribe=YES",
        "gpu-debug Nodes=g[01-02] DefaultTime=15 MaxTime=30 MaxNodes=1 QOS=gpudebug",
        (
            "shared Nodes=a[01-04] Default=YES DefaultTime=30 MaxTime=4-00:00:00 MaxNodes=1"
            " DefMemPerCPU=1896 MaxMemPerCPU=1896"
        ),
        "wholenode Nodes=a[01-04] DefaultTime=30 MaxTime=4-00:00:00 MaxNodes=16 OverSubscribe=EXCLUSIVE",
        "wide Nodes=a[01-04] DefaultTime=30 MaxTime=12:00:00 MaxNodes=56 OverSubscribe=EXCLUSIVE",
        "highmem Nodes=b01 DefaultTime=30 MaxTime=2-00:00:00 MaxNodes=1 DefMemPerCPU=7993",
        "gpu Nodes=g[01-02] DefaultTime=30 MaxTime=2-00:00:00 QOS=gpu",
        "ai Nodes=h[01-02] DefaultTime=30 MaxTime=2-00:00:00 QOS=ai",
    ),
    options=(
        "SelectTypeParameters=CR_Core_Memory",
        "EnforcePartLimits=ALL",
        "PreemptType=preempt/qos",
        "PreemptMode=REQUEUE",
    ),
    accounts=("cis220051", "cis220051-gpu", "cis220051-ai"),
    default_partition="shared",
    qos={
        "gpu": "MaxTRESPerUser=gres/gpu=12 MaxSubmitJobsPerUser=500",
        "ai": "MaxTRESPerUser=gres/gpu=8",
        "gpudebug": "MaxTRESPerUser=gres/gpu=2 MaxJobsPerUser=1",
        "standby": "Priority=0 PreemptMode=REQUEUE",
        "high": "Priority=1000 Preempt=standby",
    },
)

VISTA_LUA = """\
function slurm_job_submit(job, partitions, uid)
  if job.tres_per_node ~= nil or job.tres_per_job ~= nil or job.tres_per_task ~= nil then
    slurm.log_user("--gres/--gpus options are not supported on vista")
    return slurm.ERROR
  end
  if job.pn_min_memory ~= nil and job.pn_min_memory ~= slurm.NO_VAL64 and job.pn_min_memory ~= 0 then
    slurm.log_user("--mem is not available on vista: nodes are allocated whole")
    return slurm.ERROR
  end
  if job.time_limit == nil or job.time_limit == slurm.NO_VAL then
    slurm.log_user("you must specify a wall time with -t")
    return slurm.ERROR
  end
  if job.min_nodes == nil or job.min_nodes == slurm.NO_VAL then
    slurm.log_user("you must specify the number of nodes with -N")
    return slurm.ERROR
  end
  return slurm.SUCCESS
end

function slurm_job_modify(job, record, partitions, uid)
  return slurm.SUCCESS
end

return slurm.SUCCESS
"""

VISTA = Cluster(
    name="vista",
    nodes=(
        Nodes("c608-", 2, sockets=1, cores=72, memory_mb=237000, feature="gh"),
        Nodes("c640-", 3, sockets=2, cores=72, memory_mb=237000, feature="gg"),
    ),
    partitions=(
        "gg Nodes=c640-[01-03] Default=YES MaxTime=2-00:00:00 MaxNodes=32 OverSubscribe=EXCLUSIVE",
        "gh Nodes=c608-[01-02] MaxTime=2-00:00:00 MaxNodes=64 OverSubscribe=EXCLUSIVE",
        "gh-dev Nodes=c608-[01-02] MaxTime=2:00:00 MaxNodes=8 OverSubscribe=EXCLUSIVE QOS=ghdev",
    ),
    options=(
        "SelectTypeParameters=CR_CPU",
        "EnforcePartLimits=ALL",
        # Power saving is configured, though never reached, so that the states ~ # % ! @ ^ can be set by hand.
        "SuspendProgram=/bin/true",
        "ResumeProgram=/bin/true",
        "RebootProgram=/bin/true",
        "SuspendTime=86400",
        "SuspendTimeout=5",
        "ResumeTimeout=60",
    ),
    accounts=("cda24001",),  # sacctmgr lower-cases account names; -A CDA24001 still matches
    default_partition="gg",
    qos={"ghdev": "MaxJobsPerUser=1 MaxSubmitJobsPerUser=1"},
    submit_lua=VISTA_LUA,
)

CLUSTERS: dict[str, Cluster] = {cluster.name: cluster for cluster in (DELTA, ANVIL, VISTA)}

"""libgpusched decides which AI job runs on which GPU.

Describe a cluster, choose a policy, and place tasks; each takes CPU, memory, and a share of a GPU
or whole ones. What does not fit comes back with a reason.

>>> import libgpusched as gs
>>> cluster = gs.Cluster()
>>> cluster.add_node("n1", cpu=64, mem_mib=262144, gpus=8, model="A100-SXM4-80GB")
>>> cluster.add_node("n2", cpu=32, mem_mib=131072, gpus=2, model="T4")
>>> scheduler = gs.Scheduler(cluster, 0.8 * gs.BestFit() + 0.2 * gs.GpuPacking())
>>> decision = scheduler.place("job-1", gs.Shape(cpu=8, mem_mib=32768, gpu=0.5))
>>> decision.node, decision.devices
('n2', (0,))
>>> decision = scheduler.place("job-2", gs.Shape(cpu=8, mem_mib=32768, gpu=4, models=["T4"]))
>>> if not decision:
...     print(decision.reason.dominant, decision.reason.counts)
TooFewWholeDevices {'ModelNotAllowed': 1, 'TooFewWholeDevices': 1}
>>> scheduler.release("job-1")

An `Engine` schedules jobs over time: it is told events, asked for a plan, and told what became of
it.

>>> engine = gs.Engine()
>>> _ = engine.add_node("n1", cpu=64, mem_mib=262144, gpus=8, model="A100-SXM4-80GB")
>>> _ = engine.submit(gs.Job("train", gs.TaskGroup("workers", gs.Shape(cpu=8, gpu=4), 2)))
>>> plan = engine.decide(now=0)
>>> print(plan)
place train/workers/0 attempt 1 on n1 devices 0,1,2,3
place train/workers/1 attempt 1 on n1 devices 4,5,6,7
>>> bool(engine.commit(plan))
True

CPU is counted in thousandths of a core (`cpu_milli`), GPU in thousandths of a device
(`gpu_milli`), memory in MiB. `cpu=` and `gpu=` take cores and devices, and round once. Errors are
in `libgpusched.errors`. On the command line, `libgpusched fill` measures policies by filling a
cluster, `libgpusched models` prints the GPU models that are known, and `libgpusched journal` prints
what an engine has written down.
"""

from __future__ import annotations

from libgpusched._core import (
    Account,
    Batch,
    BestFit,
    Catalog,
    Cluster,
    Decision,
    Device,
    DeviceGrant,
    DeviceInfo,
    DotProduct,
    Effect,
    Engine,
    Evict,
    Fgd,
    FillPlacement,
    FillResult,
    FirstFit,
    Fragmentation,
    FragmentationReport,
    GpuClustering,
    GpuModel,
    GpuPacking,
    GroupAccount,
    HoldInfo,
    Job,
    JobInfo,
    JournalRecord,
    LatencyNs,
    Mark,
    MigGeometry,
    MigInstance,
    MigPartition,
    MigProfile,
    MigStart,
    NodeInfo,
    Place,
    Placements,
    Plan,
    Policy,
    Random,
    Refusal,
    Reject,
    Resources,
    Restored,
    Scheduler,
    ScorePolicy,
    Shape,
    TargetWorkload,
    TaskGroup,
    TaskInfo,
    TaskStatus,
    Transaction,
    Wait,
    Weighted,
    Workload,
    WorstFit,
    __version__,
    fragmentation,
    gpu_models,
    mig_geometries,
    mig_geometry,
    models,
    policy,
    policy_names,
    read_journal,
    reasons,
    run_fill,
)
from libgpusched.catalog_file import read_catalog
from libgpusched.errors import (
    AlreadyExists,
    Cancelled,
    CorruptData,
    GpuschedError,
    InternalError,
    InvalidSpec,
    LimitExceeded,
    NotFound,
    PolicyError,
    PreconditionFailed,
    Unavailable,
)
from libgpusched.experiment import Experiment, fill
from libgpusched.import_config import nodes_from_config
from libgpusched.import_kubernetes import nodes_from_kubernetes
from libgpusched.import_nvidia_smi import node_from_nvidia_smi
from libgpusched.node_description import NodeDescription, Taint
from libgpusched.task import Task

__all__ = [
    "Account",
    "AlreadyExists",
    "Batch",
    "BestFit",
    "Cancelled",
    "Catalog",
    "Cluster",
    "CorruptData",
    "Decision",
    "Device",
    "DeviceGrant",
    "DeviceInfo",
    "DotProduct",
    "Effect",
    "Engine",
    "Evict",
    "Experiment",
    "Fgd",
    "FillPlacement",
    "FillResult",
    "FirstFit",
    "Fragmentation",
    "FragmentationReport",
    "GpuClustering",
    "GpuModel",
    "GpuPacking",
    "GpuschedError",
    "GroupAccount",
    "HoldInfo",
    "InternalError",
    "InvalidSpec",
    "Job",
    "JobInfo",
    "JournalRecord",
    "LatencyNs",
    "LimitExceeded",
    "Mark",
    "MigGeometry",
    "MigInstance",
    "MigPartition",
    "MigProfile",
    "MigStart",
    "NodeDescription",
    "NodeInfo",
    "NotFound",
    "Place",
    "Placements",
    "Plan",
    "Policy",
    "PolicyError",
    "PreconditionFailed",
    "Random",
    "Refusal",
    "Reject",
    "Resources",
    "Restored",
    "Scheduler",
    "ScorePolicy",
    "Shape",
    "Taint",
    "TargetWorkload",
    "Task",
    "TaskGroup",
    "TaskInfo",
    "TaskStatus",
    "Transaction",
    "Unavailable",
    "Wait",
    "Weighted",
    "Workload",
    "WorstFit",
    "__version__",
    "fill",
    "fragmentation",
    "gpu_models",
    "mig_geometries",
    "mig_geometry",
    "models",
    "node_from_nvidia_smi",
    "nodes_from_config",
    "nodes_from_kubernetes",
    "policy",
    "policy_names",
    "read_catalog",
    "read_journal",
    "reasons",
    "run_fill",
]

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

CPU is counted in thousandths of a core (`cpu_milli`), GPU in thousandths of a device
(`gpu_milli`), memory in MiB. `cpu=` and `gpu=` take cores and devices, and round once. Errors are
in `libgpusched.errors`. On the command line, `libgpusched fill` measures policies by filling a
cluster.
"""

from __future__ import annotations

from libgpusched._core import (
    Batch,
    BestFit,
    Cluster,
    Decision,
    Device,
    DeviceInfo,
    DotProduct,
    Fgd,
    FillPlacement,
    FillResult,
    FirstFit,
    GpuClustering,
    GpuPacking,
    LatencyNs,
    Mark,
    NodeInfo,
    Policy,
    Random,
    Refusal,
    Resources,
    Scheduler,
    ScorePolicy,
    Shape,
    TargetWorkload,
    TaskInfo,
    Transaction,
    Weighted,
    Workload,
    WorstFit,
    __version__,
    models,
    policy,
    policy_names,
    reasons,
    run_fill,
)
from libgpusched.errors import (
    AlreadyExists,
    Cancelled,
    GpuschedError,
    InternalError,
    InvalidSpec,
    LimitExceeded,
    NotFound,
    PolicyError,
    PreconditionFailed,
)
from libgpusched.experiment import Experiment, fill

__all__ = [
    "AlreadyExists",
    "Batch",
    "BestFit",
    "Cancelled",
    "Cluster",
    "Decision",
    "Device",
    "DeviceInfo",
    "DotProduct",
    "Experiment",
    "Fgd",
    "FillPlacement",
    "FillResult",
    "FirstFit",
    "GpuClustering",
    "GpuPacking",
    "GpuschedError",
    "InternalError",
    "InvalidSpec",
    "LatencyNs",
    "LimitExceeded",
    "Mark",
    "NodeInfo",
    "NotFound",
    "Policy",
    "PolicyError",
    "PreconditionFailed",
    "Random",
    "Refusal",
    "Resources",
    "Scheduler",
    "ScorePolicy",
    "Shape",
    "TargetWorkload",
    "TaskInfo",
    "Transaction",
    "Weighted",
    "Workload",
    "WorstFit",
    "__version__",
    "fill",
    "models",
    "policy",
    "policy_names",
    "reasons",
    "run_fill",
]

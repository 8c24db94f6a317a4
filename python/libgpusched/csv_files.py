"""Writers of the CSV files that libgpusched exchanges: workloads and placements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from libgpusched._core import FillResult, Workload
from libgpusched.errors import InvalidSpec

PLACEMENTS_HEADER = "policy,seed,seq,pod,cpu_milli,mem_mib,num_gpu,gpu_milli,models,node,devices\n"


def placement_lines(result: FillResult) -> Iterator[str]:
    """One line a pod in order of arrival; node and devices are empty if it was dropped."""
    policy = result.policy if "," not in result.policy else f'"{result.policy}"'
    for placement in result.placements:
        shape = placement.shape
        yield (
            f"{policy},{result.seed},{placement.sequence},{placement.pod},{shape.cpu_milli},"
            f"{shape.mem_mib},{shape.gpu_count},{shape.gpu_milli},{'|'.join(shape.models)},"
            f"{placement.node or ''},{'|'.join(map(str, placement.devices))}\n"
        )


def node_lines(workload: Workload) -> Iterator[str]:
    """The nodes in openb format. Raises InvalidSpec for a node with unequal devices."""
    yield "sn,cpu_milli,memory_mib,gpu,model\n"
    for name, cpu_milli, mem_mib, devices in workload.nodes():
        models = {device.model for device in devices}
        if len(models) > 1:
            raise InvalidSpec(f"node '{name}': models is {sorted(models)}; openb allows one a node")
        yield f"{name},{cpu_milli},{mem_mib},{len(devices)},{''.join(models)}\n"


def pod_lines(workload: Workload) -> Iterable[str]:
    """The pods in openb format."""
    yield "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n"
    for name, shape in workload.pods():
        yield (
            f"{name},{shape.cpu_milli},{shape.mem_mib},{shape.gpu_count},{shape.gpu_milli},"
            f"{'|'.join(shape.models)}\n"
        )

"""The ledger: nodes, devices, tasks, foreign usage; and that what is refused changes nothing."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import libgpusched as gs


def test_capacity_and_free(cluster: gs.Cluster) -> None:
    assert cluster.capacity.cpu_milli == 80_000
    assert cluster.capacity.gpu_milli == 10_000
    assert cluster.capacity.gpu_mem_mib == 8 * 81920
    cluster.place("t", gs.Shape(cpu=1.5, mem_mib=100, gpu=0.25), node="small", devices=[1])
    assert cluster.used.gpu_milli == 250
    assert cluster.free.cpu_milli == 78_500
    node = cluster.node("small")
    assert (node.free.gpu_milli, node.used.mem_mib, node.task_count) == (1750, 100, 1)
    assert [device.free_milli for device in node.devices] == [1000, 750]
    assert node.devices[1].mem_free_mib is None
    cluster.audit()


def test_device_memory_is_held(cluster: gs.Cluster) -> None:
    cluster.place("t", gs.Shape(gpu=0.5, gpu_mem_mib=50000), node="large", devices=[3])
    device = cluster.node("large").devices[3]
    assert (device.mem_capacity_mib, device.mem_used_mib, device.mem_free_mib) == (
        81920,
        50000,
        31920,
    )
    with pytest.raises(gs.PreconditionFailed, match=r"devices\[3\].gpu_mem_mib is 31920 free"):
        cluster.place("u", gs.Shape(gpu=0.5, gpu_mem_mib=40000), node="large", devices=[3])


def test_node_with_unequal_devices() -> None:
    cluster = gs.Cluster(opaque_models=["G2"])
    cluster.add_node("n", cpu=8, devices=[gs.Device("T4"), gs.Device("G2", gpu_milli=0)])
    assert [(d.model, d.capacity_milli) for d in cluster.node("n").devices] == [
        ("T4", 1000),
        ("G2", 0),
    ]


def test_nodes_and_tasks_are_listed(cluster: gs.Cluster) -> None:
    cluster.place("b", gs.Shape(gpu=2), node="large", devices=[4, 0])
    cluster.place("a", gs.Shape(cpu=1), node="small")
    assert cluster.node_names() == [node.name for node in cluster.nodes()] == ["large", "small"]
    assert [(t.name, t.node, t.devices) for t in cluster.tasks()] == [
        ("a", "small", ()),
        ("b", "large", (0, 4)),
    ]
    assert cluster.task("b").shape == gs.Shape(gpu=2)
    assert (cluster.node_count, cluster.task_count) == (2, 2)


def test_shapes_of_tasks_come_back(cluster: gs.Cluster) -> None:
    shape = gs.Shape(cpu=1, mem_mib=5, gpu=0.5, gpu_mem_mib=7, models=["T4", "A100-SXM4-80GB"])
    cluster.place("t", shape, node="small", devices=[0])
    assert cluster.task("t").shape == shape


def test_foreign_usage_may_exceed_what_is_there(cluster: gs.Cluster) -> None:
    cluster.set_foreign("small", cpu_milli=20_000, device_milli=[300, 2000])
    node = cluster.node("small")
    assert (node.free.cpu_milli, node.free.gpu_milli) == (0, 700)
    assert [device.foreign_milli for device in node.devices] == [300, 2000]
    cluster.set_foreign("small")
    assert cluster.node("small").free.gpu_milli == 2000


def test_names_may_be_any_text(cluster: gs.Cluster) -> None:
    cluster.add_node("nœud \0 1", cpu=1)
    assert cluster.node("nœud \0 1").name == "nœud \0 1"


def test_a_name_is_free_again_after_release(cluster: gs.Cluster) -> None:
    before = cluster.state_hash()
    for _ in range(3):
        cluster.place("t", gs.Shape(cpu=1), node="small")
        cluster.release("t")
    assert cluster.state_hash() == before
    cluster.remove_node("small")
    cluster.add_node("small", cpu=16, mem_mib=65536, gpus=2, model="T4")
    assert cluster.state_hash() == before


def test_copies_outlive_the_cluster() -> None:
    cluster = gs.Cluster()
    cluster.add_node("n", cpu=1, gpus=1, model="T4")
    node, capacity = cluster.node("n"), cluster.capacity
    del cluster
    gc.collect()
    assert (node.devices[0].model, capacity.cpu_milli) == ("T4", 1000)


def test_unknown_names(cluster: gs.Cluster) -> None:
    with pytest.raises(gs.NotFound, match="node is 'x'; no node of this name is in the cluster"):
        cluster.node("x")
    with pytest.raises(KeyError, match="task is 'x'; no task of this name is running"):
        cluster.task("x")


Misuse = Callable[[gs.Cluster | gs.Transaction], object]


def call(what: str, *args: Any, **kwargs: Any) -> Misuse:
    return lambda target: getattr(target, what)(*args, **kwargs)


REFUSED: list[tuple[Misuse, type[Exception], str]] = [
    (call("add_node", "small", cpu=1), gs.AlreadyExists, "node: name is 'small'; a node of this"),
    (call("add_node", ""), gs.InvalidSpec, "node: name is ''; give it a unique name"),
    (call("add_node", 5), gs.InvalidSpec, "node: name is 5; use text"),
    (call("add_node", "\ud800"), gs.InvalidSpec, "node: name is '\\ud800'; use text that can"),
    (call("add_node", "n", cpu=-1), gs.InvalidSpec, "node 'n': cpu is -1; use 0 or more"),
    (call("add_node", "n", cpu=float("nan")), gs.InvalidSpec, "node 'n': cpu is nan; use a finite"),
    (
        call("add_node", "n", mem_mib=2**40 + 1),
        gs.InvalidSpec,
        "node 'n': mem_mib is 1099511627777",
    ),
    (call("add_node", "n", mem_mib=2**64), gs.InvalidSpec, "mem_mib is 18446744073709551616"),
    (call("add_node", "n", gpus=-1, model="T4"), gs.InvalidSpec, "node 'n': gpus is -1; use 0 to"),
    (
        call("add_node", "n", gpus=65, model="T4"),
        gs.InvalidSpec,
        "node 'n': gpus is 65; use 0 to 64",
    ),
    (
        call("add_node", "n", gpus=1.5, model="T4"),
        gs.InvalidSpec,
        "gpus is 1.5; use a whole number",
    ),
    (call("add_node", "n", gpus=True, model="T4"), gs.InvalidSpec, "gpus is True; use a whole"),
    (call("add_node", "n", gpus=2), gs.InvalidSpec, "node 'n': model is None; name the model"),
    (
        call("add_node", "n", gpus=1, model="A100-SXM4-80G"),
        gs.InvalidSpec,
        "model is 'A100-SXM4-80G'; did you mean 'A100-SXM4-80GB'?",
    ),
    (
        call("add_node", "n", gpus=1, devices=[gs.Device("T4")]),
        gs.InvalidSpec,
        "node 'n': gpus is 1; devices is given too; say it there",
    ),
    (call("add_node", "n", devices=["T4"]), gs.InvalidSpec, "devices[0] is 'T4'; use a Device"),
    (call("add_node", "n", devices=3), gs.InvalidSpec, "devices is 3; use a list of Device"),
    (
        call("add_node", "n", devices=[gs.Device("T4")] * 65),
        gs.InvalidSpec,
        "devices is 65 devices; use at most 64",
    ),
    (
        call("add_node", "n", devices=[gs.Device("T4", gpu_mem_mib=2**39)] * 3),
        gs.InvalidSpec,
        "sum of devices[].gpu_mem_mib is 1649267441664; use 0 to",
    ),
    (
        call("add_node", "n", devices=[gs.Device("T4", gpu_milli=1001)]),
        gs.InvalidSpec,
        "devices[0].gpu_milli is 1001; use 0 to 1000",
    ),
    (call("add_node", "n", gpu_mem_mib=5), gs.InvalidSpec, "gpu_mem_mib is 5; a node without GPUs"),
    (call("remove_node", "none"), gs.NotFound, "node is 'none'; no node of this name"),
    (call("remove_node", "large"), gs.PreconditionFailed, "running 1 tasks; release them first"),
    (call("release", "none"), gs.NotFound, "task is 'none'; no task of this name is running"),
    (call("release", 7), gs.InvalidSpec, "task: name is 7; use text"),
    (
        call("place", "busy", gs.Shape(cpu=1), node="small"),
        gs.AlreadyExists,
        "'busy'",
    ),
    (call("place", "", gs.Shape(cpu=1), node="small"), gs.InvalidSpec, "name is ''"),
    (call("place", "t", gs.Shape(cpu=1), node="none"), gs.NotFound, "node is 'none'"),
    (
        call("place", "t", gs.Shape(cpu=17), node="small"),
        gs.PreconditionFailed,
        "node 'small': cpu_milli is 16000 free; the task asks 17000",
    ),
    (
        call("place", "t", gs.Shape(mem_mib=10**6), node="small"),
        gs.PreconditionFailed,
        "node 'small': mem_mib is 65536 free; the task asks 1000000",
    ),
    (
        call("place", "t", gs.Shape(gpu=1), node="small", devices=[]),
        gs.PreconditionFailed,
        "devices is 0 devices; the task asks 1",
    ),
    (
        call("place", "t", gs.Shape(gpu=1), node="small", devices=[2]),
        gs.PreconditionFailed,
        "devices[2] is missing; the node has 2 devices",
    ),
    (
        call("place", "t", gs.Shape(gpu=1, models=["A10"]), node="small", devices=[0]),
        gs.PreconditionFailed,
        "devices[0] is 'T4'; the task does not allow this model",
    ),
    (
        call("place", "t", gs.Shape(gpu=1), node="large", devices=[0]),
        gs.PreconditionFailed,
        "devices[0].gpu_milli is 500 free; the task asks 1000",
    ),
    (
        call("place", "t", gs.Shape(gpu=1, models=["T5"]), node="small", devices=[0]),
        gs.InvalidSpec,
        "models[0] is 'T5'; did you mean 'T4'?",
    ),
    (
        call("place", "t", gs.Shape(gpu=1), node="small", devices=[-1]),
        gs.InvalidSpec,
        "task 't': devices is [-1]; use indices from 0 to 63",
    ),
    (
        call("place", "t", gs.Shape(gpu=1), node="small", devices=[64]),
        gs.InvalidSpec,
        "use indices from 0 to 63",
    ),
    (
        call("place", "t", gs.Shape(gpu=1), node="small", devices=[2**80]),
        gs.InvalidSpec,
        "use indices from 0 to 63",
    ),
    (
        call("place", "t", gs.Shape(gpu=2), node="small", devices=[0, 0]),
        gs.InvalidSpec,
        "task 't': devices is [0, 0]; name each device once",
    ),
    (
        call("place", "t", gs.Shape(gpu=1), node="small", devices=0),
        gs.InvalidSpec,
        "devices is 0; use a list of device indices",
    ),
    (call("set_foreign", "none"), gs.NotFound, "node is 'none'"),
    (
        call("set_foreign", "small", cpu_milli=-1),
        gs.InvalidSpec,
        "foreign usage of node 'small': cpu_milli is -1; use 0 to",
    ),
    (
        call("set_foreign", "small", device_milli=[1, 2, 3]),
        gs.InvalidSpec,
        "device_milli is 3 entries; the node has 2 devices",
    ),
    (call("set_foreign", "small", device_milli=5), gs.InvalidSpec, "device_milli is 5; use a list"),
]


@pytest.mark.parametrize(
    ("misuse", "error", "message"), REFUSED, ids=[f"{e.__name__}: {m}" for _, e, m in REFUSED]
)
def test_refused_changes(
    cluster: gs.Cluster,
    misuse: Misuse,
    error: type[Exception],
    message: str,
) -> None:
    cluster.place("busy", gs.Shape(gpu=0.5), node="large", devices=[0])
    before = cluster.state_hash()
    with pytest.raises(gs.GpuschedError) as raised:
        misuse(cluster)
    assert type(raised.value) is error
    assert message in str(raised.value)
    assert cluster.state_hash() == before
    cluster.audit()

    # The same within a transaction, which goes on.
    with cluster.transaction() as tx, pytest.raises(gs.GpuschedError):
        misuse(tx)
    assert cluster.state_hash() == before


def test_a_cluster_knows_at_most_64_models() -> None:
    names = [f"M{i}" for i in range(65)]
    cluster = gs.Cluster(opaque_models=names)
    for name in names[:64]:
        cluster.add_node(name, gpus=1, model=name)
    before = cluster.state_hash()
    with pytest.raises(gs.LimitExceeded, match="one state knows at most 64 model names"):
        cluster.add_node("M64", gpus=1, model="M64")
    assert cluster.state_hash() == before


def test_opaque_models_are_names() -> None:
    assert gs.Cluster(opaque_models="G2").node_count == 0
    for wrong in ([5], 5, [""]):
        with pytest.raises(gs.InvalidSpec, match="cluster: opaque_models"):
            gs.Cluster(opaque_models=wrong)  # type: ignore[arg-type]


def test_numpy_numbers_are_numbers() -> None:
    cluster = gs.Cluster()
    cluster.add_node("n", cpu=np.float32(8), mem_mib=np.uint16(5), gpus=np.int8(2), model="T4")
    cluster.place("t", gs.Shape(gpu=2), node="n", devices=np.array([1, 0]))
    assert cluster.task("t").devices == (0, 1)

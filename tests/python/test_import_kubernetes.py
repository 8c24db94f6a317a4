"""Nodes from Kubernetes that say more than one thing of their devices, or contradict themselves."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import libgpusched as gs

GPU, MIG = "nvidia.com/gpu", "nvidia.com/mig-"
A100 = "NVIDIA-A100-SXM4-40GB"


def node(
    allocatable: Mapping[str, object],
    product: str = A100,
    capacity: Mapping[str, object] | None = None,
    **labels: str,
) -> dict[str, Any]:
    """Labels as gpu_count for nvidia.com/gpu.count."""
    status: dict[str, Any] = {"allocatable": {"cpu": "8", "memory": "16Gi"} | dict(allocatable)}
    if capacity is not None:
        status["capacity"] = dict(capacity)
    named = {
        f"nvidia.com/{key.replace('_', '.', 1).replace('_', '-')}": value
        for key, value in labels.items()
    }
    return {
        "kind": "Node",
        "metadata": {"name": "n1", "labels": {"nvidia.com/gpu.product": product} | named},
        "status": status,
    }


def devices(described: Mapping[str, Any]) -> tuple[gs.Device, ...]:
    (made,) = gs.nodes_from_kubernetes(described)
    made.add_to(gs.Cluster())  # which checks them
    return made.devices


def layouts(made: tuple[gs.Device, ...]) -> list[list[str]]:
    return [sorted(part.profile for part in device.partitions) for device in made]


def test_devices_with_mig_are_as_many_as_the_label_leaves() -> None:
    made = devices(node({GPU: 0, f"{MIG}3g.20gb": 2}, gpu_count="2", gpu_memory="40960"))
    assert layouts(made) == [["3g.20gb"], ["3g.20gb"]]
    assert [device.gpu_mem_mib for device in made] == [40960, 40960]
    made = devices(node({GPU: "1", f"{MIG}3g.20gb": "2"}, gpu_count="2"))
    assert layouts(made) == [[], ["3g.20gb", "3g.20gb"]]
    # Without the label, as few as will do.
    assert layouts(devices(node({f"{MIG}3g.20gb": 2}))) == [["3g.20gb", "3g.20gb"]]


def test_devices_are_partitioned_alike_if_they_can_be() -> None:
    counts = {f"{MIG}1g.5gb": 16, f"{MIG}2g.10gb": 8, f"{MIG}3g.20gb": 8}
    made = devices(node(counts, gpu_count="8"))
    assert layouts(made) == [["1g.5gb", "1g.5gb", "2g.10gb", "3g.20gb"]] * 8
    assert len({device.partitions for device in made}) == 1


def test_mixed_strategy_without_instances() -> None:
    made = devices(node({GPU: "1"}, gpu_count="3", mig_strategy="mixed"))
    assert [device.gpu_milli for device in made] == [1000, 0, 0]


def test_broken_devices_are_out_of_service() -> None:
    made = devices(node({GPU: "7"}, capacity={GPU: "8"}, gpu_count="8"))
    assert [device.gpu_milli for device in made] == [1000] * 7 + [0]
    made = devices(
        node({GPU: "4"}, capacity={GPU: "8"}, gpu_count="2", gpu_replicas="4", product="Tesla-T4")
    )
    assert [(device.gpu_milli, device.replicas) for device in made] == [(1000, 4), (0, 1)]
    made = devices(node({GPU: "0"}, capacity={GPU: "1"}, gpu_count="1"))
    assert [device.gpu_milli for device in made] == [0]


def test_renamed_replicas() -> None:
    made = devices(
        node(
            {GPU: "0", f"{GPU}.shared": "8"},
            "Tesla-T4",
            gpu_count="2",
            gpu_replicas="4",
            gpu_sharing_strategy="mps",
        )
    )
    assert [(device.sharing, device.replicas) for device in made] == [("mps", 4)] * 2


def test_memory_that_is_not_known() -> None:
    assert devices(node({GPU: 1}, gpu_memory="0"))[0].gpu_mem_mib is None


def test_devices_of_two_makers() -> None:
    described = node({GPU: 1, "amd.com/gpu": 1}, "Tesla-T4")
    described["metadata"]["labels"]["amd.com/gpu.product-name"] = "AMD_Instinct_MI300X_OAM"
    assert [device.model for device in devices(described)] == ["T4", "MI300X"]


def test_broken_devices_of_amd() -> None:
    described = node({"amd.com/gpu": 0}, capacity={"amd.com/gpu": 2})
    described["metadata"]["labels"]["amd.com/gpu.product-name"] = "AMD_Instinct_MI300X_OAM"
    assert [device.gpu_milli for device in devices(described)] == [0, 0]
    described["status"]["allocatable"]["amd.com/gpu"] = 1
    assert [device.gpu_milli for device in devices(described)] == [1000, 0]
    described["status"]["allocatable"]["amd.com/gpu"] = 3
    with pytest.raises(gs.InvalidSpec, match=r"is 3; it is more than status.capacity.*is 2"):
        gs.nodes_from_kubernetes(described)


def test_the_nearest_model_is_found_without_the_maker() -> None:
    with pytest.raises(gs.InvalidSpec, match="the nearest model is 'B200-SXM-180GB'; .*opaque one"):
        gs.nodes_from_kubernetes(node({GPU: 1}, "NVIDIA-B300-SXM6-AC"))


@pytest.mark.parametrize("source", [[node({})], b"nodes.json", None])
def test_what_is_no_source(source: Any) -> None:
    with pytest.raises(gs.InvalidSpec, match="kubernetes: the document is .*; use a path, or"):
        gs.nodes_from_kubernetes(source)


@pytest.mark.parametrize(
    ("described", "message"),
    [
        (node({1: 2}), "status.allocatable is .*; use text as keys"),  # type: ignore[dict-item]
        (node({GPU: "7"}, gpu_count="8"), r"'nvidia.com/gpu.count' is 8, but these are 7 devices"),
        (node({GPU: 2}, capacity={GPU: 1}), r"is 2; it is more than status.capacity.*is 1"),
        (node({GPU: 2}, capacity={}), "more than nvidia.com/gpu of the capacity"),
        (node({GPU: 1, f"{GPU}.shared": 4}), "devices are either shared or not"),
        (
            node({GPU: 2, f"{MIG}1g.5gb": 1}, gpu_count="2"),
            "counts devices with MIG too; 2 without leave none for 1g.5gb",
        ),
        (
            node({f"{MIG}7g.40gb": 3}, gpu_count="2"),
            "on 2 devices, as label 'nvidia.com/gpu.count' says",
        ),
        (node({GPU: 8}, f"{A100}-MIG-1g.5gb", gpu_count="7"), "is 7, but these are 8 instances"),
        (
            node({GPU: 28}, f"{A100}-MIG-1g.5gb-SHARED", gpu_count="7", gpu_replicas="4"),
            "replicas of MIG instances are not known here",
        ),
        (node({f"{MIG}1g.5gb.shared": 14}), "replicas of MIG instances are not known here"),
        (node({f"{MIG}1c.3g.20gb": 3}), "can't be MIG instances"),
        (
            node({GPU: 7, f"{MIG}2g.10gb": 1}, f"{A100}-MIG-1g.5gb"),
            "says that all instances are nvidia.com/gpu",
        ),
        (
            node({GPU: 4}, gpu_sharing_strategy="mps"),
            "label 'nvidia.com/gpu.replicas' must say how many replicas",
        ),
        ({"kind": "PodList", "items": []}, "kind is 'PodList'; use a Node"),
        ({"kind": "List", "items": [{"kind": "Pod"}]}, r"items\[0\].kind is 'Pod'; use nodes"),
        (
            {"kind": "List", "items": [node({}), node({})]},
            r"items\[1\].metadata.name is 'n1'; another node before it",
        ),
        (node({}) | {"spec": {"unschedulable": "true"}}, "use true or false"),
    ],
)
def test_contradictions(described: dict[str, Any], message: str) -> None:
    with pytest.raises(gs.InvalidSpec, match=message):
        gs.nodes_from_kubernetes(described)


@pytest.mark.parametrize(
    ("text", "milli"), [("1500000u", 1500), ("2500000000n", 2500), ("+1", 1000), ("1k", 1_000_000)]
)
def test_small_units(text: str, milli: int) -> None:
    (made,) = gs.nodes_from_kubernetes(node({"cpu": text}))
    assert made.cpu_milli == milli


@pytest.mark.parametrize(
    "value",
    ["1K", "1ki", "1mi", "٣", "1e99", "9223372036854775808", "1" * 5000, -1, 0.5],
)
def test_more_nonsense_quantities(value: object) -> None:
    with pytest.raises(gs.InvalidSpec, match=r"status.allocatable.cpu is .*; use "):
        gs.nodes_from_kubernetes(node({"cpu": value}))


def test_numbers_that_python_does_not_print() -> None:
    with pytest.raises(gs.InvalidSpec, match=r"cpu is a number of thousands of digits; use 0 to"):
        gs.nodes_from_kubernetes(node({"cpu": 10**5000}))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 200_000, "nested too deeply"),
        (f'{{"kind": {"1" * 5000}}}', "thousands of digits"),
        ("{", ":1: the file is not JSON"),
    ],
)
def test_broken_files(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "nodes.json"
    file.write_text(text)
    with pytest.raises(gs.InvalidSpec, match=message):
        gs.nodes_from_kubernetes(file)

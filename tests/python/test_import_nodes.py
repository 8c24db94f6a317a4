"""Nodes from Kubernetes, nvidia-smi and files of one's own."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import libgpusched as gs
from libgpusched.mig_counts import layouts_for

A100 = "A100-SXM4-40GB"


def node(
    allocatable: Mapping[str, object] = {},
    labels: Mapping[str, str] = {},
    **spec: object,
) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n1", "labels": dict(labels)},
        "spec": spec,
        "status": {"allocatable": {"cpu": "8", "memory": "16Gi"} | dict(allocatable)},
    }


def gpu_labels(product: str = "NVIDIA-A100-SXM4-40GB", **other: str) -> dict[str, str]:
    return {"nvidia.com/gpu.product": product} | {
        f"nvidia.com/{key.replace('_', '.', 1).replace('_', '-')}": value
        for key, value in other.items()
    }


def one(described: Mapping[str, Any]) -> gs.NodeDescription:
    (made,) = gs.nodes_from_kubernetes(described)
    return made


# --- Kubernetes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "milli"),
    [("8", 8000), ("7910m", 7910), (4, 4000), ("1e1", 10000), ("0.5", 500), (".25", 250)],
)
def test_cpu_quantities(text: object, milli: int) -> None:
    assert one(node({"cpu": text})).cpu_milli == milli


@pytest.mark.parametrize(
    ("text", "mib"),
    [("32Gi", 32768), ("1048576Ki", 1024), ("1073741824", 1024), ("2G", 1907), ("1Ti", 1048576)],
)
def test_memory_quantities(text: str, mib: int) -> None:
    assert one(node({"memory": text})).mem_mib == mib


@pytest.mark.parametrize("text", ["-1", "8 cores", "", "1Zi", "1ee3", "NaN", None, True, [8]])
def test_nonsense_quantities(text: object) -> None:
    with pytest.raises(gs.InvalidSpec, match=r"kubernetes: .*cpu"):
        gs.nodes_from_kubernetes(node({"cpu": text}))


def test_whole_devices_with_memory() -> None:
    made = one(node({"nvidia.com/gpu": "8"}, gpu_labels(gpu_count="8", gpu_memory="40960")))
    assert len(made.devices) == 8
    device = made.devices[0]
    assert (device.model, device.gpu_mem_mib, device.sharing) == (A100, 40960, "fraction")


@pytest.mark.parametrize(
    ("product", "model"),
    [
        ("Tesla-T4", "T4"),
        ("NVIDIA-A10G", "A10G"),
        ("NVIDIA-A100-PCIE-40GB", "A100-PCIe-40GB"),
        ("NVIDIA-A100-80GB-PCIe", "A100-PCIe-80GB"),
        ("NVIDIA-H100-80GB-HBM3", "H100-SXM5-80GB"),
        ("NVIDIA-H100-NVL", "H100-NVL-94GB"),
        ("NVIDIA-L40S-SHARED", "L40S"),
        ("Tesla-V100-SXM2-32GB", "V100-SXM2-32GB"),
    ],
)
def test_products(product: str, model: str) -> None:
    made = one(node({"nvidia.com/gpu": 1}, gpu_labels(product)))
    assert [device.model for device in made.devices] == [model]


def test_unknown_products_say_what_to_do() -> None:
    described = node({"nvidia.com/gpu": 1}, gpu_labels("NVIDIA-A100X"))
    with pytest.raises(gs.InvalidSpec) as caught:
        gs.nodes_from_kubernetes(described)
    assert "metadata.labels['nvidia.com/gpu.product'] is 'NVIDIA-A100X'" in str(caught.value)
    assert "model_names={'NVIDIA-A100X'" in str(caught.value)
    (made,) = gs.nodes_from_kubernetes(described, model_names={"NVIDIA-A100X": "A100-PCIe-80GB"})
    assert made.devices[0].model == "A100-PCIe-80GB"


@pytest.mark.parametrize(("word", "sharing"), [("mps", "mps"), ("time-slicing", "time_slicing")])
def test_replicas(word: str, sharing: str) -> None:
    labels = gpu_labels("Tesla-T4", gpu_count="2", gpu_replicas="4", gpu_sharing_strategy=word)
    made = one(node({"nvidia.com/gpu": "8"}, labels))
    assert [(d.sharing, d.replicas) for d in made.devices] == [(sharing, 4)] * 2


@pytest.mark.parametrize(
    ("allocatable", "labels", "message"),
    [
        ({"nvidia.com/gpu": 1}, {}, "label 'nvidia.com/gpu.product' must say"),
        (
            {"nvidia.com/gpu": 9},
            gpu_labels(gpu_count="8"),
            r"\['nvidia.com/gpu'\] is 9; label 'nvidia.com/gpu.count' is 8",
        ),
        (
            {"nvidia.com/gpu": 7},
            gpu_labels(gpu_replicas="4"),
            r"\['nvidia.com/gpu'\] is 7; label 'nvidia.com/gpu.replicas' is 4",
        ),
        ({"nvidia.com/gpu": "1.5"}, gpu_labels(), "use a whole number"),
        (
            {"nvidia.com/gpu": 4},
            gpu_labels(gpu_replicas="4", gpu_sharing_strategy="none"),
            "with 4 replicas use mps or time-slicing",
        ),
        ({"nvidia.com/mig-1g.5gb": 1}, gpu_labels("Tesla-T4"), "model 'T4' has no MIG instances"),
        ({"nvidia.com/mig-1g.6gb": 1}, gpu_labels(), "can't be MIG instances"),
        ({"amd.com/gpu": 1}, {}, "label 'amd.com/gpu.product-name' must say"),
    ],
)
def test_what_does_not_go_together(
    allocatable: dict[str, object], labels: dict[str, str], message: str
) -> None:
    with pytest.raises(gs.InvalidSpec, match=message):
        gs.nodes_from_kubernetes({"kind": "List", "items": [node(allocatable, labels)]})


def test_the_path_says_which_node() -> None:
    nodes = {"kind": "List", "items": [node(), node({"nvidia.com/gpu": "many"}, gpu_labels())]}
    with pytest.raises(gs.InvalidSpec) as caught:
        gs.nodes_from_kubernetes(nodes)
    assert "items[1].status.allocatable['nvidia.com/gpu'] is 'many'" in str(caught.value)


def test_mixed_mig() -> None:
    labels = gpu_labels(gpu_count="3", gpu_memory="40960")
    made = one(
        node(
            {
                "nvidia.com/gpu": 1,
                "nvidia.com/mig-3g.20gb": 2,
                "nvidia.com/mig-1g.5gb": 3,
                "nvidia.com/mig-2g.10gb": "1",
                "nvidia.com/mig-1g.5gb.me": 0,
            },
            labels,
        )
    )
    assert made.devices[0].sharing == "fraction"
    partitioned = made.devices[1:]
    counts = Counter(part.profile for device in partitioned for part in device.partitions)
    assert counts == {"3g.20gb": 2, "1g.5gb": 3, "2g.10gb": 1}
    cluster = gs.Cluster()
    made.add_to(cluster)  # the layouts are legal
    assert len(partitioned) == 2


def test_single_mig() -> None:
    labels = gpu_labels("NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", gpu_count="14")
    made = one(node({"nvidia.com/gpu": 14}, labels))
    assert [len(device.partitions) for device in made.devices] == [7, 7]
    assert {part.profile for device in made.devices for part in device.partitions} == {"1g.5gb"}


def test_taints_and_cordons() -> None:
    taints = [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]
    made = one(node(taints=taints, unschedulable=True))
    assert made.taints == (gs.Taint("gpu", "yes", "NoSchedule"),)
    assert made.cordoned
    assert not one(node(taints=taints)).cordoned
    (tainted,) = gs.nodes_from_kubernetes(node(taints=taints), cordon_tainted=True)
    assert tainted.cordoned
    engine = gs.Engine()
    tainted.add_to(engine)
    assert engine.node("n1").cordoned
    with pytest.raises(gs.PreconditionFailed, match="cordoned is True"):
        tainted.add_to(gs.Cluster())


def test_amd() -> None:
    labels = {"amd.com/gpu.product-name": "AMD_Instinct_MI300X_OAM"}
    made = one(node({"amd.com/gpu": 8}, labels))
    assert [device.model for device in made.devices] == ["MI300X"] * 8


def test_layouts_are_exact() -> None:
    geometry = gs.mig_geometry(A100)
    assert layouts_for(geometry, {"3g.20gb": 1}) == [[("3g.20gb", 4)]]
    assert layouts_for(geometry, {"1g.10gb": 4, "1g.5gb": 3}, 1) is None
    assert layouts_for(geometry, {"1g.5gb+me": 2}, 1) is None
    assert layouts_for(geometry, {"4g.20gb": 1, "3g.20gb": 1}, 1) == [
        [("4g.20gb", 0), ("3g.20gb", 4)]
    ]
    both = layouts_for(geometry, {"1g.5gb+me": 2, "1g.5gb": 12})
    assert both is not None
    assert [len(layout) for layout in both] == [7, 7]
    assert layouts_for(geometry, {"1g.6gb": 1}) is None


# --- nvidia-smi -----------------------------------------------------------------------------------


def gpu_xml(body: str = "", product: str = "NVIDIA A100-SXM4-40GB", memory: str = "") -> str:
    memory = memory or "<total>40960 MiB</total><reserved>571 MiB</reserved>"
    return (
        f"<gpu><product_name>{product}</product_name>"
        f"<fb_memory_usage>{memory}</fb_memory_usage>{body}</gpu>"
    )


def instance_xml(memory: int, multiprocessors: int) -> str:
    return (
        f"<mig_device><device_attributes><shared><multiprocessor_count>{multiprocessors}"
        "</multiprocessor_count></shared></device_attributes>"
        f"<fb_memory_usage><total>{memory} MiB</total></fb_memory_usage></mig_device>"
    )


def smi(tmp_path: Path, *gpus: str, **other: Any) -> gs.NodeDescription:
    file = tmp_path / "smi.xml"
    file.write_text(f"<?xml version='1.0'?><nvidia_smi_log>{''.join(gpus)}</nvidia_smi_log>")
    return gs.node_from_nvidia_smi(file, name="n1", cpu_milli=8000, mem_mib=1024, **other)


def test_devices_and_modes(tmp_path: Path) -> None:
    made = smi(
        tmp_path,
        gpu_xml(),
        gpu_xml("<compute_mode>Exclusive_Process</compute_mode>"),
        gpu_xml("<compute_mode>Prohibited</compute_mode>", "Tesla T4", "<total>15360 MiB</total>"),
        gpu_xml("<mig_mode><current_mig>Enabled</current_mig></mig_mode>"),
    )
    assert [(d.model, d.gpu_milli, d.sharing) for d in made.devices] == [
        (A100, 1000, "fraction"),
        (A100, 1000, "exclusive"),
        ("T4", 0, "fraction"),
        (A100, 1000, "mig"),
    ]
    assert (made.devices[0].gpu_mem_mib, made.devices[0].reserved_mem_mib) == (40960, 571)
    assert made.devices[3].partition_on_demand
    made.add_to(gs.Cluster())


def test_instances_by_memory_and_multiprocessors(tmp_path: Path) -> None:
    enabled = "<mig_mode><current_mig>Enabled</current_mig></mig_mode>"
    instances = instance_xml(19968, 42) + instance_xml(4864, 14) + instance_xml(9856, 28)
    made = smi(tmp_path, gpu_xml(f"{enabled}<mig_devices>{instances}</mig_devices>"))
    profiles = sorted(part.profile for part in made.devices[0].partitions)
    assert profiles == ["1g.5gb", "2g.10gb", "3g.20gb"]
    made.add_to(gs.Cluster())  # the layout is legal
    unclear = f"{enabled}<mig_devices>{instance_xml(19968, 60)}</mig_devices>"
    with pytest.raises(gs.InvalidSpec, match=r"gpu\[0\]/mig_devices/mig_device\[0\].*partitions="):
        smi(tmp_path, gpu_xml(unclear))
    told = smi(tmp_path, gpu_xml(unclear), partitions={0: [("3g.20gb", 4)]})
    assert told.devices[0].partitions == (gs.MigPartition("3g.20gb", 4),)


@pytest.mark.parametrize(
    ("xml", "message"),
    [
        (gpu_xml(product="NVIDIA X9"), r"gpu\[0\]/product_name is 'NVIDIA X9'"),
        (gpu_xml(memory="<total>40 GB</total>"), r"gpu\[0\]/fb_memory_usage/total is '40 GB'"),
        (
            gpu_xml(memory="<total>300 MiB</total><reserved>571 MiB</reserved>"),
            r"reserved is '571 MiB'; fb_memory_usage/total is 300 MiB; use as much or less",
        ),
        ("<gpu></gpu>", r"gpu\[0\]/product_name is missing"),
        ("<gpu>", "the file is not XML"),
    ],
)
def test_errors_name_the_element(tmp_path: Path, xml: str, message: str) -> None:
    with pytest.raises(gs.InvalidSpec, match=message):
        smi(tmp_path, xml)


def test_other_documents(tmp_path: Path) -> None:
    file = tmp_path / "other.xml"
    file.write_text("<!DOCTYPE a [<!ENTITY b 'c'>]><nvidia_smi_log/>")
    with pytest.raises(gs.InvalidSpec, match="entities"):
        gs.node_from_nvidia_smi(file, name="n", cpu_milli=0, mem_mib=0)
    file.write_text("<log/>")
    with pytest.raises(gs.InvalidSpec, match="the root is 'log'"):
        gs.node_from_nvidia_smi(file, name="n", cpu_milli=0, mem_mib=0)
    with pytest.raises(gs.NotFound, match="no such file"):
        gs.node_from_nvidia_smi(tmp_path / "none.xml", name="n", cpu_milli=0, mem_mib=0)


# --- files of one's own ---------------------------------------------------------------------------

CONFIG = """\
nodes:
  - {name: a, count: 2, cpu: 64, mem_mib: 1024, gpus: 2, model: T4, gpu_mem_mib: 15360}
  - name: b
    cpu: 8
    devices:
      - {model: A100-SXM4-40GB, sharing: mig, partitions: ["3g.20gb@4", "1g.5gb@0"], count: 2}
      - {model: G2}
opaque_models: [G2]
"""


def test_config(tmp_path: Path) -> None:
    file = tmp_path / "nodes.yaml"
    file.write_text(CONFIG)
    made = gs.nodes_from_config(file)
    assert [(n.name, n.cpu_milli, len(n.devices)) for n in made] == [
        ("a0", 64000, 2),
        ("a1", 64000, 2),
        ("b", 8000, 3),
    ]
    assert made[2].devices[1].partitions[0] == gs.MigPartition("3g.20gb", 4)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("cpu: 8", "cpus: 8", r"nodes.yaml:4: nodes\[1\].cpus is no key .*did you mean cpu"),
        ("sharing: mig", "sharing: mug", r"nodes.yaml:3: nodes\[1\]: device: sharing is 'mug'"),
        ("1g.5gb@0", "1g.5gb", r"partitions\[1\] is '1g.5gb'; write profile@start"),
        ("1g.5gb@0", "1g.5gb@5", r"nodes\[1\]: .*partitions\[1\].start is 5; it overlaps"),
    ],
)
def test_config_errors(tmp_path: Path, old: str, new: str, message: str) -> None:
    file = tmp_path / "nodes.yaml"
    file.write_text(CONFIG.replace(old, new))
    with pytest.raises(gs.InvalidSpec, match=message):
        gs.nodes_from_config(file)


def test_the_example_of_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs/devices.md").read_text()
    section = page[page.index("## Import") :]
    program = section.split("```python\n")[1].split("```")[0]
    output = section.split("prints\n\n```text\n")[1].split("```")[0]
    exec(compile(program, "docs/devices.md", "exec"), {})
    assert capsys.readouterr().out == output

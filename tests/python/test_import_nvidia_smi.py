"""MIG instances of nvidia-smi's XML: their profiles by memory and engines."""

from pathlib import Path
from typing import Any

import pytest

import libgpusched as gs

A100, H100, B200 = "NVIDIA A100-SXM4-40GB", "NVIDIA H100 80GB HBM3", "NVIDIA B200"


def instance(memory: object, group: int = 1, **engines: int) -> str:
    parts = "".join(f"<{key}_count>{value}</{key}_count>" for key, value in engines.items())
    return (
        f"<mig_device><gpu_instance_id>{group}</gpu_instance_id>"
        f"<device_attributes><shared>{parts}</shared></device_attributes>"
        f"<fb_memory_usage><total>{memory} MiB</total></fb_memory_usage></mig_device>"
    )


def gpu(*instances: str, product: str = A100, total: str = "40960 MiB", **modes: str) -> str:
    mig = "Enabled" if instances else "Disabled"
    other = "".join(f"<{key}>{value}</{key}>" for key, value in modes.items())
    return (
        f"<gpu><product_name>{product}</product_name>{other}"
        f"<mig_mode><current_mig>{mig}</current_mig></mig_mode>"
        f"<mig_devices>{''.join(instances) or 'None'}</mig_devices>"
        f"<fb_memory_usage><total>{total}</total></fb_memory_usage></gpu>"
    )


def read(folder: Path, *gpus: str, **other: Any) -> tuple[gs.Device, ...]:
    file = folder / "smi.xml"
    file.write_text(
        '<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">\n'
        f"<nvidia_smi_log>{''.join(gpus)}</nvidia_smi_log>"
    )
    made = gs.node_from_nvidia_smi(file, name="n1", cpu_milli=8000, mem_mib=1024, **other)
    made.add_to(gs.Cluster())  # which checks them
    return made.devices


@pytest.mark.parametrize(
    ("product", "parts", "profile"),
    [
        # As drivers print them.
        (A100, instance(4864, multiprocessor=14, copy_engine=1, ofa=0), "1g.5gb"),
        (A100, instance(4864, multiprocessor=14, copy_engine=1, ofa=1), "1g.5gb+me"),
        (A100, instance(9856, copy_engine=1, ofa=0), "1g.10gb"),
        (A100, instance(9856, copy_engine=2, ofa=0), "2g.10gb"),
        (A100, instance(20096, copy_engine=3), "3g.20gb"),
        (A100, instance(20096, copy_engine=4), "4g.20gb"),
        (A100, instance(20096, multiprocessor=56), "4g.20gb"),
        (A100, instance(40192, copy_engine=7, ofa=1), "7g.40gb"),
        (H100, instance(40448, multiprocessor=60, copy_engine=3, ofa=0), "3g.40gb"),
        (H100, instance(20096, multiprocessor=26, copy_engine=1, ofa=0), "1g.20gb"),
        (B200, instance(42915, copy_engine=2), "1g.45gb"),
        (B200, instance(85830, copy_engine=8), "4g.90gb"),
    ],
)
def test_profiles(tmp_path: Path, product: str, parts: str, profile: str) -> None:
    (device,) = read(tmp_path, gpu(parts, product=product, total="190000 MiB"))
    assert [part.profile for part in device.partitions] == [profile]


def test_compute_instances_share_a_gpu_instance(tmp_path: Path) -> None:
    three = [instance(19968, 2, multiprocessor=14, copy_engine=3) for _ in range(3)]
    (device,) = read(tmp_path, gpu(*three, instance(4864, 9, copy_engine=1)))
    assert sorted(part.profile for part in device.partitions) == ["1g.5gb", "3g.20gb"]
    # By multiprocessors, which are parts of the instance's.
    three = [instance(19968, 2, multiprocessor=14) for _ in range(3)]
    (device,) = read(tmp_path, gpu(*three))
    assert [part.profile for part in device.partitions] == ["3g.20gb"]


def test_modes(tmp_path: Path) -> None:
    made = read(
        tmp_path,
        gpu(instance(40192, copy_engine=7), compute_mode="Prohibited"),
        gpu(compute_mode="Exclusive_Thread"),
        gpu(total="N/A"),
        gpu(total="[N/A]", compute_mode="[N/A]"),
    )
    assert [(device.gpu_milli, device.sharing) for device in made] == [
        (0, "mig"),
        (1000, "exclusive"),
        (1000, "fraction"),
        (1000, "fraction"),
    ]
    assert [device.gpu_mem_mib for device in made] == [40960, 40960, None, None]


@pytest.mark.parametrize(
    ("document", "partitions", "message"),
    [
        (gpu(instance(20096)), None, r"gpu\[0\]/mig_devices/mig_device\[0\] is 'an instance of 20"),
        (gpu(instance(30000)), None, "its profile can't be told"),
        (
            gpu(instance(19968, 2), instance(4864, 2)),
            None,
            r"mig_device\[1\]/fb_memory_usage/total is '4864 MiB'; .* has 19968 MiB",
        ),
        (gpu(instance(40192), instance(4864, 2)), None, "they can't be on one device together"),
        (gpu(compute_mode="Weird"), None, r"gpu\[0\]/compute_mode is 'Weird'; use one of Default"),
        (gpu(), {1: []}, "partitions: index is 1; the file has 1 devices"),
        (gpu(), {0: [("3g.20gb", 4)]}, "give no partitions for this one"),
        (gpu("<mig_device/>"), None, "fb_memory_usage/total is missing"),
    ],
)
def test_what_cannot_be(tmp_path: Path, document: str, partitions: Any, message: str) -> None:
    with pytest.raises(gs.InvalidSpec, match=message):
        read(tmp_path, document, partitions=partitions)

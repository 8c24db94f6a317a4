"""`libgpusched nodes`: which format a file is of, the table, and JSON."""

import json
from pathlib import Path
from typing import Any

import pytest

from libgpusched.cli import main

CONFIG = """\
nodes:
  - {name: a, count: 2, cpu: 64, mem_mib: 1024, gpus: 2, model: T4, gpu_mem_mib: 15360}
  - name: b
    cpu: 8
    devices: [{model: A100-SXM4-40GB, sharing: mig, partitions: ["3g.20gb@4", "1g.5gb@0"]}]
"""
SMI = (
    "<?xml version='1.0'?>\n<nvidia_smi_log><gpu><product_name>Tesla T4</product_name>"
    "<fb_memory_usage><total>15360 MiB</total><reserved>300 MiB</reserved></fb_memory_usage>"
    "</gpu></nvidia_smi_log>"
)


def kubernetes(product: str = "Tesla-T4", **spec: object) -> str:
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": "n1", "labels": {"nvidia.com/gpu.product": product}},
            "spec": spec,
            "status": {"allocatable": {"cpu": "8", "memory": "16Gi", "nvidia.com/gpu": "2"}},
        }
    )


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """A file of each format, with names that tell nothing."""
    texts = {"kubernetes": kubernetes(), "nvidia-smi": SMI, "config": CONFIG}
    for number, text in enumerate(texts.values()):
        (tmp_path / f"host{number}").write_text(text)
    return {name: str(tmp_path / f"host{number}") for number, name in enumerate(texts)}


def as_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    assert main(["nodes", *arguments, "--json"]) == 0
    nodes: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return nodes


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["nodes", *arguments]) == 2
    caught = capsys.readouterr()
    assert caught.out == ""
    return caught.err


def test_formats_are_told_by_content(
    files: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = as_json(capsys, *files.values())
    assert [node["name"] for node in nodes] == ["n1", "host1", "a0", "a1", "b"]


@pytest.mark.parametrize("name", ["kubernetes", "nvidia-smi", "config"])
def test_formats_may_be_said(
    files: dict[str, str], name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said = as_json(capsys, files[name], "--format", name)
    assert said == as_json(capsys, files[name])
    for other in files.keys() - {name}:
        assert files[name] in refusal(capsys, files[name], "--format", other)


def test_json_has_all_that_is_known(
    files: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (node,) = as_json(capsys, files["nvidia-smi"])
    device = {
        "model": "T4",
        "gpu_milli": 1000,
        "gpu_mem_mib": 15360,
        "reserved_mem_mib": 300,
        "sharing": "fraction",
        "replicas": 1,
        "partitions": [],
        "partition_on_demand": False,
    }
    assert node["devices"] == [device]
    assert as_json(capsys, files["config"])[2]["devices"][0]["partitions"] == [
        "3g.20gb@4",
        "1g.5gb@0",
    ]
    tainted = tmp_path / "tainted.json"
    taint = {"key": "spot", "value": "yes", "effect": "NoSchedule"}
    tainted.write_text(kubernetes(taints=[taint], unschedulable=True))
    (node,) = as_json(capsys, str(tainted))
    assert (node["cordoned"], node["taints"]) == (True, [taint])


def test_the_table(
    files: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cordoned = tmp_path / "cordoned.json"
    cordoned.write_text(kubernetes(unschedulable=True))
    assert main(["nodes", files["config"], str(cordoned)]) == 0
    rows = [
        [cell.strip() for cell in line.strip("│").split("│")]
        for line in capsys.readouterr().out.splitlines()
        if line.startswith("│")
    ]
    assert rows == [
        ["a0", "64", "1024 MiB", "2 x 'T4', gpu_mem_mib=15360", ""],
        ["a1", "64", "1024 MiB", "2 x 'T4', gpu_mem_mib=15360", ""],
        [
            "b",
            "8",
            "0 MiB",
            "1 x 'A100-SXM4-40GB', sharing='mig', partitions=[('3g.20gb', 4), ('1g.5gb', 0)]",
            "",
        ],
        ["n1", "8", "16384 MiB", "2 x 'T4'", "cordoned"],
    ]


def test_names_of_models(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "nodes.json"
    file.write_text(kubernetes("Tesla-X"))
    assert "gpu.product'] is 'Tesla-X'" in refusal(capsys, str(file))
    (node,) = as_json(capsys, str(file), "--model", "Tesla-X=T4")
    assert [device["model"] for device in node["devices"]] == ["T4", "T4"]
    for pair in ("Tesla-X", "=T4", "Tesla-X="):
        assert f"--model is '{pair}'; use PRODUCT=MODEL" in refusal(
            capsys, str(file), "--model", pair
        )


def test_files_that_cannot_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "none.json: there is no such file" in refusal(capsys, str(tmp_path / "none.json"))
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe")
    assert "not UTF-8 at byte 0" in refusal(capsys, str(binary))

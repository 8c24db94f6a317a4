"""`libgpusched nodes`: prints nodes as other systems describe them."""

from __future__ import annotations

import argparse
import json
import os
from collections import Counter
from typing import Any

from libgpusched._core import Device
from libgpusched.errors import InvalidSpec
from libgpusched.import_config import nodes_from_config
from libgpusched.import_kubernetes import nodes_from_kubernetes
from libgpusched.import_nvidia_smi import node_from_nvidia_smi
from libgpusched.import_source import read_text
from libgpusched.node_description import NodeDescription

FORMATS = ("kubernetes", "nvidia-smi", "config")

_DESCRIPTION = """\
Prints the nodes that files describe, as they would be added to a cluster: what
`kubectl get nodes -o json` and `nvidia-smi -q -x` print, or a file of one's own."""

_EPILOG = """\
examples:
  kubectl get nodes -o json > nodes.json; libgpusched nodes nodes.json
  nvidia-smi -q -x > n1.xml; libgpusched nodes n1.xml
  libgpusched nodes nodes.yaml --json

nvidia-smi tells neither name, CPU nor memory: the name is that of the file, and
the others are 0."""


def add_command(commands: argparse._SubParsersAction[Any]) -> None:
    """Adds `nodes` to the commands."""
    parser = commands.add_parser(
        "nodes",
        help="print the nodes that Kubernetes, nvidia-smi or a file describe",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("files", metavar="FILE", nargs="+", help="what to read")
    parser.add_argument("--format", choices=FORMATS, help="of all files (default: by content)")
    parser.add_argument(
        "--model",
        metavar="PRODUCT=MODEL",
        action="append",
        default=[],
        help="the model that a product name means",
    )
    parser.add_argument("--json", action="store_true", help="as JSON")


def run_command(arguments: argparse.Namespace) -> int:
    """Prints the nodes of all files."""
    names = dict(_pair(text) for text in arguments.model)
    nodes = [node for file in arguments.files for node in _read(file, arguments.format, names)]
    if arguments.json:
        print(json.dumps([_as_json(node) for node in nodes], indent=2))
        return 0
    # Imported here: it is for tables alone.
    from rich.console import Console
    from rich.table import Table

    table = Table()
    for column in ("node", "CPU", "memory", "devices", ""):
        table.add_column(column, overflow="fold")
    for node in nodes:
        table.add_row(
            node.name,
            f"{node.cpu_milli / 1000:g}",
            f"{node.mem_mib} MiB",
            "\n".join(_devices(node)),
            "cordoned" if node.cordoned else "",
        )
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=120)  # a file has no width to wrap at
    console.print(table, markup=False)
    return 0


def _pair(text: str) -> tuple[str, str]:
    product, equals, model = text.partition("=")
    if not equals or not product or not model:
        raise InvalidSpec(f"--model is '{text}'; use PRODUCT=MODEL")
    return product, model


def _read(file: str, chosen: str | None, names: dict[str, str]) -> list[NodeDescription]:
    kind = chosen or _format_of(read_text(file))
    if kind == "kubernetes":
        return nodes_from_kubernetes(file, model_names=names)
    if kind == "nvidia-smi":
        name = os.path.splitext(os.path.basename(file))[0]
        return [node_from_nvidia_smi(file, name=name, cpu_milli=0, mem_mib=0, model_names=names)]
    return nodes_from_config(file)


def _format_of(text: str) -> str:
    start = text.lstrip()
    if start.startswith("<"):
        return "nvidia-smi"
    return "kubernetes" if start.startswith("{") and '"apiVersion"' in text else "config"


def _devices(node: NodeDescription) -> list[str]:
    """Equal devices as one line."""
    counts = Counter(repr(device).removeprefix("Device").strip("()") for device in node.devices)
    return [f"{count} x {text}" for text, count in counts.items()]


def _as_json(node: NodeDescription) -> dict[str, Any]:
    return {
        "name": node.name,
        "cpu_milli": node.cpu_milli,
        "mem_mib": node.mem_mib,
        "cordoned": node.cordoned,
        "taints": [taint._asdict() for taint in node.taints],
        "devices": [_device_json(device) for device in node.devices],
    }


def _device_json(device: Device) -> dict[str, Any]:
    return {
        "model": device.model,
        "gpu_milli": device.gpu_milli,
        "gpu_mem_mib": device.gpu_mem_mib,
        "reserved_mem_mib": device.reserved_mem_mib,
        "sharing": device.sharing,
        "replicas": device.replicas,
        "partitions": [f"{part.profile}@{part.start}" for part in device.partitions],
        "partition_on_demand": device.partition_on_demand,
    }

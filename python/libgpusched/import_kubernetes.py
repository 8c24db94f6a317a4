"""Nodes from the Node objects of Kubernetes, as `kubectl get nodes -o json` prints them.

Read are metadata.name, spec.unschedulable, spec.taints, status.allocatable and the labels of GPU
feature discovery. What is allocatable decides; labels that say less are an error. Instances of MIG
come as counts, so their starts are chosen: see mig_counts.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from libgpusched._core import Device, mig_geometry
from libgpusched.errors import GpuschedError
from libgpusched.gpu_products import model_of, remedy_for
from libgpusched.import_source import At, parse_json, read_text
from libgpusched.mig_counts import layouts_for
from libgpusched.node_description import NodeDescription, Taint

_SUFFIXES: dict[str, Fraction] = {"": Fraction(1), "m": Fraction(1, 1000)} | {
    letter + binary: Fraction((1024 if binary else 1000) ** power)
    for power, letters in enumerate(("kK", "M", "G", "T", "P", "E"), 1)
    for letter in letters
    for binary in ("", "i")
}
_QUANTITY = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(?:([eE][+-]?\d{1,2})|([kKMGTPEm]i?|))")
_MIG = "nvidia.com/mig-"
_SHARED = "-SHARED"
_SINGLE = re.compile(r"(.+)-MIG-(.+)")
_STRATEGIES = {"mps": "mps", "time-slicing": "time_slicing"}


def nodes_from_kubernetes(
    source: str | os.PathLike[str] | Mapping[str, Any],
    *,
    model_names: Mapping[str, str] | None = None,
    cordon_tainted: bool = False,
) -> list[NodeDescription]:
    """The nodes of a Node, a NodeList or a List, as a path to JSON or as parsed JSON.

    model_names: the model that each product name means, for products that are not known.
    cordon_tainted: nodes with a NoSchedule or NoExecute taint are cordoned; otherwise taints are
        only told, since this library knows no tolerations.

    Raises NotFound or Unavailable (file), or InvalidSpec with the path inside the document.

    >>> import libgpusched as gs
    >>> node = {"kind": "Node", "metadata": {"name": "n1"},
    ...         "status": {"allocatable": {"cpu": "7910m", "memory": "32Gi"}}}
    >>> [(n.name, n.cpu_milli, n.mem_mib) for n in gs.nodes_from_kubernetes(node)]
    [('n1', 7910, 32768)]
    """
    if isinstance(source, Mapping):
        document = At(source, "kubernetes")
    else:
        file = os.fspath(source)
        document = At(parse_json(read_text(source), file), file)
    items = document.get("items")
    nodes = list(items.items()) if items is not None else [document]
    return [_node(node, model_names or {}, cordon_tainted) for node in nodes]


def quantity(at: At) -> Fraction:
    """A Kubernetes quantity ("7910m", "32Gi", "1e3", 8), exactly."""
    number = at.value
    if isinstance(number, int) and not isinstance(number, bool) and number >= 0:
        return Fraction(number)
    match = _QUANTITY.fullmatch(number) if isinstance(number, str) else None
    if match is None or match[3] not in (None, *_SUFFIXES):
        at.wrong('use a quantity, such as "7910m", "32Gi" or "8"')
    exponent = Fraction(10) ** int(match[2][1:]) if match[2] else _SUFFIXES[match[3] or ""]
    return Fraction(match[1]) * exponent


def _count(at: At | None) -> int:
    if at is None:
        return 0
    number = quantity(at)
    if number.denominator != 1 or number > 4096:
        at.wrong("use a whole number, 0 to 4096")
    return int(number)


def _node(node: At, model_names: Mapping[str, str], cordon_tainted: bool) -> NodeDescription:
    metadata = node.need("metadata")
    labels_at = metadata.get("labels")
    labels = labels_at.entries() if labels_at is not None else {}
    spec = node.get("spec")
    taints = tuple(_taint(item) for item in (_list(spec, "taints") if spec is not None else []))
    unschedulable = spec.get("unschedulable") if spec is not None else None
    tainted = any(taint.effect in ("NoSchedule", "NoExecute") for taint in taints)
    allocatable = node.need("status").need("allocatable")
    return NodeDescription(
        name=metadata.need("name").text(),
        cpu_milli=int(quantity(allocatable.need("cpu")) * 1000),
        mem_mib=int(quantity(allocatable.need("memory")) / 2**20),
        devices=tuple(_devices(allocatable, labels, model_names)),
        labels={key: entry.text() for key, entry in labels.items()},
        taints=taints,
        cordoned=(unschedulable is not None and unschedulable.value is True)
        or (cordon_tainted and tainted),
    )


def _list(at: At, key: str) -> list[At]:
    entry = at.get(key)
    return list(entry.items()) if entry is not None else []


def _taint(at: At) -> Taint:
    value = at.get("value")
    return Taint(
        at.need("key").text(), value.text() if value is not None else "", at.need("effect").text()
    )


def _devices(
    allocatable: At, labels: Mapping[str, At], model_names: Mapping[str, str]
) -> list[Device]:
    entries = allocatable.entries()
    whole = entries.get("nvidia.com/gpu")
    shared = entries.get("nvidia.com/gpu.shared")
    mig = {
        key.removeprefix(_MIG).replace(".me", "+me"): entry
        for key, entry in entries.items()
        if key.startswith(_MIG) and not key.endswith(".shared") and _count(entry) > 0
    }
    amd = entries.get("amd.com/gpu")
    if amd is not None and _count(amd) > 0:
        product = labels.get("amd.com/gpu.product-name")
        if product is None:
            amd.wrong("label 'amd.com/gpu.product-name' must say of which model they are")
        model = _model(product, product.text(), model_names)
        return [Device(model) for _ in range(_count(amd))]
    counted = whole if _count(whole) > 0 else shared
    number = _count(counted)
    if number == 0 and not mig:
        return []
    product = labels.get("nvidia.com/gpu.product")
    if product is None:
        (counted or next(iter(mig.values()))).wrong(
            "label 'nvidia.com/gpu.product' must say of which model they are"
        )
    name = product.text().removesuffix(_SHARED)
    single = _SINGLE.fullmatch(name)
    if single is not None and counted is not None:
        # Of the single strategy: every nvidia.com/gpu is an instance of this profile.
        model = _model(product, single[1], model_names)
        return _partitioned(counted, model, {single[2].replace(".me", "+me"): number})
    model = _model(product, name, model_names)
    devices = _whole_devices(counted, number, model, labels) if counted is not None else []
    if mig:
        counts = {profile: _count(entry) for profile, entry in mig.items()}
        devices += _partitioned(next(iter(mig.values())), model, counts)
    return devices


def _model(at: At, product: str, model_names: Mapping[str, str]) -> str:
    model = model_of(product, model_names)
    if model is None:
        at.wrong(remedy_for(product))
    return model


def _label_count(labels: Mapping[str, At], key: str) -> int | None:
    at = labels.get(key)
    return None if at is None else _count(at)


def _whole_devices(counted: At, number: int, model: str, labels: Mapping[str, At]) -> list[Device]:
    replicas = _label_count(labels, "nvidia.com/gpu.replicas") or 1
    if number % replicas != 0:
        counted.wrong(
            f"label 'nvidia.com/gpu.replicas' is {replicas}, and this is no multiple of it"
        )
    there = _label_count(labels, "nvidia.com/gpu.count")
    if there is not None and number > there * replicas:
        counted.wrong(
            f"label 'nvidia.com/gpu.count' is {there} (with {replicas} replicas each), which is "
            "less"
        )
    strategy = labels.get("nvidia.com/gpu.sharing-strategy")
    sharing = "fraction"
    if replicas > 1:
        # Older discovery says nothing, and knows time-slicing alone.
        word = "time-slicing" if strategy is None else strategy.text()
        if word not in _STRATEGIES:
            assert strategy is not None
            strategy.wrong(f"with {replicas} replicas use mps or time-slicing")
        sharing = _STRATEGIES[word]
    memory = labels.get("nvidia.com/gpu.memory")
    mib = int(quantity(memory)) if memory is not None else None
    device = Device(model, gpu_mem_mib=mib, sharing=sharing, replicas=replicas)
    return [device] * (number // replicas)


def _partitioned(at: At, model: str, counts: dict[str, int]) -> list[Device]:
    try:
        geometry = mig_geometry(model)
    except GpuschedError:
        at.wrong(f"model '{model}' has no MIG instances")
    layouts = layouts_for(geometry, counts)
    if layouts is None:
        names = ", ".join(profile.name for profile in geometry.profiles)
        at.wrong(f"{counts} can't be MIG instances of '{model}', which has {names}")
    return [Device(model, sharing="mig", partitions=layout) for layout in layouts]

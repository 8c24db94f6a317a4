"""Nodes from the Node objects of Kubernetes, as `kubectl get nodes -o json` prints them.

Read are metadata.name, spec.unschedulable, spec.taints, status.allocatable, status.capacity and the
labels of GPU feature discovery. What is allocatable decides; labels that contradict it are an
error. Instances of MIG come as counts, so their starts are chosen: see mig_counts.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from libgpusched._core import Device, mig_geometry
from libgpusched.errors import GpuschedError, LimitExceeded
from libgpusched.gpu_products import model_of, remedy_for
from libgpusched.import_source import At, parse_json, read_text
from libgpusched.mig_counts import layouts_for
from libgpusched.node_description import NodeDescription, Taint

_SUFFIXES = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    "": Fraction(1),
    **{letter: Fraction(1000**power) for power, letter in enumerate("kMGTPE", 1)},
    **{f"{letter}i": Fraction(1024**power) for power, letter in enumerate("KMGTPE", 1)},
}
_QUANTITY = re.compile(
    r"\+?([0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:[eE]([+-]?[0-9]{1,2})|([A-Za-z]{0,2}))"
)
# The largest that Kubernetes has.
_MOST = 2**63 - 1
_GPU = "nvidia.com/gpu"
_SHARED_GPU = "nvidia.com/gpu.shared"
_MIG = "nvidia.com/mig-"
_AMD_GPU = "amd.com/gpu"
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
    elif isinstance(source, str | os.PathLike):
        file = os.fspath(source)
        document = At(parse_json(read_text(source), file), file)
    else:
        At(source, "kubernetes").wrong("use a path, or a parsed Node, NodeList or List")
    return _nodes(document, model_names or {}, cordon_tainted)


def _nodes(
    document: At, model_names: Mapping[str, str], cordon_tainted: bool
) -> list[NodeDescription]:
    kind = document.get("kind")
    if kind is not None and kind.value not in ("Node", "NodeList", "List"):
        kind.wrong("use a Node, a NodeList or a List of nodes")
    items = document.get("items")
    described: dict[str, NodeDescription] = {}
    for node in items.items() if items is not None else [document]:
        kind = node.get("kind")
        if items is not None and kind is not None and kind.value != "Node":
            kind.wrong("use nodes alone, as `kubectl get nodes -o json` prints them")
        made = _node(node, model_names, cordon_tainted)
        if made.name in described:
            node.need("metadata").need("name").wrong("another node before it has this name")
        described[made.name] = made
    return list(described.values())


def quantity(at: At) -> Fraction:
    """A Kubernetes quantity ("7910m", "32Gi", "1e3", 8), exactly."""
    number = at.value
    if isinstance(number, int) and not isinstance(number, bool):
        amount = Fraction(number)
    else:
        match = _QUANTITY.fullmatch(number) if isinstance(number, str) else None
        if match is None or (match[3] or "") not in _SUFFIXES:
            at.wrong('use a quantity, such as "7910m", "32Gi" or "8"')
        scale = Fraction(10) ** int(match[2]) if match[2] else _SUFFIXES[match[3] or ""]
        amount = Fraction(match[1]) * scale
    if not 0 <= amount <= _MOST:
        at.wrong("use 0 to 2^63 - 1")
    return amount


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
    status = node.need("status")
    allocatable = status.need("allocatable")
    capacity = status.get("capacity")
    return NodeDescription(
        name=metadata.need("name").text(),
        cpu_milli=int(quantity(allocatable.need("cpu")) * 1000),
        mem_mib=int(quantity(allocatable.need("memory")) / 2**20),
        devices=(
            *_Nvidia(allocatable, capacity, labels, model_names).devices(),
            *_amd_devices(allocatable, capacity, labels, model_names),
        ),
        labels={key: entry.text() for key, entry in labels.items()},
        taints=taints,
        cordoned=(unschedulable is not None and unschedulable.flag())
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


def _in_all(counted: At | None, capacity: At | None, key: str) -> int:
    """In service or not. What is broken is part of the capacity, but can't be allocated."""
    number = _count(counted)
    if counted is None or capacity is None:
        return number
    there = capacity.get(key)
    if _count(there) < number:
        name = key if there is None else f"{there.path}, which is {there.value!r}"
        counted.wrong(f"it is more than {name} of the capacity")
    return _count(there)


def _amd_devices(
    allocatable: At,
    capacity: At | None,
    labels: Mapping[str, At],
    model_names: Mapping[str, str],
) -> list[Device]:
    counted = allocatable.get(_AMD_GPU)
    number, there = _count(counted), _in_all(counted, capacity, _AMD_GPU)
    if counted is None or there == 0:
        return []
    product = labels.get("amd.com/gpu.product-name")
    if product is None:
        counted.wrong("label 'amd.com/gpu.product-name' must say of which model they are")
    model = _model(product, product.text(), model_names)
    return [Device(model)] * number + [Device(model, gpu_milli=0)] * (there - number)


class _Nvidia:
    """The devices behind nvidia.com/gpu and nvidia.com/mig-…"""

    def __init__(
        self,
        allocatable: At,
        capacity: At | None,
        labels: Mapping[str, At],
        model_names: Mapping[str, str],
    ) -> None:
        self._labels = labels
        self._model_names = model_names
        entries = allocatable.entries()
        whole, shared = entries.get(_GPU), entries.get(_SHARED_GPU)
        if _count(whole) > 0 and _count(shared) > 0:
            assert shared is not None
            shared.wrong(f"allocatable['{_GPU}'] is given too; devices are either shared or not")
        # What is counted: devices, or replicas of them, or (single strategy) MIG instances.
        self._counted = whole if _count(whole) > 0 or shared is None else shared
        self._number = _count(self._counted)
        self._all = _in_all(
            self._counted, capacity, _GPU if self._counted is whole else _SHARED_GPU
        )
        self._mig = {
            key.removeprefix(_MIG): entry
            for key, entry in entries.items()
            if key.startswith(_MIG) and _count(entry) > 0
        }
        for profile, entry in self._mig.items():
            if profile.endswith(".shared"):
                entry.wrong("replicas of MIG instances are not known here; share devices or none")

    def devices(self) -> list[Device]:
        """All, those that can be used by shares first, then those with MIG, then broken ones."""
        if self._all == 0 and not self._mig:
            return []
        counted = self._counted if self._all > 0 else next(iter(self._mig.values()))
        assert counted is not None
        product = self._labels.get("nvidia.com/gpu.product")
        if product is None:
            counted.wrong("label 'nvidia.com/gpu.product' must say of which model they are")
        name = product.text().removesuffix("-SHARED")
        single = _SINGLE.fullmatch(name)
        model = _model(product, single[1] if single else name, self._model_names)
        if single is not None:
            return self._single(counted, model, single[2])
        return self._devices(counted, model)

    def _single(self, counted: At, model: str, profile: str) -> list[Device]:
        """Of the single strategy: every nvidia.com/gpu is an instance of this profile."""
        if self._mig:
            next(iter(self._mig.values())).wrong(
                "label 'nvidia.com/gpu.product' says that all instances are nvidia.com/gpu"
            )
        if self._label("nvidia.com/gpu.replicas") > 1:
            counted.wrong(
                "label 'nvidia.com/gpu.replicas' is "
                f"{self._label('nvidia.com/gpu.replicas')}; replicas of MIG instances are not "
                "known here"
            )
        self._check_count(self._all, "instances")
        return _partitioned(counted, Device(model), {_profile(profile): self._number}, None)

    def _devices(self, counted: At, model: str) -> list[Device]:
        replicas = max(1, self._label("nvidia.com/gpu.replicas"))
        for number in (self._number, self._all):
            if number % replicas != 0:
                counted.wrong(
                    f"label 'nvidia.com/gpu.replicas' is {replicas}, and {number} is no multiple "
                    "of it"
                )
        usable, there = self._number // replicas, self._all // replicas
        memory = self._labels.get("nvidia.com/gpu.memory")
        mib = int(quantity(memory)) if memory is not None else 0
        plain = Device(model, gpu_mem_mib=mib or None)
        shared = Device(
            model, gpu_mem_mib=mib or None, sharing=self._sharing(replicas), replicas=replicas
        )
        broken = Device(model, gpu_mem_mib=mib or None, gpu_milli=0)
        strategy = self._labels.get("nvidia.com/mig.strategy")
        if not self._mig and (strategy is None or strategy.text() != "mixed"):
            self._check_count(there, "devices")
            return [shared] * usable + [broken] * (there - usable)
        # With mixed strategy, the label counts devices with MIG too.
        count = self._labels.get("nvidia.com/gpu.count")
        partitioned = None if count is None else _count(count) - there
        if partitioned is not None and partitioned < (1 if self._mig else 0):
            counted.wrong(
                f"label 'nvidia.com/gpu.count' is {_count(count)} and counts devices with MIG too; "
                f"{there} without leave none for {', '.join(self._mig) or 'them'}"
            )
        if not self._mig:  # MIG is on, and nobody made instances
            return [shared] * usable + [broken] * (there - usable + (partitioned or 0))
        entry = next(iter(self._mig.values()))
        counts = {_profile(profile): _count(each) for profile, each in self._mig.items()}
        return [
            *[shared] * usable,
            *_partitioned(entry, plain, counts, partitioned),
            *[broken] * (there - usable),
        ]

    def _label(self, key: str) -> int:
        at = self._labels.get(key)
        return 0 if at is None else _count(at)

    def _check_count(self, there: int, what: str) -> None:
        count = self._labels.get("nvidia.com/gpu.count")
        if count is not None and _count(count) != there:
            assert self._counted is not None
            self._counted.wrong(
                f"label 'nvidia.com/gpu.count' is {_count(count)}, but these are {there} {what}"
            )

    def _sharing(self, replicas: int) -> str:
        strategy = self._labels.get("nvidia.com/gpu.sharing-strategy")
        # Older discovery says nothing, and knows time-slicing alone.
        word = ("time-slicing" if replicas > 1 else "none") if strategy is None else strategy.text()
        if (word in _STRATEGIES) != (replicas > 1):
            assert strategy is not None
            strategy.wrong(
                f"with {replicas} replicas use mps or time-slicing"
                if replicas > 1
                else "label 'nvidia.com/gpu.replicas' must say how many replicas"
            )
        return _STRATEGIES.get(word, "fraction")


def _model(at: At, product: str, model_names: Mapping[str, str]) -> str:
    # A caller may name the label as it stands, or without what is said of sharing.
    model = model_names.get(at.text()) or model_of(product, model_names)
    if model is None:
        at.wrong(remedy_for(product))
    return model


def _profile(name: str) -> str:
    """The profile of a resource name, in which a dot stands for a plus."""
    return name.replace(".me", "+me")


def _partitioned(
    at: At, device: Device, counts: dict[str, int], number: int | None
) -> list[Device]:
    try:
        geometry = mig_geometry(device.model)
    except GpuschedError:
        at.wrong(f"model '{device.model}' has no MIG instances")
    try:
        layouts = layouts_for(geometry, counts, number)
    except LimitExceeded as error:
        at.wrong(str(error))
    if layouts is None:
        names = ", ".join(profile.name for profile in geometry.profiles)
        on = "" if number is None else f" on {number} devices, as label 'nvidia.com/gpu.count' says"
        at.wrong(f"{counts} can't be MIG instances of '{device.model}'{on}; it has {names}")
    return [
        Device(device.model, gpu_mem_mib=device.gpu_mem_mib, sharing="mig", partitions=layout)
        if layout
        else Device(device.model, gpu_mem_mib=device.gpu_mem_mib, gpu_milli=0)
        for layout in layouts
    ]

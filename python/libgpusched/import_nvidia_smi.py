"""A node's devices from the XML of `nvidia-smi -q -x`.

Read are product_name, fb_memory_usage, mig_mode, mig_devices and compute_mode of each gpu. The XML
tells memory and engines of a MIG instance, but neither profile nor start: profiles are found by
them, starts are chosen (see mig_counts). Compute instances that share a GPU instance are one.
"""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import NoReturn
from xml.etree import ElementTree

from libgpusched._core import Device, MigGeometry, mig_geometry
from libgpusched.errors import GpuschedError, InvalidSpec
from libgpusched.gpu_products import model_of, remedy_for
from libgpusched.import_source import read_text
from libgpusched.mig_counts import layouts_for
from libgpusched.node_description import NodeDescription

# How far the memory of an instance may be from that of its profile, which for some models is known
# by its name alone.
_TOLERANCE = 0.1
# Copy engines of an instance by its compute slices, from the tables of supported profiles in
# NVIDIA's MIG user guide (r580). By the start of the name of the geometry; none: not published.
_COPY_ENGINES = {
    "A30-": {1: 1, 2: 2, 4: 4},
    "A100-": {1: 1, 2: 2, 3: 3, 4: 4, 7: 7},
    "H100-": {1: 1, 2: 2, 3: 3, 4: 4, 7: 8},
    "H200-": {1: 1, 2: 2, 3: 3, 4: 4, 7: 8},
    "B200-": {1: 2, 2: 3, 3: 6, 4: 8, 7: 16},
}
_MODES = {
    "Default": "fraction",
    "Exclusive_Process": "exclusive",
    "Exclusive_Thread": "exclusive",  # of old drivers
    "Prohibited": "fraction",
    "N/A": "fraction",
}


def node_from_nvidia_smi(
    path: str | os.PathLike[str],
    *,
    name: str,
    cpu_milli: int,
    mem_mib: int,
    model_names: Mapping[str, str] | None = None,
    partitions: Mapping[int, Sequence[tuple[str, int]]] | None = None,
) -> NodeDescription:
    """The node whose `nvidia-smi -q -x` was written to a file; CPU and memory are not in it.

    model_names: the model that each product name means, for products that are not known.
    partitions: the MIG instances, as (profile, start), of devices by index; for those whose
        profiles can't be told by memory and engines, and where starts matter.

    Devices in prohibited mode are out of service, those in exclusive mode are exclusive; a device
    with MIG enabled and no instances is partitioned on demand. Raises NotFound or Unavailable
    (file), or InvalidSpec with the path of the element.
    """
    file = os.fspath(path)
    text = read_text(path)
    if "<!ENTITY" in text:
        raise InvalidSpec(f"{file}: the document defines entities; nvidia-smi writes none")
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise InvalidSpec(f"{file}:{error.position[0]}: the file is not XML: {error.msg}") from None
    if root.tag != "nvidia_smi_log":
        raise InvalidSpec(f"{file}: the root is '{root.tag}'; nvidia-smi -q -x has nvidia_smi_log")
    devices = []
    given = dict(partitions or {})
    for index, element in enumerate(root.findall("gpu")):
        gpu = _Gpu(element, file, f"nvidia_smi_log/gpu[{index}]", model_names or {})
        devices.append(gpu.device(given.pop(index, None)))
    for index in given:
        raise InvalidSpec(f"partitions: index is {index!r}; the file has {len(devices)} devices")
    return NodeDescription(name, cpu_milli, mem_mib, tuple(devices))


class _Gpu:
    """One gpu element."""

    def __init__(
        self, element: ElementTree.Element, file: str, path: str, model_names: Mapping[str, str]
    ) -> None:
        self._element = element
        self._file = file
        self._path = path
        self._model_names = model_names

    def device(self, partitions: Sequence[tuple[str, int]] | None) -> Device:
        """As a Device."""
        product = self._text("product_name")
        model = model_of(product, self._model_names)
        if model is None:
            self._wrong("product_name", product, remedy_for(product))
        total = self._mib("fb_memory_usage/total")
        reserved = (self._mib("fb_memory_usage/reserved") or 0) if total is not None else 0
        if total is not None and reserved > total:
            self._wrong(
                "fb_memory_usage/reserved",
                f"{reserved} MiB",
                f"fb_memory_usage/total is {total} MiB; use as much or less",
            )
        mode = self._word("compute_mode", _MODES, "Default")
        milli = 0 if mode == "Prohibited" else 1000
        if self._word("mig_mode/current_mig", ("Enabled", "Disabled", "N/A"), "N/A") == "Enabled":
            layout = list(partitions) if partitions is not None else self._layout(model)
            return Device(
                model,
                gpu_milli=milli,
                gpu_mem_mib=total,
                reserved_mem_mib=reserved,
                sharing="mig",
                partitions=layout,
                partition_on_demand=not layout,
            )
        if partitions is not None:
            self._wrong("mig_mode/current_mig", "not Enabled", "give no partitions for this one")
        return Device(
            model,
            gpu_milli=milli,
            gpu_mem_mib=total,
            reserved_mem_mib=reserved,
            sharing=_MODES[mode],
        )

    def _layout(self, model: str) -> list[tuple[str, int]]:
        # By GPU instance: several compute instances may share one, and each has an element.
        instances: defaultdict[str, list[int]] = defaultdict(list)
        for index in range(len(self._element.findall("mig_devices/mig_device"))):
            number = self._text(f"mig_devices/mig_device[{index}]/gpu_instance_id", f"- {index}")
            instances[number].append(index)
        if not instances:
            return []
        try:
            geometry = mig_geometry(model)
        except GpuschedError:
            self._wrong("mig_mode/current_mig", "Enabled", f"model '{model}' has no MIG instances")
        counts = Counter(self._profile(geometry, parts) for parts in instances.values())
        layouts = layouts_for(geometry, counts, 1)
        if layouts is None:
            self._wrong("mig_devices", str(dict(counts)), "they can't be on one device together")
        return layouts[0]

    def _profile(self, geometry: MigGeometry, parts: list[int]) -> str:
        """The profile of a GPU instance with these elements."""
        path = f"mig_devices/mig_device[{parts[0]}]"
        memory = self._mib(f"{path}/fb_memory_usage/total")
        for part in parts[1:]:
            other = f"mig_devices/mig_device[{part}]/fb_memory_usage/total"
            if self._mib(other) != memory:
                self._wrong(
                    other, self._text(other), f"{path} is of the same instance and has {memory} MiB"
                )
        if memory is None:
            self._wrong(
                f"{path}/fb_memory_usage/total",
                "N/A",
                "the profile is found by it; give partitions={index: [(profile, start), …]}",
            )
        alike = [
            profile
            for profile in geometry.profiles
            if abs(profile.mem_mib - memory) <= _TOLERANCE * profile.mem_mib
        ]
        # Where an optical flow engine is an extension, it tells profiles with from those without.
        flow = self._number(f"{path}/device_attributes/shared/ofa_count")
        for media in (True, False):
            some = [profile for profile in alike if profile.media_extensions == media]
            if some and (not media or flow):
                alike = some
                break
        if len(alike) > 1:
            alike = [
                profile
                for profile in alike
                if self._fits_engines(geometry, profile.compute_slices, parts)
            ]
        if len(alike) != 1:
            self._wrong(
                path,
                f"an instance of {memory} MiB",
                "its profile can't be told; give partitions={index: [(profile, start), …]}",
            )
        return alike[0].name

    def _fits_engines(self, geometry: MigGeometry, slices: int, parts: list[int]) -> bool:
        """Whether an instance of so many compute slices has these engines."""
        shared = "device_attributes/shared"
        path = f"mig_devices/mig_device[{parts[0]}]/{shared}"
        copies = self._number(f"{path}/copy_engine_count")
        for start, engines in _COPY_ENGINES.items():
            if copies is not None and geometry.name.startswith(start):
                return engines.get(slices) == copies
        # On A100 and A30 a compute slice has 14 multiprocessors, of which compute instances that
        # share the instance have a part each.
        counts = [
            self._number(f"mig_devices/mig_device[{part}]/{shared}/multiprocessor_count") or 0
            for part in parts
        ]
        return geometry.name.startswith(("A100-", "A30-")) and sum(counts) == 14 * slices

    def _find(self, path: str) -> str | None:
        """The text of an element. Paths here count from 0, as devices do; XML from 1."""
        return self._element.findtext(
            re.sub(r"\[(\d+)\]", lambda match: f"[{int(match[1]) + 1}]", path)
        )

    def _word(self, path: str, known: Collection[str], otherwise: str) -> str:
        text = self._text(path, otherwise)
        text = "N/A" if text == "[N/A]" else text
        if text not in known:
            self._wrong(path, text, f"use one of {', '.join(known)}")
        return text

    def _number(self, path: str) -> int | None:
        text = self._text(path, "N/A")
        return int(text) if re.fullmatch(r"[0-9]{1,9}", text) else None

    def _text(self, path: str, otherwise: str | None = None) -> str:
        text = self._find(path)
        if text is None or not text.strip():
            if otherwise is not None:
                return otherwise
            raise InvalidSpec(f"{self._file}: {self._path}/{path} is missing; it must be given")
        return text.strip()

    def _mib(self, path: str) -> int | None:
        """Memory; None where it is not told: old drivers reserve none, others share the host's."""
        text = self._text(path, "N/A" if path.endswith("reserved") else None)
        if text.strip("[]") in ("N/A", "Not Supported", "Insufficient Permissions"):
            return None
        match = re.fullmatch(r"([0-9]{1,12}) MiB", text)
        if match is None:
            self._wrong(path, text, 'use memory such as "40960 MiB"')
        return int(match[1])

    def _wrong(self, path: str, value: str, remedy: str) -> NoReturn:
        raise InvalidSpec(f"{self._file}: {self._path}/{path} is '{value}'; {remedy}")

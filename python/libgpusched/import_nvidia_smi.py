"""A node's devices from the XML of `nvidia-smi -q -x`.

Read are product_name, fb_memory_usage, mig_mode, mig_devices and compute_mode of each gpu. The XML
tells memory and multiprocessors of a MIG instance, but neither profile nor start: profiles are
found by their memory, starts are chosen (see mig_counts).
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
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
        profiles can't be told by memory.

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
    devices = [
        _Gpu(gpu, file, f"nvidia_smi_log/gpu[{index}]", model_names or {}).device(
            (partitions or {}).get(index)
        )
        for index, gpu in enumerate(root.findall("gpu"))
    ]
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
        reserved = self._mib("fb_memory_usage/reserved", 0)
        mode = self._text("compute_mode", "Default")
        mig = self._text("mig_mode/current_mig", "N/A") == "Enabled"
        if mig:
            layout = list(partitions) if partitions is not None else self._layout(model)
            return Device(
                model,
                gpu_mem_mib=total,
                reserved_mem_mib=reserved,
                sharing="mig",
                partitions=layout,
                partition_on_demand=not layout,
            )
        return Device(
            model,
            gpu_milli=0 if mode == "Prohibited" else 1000,
            gpu_mem_mib=total,
            reserved_mem_mib=reserved,
            sharing="exclusive" if mode.startswith("Exclusive") else "fraction",
        )

    def _layout(self, model: str) -> list[tuple[str, int]]:
        instances = self._element.findall("mig_devices/mig_device")
        if not instances:
            return []
        try:
            geometry = mig_geometry(model)
        except GpuschedError:
            self._wrong("mig_mode/current_mig", "Enabled", f"model '{model}' has no MIG instances")
        counts = Counter(self._profile(geometry, index) for index in range(len(instances)))
        layouts = layouts_for(geometry, counts, 1)
        if layouts is None:
            self._wrong("mig_devices", str(dict(counts)), "they can't be on one device together")
        return layouts[0]

    def _profile(self, geometry: MigGeometry, index: int) -> str:
        path = f"mig_devices/mig_device[{index + 1}]"
        memory = self._mib(f"{path}/fb_memory_usage/total")
        assert memory is not None
        alike = [
            profile
            for profile in geometry.profiles
            if not profile.media_extensions
            and abs(profile.mem_mib - memory) <= _TOLERANCE * profile.mem_mib
        ]
        if len({profile.compute_slices for profile in alike}) == 1:
            return alike[0].name
        # Several have so much memory. On A100 and A30 a compute slice has 14 multiprocessors.
        count = self._text(f"{path}/device_attributes/shared/multiprocessor_count", "0")
        exact = [
            profile.name
            for profile in alike
            if count.isdecimal() and profile.compute_slices * 14 == int(count)
        ]
        if len(exact) != 1:
            self._wrong(
                path,
                f"an instance of {memory} MiB",
                "its profile can't be told; give partitions={index: [(profile, start), …]}",
            )
        return exact[0]

    def _text(self, path: str, otherwise: str | None = None) -> str:
        text = self._element.findtext(path)
        if text is None or not text.strip():
            if otherwise is not None:
                return otherwise
            raise InvalidSpec(f"{self._file}: {self._path}/{path} is missing; it must be given")
        return text.strip()

    def _mib(self, path: str, otherwise: int | None = None) -> int:
        if otherwise is not None and self._element.findtext(path) is None:
            return otherwise
        text = self._text(path)
        match = re.fullmatch(r"(\d{1,12}) MiB", text)
        if match is None:
            if otherwise is not None and text in ("N/A", "[N/A]"):
                return otherwise
            self._wrong(path, text, 'use memory such as "40960 MiB"')
        return int(match[1])

    def _wrong(self, path: str, value: str, remedy: str) -> NoReturn:
        raise InvalidSpec(f"{self._file}: {self._path}/{path} is '{value}'; {remedy}")

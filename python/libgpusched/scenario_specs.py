"""Nodes, shapes and jobs of a scenario: checked for form when the file is read, made when told.

What the library itself refuses (a share of 1.5, a negative amount) is left for it to refuse, so
that a scenario can expect the refusal. Each reader gives a function that makes the thing anew.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

import libgpusched as gs
from libgpusched.node_description import NodeDescription
from libgpusched.scenario_source import Field, ScenarioError

_Made = TypeVar("_Made")
Maker: TypeAlias = Callable[[], _Made]

NODE_KEYS = ("name", "count", "cpu", "cpu_milli", "mem_mib", "gpus", "model", "gpu_mem_mib")
NODE_KEYS_WITH_DEVICES = (*NODE_KEYS, "devices")
UPDATE_NODE_KEYS = (
    *(key for key in NODE_KEYS_WITH_DEVICES if key != "count"),
    "foreign_cpu_milli",
    "foreign_mem_mib",
    "foreign_device_milli",
)
DEVICE_KEYS = (
    "model",
    "gpu_milli",
    "gpu_mem_mib",
    "reserved_mem_mib",
    "sharing",
    "replicas",
    "partitions",
    "partition_on_demand",
    "count",
)
SHAPE_KEYS = (
    "cpu",
    "cpu_milli",
    "mem_mib",
    "gpu",
    "gpu_count",
    "gpu_milli",
    "gpu_mem_mib",
    "models",
    "mig",
    "sharing",
    "distinct_devices",
)
GROUP_KEYS = ("name", "shape", "count", "min_available", "max_tasks_per_node")
JOB_KEYS = (
    "name",
    "count",
    "groups",
    "tasks",
    "shape",
    "kind",
    "queue",
    "priority",
    "submit_time",
    "expected_duration",
    "max_attempts",
    "labels",
    "alternatives",
    "homogeneous",
    "affinity",
    "anti_affinity",
    "co_schedule",
)
UPDATE_JOB_KEYS = ("name", "queue", "priority", "expected_duration", "groups")
UPDATE_GROUP_KEYS = ("count", "min_available", "shape")
# The name of a job's only group, if `tasks` and `shape` stand for it.
ONLY_GROUP = "main"

_PARTS = ("cpu", "gpu")  # cores and devices, which may be parts
_MOST_COPIES = 100_000
_MOST_DEVICES = 64  # of one node


def names(entries: dict[str, Field]) -> list[str]:
    """The name, or with `count` so many names that end in 0, 1, …"""
    name = entries["name"].text()
    if "count" not in entries:
        return [name]
    return [f"{name}{i}" for i in range(entries["count"].whole(0, _MOST_COPIES))]


def shape(field: Field) -> Maker[gs.Shape]:
    """What one task asks."""
    arguments = _amounts(field.keys(SHAPE_KEYS))
    return lambda: gs.Shape(**arguments)


def node_arguments(field: Field) -> tuple[list[str], Maker[dict[str, Any]]]:
    """The names of the nodes, and the arguments of Engine.add_node."""
    entries = field.keys(NODE_KEYS_WITH_DEVICES, ("name",))
    rest = {key: entry for key, entry in entries.items() if key not in ("name", "count")}
    return names(entries), _with_devices(rest)


def node_update_arguments(field: Field) -> tuple[str, Maker[dict[str, Any]]]:
    """The node's name, and the arguments of Engine.update_node."""
    entries = field.keys(UPDATE_NODE_KEYS, ("name",))
    rest = {key: entry for key, entry in entries.items() if key != "name"}
    return entries["name"].text(), _with_devices(rest)


def jobs(field: Field) -> list[Maker[gs.Job]]:
    """The jobs that one `submit` stands for."""
    entries = field.keys(JOB_KEYS, ("name",))
    if "groups" in entries:
        for key in ("tasks", "shape"):
            if key in entries:
                entries[key].wrong("give it for each of the groups", "beside groups")
        groups = _groups(entries["groups"])
    else:
        if "shape" not in entries:
            field.wrong("give groups, or shape for a single one", "without groups and shape")
        count = entries["tasks"].whole() if "tasks" in entries else 1
        only = shape(entries["shape"])

        def groups() -> list[gs.TaskGroup]:
            return [gs.TaskGroup(ONLY_GROUP, only(), count)]

    arguments = _job_arguments(entries)
    alternatives = (
        [_groups(entry) for entry in entries["alternatives"].items()]
        if ("alternatives" in entries)
        else []
    )

    def maker(name: str) -> Maker[gs.Job]:
        return lambda: gs.Job(
            name, groups(), alternatives=[groups_of() for groups_of in alternatives], **arguments
        )

    return [maker(name) for name in names(entries)]


def job_update(field: Field) -> tuple[str, Maker[dict[str, Any]]]:
    """The job's name, and the arguments of Engine.update_job."""
    entries = field.keys(UPDATE_JOB_KEYS, ("name",))
    fixed: dict[str, Any] = {}
    if "queue" in entries:
        fixed["queue"] = entries["queue"].text()
    if "priority" in entries:
        fixed["priority"] = entries["priority"].whole()
    if "expected_duration" in entries:
        fixed["expected_duration"] = entries["expected_duration"].duration()
    groups = [
        (name, _group_update(entry))
        for name, entry in (entries["groups"].mapping() if "groups" in entries else {}).items()
    ]

    def arguments() -> dict[str, Any]:
        if not groups:
            return fixed
        return fixed | {"groups": {name: update() for name, update in groups}}

    return entries["name"].text(), arguments


def _amounts(entries: dict[str, Field], of_device: bool = False) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    for key, entry in entries.items():
        if key == "models":
            arguments[key] = [item.text() for item in entry.items()]
        elif key in ("model", "mig"):
            arguments[key] = entry.text()
        elif key == "sharing":
            arguments[key] = (
                entry.text() if of_device else [item.text() for item in entry.one_or_more()]
            )
        elif key == "count":
            arguments[key] = entry.whole(0, _MOST_DEVICES)
        elif key == "partitions":
            arguments[key] = [_partition(item) for item in entry.items()]
        elif key in ("partition_on_demand", "distinct_devices"):
            arguments[key] = entry.flag()
        else:
            arguments[key] = entry.number() if key in _PARTS else entry.whole()
    return arguments


def _with_devices(entries: dict[str, Field]) -> Maker[dict[str, Any]]:
    devices = entries.pop("devices", None)
    foreign = entries.pop("foreign_device_milli", None)
    fixed = _amounts(entries)
    if foreign is not None:
        fixed["foreign_device_milli"] = [item.whole() for item in foreign.items()]
    if devices is None:
        return lambda: fixed
    specs = [
        _amounts(item.keys(DEVICE_KEYS, ("model",)), of_device=True) for item in devices.items()
    ]

    def arguments() -> dict[str, Any]:
        made = [
            gs.Device(spec["model"], **_rest(spec))
            for spec in specs
            for _ in range(spec.get("count", 1))
        ]
        return fixed | {"devices": made}

    return arguments


def _rest(spec: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in spec.items() if key not in ("model", "count")}


def instances(field: Field) -> list[tuple[int, str, int]]:
    """MIG instances, each as "0:3g.20gb@4": device, profile, start."""
    return [_instance(item) for item in field.one_or_more()]


def instance_text(instance: gs.MigInstance) -> str:
    """As a scenario writes it."""
    return f"{instance.device}:{instance.profile}@{instance.start}"


def _instance(field: Field) -> tuple[int, str, int]:
    device, colon, rest = field.text().partition(":")
    if not colon or not _is_small_number(device):
        field.wrong('write device:profile@start, such as "0:3g.20gb@4"')
    profile, start = _profile_at(field, rest)
    return int(device), profile, start


def _partition(field: Field) -> tuple[str, int]:
    return _profile_at(field, field.text())


def _profile_at(field: Field, text: str) -> tuple[str, int]:
    profile, at, start = text.rpartition("@")
    if not at or not profile or not _is_small_number(start):
        field.wrong('write profile@start, such as "3g.20gb@4"')
    return profile, int(start)


def _is_small_number(text: str) -> bool:
    """Whether int() reads it: that knows other digits too, and no numbers of thousands of them."""
    return text.isascii() and text.isdecimal() and len(text) <= 3


def _groups(field: Field) -> Maker[list[gs.TaskGroup]]:
    makers = [_group(item) for item in field.items("a list of groups")]
    return lambda: [maker() for maker in makers]


def _group(field: Field) -> Maker[gs.TaskGroup]:
    entries = field.keys(GROUP_KEYS, ("name", "shape"))
    name, of_task = entries["name"].text(), shape(entries["shape"])
    arguments = {
        key: entries[key].whole()
        for key in ("count", "min_available", "max_tasks_per_node")
        if key in entries
    }
    return lambda: gs.TaskGroup(name, of_task(), **arguments)


def _group_update(field: Field) -> Maker[dict[str, Any]]:
    entries = field.keys(UPDATE_GROUP_KEYS)
    fixed: dict[str, Any] = {
        key: entries[key].whole() for key in ("count", "min_available") if key in entries
    }
    if "shape" not in entries:
        return lambda: fixed
    of_task = shape(entries["shape"])
    return lambda: fixed | {"shape": of_task()}


def _job_arguments(entries: dict[str, Field]) -> dict[str, Any]:
    """All arguments of a job but its name, groups and alternatives."""
    arguments: dict[str, Any] = {}
    for key, entry in entries.items():
        if key == "kind":
            arguments[key] = entry.word(("batch", "service"))
        elif key == "queue":
            arguments[key] = entry.text()
        elif key in ("priority", "max_attempts"):
            arguments[key] = entry.whole()
        elif key in ("submit_time", "expected_duration"):
            arguments[key] = entry.duration()
        elif key == "homogeneous":
            arguments[key] = entry.flag()
        elif key == "labels":
            arguments[key] = {label: value.text() for label, value in entry.mapping().items()}
        elif key in ("affinity", "anti_affinity"):
            arguments[key] = {
                label: [item.text() for item in values.one_or_more()]
                for label, values in entry.mapping().items()
            }
        elif key == "co_schedule":
            pair = entry.keys(("group", "size"), ("group", "size"))
            arguments[key] = (pair["group"].text(), pair["size"].whole())
    return arguments


def described_nodes(field: Field, opaque_models: list[str]) -> list[NodeDescription]:
    """The nodes that one entry stands for, made at once."""
    node_names, arguments_of = node_arguments(field)
    # A cluster of its own checks them, and reads what a number of equal GPUs stands for.
    try:
        arguments = arguments_of()
        checked = gs.Cluster(opaque_models=opaque_models)
        described = []
        for name in node_names:
            checked.add_node(name, **arguments)
            node = checked.node(name)
            described.append(
                NodeDescription(
                    name,
                    node.capacity.cpu_milli,
                    node.capacity.mem_mib,
                    tuple(device.spec for device in node.devices),
                )
            )
    except ScenarioError:
        raise
    except gs.GpuschedError as error:
        raise ScenarioError(f"{field.where}: {error}") from None
    return described

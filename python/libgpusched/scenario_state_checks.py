"""What a scenario expects after a step: of jobs, tasks, nodes, and of what stayed the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import libgpusched as gs
from libgpusched.scenario_checks import (
    Changes,
    Check,
    Mismatch,
    read_effect,
    text_checks,
)
from libgpusched.scenario_plan_checks import (
    OUTCOMES,
    Decided,
    eviction_checks,
    is_of,
    node_check,
    placement_checks,
    wait_checks,
)
from libgpusched.scenario_source import Field

PLAN_KEYS = ("placements", "evictions", "waits", "cycles_to_fixed_point")
PHASE_KEYS = ("pending", "assumed", "running", "evicting", "finished")
SAME_KEYS = ("same_state_as", "other_state_than", "same_plan_as", "other_plan_than")
EXPECT_KEYS = (
    *PLAN_KEYS,
    *PHASE_KEYS,
    "placed_on",
    "jobs",
    "explains",
    "nodes",
    "total",
    "effect",
    "state_changed",
    *SAME_KEYS,
)
NODE_KEYS = ("capacity", "free", "used", "held", "devices", "cordoned", "tasks")
AMOUNT_KEYS = ("cpu_milli", "mem_mib", "gpu_milli", "gpu_mem_mib")
DEVICE_KEYS = ("capacity", "free", "used", "held", "foreign")
TOTAL_KEYS = ("capacity", "free", "used", "held", "nodes", "fullest_device")
EXPLAIN_KEYS = ("outcome", "reason", "text")
_AMOUNTS = ("capacity", "free", "used", "held")
# Mappings from names that are not complete: without any they would expect nothing.
_NAMED = (*PHASE_KEYS, "placed_on", "explains", "nodes")


@dataclass(frozen=True)
class Remembered:
    """A state and a plan to come back to."""

    state: str
    plan: tuple[Any, ...] | None


@dataclass
class Seen:
    """What a step has done, and the engine after it."""

    engine: gs.Engine
    before: str  # the hash of the state
    remembered: dict[str, Remembered]
    decided: Decided = field(default_factory=Decided)
    plan: tuple[Any, ...] | None = None  # the steps of the last plan
    changes: Changes = field(default_factory=Changes)
    cycles: int = 0


def read_expectations(entry: Field) -> list[Check]:
    """Checks on Seen."""
    return list(_checks(entry.some_keys(EXPECT_KEYS)))


def _checks(entries: dict[str, Field]) -> Iterator[Check]:
    for key, entry in entries.items():
        if key in _NAMED and not entry.value:
            entry.wrong("name something; who or what is not named here may be in any state")
        if key in _PLAN_CHECKS:
            for check in _PLAN_CHECKS[key](entry):
                yield _about(check, lambda seen: seen.decided)
        elif key == "effect":
            for check in read_effect(entry):
                yield _about(check, lambda seen: seen.changes)
        elif key in PHASE_KEYS:
            for name, count in entry.mapping("a mapping of jobs to numbers of tasks").items():
                yield _phase_check(key, name, count)
        elif key in SAME_KEYS:
            yield from _same_checks(key, entry)
        elif key == "cycles_to_fixed_point":
            yield Check(entry.where, entry.whole(0), lambda seen: seen.cycles)
        elif key == "state_changed":
            yield Check(
                entry.where, entry.flag(), lambda seen: seen.engine.state_hash != seen.before
            )
        elif key == "jobs":
            names = [item.text() for item in entry.one_or_more()]
            yield Check(entry.where, names, lambda seen: [job.name for job in seen.engine.jobs()])
        elif key == "placed_on":
            for name, value in entry.mapping("a mapping of jobs to nodes").items():
                yield node_check(value, _Places(name), name.split("/")[0])
        elif key == "explains":
            for job, value in entry.mapping("a mapping of jobs to parts of the text").items():
                yield from _explain_checks(job, value)
        elif key == "nodes":
            for name, value in entry.mapping("a mapping of nodes to amounts").items():
                yield from _node_checks(name, value)
        else:
            yield from _total_checks(entry)


_PLAN_CHECKS: dict[str, Callable[[Field], Iterator[Check]]] = {
    "placements": placement_checks,
    "evictions": eviction_checks,
    "waits": wait_checks,
}


def _about(check: Check, part: Callable[[Seen], Any]) -> Check:
    return Check(
        check.where,
        check.expected,
        lambda seen: check.find(part(seen)),
        check.job,
        check.matches,
    )


def _job(seen: Seen, name: str) -> gs.JobInfo:
    """The live job of this name, or that a group's or task's name begins with."""
    live = {job.name: job for job in seen.engine.jobs()}
    for part in (name, name.rpartition("/")[0], name.rsplit("/", 2)[0]):
        if part in live:
            return live[part]
    raise Mismatch(f"no job {name} is live")


def _tasks(seen: Seen, name: str) -> list[gs.TaskStatus]:
    tasks = [task for task in _job(seen, name).tasks if is_of(task.task, name)]
    if not tasks and name not in [job.name for job in seen.engine.jobs()]:
        raise Mismatch(f"no task {name} is live")
    return tasks


def _phase_check(phase: str, name: str, count: Field) -> Check:
    return Check(
        count.where,
        count.whole(0),
        lambda seen: sum(task.phase == phase for task in _tasks(seen, name)),
        name.split("/")[0],
    )


@dataclass(frozen=True)
class _Places:
    """The nodes of the placed tasks of one name, in order of rank."""

    name: str

    def __call__(self, seen: Seen) -> list[str]:
        return [task.node for task in _tasks(seen, self.name) if task.node]


def _explain_checks(job: str, value: Field) -> Iterator[Check]:
    def account(seen: Seen) -> gs.Account:
        try:
            return seen.engine.explain(job)
        except gs.NotFound as error:
            raise Mismatch(str(error)) from None

    if not isinstance(value.value, dict):
        yield from text_checks(value, lambda seen: account(seen).text, job)
        return
    for key, part in value.some_keys(EXPLAIN_KEYS).items():
        if key == "text":
            yield from text_checks(part, lambda seen: account(seen).text, job)
        elif key == "outcome":
            outcome = part.word(("ok", *OUTCOMES))
            yield Check(part.where, outcome, lambda seen: account(seen).outcome, job)
        else:
            yield Check(part.where, part.word(gs.reasons()), lambda seen: account(seen).reason, job)


def _node(seen: Seen, name: str) -> gs.NodeInfo:
    try:
        return seen.engine.node(name)
    except gs.NotFound as error:
        raise Mismatch(str(error)) from None


@dataclass(frozen=True)
class _Amount:
    """So much of one thing, on these nodes together."""

    node: str | None  # None: all nodes
    column: str
    amount: str

    def __call__(self, seen: Seen) -> int:
        nodes = seen.engine.nodes() if self.node is None else [_node(seen, self.node)]
        return sum(getattr(getattr(node, self.column), self.amount) for node in nodes)


@dataclass(frozen=True)
class _DeviceAmounts:
    """So much of each device of a node."""

    node: str
    column: str

    def __call__(self, seen: Seen) -> list[int]:
        devices = _node(seen, self.node).devices
        return [getattr(device, f"{self.column}_milli") for device in devices]


def _node_checks(name: str, value: Field) -> Iterator[Check]:
    for key, part in value.some_keys(NODE_KEYS).items():
        if key in _AMOUNTS:
            for amount, wanted in part.some_keys(AMOUNT_KEYS).items():
                yield Check(wanted.where, wanted.whole(), _Amount(name, key, amount))
        elif key == "devices":
            for column, wanted in part.some_keys(DEVICE_KEYS).items():
                amounts = [item.whole() for item in wanted.items()]
                yield Check(wanted.where, amounts, _DeviceAmounts(name, column))
        elif key == "cordoned":
            yield Check(part.where, part.flag(), lambda seen: _node(seen, name).cordoned)
        else:
            yield Check(part.where, part.whole(0), lambda seen: _node(seen, name).task_count)


def _total_checks(entry: Field) -> Iterator[Check]:
    for key, part in entry.some_keys(TOTAL_KEYS).items():
        if key == "nodes":
            yield Check(part.where, part.whole(0), lambda seen: len(seen.engine.nodes()))
        elif key == "fullest_device":
            yield Check(part.where, part.whole(0), _fullest_device)
        else:
            for amount, wanted in part.some_keys(AMOUNT_KEYS).items():
                yield Check(wanted.where, wanted.whole(), _Amount(None, key, amount))


def _fullest_device(seen: Seen) -> int:
    used = [device.used_milli for node in seen.engine.nodes() for device in node.devices]
    return max(used, default=0)


def _same_checks(key: str, entry: Field) -> Iterator[Check]:
    """That the state or the plan is, or is not, the one that was remembered under a name."""
    of_state, same = "state" in key, key.startswith("same")
    for item in entry.one_or_more():
        name = item.text()

        def is_same(seen: Seen, name: str = name) -> str:
            if name not in seen.remembered:
                raise Mismatch(f"nothing is remembered as {name}")
            then = seen.remembered[name]
            if of_state:
                equal = then.state == seen.engine.state_hash
            elif then.plan is None or seen.plan is None:
                raise Mismatch(f"no plan was made {'by now' if then.plan else f'before {name}'}")
            else:
                equal = then.plan == seen.plan
            return f"{'the same as' if equal else 'another than'} {name}"

        yield Check(item.where, f"{'the same as' if same else 'another than'} {name}", is_same)

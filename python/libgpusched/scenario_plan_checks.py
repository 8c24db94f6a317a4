"""What a scenario expects of the plans of a step: placements, evictions, and who waits for what.

Each of the three is complete: what it does not list must not be in the plans.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import libgpusched as gs
from libgpusched.scenario_checks import Check, Mismatch, shown, text_checks
from libgpusched.scenario_source import Field, YamlMap
from libgpusched.scenario_specs import instance_text

PLACEMENT_KEYS = (
    "nodes",
    "count",
    "devices",
    "instances",
    "mode",
    "ranks",
    "attempts",
    "alternative",
    "scores",
)
EVICTION_KEYS = ("cause", "nodes", "count", "attempts")
WAIT_KEYS = ("reason", "outcome", "group", "subject", "need", "have", "text")
CAUSES = ("Cancelled", "JobFailed", "ScaledDown", "GangNotWhole")
OUTCOMES = ("wait", "never")
MODES = ("exclusive", "fraction", "mps", "time_slicing", "mig")


@dataclass
class Decided:
    """The plans of a step; of those that wait, only the last plan counts."""

    placements: list[gs.Place] = field(default_factory=list)
    evictions: list[gs.Evict] = field(default_factory=list)
    waits: list[gs.Wait | gs.Reject] = field(default_factory=list)

    def add(self, plan: gs.Plan) -> None:
        """Takes a plan in."""
        self.placements += plan.placements
        self.evictions += plan.evictions
        self.waits = list(plan.waits)


def is_of(task: gs.Task, name: str) -> bool:
    """Whether a name (of a job, job/group, or job/group/index) speaks of the task."""
    return name in (task.job, f"{task.job}/{task.group}", task.name)


def placement_checks(entry: Field) -> Iterator[Check]:
    """Checks on Decided that say where tasks go."""
    entries = entry.mapping("a mapping of jobs, groups or tasks to where they go")
    for name, value in entries.items():
        yield from _tasks_checks(name, value, PLACEMENT_KEYS, lambda plans: plans.placements)
    yield _nothing_else(entry, list(entries), lambda plans: plans.placements)


def eviction_checks(entry: Field) -> Iterator[Check]:
    """Checks on Decided that say what is taken back."""
    entries = entry.mapping("a mapping of jobs, groups or tasks to the cause")
    for name, value in entries.items():
        if isinstance(value.value, dict):
            yield from _tasks_checks(name, value, EVICTION_KEYS, lambda plans: plans.evictions)
        else:
            yield _cause_check(name, value)
    yield _nothing_else(entry, list(entries), lambda plans: plans.evictions)


def wait_checks(entry: Field) -> Iterator[Check]:
    """Checks on Decided that say which jobs wait, and why."""
    entries = entry.mapping("a mapping of jobs to the reason")
    for job, value in entries.items():
        if not isinstance(value.value, dict):
            yield _wait_check(job, "reason", value)
            continue
        for key, part in value.some_keys(WAIT_KEYS).items():
            if key == "text":
                yield from text_checks(part, _WaitText(job), job)
            else:
                yield _wait_check(job, key, part)
    listed = list(entries)
    yield Check(
        entry.where,
        "nobody else",
        lambda plans: [wait.job for wait in plans.waits if wait.job not in listed],
        None,
        lambda _, got: not got,
    )


def node_check(value: Field, nodes_of: Callable[[Any], list[str]], job: str) -> Check:
    """Nodes in order of rank, or how many tasks each has."""
    if isinstance(value.value, YamlMap):
        counts = {node: count.whole(0) for node, count in value.mapping().items()}
        return Check(
            value.where,
            dict(sorted(counts.items())),
            lambda subject: dict(sorted(Counter(nodes_of(subject)).items())),
            job,
        )
    return Check(value.where, [item.text() for item in value.one_or_more()], nodes_of, job)


def _tasks_checks(
    name: str, value: Field, keys: tuple[str, ...], steps_of: Callable[[Any], list[Any]]
) -> Iterator[Check]:
    """Of the steps about the tasks of one name, in order of rank."""
    job = name.split("/")[0]

    def chosen(plans: Decided) -> list[Any]:
        steps = [step for step in steps_of(plans) if is_of(step.task, name)]
        if not steps:
            raise Mismatch(f"no step of the plan is about {name}")
        return sorted(steps, key=lambda step: getattr(step, "rank", 0))

    def nodes(plans: Decided) -> list[str]:
        return [step.node for step in chosen(plans)]

    if not isinstance(value.value, dict):
        yield node_check(value, nodes, job)
        return
    for key, part in value.some_keys(keys).items():
        if key == "nodes":
            yield node_check(part, nodes, job)
        elif key == "count":
            yield Check(part.where, part.whole(1), lambda plans: len(chosen(plans)), job)
        elif key == "cause":
            yield _cause_check(name, part)
        elif key == "alternative":
            yield Check(
                part.where,
                part.whole(0),
                lambda plans: _all_the_same([step.alternative for step in chosen(plans)]),
                job,
            )
        elif key == "devices":
            yield Check(
                part.where,
                _device_lists(part),
                lambda plans: [list(step.devices) for step in chosen(plans)],
                job,
            )
        elif key == "instances":
            yield Check(
                part.where,
                [item.text() for item in part.one_or_more()],
                lambda plans: [
                    instance_text(instance)
                    for step in chosen(plans)
                    for instance in step.grant.instances
                ],
                job,
            )
        elif key == "mode":
            yield Check(
                part.where,
                part.word(MODES),
                lambda plans: _all_the_same([step.grant.mode for step in chosen(plans)]),
                job,
            )
        else:
            wanted = [item.whole() for item in part.one_or_more()]
            yield Check(part.where, wanted, _Numbers(key, chosen), job)


@dataclass(frozen=True)
class _Numbers:
    """Ranks, attempts or scores of the steps."""

    key: str
    chosen: Callable[[Decided], list[Any]]

    def __call__(self, plans: Decided) -> list[int]:
        steps = self.chosen(plans)
        if self.key == "attempts":
            return [step.task.attempt for step in steps]
        return [getattr(step, self.key.removesuffix("s")) for step in steps]


def _device_lists(field: Field) -> list[list[int]]:
    """Devices of one task, [0, 1], or of several, [[0], [1]]."""
    items = field.items()
    if items and not isinstance(items[0].value, list):
        return [[item.whole(0) for item in items]]
    return [[device.whole(0) for device in item.items()] for item in items]


def _all_the_same(values: Sequence[Any]) -> Any:
    return values[0] if len(set(values)) == 1 else values


def _cause_check(name: str, value: Field) -> Check:
    def cause(plans: Decided) -> str:
        causes = {step.cause for step in plans.evictions if is_of(step.task, name)}
        if not causes:
            raise Mismatch(f"no eviction of the plan is about {name}")
        return " and ".join(sorted(causes))

    return Check(value.where, value.word(CAUSES), cause, name.split("/")[0])


def _nothing_else(entry: Field, names: list[str], steps_of: Callable[[Any], list[Any]]) -> Check:
    def rest(plans: Decided) -> list[str]:
        return [
            f"{step.task.name} on {step.node}"
            for step in steps_of(plans)
            if not any(is_of(step.task, name) for name in names)
        ]

    return Check(entry.where, "nothing else", rest, None, lambda _, got: not got)


def _wait(plans: Decided, job: str) -> gs.Wait | gs.Reject:
    for wait in plans.waits:
        if wait.job == job:
            return wait
    raise Mismatch(f"{job} does not wait; who does: {shown([wait.job for wait in plans.waits])}")


@dataclass(frozen=True)
class _WaitText:
    """The line for people on why a job waits."""

    job: str

    def __call__(self, plans: Decided) -> str:
        return _wait(plans, self.job).text


def _wait_check(job: str, key: str, value: Field) -> Check:
    if key == "reason":
        return Check(
            value.where, value.word(gs.reasons()), lambda plans: _wait(plans, job).reason, job
        )
    if key == "outcome":
        return Check(
            value.where,
            value.word(OUTCOMES),
            lambda plans: "never" if isinstance(_wait(plans, job), gs.Reject) else "wait",
            job,
        )
    wanted: Any = value.whole() if key in ("need", "have") else value.text()
    return Check(
        value.where, wanted, lambda plans: getattr(_wait(plans, job), key) or _EMPTY[key], job
    )


_EMPTY: dict[str, Any] = {"need": 0, "have": 0, "group": "", "subject": ""}

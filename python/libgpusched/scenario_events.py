"""The events of a scenario: how each is written, and what it tells the engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import libgpusched as gs
from libgpusched import scenario_specs as specs
from libgpusched.scenario_checks import Check, Mismatch, read_effect
from libgpusched.scenario_source import Field, Where

TASK_KEYS = ("task", "attempt", "node", "devices", "instances")
HOLD_KEYS = ("name", "owner", "node", "shape", "devices", "instances", "until")
# Of which phase the tasks are that news of a whole job, or of all, is about.
_NEWS: dict[str, tuple[str, ...]] = {
    "started": ("assumed",),
    "finished": ("assumed", "running"),
    "failed": ("assumed", "running"),
    "evicted": ("evicting",),
}


@dataclass
class World:
    """An engine, and what a scenario refers back to."""

    engine: gs.Engine
    plan: gs.Plan | None = None  # the last one that was decided
    attempts: dict[tuple[str, str, int], int] = field(default_factory=dict)  # last ones placed

    def took(self, plan: gs.Plan) -> None:
        """A plan was committed."""
        for place in plan.placements:
            self.attempts[_key(place.task)] = place.task.attempt

    def task(self, name: str, attempt: int | None) -> gs.Task:
        """The task of this name, by default at the attempt that it is at."""
        parts = name.rsplit("/", 2)
        if len(parts) != 3 or not parts[2].isdigit():
            raise Mismatch(f"{name!r} is no task; write job/group/index")
        key = (parts[0], parts[1], int(parts[2]))
        if attempt is None:
            attempt = self.attempts.get(key, 1)
            for other in self._live_tasks(key[0]):
                if _key(other.task) == key:
                    attempt = other.task.attempt
        return gs.Task(*key, attempt)

    def tasks(self, name: str, phases: Sequence[str]) -> list[gs.Task]:
        """The tasks in these phases of all jobs, of a job or of a group; or the one task."""
        live = [job.name for job in self.engine.jobs()]
        job, _, last = name.rpartition("/")
        if name == "all":
            found = [task for job in live for task in self._live_tasks(job)]
        elif name in live:
            found = self._live_tasks(name)
        elif job in live and not last.isdigit():
            found = [task for task in self._live_tasks(job) if task.task.group == last]
        else:
            return [self.task(name, None)]
        chosen = [task.task for task in found if task.phase in phases]
        if not chosen:
            raise Mismatch(f"{name!r} has no task that is {' or '.join(phases)}")
        return chosen

    def last_plan(self) -> gs.Plan:
        """The plan that was decided last."""
        if self.plan is None:
            raise Mismatch("no plan has been made yet")
        return self.plan

    def _live_tasks(self, job: str) -> list[gs.TaskStatus]:
        try:
            return list(self.engine.job(job).tasks)
        except gs.NotFound:
            return []


Action: TypeAlias = Callable[[World], list[gs.Effect]]


@dataclass(frozen=True)
class ErrorWanted:
    """A refusal that a scenario expects."""

    where: Where
    type: str
    contains: tuple[tuple[Where, str], ...]
    type_where: Where


@dataclass(frozen=True)
class EventStep:
    """One event as written: what to do, how often, and what should come of it."""

    where: Where
    act: Action
    times: int
    error: ErrorWanted | None
    effect: tuple[Check, ...]


def read_event(entry: Field) -> EventStep:
    """One item of `events`: a mapping with one event and, if wanted, what should come of it."""
    entries = entry.keys((*EVENTS, "times", "expect_error", "effect"))
    named = [key for key in entries if key in EVENTS]
    if len(named) != 1:
        shown = f"{len(named)} events ({', '.join(named)})" if named else "no event"
        entry.wrong(f"give exactly one of {', '.join(EVENTS)}", shown)
    act = EVENTS[named[0]](entries[named[0]])
    error = _error_wanted(entries["expect_error"]) if "expect_error" in entries else None
    if error is not None and "effect" in entries:
        entries["effect"].wrong("what is refused has none", "beside expect_error")
    return EventStep(
        where=entries[named[0]].where,
        act=act,
        times=entries["times"].whole(1, 1_000_000) if "times" in entries else 1,
        error=error,
        effect=tuple(read_effect(entries["effect"])) if "effect" in entries else (),
    )


def error_types() -> list[str]:
    """The names of the exceptions that `expect_error` may name."""
    return [
        name
        for name in gs.__all__
        if isinstance(getattr(gs, name), type) and issubclass(getattr(gs, name), gs.GpuschedError)
    ]


def _error_wanted(entry: Field) -> ErrorWanted:
    entries = entry.keys(("type", "contains"), ("type",))
    contains = entries["contains"].one_or_more() if "contains" in entries else []
    return ErrorWanted(
        where=entry.where,
        type=entries["type"].word(error_types()),
        contains=tuple((part.where, part.text()) for part in contains),
        type_where=entries["type"].where,
    )


def _add_node(entry: Field) -> Action:
    names, arguments = specs.node_arguments(entry)
    return lambda world: [world.engine.add_node(name, **arguments()) for name in names]


def _update_node(entry: Field) -> Action:
    name, arguments = specs.node_update_arguments(entry)
    return lambda world: [world.engine.update_node(name, **arguments())]


def _submit(entry: Field) -> Action:
    makers = specs.jobs(entry)
    return lambda world: [world.engine.submit(make()) for make in makers]


def _update_job(entry: Field) -> Action:
    name, arguments = specs.job_update(entry)
    return lambda world: [world.engine.update_job(name, **arguments())]


def _by_name(tell: Callable[[gs.Engine, str], gs.Effect]) -> Callable[[Field], Action]:
    def read(entry: Field) -> Action:
        names = [item.text() for item in entry.one_or_more()]
        return lambda world: [tell(world.engine, name) for name in names]

    return read


def _news(verb: str) -> Callable[[Field], Action]:
    def read(entry: Field) -> Action:
        if isinstance(entry.value, dict):
            return _one_task(verb, entry)
        names = [item.text() for item in entry.one_or_more()]

        def act(world: World) -> list[gs.Effect]:
            tasks = [task for name in names for task in world.tasks(name, _NEWS[verb])]
            return [getattr(world.engine, verb)(task) for task in tasks]

        return act

    return read


def _one_task(verb: str, entry: Field) -> Action:
    keys = TASK_KEYS if verb == "started" else TASK_KEYS[:2]
    entries = entry.keys(keys, ("task",))
    name = entries["task"].text()
    attempt = entries["attempt"].whole() if "attempt" in entries else None
    place: dict[str, Any] = {}
    if "node" in entries:
        place["node"] = entries["node"].text()
    if "devices" in entries:
        place["devices"] = _indices(entries["devices"].items())
    if "instances" in entries:
        place["instances"] = specs.instances(entries["instances"])

    def act(world: World) -> list[gs.Effect]:
        task = world.task(name, attempt)
        effect: gs.Effect = getattr(world.engine, verb)(task, **place)
        if place:
            world.attempts[_key(task)] = task.attempt
        return [effect]

    return act


def _hold(entry: Field) -> Action:
    entries = entry.keys(HOLD_KEYS, ("name", "owner", "node", "shape"))
    name = entries["name"].text()
    arguments: dict[str, Any] = {key: entries[key].text() for key in ("owner", "node")}
    if "devices" in entries:
        arguments["devices"] = _indices(entries["devices"].items())
    if "instances" in entries:
        arguments["instances"] = specs.instances(entries["instances"])
    if "until" in entries:
        arguments["until"] = entries["until"].duration()
    of_hold = specs.shape(entries["shape"])
    return lambda world: [world.engine.hold(name, shape=of_hold(), **arguments)]


def _tick(entry: Field) -> Action:
    now = entry.duration()
    return lambda world: [world.engine.tick(now)]


def _commit_plan(entry: Field) -> Action:
    entry.word(("last",))

    def act(world: World) -> list[gs.Effect]:
        plan = world.last_plan()
        effect = world.engine.commit(plan)
        world.took(plan)
        return [effect]

    return act


def _abort_plan(entry: Field) -> Action:
    entry.word(("last",))
    return lambda world: [world.engine.abort(world.last_plan())]


def _indices(items: Iterable[Field]) -> list[int]:
    return [item.whole() for item in items]


def _key(task: gs.Task) -> tuple[str, str, int]:
    return task[:3]


# What may stand in `events`, by its name.
EVENTS: dict[str, Callable[[Field], Action]] = {
    "add_node": _add_node,
    "update_node": _update_node,
    "remove_node": _by_name(lambda engine, name: engine.remove_node(name)),
    "cordon": _by_name(lambda engine, name: engine.cordon(name)),
    "uncordon": _by_name(lambda engine, name: engine.cordon(name, False)),
    "submit": _submit,
    "update_job": _update_job,
    "cancel": _by_name(lambda engine, name: engine.cancel(name)),
    "started": _news("started"),
    "finished": _news("finished"),
    "failed": _news("failed"),
    "evicted": _news("evicted"),
    "hold": _hold,
    "drop_hold": _by_name(lambda engine, name: engine.drop_hold(name)),
    "tick": _tick,
    "commit_plan": _commit_plan,
    "abort_plan": _abort_plan,
}

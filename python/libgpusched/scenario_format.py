"""Scenarios as they are written: the keys of a document, and the steps of its timeline."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import libgpusched as gs
from libgpusched import scenario_specs as specs
from libgpusched.scenario_checks import Check
from libgpusched.scenario_events import EventStep, read_event
from libgpusched.scenario_source import (
    Field,
    ScenarioError,
    Where,
    YamlList,
    YamlMap,
    read_documents,
)
from libgpusched.scenario_state_checks import PLAN_KEYS, read_expectations

SCENARIO_KEYS = (
    "id",
    "name",
    "about",
    "options",
    "cluster",
    "timeline",
    "repeat",
    "fresh_processes",
    "orders",
    "variants",
)
OPTION_KEYS = (
    "policy",
    "seed",
    "strict_fifo",
    "start_timeout",
    "repair_timeout",
    "gang_search_limit",
    "opaque_models",
)
STEP_KEYS = ("at", "events", "cycle", "remember", "expect")
LOOP_KEYS = ("times", "steps")
CYCLES = ("true", "decide", "to_fixed_point")
ORDERS = ("submits", "groups", "nodes")
# Keys of a document that a variant may not replace.
_NOT_IN_VARIANTS = ("id", "variants")
# What one run does not read: how often it is run.
_MOST_RUNS = 100_000


@dataclass(frozen=True)
class Step:
    """Some events, then a cycle, then what is expected; or, with `times`, a loop over steps."""

    where: Where
    at: int | None = None
    events: tuple[EventStep, ...] = ()
    cycle: str | None = None
    remember: str | None = None
    checks: tuple[Check, ...] = ()
    times: int = 0
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True)
class Scenario:
    """One run: a fresh engine with these options, a cluster, and a timeline."""

    title: str
    where: Where
    options: dict[str, Any]
    policies: dict[str, float]
    seed: int
    shapes: tuple[Callable[[], gs.Shape], ...]  # all that are asked, for policies that learn them
    nodes: tuple[tuple[str, Callable[[], dict[str, Any]]], ...]
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Case:
    """A document, or a variant of it, with how often it is to be run."""

    title: str
    id: str | None
    tree: Field
    repeat: int = 1
    fresh_processes: int = 0
    orders: tuple[str, ...] = ()
    scenario: Scenario = field(kw_only=True)


def read_file(path: Path) -> list[Case]:
    """All cases of a file. Raises ScenarioError with file, line and key."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ScenarioError(f"{path}: the file cannot be read ({error.strerror})") from None
    except UnicodeDecodeError as error:
        raise ScenarioError(f"{path}: the file is not UTF-8 at byte {error.start}") from None
    return read_text(text, str(path))


def read_text(text: str, file: str) -> list[Case]:
    """All cases of a file's text."""
    documents = [document for document in read_documents(text, file) if document.value is not None]
    if not documents:
        raise ScenarioError(f"{file}:1: the file holds no scenario")
    cases = [case for document in documents for case in _cases(document)]
    seen: dict[str, Case] = {}
    for case in cases:
        if case.title in seen:
            first = seen[case.title].tree.where.line
            case.tree.wrong(
                "give each a name of its own", f"{case.title!r}, as is the one on line {first}"
            )
        seen[case.title] = case
    return cases


def read_scenario(tree: Field, title: str) -> Scenario:
    """What one run of a document needs."""
    entries = tree.keys(SCENARIO_KEYS, ("name", "timeline"))
    options = entries["options"].keys(OPTION_KEYS) if "options" in entries else {}
    policies = _policies(options["policy"]) if "policy" in options else {"best_fit": 1.0}
    nodes = []
    for item in entries["cluster"].items("a list of nodes") if "cluster" in entries else []:
        names, arguments = specs.node_arguments(item)
        nodes += [(name, arguments) for name in names]
    steps = tuple(_step(item) for item in entries["timeline"].items("a list of steps"))
    if not any(_expects(step) for step in steps):
        entries["timeline"].wrong("expect something somewhere, or it can't fail", "without expect")
    return Scenario(
        title=title,
        where=tree.where,
        options=dict(_options(options)),
        policies=policies,
        seed=options["seed"].whole(0) if "seed" in options else 0,
        shapes=tuple(_shapes(entries["timeline"])),
        nodes=tuple(nodes),
        steps=steps,
    )


def _cases(document: Field) -> Iterator[Case]:
    entries = document.keys(SCENARIO_KEYS, ("name", "timeline"))
    name = entries["name"].text()
    if "about" in entries:
        entries["about"].text()
    yield _case(document, name)
    for variant in entries["variants"].items("a list of variants") if "variants" in entries else []:
        allowed = [key for key in SCENARIO_KEYS if key not in _NOT_IN_VARIANTS]
        changed = variant.keys(allowed, ("name",))
        base = {key: entry for key, entry in document.value.items() if key != "variants"}
        tree = _merged(_map(base, document.value.lines), variant.value)
        title = f"{name} · {changed['name'].text()}"
        yield _case(Field(tree, variant.where), title)


def _case(tree: Field, title: str) -> Case:
    entries = tree.keys(SCENARIO_KEYS)
    identity = entries["id"].text() if "id" in entries else None
    if identity is not None:
        title = f"{identity} {title}"
    orders: tuple[str, ...] = ()
    if "orders" in entries:
        if entries["orders"].value == "all":
            orders = ORDERS
        else:
            orders = tuple(item.word(ORDERS) for item in entries["orders"].items("all, or a list"))
    return Case(
        title=title,
        id=identity,
        tree=tree,
        repeat=entries["repeat"].whole(1, _MOST_RUNS) if "repeat" in entries else 1,
        fresh_processes=(
            entries["fresh_processes"].whole(1, _MOST_RUNS) if "fresh_processes" in entries else 0
        ),
        orders=orders,
        scenario=read_scenario(tree, title),
    )


def _map(entries: dict[str, Any], lines: dict[str, int]) -> YamlMap:
    result = YamlMap(entries)
    result.lines = {key: lines[key] for key in entries}
    return result


def _merged(base: YamlMap, changes: YamlMap) -> YamlMap:
    """Mappings are merged key by key; anything else replaces what was there."""
    result = _map(base, base.lines)
    for key, value in changes.items():
        old = result.get(key)
        if isinstance(old, YamlMap) and isinstance(value, YamlMap) and key != "policy":
            value = _merged(old, value)
        result[key] = value
        result.lines[key] = changes.lines[key]
    return result


def _policies(entry: Field) -> dict[str, float]:
    names = gs.policy_names()
    if isinstance(entry.value, dict):
        weights = entry.mapping()
        for name, weight in weights.items():
            Field(name, weight.where).word(names)
        return {name: float(weight.number()) for name, weight in weights.items()}
    return {entry.word(names): 1.0}


def _options(entries: dict[str, Field]) -> Iterator[tuple[str, Any]]:
    for key, entry in entries.items():
        if key == "strict_fifo":
            yield key, entry.flag()
        elif key in ("start_timeout", "repair_timeout"):
            yield key, entry.duration()
        elif key == "gang_search_limit":
            yield key, entry.whole()
        elif key == "opaque_models":
            yield key, [item.text() for item in entry.items()]


def _step(entry: Field) -> Step:
    if isinstance(entry.value, YamlMap) and "steps" in entry.value:
        entries = entry.keys(LOOP_KEYS, LOOP_KEYS)
        steps = tuple(_step(item) for item in entries["steps"].items("a list of steps"))
        return Step(entry.where, times=entries["times"].whole(1, 1_000_000), steps=steps)
    entries = entry.some_keys(STEP_KEYS)
    cycle = _cycle(entries["cycle"]) if "cycle" in entries else None
    if "expect" in entries:
        _check_cycle(entries["expect"], cycle)
    return Step(
        where=entry.where,
        at=entries["at"].duration() if "at" in entries else None,
        events=tuple(
            read_event(item)
            for item in (entries["events"].items("a list of events") if "events" in entries else [])
        ),
        cycle=cycle,
        remember=entries["remember"].text() if "remember" in entries else None,
        checks=tuple(read_expectations(entries["expect"])) if "expect" in entries else (),
    )


def _cycle(entry: Field) -> str:
    if entry.value is True:
        return "true"
    return entry.word(CYCLES)


def _check_cycle(expect: Field, cycle: str | None) -> None:
    """What is said of a plan needs one."""
    for key, entry in expect.mapping().items():
        if key == "cycles_to_fixed_point" and cycle != "to_fixed_point":
            entry.wrong("give the step `cycle: to_fixed_point`", "expected without such cycles")
        if key in PLAN_KEYS and cycle is None:
            entry.wrong("give the step a cycle", "expected without a cycle")


def _expects(step: Step) -> bool:
    asserted = any(event.error or event.effect for event in step.events)
    return bool(step.checks) or asserted or any(map(_expects, step.steps))


def _shapes(entry: Field) -> Iterator[Callable[[], gs.Shape]]:
    """Every shape that stands somewhere below."""
    if isinstance(entry.value, YamlMap):
        for key, below in entry.mapping().items():
            if key == "shape":
                yield specs.shape(below)
            else:
                yield from _shapes(below)
    elif isinstance(entry.value, YamlList):
        for below in entry.items():
            yield from _shapes(below)

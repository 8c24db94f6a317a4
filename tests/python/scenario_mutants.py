"""Every way to make one expectation of a scenario wrong: a scenario that still passes expects
nothing there."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import libgpusched as gs
from libgpusched.scenario_checks import ENDS
from libgpusched.scenario_events import error_types
from libgpusched.scenario_plan_checks import CAUSES, MODES, OUTCOMES
from libgpusched.scenario_source import Field, YamlList
from libgpusched.scenario_state_checks import PHASE_KEYS

# Mappings from names, of which other names must not do. "counts" are tasks by node.
NAMED = {"placements", "evictions", "waits", "ended", "placed_on", "explains", "nodes", *PHASE_KEYS}
# What they do not list must not be there.
COMPLETE = {"placements", "evictions", "waits", "ended", "counts"}
# Lists that say what a text contains: fewer parts expect less. (So do lists of remembered states.)
PARTS = {"contains", "text", "note", "explains"}
SWAPPED = {
    "same_state_as": "other_state_than",
    "other_state_than": "same_state_as",
    "same_plan_as": "other_plan_than",
    "other_plan_than": "same_plan_as",
}
WORDS: dict[str, tuple[str, ...]] = {
    "reason": tuple(gs.reasons()),
    "waits": tuple(gs.reasons()),
    "cause": CAUSES,
    "evictions": CAUSES,
    "outcome": OUTCOMES,
    "mode": MODES,
    "ended": ENDS,
    "type": tuple(error_types()),
}
BOGUS: dict[str, Any] = {"waits": "NoNodes", "evictions": "Cancelled", "ended": "finished"}

Path = tuple["str | int", ...]


@dataclass(frozen=True)
class Mutant:
    """A changed tree, and what was changed."""

    label: str
    tree: Field


def mutants(tree: Field) -> Iterator[Mutant]:
    """All mutants of a document. Loops are cut short: they repeat what they say."""
    short = copy.deepcopy(tree)
    _shorten(short.value["timeline"])
    for path in _expectations(short.value["timeline"], ("timeline",)):
        if path[-1] == "expect_error":
            yield _without(short, path)
        yield from _changes(short, path, str(path[-1]), False)


def count_expectations(tree: Field) -> int:
    """How many blocks of expectations a document has."""
    return sum(1 for _ in _expectations(tree.value["timeline"], ("timeline",)))


def _shorten(steps: YamlList) -> None:
    for step in steps:
        if "steps" in step:
            step["times"] = min(step["times"], 2)
            _shorten(step["steps"])


def _expectations(steps: YamlList, path: Path) -> Iterator[Path]:
    for number, step in enumerate(steps):
        here = (*path, number)
        if "steps" in step:
            yield from _expectations(step["steps"], (*here, "steps"))
        for position, event in enumerate(step.get("events", ())):
            for key in ("expect_error", "effect"):
                if key in event:
                    yield (*here, "events", position, key)
        if "expect" in step:
            yield (*here, "expect")


def _changes(tree: Field, path: Path, word: str, named: bool) -> Iterator[Mutant]:
    """`word` is the key of the format that the value at `path` belongs to; `named` says that the
    value, if it is a mapping, maps names."""
    value = _at(tree.value, path)
    if isinstance(value, bool):
        yield _with(tree, path, not value)
    elif isinstance(value, int):
        yield _with(tree, path, value + 1)
    elif isinstance(value, str):
        yield _with(tree, path, _other_text(value, word))
    elif isinstance(value, YamlList):
        yield from _list_changes(tree, path, word)
    elif named:
        yield from _name_changes(tree, path, word)
    else:
        for key in list(value):
            if key in SWAPPED:
                yield _renamed(tree, path, key, SWAPPED[key])
            counts = key == "nodes" and word in ("placements", "evictions")
            below = "counts" if counts else key
            yield from _changes(tree, (*path, key), below, counts or key in NAMED)


def _list_changes(tree: Field, path: Path, word: str) -> Iterator[Mutant]:
    value = _at(tree.value, path)
    if not value:
        mutant = copy.deepcopy(tree)
        items = _at(mutant.value, path)
        items.append("~/~/0")
        items.lines.append(1)
        yield Mutant(f"{_shown(path)} has an item", mutant)
    for position in range(len(value)):
        if word not in PARTS and word not in SWAPPED:
            yield _without(tree, (*path, position))
        yield from _changes(tree, (*path, position), word, False)


def _name_changes(tree: Field, path: Path, word: str) -> Iterator[Mutant]:
    value = _at(tree.value, path)
    if not value and word in COMPLETE:
        mutant = copy.deepcopy(tree)
        entries = _at(mutant.value, path)
        entries["~"] = BOGUS.get(word, "~")
        entries.lines["~"] = 1
        yield Mutant(f"{_shown(path)} has an entry", mutant)
    for name in list(value):
        yield _renamed(tree, path, name, f"{name}~")
        if word in COMPLETE:
            yield _without(tree, (*path, name))
        if word == "placed_on":
            yield from _changes(tree, (*path, name), "counts", True)
        else:
            yield from _changes(tree, (*path, name), word, False)


def _other_text(text: str, key: str) -> str:
    words = WORDS.get(key)
    return f"{text}~" if words is None else next(word for word in words if word != text)


def _with(tree: Field, path: Path, value: Any) -> Mutant:
    mutant = copy.deepcopy(tree)
    _at(mutant.value, path[:-1])[path[-1]] = value
    return Mutant(f"{_shown(path)} is {value!r}", mutant)


def _without(tree: Field, path: Path) -> Mutant:
    mutant = copy.deepcopy(tree)
    parent = _at(mutant.value, path[:-1])
    del parent[path[-1]]
    del parent.lines[path[-1]]
    return Mutant(f"{_shown(path)} is left out", mutant)


def _renamed(tree: Field, path: Path, old: str, new: str) -> Mutant:
    mutant = copy.deepcopy(tree)
    parent = _at(mutant.value, path)
    entries, lines = list(parent.items()), dict(parent.lines)
    parent.clear()
    parent.lines.clear()
    for key, value in entries:
        name = new if key == old else key
        parent[name] = value
        parent.lines[name] = lines[key]
    return Mutant(f"{_shown((*path, old))} is {new}", mutant)


def _at(value: Any, path: Path) -> Any:
    for part in path:
        value = value[part]
    return value


def _shown(path: Path) -> str:
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")

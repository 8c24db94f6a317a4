"""What a scenario expects, as checks: a place in the file, a wanted value, and how to find the one
that there is. This module has what is said of an effect; the others build on it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import libgpusched as gs
from libgpusched.scenario_source import Field, Where

EFFECT_KEYS = ("changed", "note", "requeued", "ended", "expired_holds")
ENDS = ("finished", "failed", "cancelled")


class Mismatch(Exception):
    """A scenario speaks of what is not there: a job, a plan, a remembered state."""


@dataclass(frozen=True)
class Failure:
    """An expectation that does not hold."""

    where: Where
    expected: str
    got: str
    job: str | None = None  # whose explanation helps


def _equal(expected: Any, got: Any) -> bool:
    return type(expected) is type(got) and bool(expected == got)


def contained(expected: str, got: str) -> bool:
    """For checks on texts: the wanted text is a part."""
    return expected in got


@dataclass(frozen=True)
class Check:
    """One expectation. `find` gives what there is in the subject, or raises Mismatch."""

    where: Where
    expected: Any
    find: Callable[[Any], Any]
    job: str | None = None
    matches: Callable[[Any, Any], bool] = field(default=_equal)

    def failure(self, subject: Any) -> Failure | None:
        """Holds it up to what there is."""
        try:
            got = self.find(subject)
        except Mismatch as problem:
            return Failure(self.where, shown(self.expected), str(problem), self.job)
        if self.matches(self.expected, got):
            return None
        wanted = shown(self.expected)
        if self.matches is contained:
            wanted = f"a text with {wanted}"
        return Failure(self.where, wanted, shown(got), self.job)


def failures(checks: Iterable[Check], subject: Any) -> list[Failure]:
    """All that do not hold."""
    found = (check.failure(subject) for check in checks)
    return [failure for failure in found if failure is not None]


def shown(value: Any) -> str:
    """A value as it would be written in a scenario."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return repr(value) if "\n" in value else value or "''"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(shown, value))}]"
    if isinstance(value, dict):
        inside = ", ".join(f"{key}: {shown(entry)}" for key, entry in value.items())
        return f"{{{inside}}}"
    return str(value)


def text_checks(entry: Field, find: Callable[[Any], str], job: str | None = None) -> list[Check]:
    """That a text contains each of these."""
    return [Check(part.where, part.text(), find, job, contained) for part in entry.one_or_more()]


@dataclass
class Changes:
    """The effects of several events, together."""

    changed: bool = False
    notes: list[str] = field(default_factory=list)
    requeued: list[gs.Task] = field(default_factory=list)
    ended: dict[str, str] = field(default_factory=dict)
    expired_holds: list[str] = field(default_factory=list)

    def add(self, effects: Sequence[gs.Effect]) -> None:
        """Takes them in."""
        for effect in effects:
            self.changed = self.changed or effect.changed
            if effect.note:
                self.notes.append(effect.note)
            self.requeued += effect.requeued
            self.ended |= dict(effect.ended)
            self.expired_holds += effect.expired_holds


def read_effect(entry: Field) -> list[Check]:
    """Checks on Changes. The lists are complete: what they leave out must not be there."""
    return list(_effect_checks(entry.some_keys(EFFECT_KEYS)))


def _effect_checks(entries: dict[str, Field]) -> Iterator[Check]:
    for key, entry in entries.items():
        if key == "changed":
            yield Check(entry.where, entry.flag(), lambda changes: changes.changed)
        elif key == "note":
            yield from text_checks(entry, lambda changes: "; ".join(changes.notes))
        elif key == "expired_holds":
            names = [item.text() for item in entry.one_or_more()]
            yield Check(entry.where, names, lambda changes: changes.expired_holds)
        elif key == "ended":
            ends = {job: how.word(ENDS) for job, how in entry.mapping().items()}
            yield Check(entry.where, ends, lambda changes: changes.ended)
        else:
            yield from _requeued_checks(entry)


def _requeued_checks(entry: Field) -> Iterator[Check]:
    items = entry.one_or_more()
    wanted: list[str] = []
    for position, item in enumerate(items):
        if not isinstance(item.value, dict):
            wanted.append(item.text())
            continue
        parts = item.keys(("task", "attempt"), ("task", "attempt"))
        wanted.append(parts["task"].text())

        def attempt(changes: Changes, position: int = position) -> int:
            if position >= len(changes.requeued):
                raise Mismatch(f"only {len(changes.requeued)} tasks were requeued")
            return changes.requeued[position].attempt

        yield Check(parts["attempt"].where, parts["attempt"].whole(), attempt)
    yield Check(entry.where, wanted, lambda changes: [task.name for task in changes.requeued])

"""What came of scenarios, for people and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from libgpusched._core import __version__
from libgpusched.scenario_files import Waiting
from libgpusched.scenario_repetition import Result

_MOST_STEPS = 20


def result_lines(result: Result, verbose: bool = False) -> Iterator[str]:
    """A failure with all that helps to understand it; what passed in one line, if asked for."""
    if result.passed:
        if verbose:
            yield (
                f"passed  {result.case.title} ({_number(result.checks, 'check')}, "
                f"{_number(result.runs, 'run')}, {result.seconds:.2f} s)"
            )
        return
    yield f"FAILED  {result.case.title}"
    if result.order:
        yield f"  told with {result.order}"
    if result.run.rounds:
        yield f"  in {', '.join(result.run.rounds)}"
    for failure in result.failures:
        yield f"  {failure.where}"
        yield from _labelled("expected", failure.expected)
        yield from _labelled("got", failure.got)
    if result.run.plan:
        yield "  the plan of this step:"
        for step in result.run.plan[:_MOST_STEPS]:
            yield f"    {step}"
        if len(result.run.plan) > _MOST_STEPS:
            yield f"    and {len(result.run.plan) - _MOST_STEPS} more steps"
    for text in result.run.explanations.values():
        yield "  why, after this step:"
        yield from (f"    {line}" for line in text.splitlines())


def summary_line(results: Sequence[Result], waiting: Sequence[Waiting]) -> str:
    """All in one line."""
    failed = sum(not result.passed for result in results)
    parts = [
        f"{_number(len(results), 'scenario')}: {len(results) - failed} passed, {failed} failed",
        f"{_number(sum(result.checks for result in results), 'check')} in "
        f"{_number(sum(result.runs for result in results), 'run')}",
        f"{sum(result.seconds for result in results):.1f} s",
    ]
    line = "; ".join(parts)
    if waiting:
        rooms = Counter(entry.room for entry in waiting)
        shown = ", ".join(f"{room} {count}" for room, count in sorted(rooms.items()))
        count = _number(len(waiting), "situation")
        line += f"\n{count} not told yet, or not in full, by what they wait for: {shown}"
    return line


def to_json(results: Sequence[Result], waiting: Sequence[Waiting]) -> dict[str, Any]:
    """All results as plain values."""
    return {
        "schema": 1,
        "version": __version__,
        "scenarios": [_result_json(result) for result in results],
        "waiting": [
            {"id": entry.id, "room": entry.room, "why": entry.why, "part": entry.part}
            for entry in waiting
        ],
    }


def _result_json(result: Result) -> dict[str, Any]:
    return {
        "name": result.case.title,
        "id": result.case.id,
        "file": result.case.tree.where.file,
        "line": result.case.tree.where.line,
        "passed": result.passed,
        "checks": result.checks,
        "runs": result.runs,
        "seconds": round(result.seconds, 6),
        "order": result.order,
        "rounds": result.run.rounds,
        "failures": [
            {
                "line": failure.where.line,
                "key": failure.where.path,
                "expected": failure.expected,
                "got": failure.got,
            }
            for failure in result.failures
        ],
        "plan": result.run.plan,
        "explanations": result.run.explanations,
    }


def _labelled(label: str, text: str) -> Iterator[str]:
    first, *rest = text.splitlines() or [""]
    yield f"    {label:9}{first}"
    yield from (f"             {line}" for line in rest)


def _number(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"

"""The scenarios of tests/scenarios hold, and each thing that they expect matters."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import scenario_mutants
from libgpusched.scenario_events import EVENTS
from libgpusched.scenario_files import Suite, read_suite
from libgpusched.scenario_format import Case, read_scenario
from libgpusched.scenario_repetition import compare, run_case
from libgpusched.scenario_report import result_lines
from libgpusched.scenario_run import Told, run_scenario

FOLDER = Path(__file__).resolve().parents[1] / "scenarios"
SUITE: Suite = read_suite([str(FOLDER)])
IDS = [case.title.replace(" · ", ", ") for case, _ in SUITE.cases]

cases = pytest.mark.parametrize(("case", "number"), SUITE.cases, ids=IDS)


@cases
def test_it_holds(case: Case, number: int) -> None:
    if "libasan" in os.environ.get("LD_PRELOAD", ""):
        # A process takes seconds to start there.
        case = dataclasses.replace(case, fresh_processes=min(case.fresh_processes, 3))
    result = run_case(case, number)
    assert result.passed, "\n".join(result_lines(result))
    assert result.checks > 0


@cases
def test_each_expectation_matters(case: Case, number: int) -> None:
    count = 0
    for mutant in scenario_mutants.mutants(case.tree):
        count += 1
        run = run_scenario(read_scenario(mutant.tree, case.title))
        assert run.failures, f"{case.title} holds although {mutant.label}"
    assert count >= scenario_mutants.count_expectations(case.tree)


@pytest.mark.parametrize(
    "case",
    [case for case, _ in SUITE.cases if case.repeat > 1 or case.fresh_processes],
    ids=lambda case: case.title.replace(" · ", ", "),
)
def test_each_part_of_a_story_matters(case: Case) -> None:
    story = run_scenario(case.scenario).story
    names = ["run 2"] if case.repeat > 1 else []
    names += ["process 1"] if case.fresh_processes else []
    for name in names:
        assert compare(case, story, story, name) is None
        assert compare(case, story, story[:-1], name) is not None
        for position, told in enumerate(story):
            other = [*story]
            other[position] = Told(told.what, "another")
            failure = compare(case, story, other, name)
            assert failure is not None
            assert told.what in failure.got


def test_every_situation_is_told_or_waits() -> None:
    folder = os.environ.get("GPUSCHED_SCENARIOS")
    if not folder or not (Path(folder) / "scheduling.json").is_file():
        pytest.skip("GPUSCHED_SCENARIOS names no folder with scheduling.json")
    known = {entry["id"] for entry in json.loads((Path(folder) / "scheduling.json").read_text())}
    told = {case.id for case, _ in SUITE.cases if case.id is not None}
    waiting = {entry.id for entry in SUITE.waiting if entry.part is None}
    in_part = {entry.id for entry in SUITE.waiting if entry.part is not None}
    assert told | waiting == known
    assert not told & waiting
    assert in_part <= told


def test_files_are_named_by_id() -> None:
    for case, _ in SUITE.cases:
        file = Path(case.tree.where.file)
        # Those of `cycle` are about what docs/cycle.md says.
        assert file.parent.name == "cycle" if case.id is None else file.name.startswith(case.id)


def test_every_kind_of_event_is_told() -> None:
    told = set()
    for case, _ in SUITE.cases:
        told |= set(_events(case.tree.value["timeline"]))
    assert told == set(EVENTS)


def _events(steps: Any) -> Iterator[str]:
    for step in steps:
        yield from _events(step.get("steps", ()))
        for event in step.get("events", ()):
            yield from (key for key in event if key in EVENTS)

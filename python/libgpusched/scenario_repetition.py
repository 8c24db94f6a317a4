"""Cases that are run more than once: in each order, again in this process, in fresh processes.

Run as a module, it is such a fresh process: it runs one case and prints the story of the run.
"""

from __future__ import annotations

import concurrent.futures
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from libgpusched.scenario_checks import Failure
from libgpusched.scenario_format import Case, read_file, read_scenario
from libgpusched.scenario_orders import count_orders, each_order
from libgpusched.scenario_run import Run, Told, run_scenario

_CHILD_SECONDS = 300


@dataclass
class Result:
    """What came of a case."""

    case: Case
    run: Run  # the first that failed, or the first of all
    runs: int = 0
    checks: int = 0
    order: str = ""  # the order that failed
    failures: list[Failure] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether everything was as expected."""
        return not self.failures


def runs_of(case: Case) -> int:
    """How many runs a case takes."""
    return count_orders(case) + case.repeat - 1 + case.fresh_processes


def run_case(case: Case, number: int, advance: Callable[[], None] = lambda: None) -> Result:
    """Runs a case, the one with this number in its file, as often as it says."""
    start = time.perf_counter()
    result = Result(case, Run())
    for order, tree in each_order(case):
        scenario = case.scenario if order == "" else read_scenario(tree, case.title)
        run = run_scenario(scenario)
        _count(result, run, advance)
        if result.runs == 1 or run.failures:
            result.run = run
        if run.failures:
            result.order = order
            result.failures = run.failures
            break
    if result.passed:
        for name, story in _other_stories(case, number):
            result.runs += 1
            advance()
            if isinstance(story, Failure):
                result.failures.append(story)
                break
            if failure := compare(case, result.run.story, story, name):
                result.failures.append(failure)
                break
    result.seconds = time.perf_counter() - start
    return result


def compare(case: Case, first: Sequence[Told], again: Sequence[Told], name: str) -> Failure | None:
    """The first difference between the stories of two runs."""
    where = case.tree.mapping()["repeat" if name.startswith("run") else "fresh_processes"].where
    for one, other in zip(first, again, strict=False):
        if one != other:
            what = one.what if one.what == other.what else f"{one.what} or {other.what}"
            return Failure(where, "the same in each run", f"{what} differs in {name}")
    if len(first) != len(again):
        got = f"{name} tells {len(again)} things, the first run {len(first)}"
        return Failure(where, "the same in each run", got)
    return None


def _count(result: Result, run: Run, advance: Callable[[], None]) -> None:
    result.runs += 1
    result.checks += run.checks
    advance()


def _other_stories(case: Case, number: int) -> Iterator[tuple[str, Sequence[Told] | Failure]]:
    for repetition in range(2, case.repeat + 1):
        yield f"run {repetition} of {case.repeat}", run_scenario(case.scenario).story
    if case.fresh_processes:
        yield from _fresh_stories(case, number)


def _fresh_stories(case: Case, number: int) -> Iterator[tuple[str, Sequence[Told] | Failure]]:
    def story(process: int) -> Sequence[Told] | Failure:
        try:
            done = subprocess.run(
                [sys.executable, "-m", __name__, case.tree.where.file, str(number)],
                capture_output=True,
                text=True,
                timeout=_CHILD_SECONDS,
                env=os.environ | {"PYTHONHASHSEED": str(process)},
            )
        except subprocess.TimeoutExpired:
            return Failure(
                case.tree.mapping()["fresh_processes"].where,
                f"each process ends within {_CHILD_SECONDS} s",
                f"process {process} of {case.fresh_processes} still ran {case.title!r} after "
                f"{_CHILD_SECONDS} s",
            )
        if done.returncode != 0:
            return [Told(f"a process that ends with {done.returncode}: {done.stderr}", "")]
        return [Told(what, digest) for what, digest in json.loads(done.stdout)]

    # They wait for processes, so threads do.
    workers = concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count() or 1)
    try:
        stories = workers.map(story, range(1, case.fresh_processes + 1))
        for process, told in enumerate(stories, start=1):
            yield f"process {process} of {case.fresh_processes}", told
    finally:
        workers.shutdown(cancel_futures=True)


def _print_story(arguments: Iterable[str]) -> None:
    file, number = arguments
    case = read_file(Path(file))[int(number)]
    run = run_scenario(case.scenario)
    print(json.dumps([(told.what, told.digest) for told in run.story]))


if __name__ == "__main__":
    _print_story(sys.argv[1:])

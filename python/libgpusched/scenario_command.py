"""`libgpusched test`: runs scenario files."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from libgpusched.errors import InvalidSpec
from libgpusched.output_file import OutputFile

_DESCRIPTION = """\
Runs scenarios: small clusters with what happens to them, and what the scheduler
should then do. A file holds one or several; of a folder, all files are run that
end in .yaml or .yml. The format is described in docs/scenarios.md."""

_EPILOG = """\
examples:
  libgpusched test tests/scenarios
  libgpusched test mine.yaml -k deadlock -v --json report.json

with, in mine.yaml:
  name: two gangs do not deadlock
  cluster:
    - {name: n, count: 4, cpu: 8, gpus: 1, model: T4}
  timeline:
    - events:
        - submit: {name: a, groups: [{name: main, count: 4, shape: {gpu: 1}}]}
        - submit: {name: b, groups: [{name: main, count: 4, shape: {gpu: 1}}]}
      cycle: true
      expect:
        placements: {a: [n0, n1, n2, n3]}
        waits: {b: TooFewWholeDevices}

Exit code 1 means that an expectation does not hold, 2 that a file is no scenario
or that none was chosen."""


def add_command(commands: argparse._SubParsersAction[Any]) -> None:
    """Adds `test` to the commands."""
    parser = commands.add_parser(
        "test",
        help="run scenario files and compare what is planned with what they expect",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("files", metavar="FILE", nargs="+", help="files, or folders of them")
    parser.add_argument(
        "-k",
        "--only",
        metavar="NAME",
        action="append",
        default=[],
        help="only scenarios with this in their id or name; may be given several times",
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="also list what passed")
    parser.add_argument("--json", metavar="FILE", help="all results with all their numbers")


def run_command(arguments: argparse.Namespace) -> int:
    """Runs what was asked for; gives the exit code. Raises GpuschedError if it is no scenario."""
    # Imported here, so that the other commands start without them.
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from libgpusched.scenario_files import read_suite
    from libgpusched.scenario_repetition import Result, run_case, runs_of
    from libgpusched.scenario_report import result_lines, summary_line, to_json

    suite = read_suite(arguments.files)
    cases = [
        (case, number)
        for case, number in suite.cases
        if not arguments.only or any(part.lower() in case.title.lower() for part in arguments.only)
    ]
    if not cases:
        asked = " or ".join(map(repr, arguments.only))
        raise InvalidSpec(
            f"--only is {asked}; none of the {len(suite.cases)} scenarios has that in its name"
            if asked
            else "the files hold no scenario"
        )
    _check_output(arguments.json, suite.files)
    total = sum(runs_of(case) for case, _ in cases)
    results: list[Result] = []
    console = Console(stderr=True)
    with contextlib.ExitStack() as stack:
        output = None
        if arguments.json is not None:
            output = stack.enter_context(OutputFile("--json", arguments.json))
        with Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.percentage:3.0f} %"),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        ) as bar:
            task = bar.add_task("", total=total)
            for case, number in cases:
                bar.update(task, description=case.title[:40])
                results.append(run_case(case, number, lambda: bar.advance(task)))
        if output is not None:
            output.write(json.dumps(to_json(results, suite.waiting), indent=1) + "\n")
            output.keep()
    for result in results:
        for line in result_lines(result, arguments.verbose):
            print(line)
    print(summary_line(results, [] if arguments.only else suite.waiting))
    return 0 if all(result.passed for result in results) else 1


def _check_output(output: str | None, files: Iterable[Path]) -> None:
    """Refuses to write over what was read."""
    if output is None:
        return
    if os.path.realpath(output) in map(os.path.realpath, files):
        raise InvalidSpec(f"--json: the file is {output!r}, a scenario; choose another")

"""The command `libgpusched`."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import sys
from collections.abc import Iterator, Sequence
from typing import NoReturn

from libgpusched._core import FillResult, Workload, __version__, policy_names
from libgpusched.csv_files import PLACEMENTS_HEADER, node_lines, placement_lines, pod_lines
from libgpusched.errors import GpuschedError, InvalidSpec
from libgpusched.experiment import Experiment, fill_policies
from libgpusched.journal_command import add_command as add_journal_command
from libgpusched.journal_command import run_command as run_journal_command
from libgpusched.models_command import add_command as add_models_command
from libgpusched.models_command import run_command as run_models_command
from libgpusched.nodes_command import add_command as add_nodes_command
from libgpusched.nodes_command import run_command as run_nodes_command
from libgpusched.output_file import OutputFile
from libgpusched.scenario_command import add_command as add_test_command
from libgpusched.scenario_command import run_command as run_test_command

_USAGE_ERROR = 2
# As a shell reports processes that Ctrl-C, or a reader that left, ended.
_INTERRUPTED = 130
_BROKEN_PIPE = 141

_FILL_DESCRIPTION = """\
Measures placement policies: pods arrive until the cluster is over-full, and none
leaves. How much of its GPUs gets allocated, how much of the rest is of no use to
anybody, and why did pods not fit?

Without arguments, a built-in workload is filled under all built-in policies, ten
times each in different orders, which takes about a minute."""

_FILL_EXAMPLES = """\
examples:
  libgpusched fill --policy fgd,best_fit --seeds 3 --plot fill.png
  libgpusched fill --nodes nodes.csv --pods pods.csv --json report.json

Files are in the openb format: nodes with the columns sn, cpu_milli, memory_mib,
gpu, model; pods with name, cpu_milli, memory_mib, num_gpu, gpu_milli and,
optionally, gpu_spec (allowed models joined by a bar). `libgpusched workload`
writes an example. Exit code 2 is an error in what was asked, 130 an
interruption; what was finished by then is still reported."""


class _Parser(argparse.ArgumentParser):
    """Errors in one line: the usage is there for whoever asks."""

    def error(self, message: str) -> NoReturn:
        self.exit(_USAGE_ERROR, f"{self.prog}: error: {message} (see {self.prog} --help)\n")


def _whole_number(least: int, most: int = 2**64 - 1) -> type[int]:
    def parse(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if not least <= number <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number, {least} to {most}")
        return number

    return parse  # type: ignore[return-value]  # argparse wants any callable, mypy a type


def _factor(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0.01 <= number <= 100:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0.01 to 100")
    return number


def _policy_list(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in policy_names():
            raise argparse.ArgumentTypeError(
                f"{name!r} is no policy; known are {', '.join(policy_names())}"
            )
    if not names:
        raise argparse.ArgumentTypeError("name at least one policy")
    return list(dict.fromkeys(names))


def _parser() -> _Parser:
    parser = _Parser(
        prog="libgpusched",
        description="Decides which AI job runs on which GPU.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"libgpusched {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    fill = commands.add_parser(
        "fill",
        help="fill a cluster under several policies and compare them",
        description=_FILL_DESCRIPTION,
        epilog=_FILL_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    source = fill.add_argument_group("what arrives where (default: the built-in workload)")
    source.add_argument("--nodes", metavar="CSV", help="nodes, in openb format")
    source.add_argument("--pods", metavar="CSV", help="pods, in openb format")
    runs = fill.add_argument_group("what is run")
    runs.add_argument(
        "--policy",
        metavar="A,B,…",
        type=_policy_list,
        default=fill_policies(),
        help=f"policies to compare: {', '.join(policy_names())} (default: all but mig_start)",
    )
    runs.add_argument(
        "--seeds",
        metavar="N",
        type=_whole_number(1, 1_000_000),
        default=10,
        help="how many orders of pods and nodes each policy is run with (default: 10)",
    )
    runs.add_argument(
        "--seed-base",
        metavar="N",
        type=_whole_number(0),
        default=1,
        help="the first seed; the others follow it (default: 1)",
    )
    runs.add_argument(
        "--to",
        metavar="X",
        type=_factor,
        default=1.3,
        help="requested GPUs over capacity at which arrivals stop (default: 1.3)",
    )
    runs.add_argument(
        "--path",
        choices=("auto", "scan", "index", "columns"),
        default="auto",
        help="how places are looked for; placements are the same (default: auto)",
    )
    output = fill.add_argument_group("what is written beside the table")
    output.add_argument("--json", metavar="FILE", help="every run with all its numbers")
    output.add_argument(
        "--placements", metavar="FILE", help="a CSV line for every pod of every run"
    )
    output.add_argument("--plot", metavar="FILE", help="a PNG of allocated over arrived GPUs")
    workload = commands.add_parser(
        "workload",
        help="write the built-in workload as CSV files",
        description="Writes the built-in workload in openb format, to look at, change and fill.",
        allow_abbrev=False,
    )
    workload.add_argument("--nodes", metavar="CSV", required=True, help="where the nodes go")
    workload.add_argument("--pods", metavar="CSV", required=True, help="where the pods go")
    workload.add_argument(
        "--seed",
        metavar="N",
        type=_whole_number(0),
        default=1,
        help="draws the sizes of pods (default: 1, which `fill` uses)",
    )
    workload.add_argument(
        "--pod-count", metavar="N", type=_whole_number(1), default=8152, help="default: 8152"
    )
    workload.add_argument(
        "--node-count", metavar="N", type=_whole_number(1), default=1213, help="default: 1213"
    )
    add_models_command(commands)
    add_nodes_command(commands)
    add_journal_command(commands)
    add_test_command(commands)
    return parser


def _check_apart(*paths: str | None) -> None:
    """Refuses files of one command that are the same file: one would overwrite the other."""
    given = [path for path in paths if path is not None]
    if len({os.path.realpath(path) for path in given}) < len(given):
        raise InvalidSpec(f"files are {', '.join(given)}; give each a name of its own")


class _Outputs:
    """The files that a fill was asked for, open from the start."""

    def __init__(self, arguments: argparse.Namespace, stack: contextlib.ExitStack) -> None:
        def open_if(option: str, path: str | None) -> OutputFile | None:
            return stack.enter_context(OutputFile(option, path)) if path is not None else None

        self.json = open_if("--json", arguments.json)
        self.placements = open_if("--placements", arguments.placements)
        self.plot = open_if("--plot", arguments.plot)
        if self.placements:
            self.placements.write(PLACEMENTS_HEADER)

    def add(self, result: FillResult) -> None:
        """Takes the placements of a run, which are too many to keep."""
        if self.placements:
            self.placements.write("".join(placement_lines(result)))
            result.forget_placements()

    def keep(self, experiment: Experiment) -> Iterator[str | GpuschedError]:
        """Completes each file, and says where it is, or why it is not."""

        def complete(file: OutputFile, content: bytes, what: str) -> str | GpuschedError:
            try:
                file.write_bytes(content)
                file.keep()
            except GpuschedError as error:
                return error
            return f"{what}: {file.path}"

        if self.json:
            report = json.dumps(experiment.to_json(), indent=1) + "\n"
            yield complete(self.json, report.encode(), "Numbers of every run")
        if self.placements:
            yield complete(self.placements, b"", "Placement of every pod")
        if self.plot:
            from libgpusched.plot import write_plot

            png = io.BytesIO()  # the backend wants to seek, which a pipe cannot
            write_plot(experiment.summaries(), experiment.workload.pods_source, png)
            yield complete(self.plot, png.getvalue(), "Plot")


def _report(experiment: Experiment) -> None:
    # Imported here, so that --version and --help answer at once.
    from rich.console import Console

    from libgpusched.table import refusal_sentence, summary_table

    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=120)  # a file has no width to wrap at
    summaries = experiment.summaries()
    console.print(summary_table(summaries))
    print("Why pods did not fit, by the node that came nearest:")
    for summary in summaries:
        print(f"  {refusal_sentence(summary)}")


def _run_all(arguments: argparse.Namespace, experiment: Experiment, outputs: _Outputs) -> None:
    """Runs the experiment with a progress bar, if somebody is there to see it."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    policies, seeds = arguments.policy, arguments.seeds
    total = len(policies) * seeds
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:3.0f} %"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as bar:
        task = bar.add_task(f"{policies[0]} 1/{total}", total=1.0)
        for result in experiment.run(
            policies,
            seeds=seeds,
            seed_base=arguments.seed_base,
            keep_placements=outputs.placements is not None,
            path=arguments.path,
            progress=lambda part: bar.update(task, completed=part),
        ):
            outputs.add(result)
            done = len(experiment)
            if done < total:
                bar.update(task, description=f"{policies[done // seeds]} {done + 1}/{total}")


def _fill(arguments: argparse.Namespace) -> int:
    if (arguments.nodes is None) != (arguments.pods is None):
        raise InvalidSpec("--nodes and --pods belong together; give both, or neither")
    _check_apart(
        arguments.nodes, arguments.pods, arguments.json, arguments.placements, arguments.plot
    )
    if arguments.nodes is None:
        workload = Workload.builtin()
    else:
        workload = Workload.read_openb(arguments.nodes, arguments.pods)
    experiment = Experiment(workload, arguments.to)
    with contextlib.ExitStack() as stack:
        outputs = _Outputs(arguments, stack)
        print(
            f"{workload.gpu_count:,} GPUs on {workload.node_count:,} nodes "
            f"({workload.nodes_source}); {workload.pod_count:,} pods ({workload.pods_source}), "
            f"arriving up to {100 * arguments.to:g} % of the GPUs",
            flush=True,
        )
        stopped: KeyboardInterrupt | GpuschedError | None = None
        try:
            _run_all(arguments, experiment, outputs)
        except (KeyboardInterrupt, GpuschedError) as error:
            stopped = error
        # Whatever stopped it, nobody loses what was finished. Files come first, since whoever reads
        # our output may have left.
        said = list(outputs.keep(experiment)) if len(experiment) > 0 else []
        if len(experiment) > 0:
            _report(experiment)
        for line in said:
            if isinstance(line, str):
                print(line)
        sys.stdout.flush()
        errors = [str(line) for line in said if isinstance(line, GpuschedError)]
    if isinstance(stopped, KeyboardInterrupt):
        total = len(arguments.policy) * arguments.seeds
        print(
            f"libgpusched fill: interrupted after {len(experiment)} of {total} runs",
            file=sys.stderr,
        )
    elif stopped is not None:
        errors.insert(0, str(stopped))
    for message in dict.fromkeys(errors):
        print(f"libgpusched fill: error: {message}", file=sys.stderr)
    if isinstance(stopped, KeyboardInterrupt):
        return _INTERRUPTED
    return _USAGE_ERROR if errors else 0


def _workload(arguments: argparse.Namespace) -> int:
    _check_apart(arguments.nodes, arguments.pods)
    workload = Workload.builtin(
        pods=arguments.pod_count, nodes=arguments.node_count, seed=arguments.seed
    )
    with (
        OutputFile("--nodes", arguments.nodes) as nodes,
        OutputFile("--pods", arguments.pods) as pods,
    ):
        nodes.write("".join(node_lines(workload)))
        pods.write("".join(pod_lines(workload)))
        nodes.keep()
        pods.keep()
    return 0


_COMMANDS = {
    "fill": _fill,
    "workload": _workload,
    "models": run_models_command,
    "nodes": run_nodes_command,
    "journal": run_journal_command,
    "test": run_test_command,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command with these arguments (by default the process's); gives its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a narrow terminal must not cost the result
    arguments = _parser().parse_args(argv)
    try:
        code = _COMMANDS[arguments.command](arguments)
        sys.stdout.flush()
        return code
    except GpuschedError as error:
        print(f"libgpusched {arguments.command}: error: {error}", file=sys.stderr)
        return _USAGE_ERROR
    except KeyboardInterrupt:
        print(f"libgpusched {arguments.command}: interrupted", file=sys.stderr)
        return _INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has enough, as in `| head`. Python would complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE
    except OSError as error:
        # Standard output itself, for instance on a full disk: files have their own messages.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        print(f"libgpusched {arguments.command}: error: output: {error}", file=sys.stderr)
        return _USAGE_ERROR

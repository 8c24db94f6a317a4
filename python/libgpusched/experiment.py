"""The fill experiment over several policies and seeds, and its summary.

>>> import libgpusched as gs
>>> workload = gs.Workload.builtin(pods=400, nodes=40)
>>> experiment = gs.fill(workload, policies=["fgd", "random"], seeds=2)
>>> [(run.policy, run.seed) for run in experiment]
[('fgd', 1), ('fgd', 2), ('random', 1), ('random', 2)]
>>> fgd, random = experiment.summaries()
>>> fgd.allocated_pct[130].mean > random.allocated_pct[130].mean
True
"""

from __future__ import annotations

import operator
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal, SupportsIndex, TypeAlias, TypedDict

from libgpusched._core import FillResult, Policy, Workload, __version__, policy_names, run_fill
from libgpusched.errors import InvalidSpec


@dataclass(frozen=True)
class Spread:
    """Mean and sample standard deviation of one number over seeds; sd is 0 for a single seed."""

    mean: float
    sd: float

    @staticmethod
    def of(values: Sequence[float]) -> Spread:
        """Of at least one value."""
        return Spread(
            statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else 0.0
        )


@dataclass(frozen=True)
class Summary:
    """One policy over its seeds. Percentages are keyed by arrived %, in ascending order."""

    policy: str
    seeds: int
    allocated_pct: dict[float, Spread]
    fragmentation_pct: dict[float, Spread]
    failed: dict[str, int]  # dropped pods by dominant reason, over all seeds, most frequent first
    decisions: int
    p50_ns: float
    p99_ns: float
    decisions_per_second: float

    @staticmethod
    def of(runs: Sequence[FillResult]) -> Summary:
        """Of the runs of one policy, at least one, which share their grid."""
        grid = runs[0].arrived_pct
        failed: dict[str, int] = {}
        for run in runs:
            for reason, count in run.failed.items():
                failed[reason] = failed.get(reason, 0) + count
        decisions = sum(run.decisions for run in runs)
        seconds = sum(run.seconds for run in runs)
        return Summary(
            policy=runs[0].policy,
            seeds=len(runs),
            allocated_pct={
                pct: Spread.of([run.allocated_pct[i] for run in runs]) for i, pct in enumerate(grid)
            },
            fragmentation_pct={
                pct: Spread.of([run.fragmentation_pct[i] for run in runs])
                for i, pct in enumerate(grid)
            },
            failed=dict(sorted(failed.items(), key=lambda item: (-item[1], item[0]))),
            decisions=decisions,
            p50_ns=statistics.median(run.latency_ns.p50 for run in runs),
            p99_ns=statistics.median(run.latency_ns.p99 for run in runs),
            decisions_per_second=decisions / seconds if seconds > 0 else 0.0,
        )


def fill_policies() -> list[str]:
    """The built-in policies that a fill compares if nobody says which.

    Without MIG devices, which traces do not have, mig_start decides as first_fit does.
    """
    return [name for name in policy_names() if name != "mig_start"]


SearchPath: TypeAlias = Literal["auto", "scan", "index", "columns"]


class LatencyJson(TypedDict):
    """Nanoseconds."""

    p50: int
    p99: int
    max: int


class RunJson(TypedDict):
    """One run in the JSON report."""

    policy: str
    pods: str
    nodes: str
    seed: int
    to: float
    arrived_pct: list[float]
    allocated_pct: list[float]
    fragmentation_pct: list[float]
    placed: int
    failed: dict[str, int]
    decisions: int
    seconds: float
    latency_ns: LatencyJson
    placements_digest: str
    path: dict[str, int]


class ReportJson(TypedDict):
    """The JSON report. The number of the schema changes when a field changes its meaning."""

    schema: int
    version: str
    runs: list[RunJson]


class Experiment:
    """Runs of the fill experiment on one workload, in the order in which they were made."""

    def __init__(self, workload: Workload | None = None, to: float = 1.3) -> None:
        """On a workload (by default the built-in one), up to `to` times its capacity."""
        self.workload = workload if workload is not None else Workload.builtin()
        self.to = to
        self.runs: list[FillResult] = []

    def run(
        self,
        policies: Iterable[str | Policy] | None = None,
        *,
        seeds: int = 10,
        seed_base: int = 1,
        keep_placements: bool = False,
        path: SearchPath = "auto",
        progress: Callable[[float], object] | None = None,
    ) -> Iterator[FillResult]:
        """Runs one after another, yielding each result; arguments as in fill.

        What was finished is in `runs`, also if the caller stops or an exception passes.
        """
        count, first = _whole_number("seeds", seeds, 1), _whole_number("seed_base", seed_base, 0)
        if first + count > 2**64:
            raise InvalidSpec(f"fill: seed_base is {first}; the last seed must be below 2**64")
        chosen = [policies] if isinstance(policies, str | Policy) else policies
        todo = list(chosen) if chosen is not None else fill_policies()
        names = [policy if isinstance(policy, str) else repr(policy) for policy in todo]
        for name in names:
            if names.count(name) > 1:
                raise InvalidSpec(f"fill: policies names {name!r} twice; name each once")
        if not names:
            raise InvalidSpec("fill: policies is []; name at least one")
        total = len(todo) * count
        for number, (policy, seed) in enumerate(product(todo, range(first, first + count))):

            def part_done(done: int, arrivals: int, before: int = number) -> None:
                if progress is not None:
                    progress((before + done / arrivals) / total)

            result = run_fill(
                self.workload,
                policy,
                seed=seed,
                to=self.to,
                keep_placements=keep_placements,
                path=path,
                progress=part_done,
            )
            self.runs.append(result)
            yield result

    def __iter__(self) -> Iterator[FillResult]:
        """The runs so far."""
        return iter(self.runs)

    def __len__(self) -> int:
        """How many runs there are so far."""
        return len(self.runs)

    def summaries(self) -> list[Summary]:
        """One summary a policy, in order of appearance."""
        by_policy: dict[str, list[FillResult]] = {}
        for run in self.runs:
            by_policy.setdefault(run.policy, []).append(run)
        return [Summary.of(runs) for runs in by_policy.values()]

    def to_json(self) -> ReportJson:
        """The report as plain data, for json.dump."""
        return {
            "schema": 1,
            "version": __version__,
            "runs": [self._run_to_json(run) for run in self.runs],
        }

    def _run_to_json(self, run: FillResult) -> RunJson:
        latency = run.latency_ns
        return {
            "policy": run.policy,
            "pods": self.workload.pods_source,
            "nodes": self.workload.nodes_source,
            "seed": run.seed,
            "to": self.to,
            "arrived_pct": run.arrived_pct,
            "allocated_pct": run.allocated_pct,
            "fragmentation_pct": run.fragmentation_pct,
            "placed": run.placed,
            "failed": run.failed,
            "decisions": run.decisions,
            "seconds": run.seconds,
            "latency_ns": {"p50": latency.p50, "p99": latency.p99, "max": latency.max},
            "placements_digest": run.placements_digest,
            "path": run.path,
        }


def _whole_number(name: str, value: SupportsIndex, least: int) -> int:
    try:
        number = least - 1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = least - 1
    if number < least:
        raise InvalidSpec(f"fill: {name} is {value!r}; use a whole number from {least}")
    return number


def fill(
    workload: Workload | None = None,
    policies: Iterable[str | Policy] | None = None,
    *,
    seeds: int = 10,
    seed_base: int = 1,
    to: float = 1.3,
    keep_placements: bool = False,
    path: SearchPath = "auto",
    progress: Callable[[float], object] | None = None,
) -> Experiment:
    """Fills a cluster under each policy with each seed, and reports how much of it gets sold.

    workload: what arrives where; by default the built-in one.
    policies: names of built-in policies, or policies of your own; by default all built-in ones.
    seeds, seed_base: how many seeds are run, from which on; seeds order pods and nodes.
    to: requested GPUs over capacity at which arrivals stop, 0.01 to 100.
    keep_placements: whether results carry every placement.
    path: how places are looked for, see run_fill; placements are the same.
    progress: called now and then with the part that is done, 0 to 1. It may raise to stop.

    Raises InvalidSpec, NotFound (policy) or PreconditionFailed; see run_fill for the protocol.
    """
    experiment = Experiment(workload, to)
    for _ in experiment.run(
        policies,
        seeds=seeds,
        seed_base=seed_base,
        keep_placements=keep_placements,
        path=path,
        progress=progress,
    ):
        pass
    return experiment

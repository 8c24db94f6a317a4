"""The report of the fill experiment for people: a table, and why pods did not fit."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from libgpusched.experiment import Spread, Summary

# What a dropped pod met on the node that came nearest to taking it.
REASON_SENTENCES = {
    "ModelNotAllowed": "found no GPU of a model that they allow",
    "InsufficientCpu": "met too little free CPU",
    "InsufficientMemory": "met too little free memory",
    "NoDeviceWithRoom": "found no single GPU with enough left",
    "InsufficientGpuMemory": "found no GPU with enough memory left",
    "TooFewWholeDevices": "found too few wholly free GPUs on one node",
    "FilteredByUser": "were refused by a filter",
    "NoNodes": "found no node at all",
    "Cordoned": "met only cordoned nodes",
    "TooManyTasksOnNode": "reached their limit of tasks per node",
    "Affinity": "found no task of the wanted company",
    "AntiAffinity": "met company that is not wanted",
    "GangDoesNotFit": "found no room for all of a gang",
    "BehindInPool": "stood behind an older job",
    "JobGroupIncomplete": "waited for jobs that start with them",
    "BeingReleased": "were being released",
    "NoMigPlacement": "found too few free starts for their MIG instances",
    "SharingNotOffered": "found no GPU that is shared in a way that they allow",
}


def shown_points(grid: Sequence[float]) -> list[float]:
    """The arrived % that the table shows: 100 and 130 if they were reached, and the last one."""
    return [pct for pct in grid if pct in (100, 130) or pct == grid[-1]]


def spread_text(spread: Spread, seeds: int) -> str:
    """Mean and, over several seeds, standard deviation."""
    return f"{spread.mean:.2f} ±{spread.sd:.2f}" if seeds > 1 else f"{spread.mean:.2f}"


def duration_text(nanoseconds: float) -> str:
    """With three digits and the unit that fits."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if nanoseconds >= size:
            return f"{nanoseconds / size:.3g} {unit}"
    return f"{nanoseconds:.0f} ns"


def summary_table(summaries: Sequence[Summary]) -> Table:
    """Policies by what they allocate, how much of the rest is stranded, and how fast they are."""
    points = shown_points(list(summaries[0].allocated_pct))
    seeds = max(summary.seeds for summary in summaries)
    table = Table(
        title="GPUs allocated, % of capacity"
        + (f" (mean ±sd of {seeds} seeds)" if seeds > 1 else "")
    )
    table.add_column("policy", no_wrap=True)
    for pct in points:
        table.add_column(f"at {pct:g} %\narrived", justify="right", no_wrap=True)
    if points:
        table.add_column(f"idle but useless\nat {points[-1]:g} %", justify="right", no_wrap=True)
    table.add_column("dropped", justify="right", no_wrap=True)
    table.add_column("decision\np50", justify="right", no_wrap=True)
    table.add_column("\np99", justify="right", no_wrap=True)
    table.add_column("decisions\na second", justify="right", no_wrap=True)
    for summary in summaries:
        cells = [summary.policy]
        cells += [spread_text(summary.allocated_pct[pct], summary.seeds) for pct in points]
        if points:
            cells.append(f"{summary.fragmentation_pct[points[-1]].mean:.1f} %")
        cells.append(f"{100 * sum(summary.failed.values()) / summary.decisions:.1f} %")
        cells += [duration_text(summary.p50_ns), duration_text(summary.p99_ns)]
        cells.append(f"{summary.decisions_per_second:,.0f}")
        table.add_row(*cells)
    return table


def refusal_sentence(summary: Summary) -> str:
    """Why pods were dropped, the most frequent reasons first."""
    dropped = sum(summary.failed.values())
    if dropped == 0:
        return f"{summary.policy}: all {summary.decisions:,} pods found a place."
    parts = []
    for reason, count in list(summary.failed.items())[:3]:
        share = 100 * count / dropped
        amount = "fewer than 1 %" if share < 1 else f"{share:.0f} %"
        parts.append(f"{amount} {REASON_SENTENCES.get(reason, 'met')} ({reason})")
    return (
        f"{summary.policy}: {dropped:,} of {summary.decisions:,} pods were dropped; of these "
        f"{', '.join(parts)}."
    )

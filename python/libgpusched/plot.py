"""The plot of the fill experiment: how much is allocated as ever more GPUs are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import BinaryIO

from libgpusched.experiment import Summary

# Told apart without colour vision too (after Okabe and Ito), with dashes as a second mark.
_STYLES = [
    ("#0072b2", "-"),
    ("#d55e00", "-"),
    ("#009e73", "-"),
    ("#cc79a7", "-"),
    ("#e69f00", "--"),
    ("#56b4e9", "--"),
    ("#000000", "--"),
    ("#7f7f7f", ":"),
]


def write_plot(summaries: Sequence[Summary], workload: str, png: BinaryIO) -> None:
    """Writes a PNG: allocated % over arrived %, a line a policy with a band of ± one sd.

    The right half shows the end again, larger, where the policies differ.
    """
    # Matplotlib takes a second to load, and whoever draws nothing should not wait for it. The
    # figure is made without pyplot, which would look for a screen.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 6), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    whole, end = figure.subplots(1, 2)
    ranked = sorted(
        summaries,
        key=lambda s: -(list(s.allocated_pct.values())[-1].mean if s.allocated_pct else 0),
    )
    for summary in ranked:
        colour, dashes = _STYLES[list(summaries).index(summary) % len(_STYLES)]
        arrived = list(summary.allocated_pct)
        mean = [spread.mean for spread in summary.allocated_pct.values()]
        sd = [spread.sd for spread in summary.allocated_pct.values()]
        label = f"{summary.policy}  {mean[-1]:.1f} %" if mean else summary.policy
        for axes in (whole, end):
            axes.plot(arrived, mean, dashes, color=colour, linewidth=1.6, label=label)
            axes.fill_between(
                arrived,
                [m - s for m, s in zip(mean, sd, strict=True)],
                [m + s for m, s in zip(mean, sd, strict=True)],
                color=colour,
                alpha=0.15,
                linewidth=0,
            )
    grid = list(summaries[0].allocated_pct) or [0.0]
    for axes in (whole, end):
        ideal = [min(pct, 100.0) for pct in grid]
        axes.plot(grid, ideal, color="#bbbbbb", linewidth=1, zorder=0, label="all that fits")
        axes.set_xlabel("GPUs asked for so far, % of capacity")
        axes.set_ylabel("GPUs allocated, % of capacity")
        axes.grid(alpha=0.3)
    late = [pct for pct in grid if pct >= 95] or grid[-1:]
    ends = [
        (spread.mean, spread.sd)
        for summary in summaries
        for pct, spread in summary.allocated_pct.items()
        if pct in late
    ]
    if ends and late[0] < late[-1]:
        end.set_xlim(late[0], late[-1])
        end.set_ylim(min(m - s for m, s in ends) - 0.5, min(100.2, max(m + s for m, s in ends) + 1))
    end.set_title("the end, larger", fontsize=10)
    whole.set_title("from the start", fontsize=10)
    whole.legend(loc="lower right", fontsize=9, title="policy, and where it ends", title_fontsize=9)
    seeds = max(summary.seeds for summary in summaries)
    band = f"; mean of {seeds} seeds, band ± one standard deviation" if seeds > 1 else ""
    figure.suptitle(f"How much of the cluster gets used ({workload}{band})", fontsize=11)
    figure.savefig(png, format="png")

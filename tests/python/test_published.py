"""Against the published results of the fill experiment on the openb trace (10 seeds a policy).

Checked here, to stay within a minute: the default pod list under all six policies (fgd and best_fit
from two seed bases), and four other lists under fgd and best_fit with five seeds;
benchmarks/published.py compares all lists. Placements of a list that names GPU models go through
the independent checker.
"""

from __future__ import annotations

import csv
import math
import statistics
from pathlib import Path

import pytest

import libgpusched as gs
import placements_checker
from libgpusched.cli import main

NODES = "openb/openb_node_list_gpu_node.csv"
PUBLISHED_NAMES = {
    "fgd": "FGD",
    "best_fit": "BestFit",
    "random": "Random",
    "dot_product": "DotProd",
    "gpu_packing": "GpuPacking",
    "gpu_clustering": "GpuClustering",
}
PUBLISHED_SEEDS = 10


def published(folder: Path, pod_list: str, policy: str, arrived: int) -> float:
    """The mean of allocated % over ten seeds."""
    with (folder / "published/openb_allocation.csv").open(newline="") as stream:
        (row,) = [
            row
            for row in csv.DictReader(stream)
            if (row["pod_list"], row["policy"]) == (pod_list, PUBLISHED_NAMES[policy])
            and float(row["arrived_pct"]) == arrived
        ]
    assert int(row["seeds"]) == PUBLISHED_SEEDS
    return float(row["allocated_pct_mean"])


def difference(
    folder: Path, pod_list: str, policy: str, seeds: int, seed_base: int = 1
) -> tuple[float, float]:
    """Our mean at 130 % arrived less the published one, and three standard errors of that."""
    workload = gs.Workload.read_openb(folder / NODES, folder / f"openb/{pod_list}.csv")
    runs = gs.fill(workload, policy, seeds=seeds, seed_base=seed_base).runs
    values = [run.allocated_pct[run.arrived_pct.index(130)] for run in runs]
    error = statistics.stdev(values) * math.sqrt(1 / seeds + 1 / PUBLISHED_SEEDS)
    return statistics.fmean(values) - published(folder, pod_list, policy, 130), 3 * error


@pytest.mark.parametrize(
    ("policy", "tolerance"),
    [
        ("fgd", None),
        ("best_fit", None),
        ("random", 0.4),
        ("dot_product", 0.4),
        ("gpu_packing", 0.8),
        ("gpu_clustering", 0.8),
    ],
)
def test_default_list(data_folder: Path, policy: str, tolerance: float | None) -> None:
    by, errors = difference(data_folder, "openb_pod_list_default", policy, seeds=10)
    assert abs(by) <= (tolerance if tolerance is not None else max(0.15, errors))


@pytest.mark.parametrize("policy", ["fgd", "best_fit"])
def test_default_list_from_another_seed_base(data_folder: Path, policy: str) -> None:
    by, errors = difference(data_folder, "openb_pod_list_default", policy, 10, seed_base=777_001)
    assert abs(by) <= max(0.15, errors)


@pytest.mark.parametrize("policy", ["fgd", "best_fit"])
@pytest.mark.parametrize("pod_list", ["cpu200", "gpushare40", "gpuspec33", "multigpu50"])
def test_other_lists(data_folder: Path, pod_list: str, policy: str) -> None:
    by, errors = difference(data_folder, f"openb_pod_list_{pod_list}", policy, seeds=5)
    assert abs(by) <= max(0.25, errors)


def test_placements_of_a_list_with_models(
    data_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    nodes, pods = data_folder / NODES, data_folder / "openb/openb_pod_list_gpuspec33.csv"
    files = ["--nodes", str(nodes), "--pods", str(pods), "--json", "r.json"]
    policy = ["--policy", "fgd,random", "--seeds", "1", "--placements", "p.csv"]
    assert main(["fill", *files, *policy]) == 0
    assert placements_checker.check(nodes, pods, Path("p.csv"), Path("r.json")) == []

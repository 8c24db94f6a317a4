"""Compares fgd and best_fit with the published table on all its pod lists; see docs/fill.md.

GPUSCHED_DATA=<folder with openb/ and published/> python benchmarks/published.py --seed-base 1
"""

from __future__ import annotations

import argparse
import csv
import math
import os
import statistics
import sys
from pathlib import Path

import libgpusched as gs

PUBLISHED_NAMES = {"fgd": "FGD", "best_fit": "BestFit"}
SEEDS = 10


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed-base", type=int, default=1)
    seed_base = parser.parse_args().seed_base
    data = Path(os.environ["GPUSCHED_DATA"])
    with (data / "published/openb_allocation.csv").open(newline="") as stream:
        published = {
            (row["pod_list"], row["policy"]): float(row["allocated_pct_mean"])
            for row in csv.DictReader(stream)
            if row["arrived_pct"] == "130"
        }
    far = 0
    for pod_list in sorted({name for name, _ in published}):
        workload = gs.Workload.read_openb(
            str(data / "openb/openb_node_list_gpu_node.csv"), str(data / f"openb/{pod_list}.csv")
        )
        for policy, name in PUBLISHED_NAMES.items():
            runs = gs.fill(workload, [policy], seeds=SEEDS, seed_base=seed_base)
            values = [run.allocated_pct[-1] for run in runs]
            difference = statistics.fmean(values) - published[pod_list, name]
            noise = 3 * math.sqrt(2 / SEEDS) * statistics.stdev(values)
            allowed = max(0.25, noise)
            far += abs(difference) > allowed
            print(f"{pod_list:28} {policy:9} {difference:+.3f} (allowed {allowed:.3f})", flush=True)
    return 1 if far else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""How long a placement takes from Python: python/batch and python/single, best of some rounds.

batch: 10,000 equal tasks by Scheduler.place_many, NumPy columns in and out. single: one task after
the other by Scheduler.place, each with a name. Both by best_fit on 2,000 nodes of eight devices.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

import libgpusched as gs

ROUNDS = 15
BATCH = 10_000
SINGLE = 2_000


def best(action: Callable[[], object], undo: Callable[[], object], tasks: int) -> float:
    """Nanoseconds a task."""
    seconds = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        action()
        seconds.append(time.perf_counter() - begin)
        undo()
    return min(seconds) / tasks * 1e9


def main() -> None:
    cluster = gs.Cluster()
    for i in range(2_000):
        cluster.add_node(f"n{i}", cpu=64, gpus=8, model="T4")
    scheduler = gs.Scheduler(cluster, "best_fit")
    shape = gs.Shape(cpu=1, gpu=0.5)
    column = np.full(BATCH, cluster.intern(shape), dtype=np.uint32)
    batches: list[gs.Placements] = []
    batch = best(
        lambda: batches.append(scheduler.place_many(column)),
        lambda: scheduler.release_many(batches.pop().tasks),
        BATCH,
    )
    names = [f"task-{i}" for i in range(SINGLE)]

    def place() -> None:
        for name in names:
            scheduler.place(name, shape)

    def release() -> None:
        for name in names:
            scheduler.release(name)

    single = best(place, release, SINGLE)
    print(f"python/batch   {batch:7.0f} ns a task")
    print(f"python/single  {single:7.0f} ns a task")


if __name__ == "__main__":
    main()

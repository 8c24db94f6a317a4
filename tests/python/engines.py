"""Engines that tests begin with, and what tests do to every one of them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

import libgpusched as gs

SECOND = 1_000_000
MINUTE = 60 * SECOND
GPU = gs.Shape(cpu=1, gpu=1)


def small_engine(
    nodes: int = 2, *, gpus: int = 4, validate: bool = True, **options: Any
) -> gs.Engine:
    """Equal nodes n0, n1, … with GPUs."""
    engine = gs.Engine(validate=validate, **options)
    for i in range(nodes):
        engine.add_node(f"n{i}", cpu=16, mem_mib=65536, gpus=gpus, model="T4")
    return engine


def gang(name: str, count: int, **options: Any) -> gs.Job:
    """A batch job of tasks with a GPU each, all or nothing."""
    return gs.Job(name, gs.TaskGroup("main", GPU, count), **options)


def go(engine: gs.Engine, now: int | None = None) -> gs.Plan:
    """Decides and commits."""
    plan = engine.decide(engine.now if now is None else now)
    engine.commit(plan)
    return plan


def start(engine: gs.Engine, now: int | None = None) -> gs.Plan:
    """Decides, commits, and says that all that was placed runs."""
    plan = go(engine, now)
    for step in plan.placements:
        assert engine.started(step)
    return plan


def phases(engine: gs.Engine, job: str) -> list[str]:
    return [task.phase for task in engine.job(job).tasks]


@contextlib.contextmanager
def refused(engine: gs.Engine, error: type[gs.GpuschedError], match: str) -> Iterator[None]:
    """The call raises this, and nothing has changed."""
    before = (engine.state_hash, engine.version, engine.now, engine.save())
    with pytest.raises(error, match=match) as raised:
        yield
    assert type(raised.value) is error
    assert (engine.state_hash, engine.version, engine.now, engine.save()) == before
    engine.audit()

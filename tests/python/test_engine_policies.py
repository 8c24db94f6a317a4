"""Policies that rank the places of an engine, among them some that misbehave."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import libgpusched as gs
from engines import gang, go, refused, small_engine, start


class LastNode(gs.ScorePolicy):
    """The last node of those that fit."""

    range = (0, 1000)

    def score(self, batch: gs.Batch) -> NDArray[np.int64]:
        return batch.node


class Broken(gs.ScorePolicy):
    """Does what it is told, when it is asked for the n-th time."""

    def __init__(self, then: Callable[[], object], asked: int = 1) -> None:
        super().__init__()
        self.then, self.asked = then, asked

    def score(self, batch: gs.Batch) -> NDArray[np.int64]:
        self.asked -= 1
        if self.asked == 0:
            self.then()
        return np.zeros(len(batch), dtype=np.int64)


def test_a_policy_in_python(tmp_path: Any) -> None:
    engine = small_engine(3, policy=LastNode(), journal=tmp_path / "journal")
    engine.submit(gang("j", 5))
    plan = start(engine)
    # Ranks follow the order of nodes.
    assert [(step.node, step.score) for step in plan.placements] == [("n1", 1)] + [("n2", 2)] * 4
    engine.submit(gang("k", 4))
    plan = engine.decide(0)
    assert [step.node for step in plan.placements] == ["n0"] + ["n1"] * 3
    for other in (engine.fork(), gs.Engine.load(engine.save(), LastNode())):
        assert other.decide(0) == plan
    hash_ = engine.state_hash
    del engine
    gc.collect()
    restored = gs.Engine.restore(tmp_path / "journal", LastNode(), verify=True)
    assert (restored.problem, restored.engine.state_hash) == (None, hash_)
    assert restored.engine.decide(0) == plan


def test_a_mixture_with_one() -> None:
    engine = small_engine(3, policy=gs.BestFit() + 100 * LastNode())
    engine.submit(gang("j", 1))
    assert [step.node for step in engine.decide(0).placements] == ["n2"]
    fork = engine.fork()
    del engine
    gc.collect()
    assert [step.node for step in fork.decide(0).placements] == ["n2"]


def test_what_a_batch_of_an_engine_shows() -> None:
    seen: list[tuple[int, tuple[str, ...], list[int]]] = []

    class Watch(LastNode):
        def score(self, batch: gs.Batch) -> NDArray[np.int64]:
            seen.append((batch.sequence, batch.models, batch.gpu_free_milli.tolist()))
            return super().score(batch)

    engine = small_engine(policy=Watch())
    engine.submit(gang("j", 2))
    engine.decide(0)
    # The second task sees the first one placed, on trial.
    assert [free for _, _, free in seen] == [[4000, 4000], [4000, 3000]]
    assert [sequence for sequence, _, _ in seen] == [0, 1]
    assert {models for _, models, _ in seen} == {("T4",)}
    go(engine)
    engine.submit(gang("k", 1))
    seen.clear()
    engine.decide(0)
    assert seen[0][0] == 2


def test_fgd_and_random() -> None:
    target = gs.TargetWorkload.from_requests([gs.Shape(cpu=1, gpu=1)])
    for policy in (gs.Fgd(target), gs.Random(7), gs.Fgd(target) + gs.Random(7)):
        engine = small_engine(4, policy=policy)
        engine.submit(gang("j", 7))
        plan = engine.decide(0)
        assert len(plan.placements) == 7
        assert engine.decide(0) == plan
        assert gs.Engine.load(engine.save(), policy).decide(0) == plan


@pytest.mark.parametrize("asked", [1, 2, 5])
def test_an_exception_passes_through(asked: int) -> None:
    class Surprise(Exception):
        pass

    def surprise() -> None:
        raise Surprise("from within")

    policy = Broken(surprise, asked)
    engine = small_engine(policy=policy)
    engine.submit(gang("a", 2))
    engine.submit(gang("b", 3))
    before = (engine.state_hash, engine.version, engine.save())
    with pytest.raises(Surprise, match="from within"):
        engine.decide(0)
    policy.asked = asked
    with pytest.raises(Surprise, match="from within"):
        engine.explain("b")
    assert (engine.state_hash, engine.version, engine.save()) == before
    engine.audit()
    assert len(start(engine).placements) == 5


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([0.5, 1.5], "returned an array of float64"),
        ([1], r"returned an array of shape \(1,\)"),
        ([1, 101], "is 101 for node 'n1'; its declared range is 0 to 100"),
        (None, "returned"),
    ],
)
def test_answers_that_are_none(answer: Any, message: str) -> None:
    class Wrong(gs.ScorePolicy):
        def score(self, batch: gs.Batch) -> Any:
            return answer

    engine = small_engine(policy=Wrong())
    engine.submit(gang("a", 2))
    with refused(engine, gs.PolicyError, message):
        engine.decide(0)


def test_a_policy_that_cannot_be_built() -> None:
    class Bad(gs.ScorePolicy):
        range = (3, 2)

    with pytest.raises(gs.InvalidSpec, match="range is"):
        gs.Engine(Bad())
    data = gs.Engine().save()
    with pytest.raises(gs.InvalidSpec, match="range is"):
        gs.Engine.load(data, Bad())


def calls_back(engine: gs.Engine, plan: gs.Plan) -> Iterator[Callable[[], object]]:
    task = gs.Task("j", "main", 0, 1)
    yield lambda: engine.add_node("x")
    yield lambda: engine.update_node("n0", cpu=1)
    yield lambda: engine.remove_node("n0")
    yield lambda: engine.cordon("n0")
    yield lambda: engine.submit(gang("x", 1))
    yield lambda: engine.update_job("j", priority=1)
    yield lambda: engine.cancel("j")
    for tell in (engine.started, engine.finished, engine.failed, engine.evicted):
        yield lambda tell=tell: tell(task)  # type: ignore[misc]
    yield lambda: engine.hold("h", owner="j", node="n0", shape=gs.Shape(cpu=1))
    yield lambda: engine.drop_hold("h")
    yield lambda: engine.tick(1)
    yield lambda: engine.decide(0)
    yield lambda: engine.commit(plan)
    yield lambda: engine.abort(plan)
    yield lambda: engine.explain("j")
    yield engine.jobs
    yield lambda: engine.job("j")
    yield engine.nodes
    yield lambda: engine.node("n0")
    yield engine.holds
    yield lambda: engine.now
    yield lambda: engine.version
    yield lambda: engine.state_hash
    yield lambda: engine.settings
    yield engine.audit
    yield engine.save
    yield engine.fork


def test_a_policy_may_not_call_back() -> None:
    policy = Broken(lambda: None)
    engine = small_engine(policy=policy)
    engine.submit(gang("j", 2))
    plan = engine.decide(0)
    before = (engine.state_hash, engine.version, engine.save())
    tried = 0
    for call in calls_back(engine, plan):
        policy.then, policy.asked = call, 1
        with pytest.raises(gs.PreconditionFailed, match="in the middle of a decision"):
            engine.decide(0)
        tried += 1
    assert tried == 30
    assert (engine.state_hash, engine.version, engine.save()) == before
    shown: list[object] = []
    policy.then, policy.asked = lambda: shown.extend([repr(engine), engine.policy]), 1
    engine.decide(0)
    assert shown == ["<Engine, in the middle of a decision>", policy]


def test_other_threads_run_and_are_refused() -> None:
    asked, answered = threading.Event(), threading.Event()

    def wait() -> None:
        asked.set()
        assert answered.wait(10)

    engine = small_engine(policy=Broken(wait))
    engine.submit(gang("j", 1))
    plans: list[gs.Plan] = []
    thread = threading.Thread(target=lambda: plans.append(engine.decide(0)))
    thread.start()
    assert asked.wait(10)
    try:
        with pytest.raises(gs.PreconditionFailed, match="threads must take turns"):
            engine.tick(5)
    finally:
        answered.set()
        thread.join()
    assert engine.tick(0).changed is False
    assert engine.decide(0) == plans[0]


def test_a_policy_that_outlives_its_engine_and_the_other_way_round() -> None:
    policy = LastNode()
    engine = small_engine(policy=policy)
    engine.submit(gang("j", 1))
    del policy
    gc.collect()
    assert isinstance(engine.policy, LastNode)
    assert [step.node for step in engine.decide(0).placements] == ["n1"]
    kept = engine.policy
    del engine
    gc.collect()
    assert repr(kept) == "LastNode()"

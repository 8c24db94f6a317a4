"""Policies written in Python: what they see, and that nothing they do can hurt."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import libgpusched as gs


class Scores(gs.ScorePolicy):
    """Answers what a function answers."""

    range = (0, 100)

    def __init__(self, answer: Callable[[gs.Batch], Any]) -> None:
        super().__init__()
        self.answer = answer

    def score(self, batch: gs.Batch) -> Any:
        return self.answer(batch)


def zeros(batch: gs.Batch) -> Any:
    return np.zeros(len(batch), np.int64)


def seen_by(cluster: gs.Cluster, shape: gs.Shape, *, by_device: bool = False) -> gs.Batch:
    batches = []

    def look(batch: gs.Batch) -> Any:
        batches.append(batch)
        return zeros(batch)

    policy = Scores(look)
    policy.by_device = by_device
    assert gs.Scheduler(cluster, policy).decide(shape)
    (batch,) = batches
    return batch


def test_what_a_batch_shows(cluster: gs.Cluster) -> None:
    cluster.place("t", gs.Shape(cpu=1, mem_mib=10, gpu=0.25), node="small", devices=[0])
    cluster.add_node("tiny", cpu=1)
    shape = gs.Shape(cpu=2, mem_mib=5, gpu=0.5)
    batch = seen_by(cluster, shape)
    assert (len(batch), batch.shape, batch.sequence) == (2, shape, 0)
    assert batch.node.tolist() == [0, 1]
    assert batch.cpu_free.tolist() == [64000, 15000]
    assert batch.mem_free.tolist() == [262144, 65526]
    assert batch.gpu_free_milli.tolist() == [8000, 1750]
    assert batch.cpu_capacity.tolist() == [64000, 16000]
    assert batch.mem_capacity.tolist() == [262144, 65536]
    assert batch.gpu_capacity_milli.tolist() == [8000, 2000]
    assert batch.devices.tolist() == [8, 2]
    assert batch.whole_free.tolist() == [8, 1]
    assert batch.tasks.tolist() == [0, 1]
    assert batch.device.tolist() == [0, 0]  # the fullest with room
    assert batch.device_left_milli.tolist() == [500, 250]
    assert [batch.models[i] for i in batch.model] == ["A100-SXM4-80GB", "T4"]


def test_a_batch_without_gpu(cluster: gs.Cluster) -> None:
    batch = seen_by(cluster, gs.Shape(cpu=20))
    assert batch.node.tolist() == [0]
    assert batch.device.tolist() == batch.model.tolist() == [-1]
    assert batch.device_left_milli.tolist() == [0]


def test_by_device_offers_each_device_with_room(cluster: gs.Cluster) -> None:
    cluster.place("t", gs.Shape(gpu=0.75), node="large", devices=[3])
    batch = seen_by(cluster, gs.Shape(gpu=0.5), by_device=True)
    assert batch.node.tolist() == [0] * 7 + [1] * 2
    assert batch.device.tolist() == [0, 1, 2, 4, 5, 6, 7, 0, 1]
    assert len(seen_by(cluster, gs.Shape(gpu=1), by_device=True)) == 2


def test_arrays_are_read_only_and_stay_valid(cluster: gs.Cluster) -> None:
    batch = seen_by(cluster, gs.Shape(cpu=1))
    column = batch.cpu_free
    assert column.dtype == np.int64
    with pytest.raises(ValueError, match="read-only"):
        column[0] = 5
    with pytest.raises(ValueError, match="cannot set WRITEABLE"):
        column.setflags(write=True)
    for i in range(1000):
        cluster.add_node(f"n{i}", cpu=1, gpus=4, model="T4")
    del batch, cluster
    gc.collect()
    assert column.tolist() == [64000, 16000]


def test_the_highest_score_wins_then_node_order(cluster: gs.Cluster) -> None:
    def decide(answer: Callable[[gs.Batch], Any]) -> gs.Decision:
        return gs.Scheduler(cluster, Scores(answer)).decide(gs.Shape(gpu=0.5))

    assert decide(lambda batch: batch.node * 7).node == "small"
    assert decide(lambda batch: batch.node * 7).score == 7
    assert decide(zeros).node == "large"
    for answer in (
        lambda batch: [1, 2],
        lambda batch: np.array([1, 2], np.uint8),
        lambda batch: np.array([1, 9, 2, 9], np.int16)[::2],
        lambda batch: np.array([1, 2], ">i4"),
    ):
        assert decide(answer).score == 2


def test_device_order(cluster: gs.Cluster) -> None:
    cluster.place("t", gs.Shape(gpu=0.25), node="large", devices=[5])

    class Any(Scores):
        by_device = True

    class Lowest(Any):
        device_order = "lowest_index"

    shape = gs.Shape(gpu=0.5)
    assert gs.Scheduler(cluster, Any(zeros)).decide(shape).devices == (5,)
    assert gs.Scheduler(cluster, Lowest(zeros)).decide(shape).devices == (0,)


BROKEN: list[tuple[Callable[[gs.Batch], Any], str]] = [
    (lambda batch: None, "returned an array of object; return integers"),
    (lambda batch: "x", "return integers"),
    (lambda batch: {}, "return integers"),
    (lambda batch: 5, "returned an array of shape (); return one score a candidate, here 2"),
    (lambda batch: [1], "returned an array of shape (1,); return one score a candidate, here 2"),
    (lambda batch: [1, 2, 3], "returned an array of shape (3,); return one score a candidate"),
    (lambda batch: np.zeros((2, 1), int), "returned an array of shape (2, 1)"),
    (lambda batch: [], "returned an array of float64"),
    (lambda batch: [0.5, 1.0], "returned an array of float64; return integers, e.g. numpy.rint"),
    (lambda batch: [float("nan"), 1], "returned an array of float64; return integers"),
    (lambda batch: [True, False], "returned an array of bool; return integers"),
    (lambda batch: [1, 101], "is 101 for node 'small'; its declared range is 0 to 100"),
    (lambda batch: [-1, 1], "is -1 for node 'large'; its declared range is 0 to 100"),
    (lambda batch: [2**62, 0], "is 4611686018427387904 for node 'large'"),
    (lambda batch: np.array([1, 2**64 - 1], np.uint64), "is beyond 2**63 for node 'small'"),
    (lambda batch: [2**70, 1], "return integers"),
    (lambda batch: [[1], [1, 2]], "returned [[1], [1, 2]]; return an array of integers"),
]


@pytest.mark.parametrize(("answer", "message"), BROKEN, ids=[text for _, text in BROKEN])
def test_broken_answers(
    cluster: gs.Cluster, answer: Callable[[gs.Batch], Any], message: str
) -> None:
    for policy in (Scores(answer), 0.5 * Scores(answer) + gs.BestFit()):
        scheduler = gs.Scheduler(cluster, policy)
        before = cluster.state_hash()
        with pytest.raises(gs.PolicyError) as error:
            scheduler.place("t", gs.Shape(cpu=1))
        assert str(error.value).startswith("policy 'Scores': score() ")
        assert message in str(error.value)
        assert (cluster.state_hash(), scheduler.sequence) == (before, 0)


def test_exceptions_propagate_as_themselves(cluster: gs.Cluster) -> None:
    class Mine(Exception):
        pass

    def fail(batch: gs.Batch) -> Any:
        raise Mine("why")

    before = cluster.state_hash()
    for policy in (Scores(fail), 0.5 * gs.BestFit() + 0.5 * Scores(fail)):
        scheduler = gs.Scheduler(cluster, policy)
        with pytest.raises(Mine, match="why"):
            scheduler.decide(gs.Shape(cpu=1))
        with pytest.raises(Mine, match="why"):
            scheduler.place("t", gs.Shape(cpu=1))
        assert cluster.state_hash() == before
    cluster.add_node("still works", cpu=1)


def test_a_policy_must_not_use_its_cluster(cluster: gs.Cluster) -> None:
    before = cluster.state_hash()
    tried = 0
    scheduler: gs.Scheduler

    def meddle(batch: gs.Batch) -> Any:
        nonlocal tried
        tx = cluster.transaction()
        for misuse in (
            lambda: cluster.add_node("n", cpu=1),
            lambda: cluster.remove_node("large"),
            lambda: cluster.place("u", gs.Shape(cpu=1), node="large"),
            tx.__enter__,
            lambda: scheduler.decide(gs.Shape(cpu=1)),
            lambda: scheduler.place("u", gs.Shape(cpu=7)),
            lambda: gs.Scheduler(cluster, gs.BestFit()),
        ):
            with pytest.raises(gs.PreconditionFailed):
                misuse()
            tried += 1
        assert cluster.node("large").name == "large"  # looking is fine
        return zeros(batch)

    scheduler = gs.Scheduler(cluster, Scores(meddle))
    assert scheduler.decide(gs.Shape(cpu=1)).node == "large"
    assert tried == 7
    assert cluster.state_hash() == before


def test_a_transaction_in_use_by_a_decision_cannot_end(cluster: gs.Cluster) -> None:
    before = cluster.state_hash()

    def meddle(batch: gs.Batch) -> Any:
        for misuse in (tx.rollback, tx.mark, lambda: tx.__exit__(None, None, None)):
            with pytest.raises(gs.PreconditionFailed, match="in the middle of a decision"):
                misuse()
        return zeros(batch)

    scheduler = gs.Scheduler(cluster, Scores(meddle))
    with cluster.transaction() as tx:
        tx.add_node("n", cpu=1)
        assert scheduler.decide(gs.Shape(cpu=1))
        tx.rollback()
    assert cluster.state_hash() == before


def test_dropping_an_open_transaction_in_a_decision_does_not_crash(cluster: gs.Cluster) -> None:
    held = [cluster.transaction()]
    held[0].__enter__()
    for i in range(50):
        held[0].add_node(f"n{i}", cpu=100, gpus=4, model="T4")

    def drop(batch: gs.Batch) -> Any:
        held.clear()
        gc.collect()
        return batch.node // 10

    decision = gs.Scheduler(cluster, Scores(drop)).decide(gs.Shape(gpu=1))
    assert decision
    assert cluster.node_count == 2
    cluster.audit()


def test_other_threads_must_take_turns(cluster: gs.Cluster) -> None:
    errors: list[Exception] = []

    def change() -> None:
        try:
            cluster.add_node("n", cpu=1)
        except gs.PreconditionFailed as error:
            errors.append(error)

    def run_thread(batch: gs.Batch) -> Any:
        thread = threading.Thread(target=change)
        thread.start()
        thread.join()
        return zeros(batch)

    gs.Scheduler(cluster, Scores(run_thread)).decide(gs.Shape(cpu=1))
    assert len(errors) == 1
    assert "threads must take turns" in str(errors[0])


@pytest.mark.parametrize(
    ("attribute", "value", "message"),
    [
        ("range", None, "policy 'Scores': range is None; declare range = (lo, hi)"),
        ("range", (1,), "range is (1,); declare"),
        ("range", (2, 1), "range is (2, 1); declare"),
        ("range", (0, 40000), "range is (0, 40000); declare range = (lo, hi), two whole numbers"),
        ("range", (0.5, 1), "range is 0.5; declare"),
        ("range", "ab", "range is 'ab'; declare"),
        ("by_device", 1, "policy 'Scores': by_device is 1; use True or False"),
        ("device_order", "x", "device_order is 'x'; use 'fullest_first' or 'lowest_index'"),
    ],
)
def test_declarations_are_checked(
    cluster: gs.Cluster, attribute: str, value: Any, message: str
) -> None:
    policy = Scores(zeros)
    setattr(policy, attribute, value)
    with pytest.raises(gs.InvalidSpec) as error:
        gs.Scheduler(cluster, policy)
    assert message in str(error.value)


def test_a_policy_must_score(cluster: gs.Cluster) -> None:
    class Lazy(gs.ScorePolicy):
        pass

    with pytest.raises(NotImplementedError, match="Lazy must define score"):
        gs.Scheduler(cluster, Lazy()).decide(gs.Shape(cpu=1))


def test_forgetting_super_init_is_an_error_and_no_crash(cluster: gs.Cluster) -> None:
    class Forgetful(gs.ScorePolicy):
        def __init__(self) -> None:
            pass

    with pytest.raises(TypeError, match="__init__"):
        gs.Scheduler(cluster, Forgetful())


def test_schedulers_keep_their_policies_and_let_them_go(cluster: gs.Cluster) -> None:
    policy = Scores(zeros)
    watch = weakref.ref(policy)
    scheduler = gs.Scheduler(cluster, 0.5 * policy + gs.BestFit())
    del policy
    gc.collect()
    assert scheduler.decide(gs.Shape(cpu=1))
    assert watch() is not None
    del scheduler
    gc.collect()
    assert watch() is None


def test_in_the_fill_experiment_it_decides_as_the_built_in_one() -> None:
    class First(gs.ScorePolicy):
        range = (0, 0)

        def score(self, batch: gs.Batch) -> Any:
            return zeros(batch)

    workload = gs.Workload.builtin(pods=300, nodes=20)
    mine, theirs = gs.run_fill(workload, First()), gs.run_fill(workload, "first_fit")
    assert mine.policy == "First()"
    assert mine.placements_digest == theirs.placements_digest

    class Fails(gs.ScorePolicy):
        def score(self, batch: gs.Batch) -> Any:
            raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        gs.run_fill(workload, Fails())
    with pytest.raises(gs.PolicyError, match="policy 'Scores'"):
        gs.run_fill(workload, Scores(lambda batch: None))

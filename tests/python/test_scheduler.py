"""Decisions, their reasons, and the life of a scheduler."""

from __future__ import annotations

import gc

import pytest

import libgpusched as gs


def test_place_and_release(cluster: gs.Cluster) -> None:
    scheduler = gs.Scheduler(cluster, gs.FirstFit())
    before = cluster.state_hash()
    decision = scheduler.place("job", gs.Shape(cpu=8, mem_mib=32768, gpu=0.5))
    assert decision
    assert (decision.kind, decision.node, decision.devices) == ("place", "large", (0,))
    assert (decision.score, decision.reason, decision.path) == (0, None, "scan")
    assert decision.text == "placed on 'large', device 0"
    assert decision.shape == gs.Shape(cpu=8, mem_mib=32768, gpu=0.5)
    assert cluster.task("job").devices == (0,)
    scheduler.release("job")
    assert cluster.state_hash() == before
    with pytest.raises(gs.NotFound, match="no task of this name is running"):
        scheduler.release("job")


def test_decide_changes_nothing(cluster: gs.Cluster) -> None:
    scheduler = gs.Scheduler(cluster, "best_fit")
    before = cluster.state_hash()
    decision = scheduler.decide(gs.Shape(gpu=2))
    assert decision.text == "placed on 'small', devices 0, 1"
    assert cluster.state_hash() == before
    assert scheduler.sequence == 0
    scheduler.commit("job", decision)
    with pytest.raises(gs.PreconditionFailed, match=r"devices\[0\].gpu_milli is 0 free"):
        scheduler.commit("job-2", decision)
    with pytest.raises(gs.AlreadyExists):
        scheduler.commit("job", scheduler.decide(gs.Shape(gpu=1)))


def test_a_reason_has_numbers(cluster: gs.Cluster) -> None:
    scheduler = gs.Scheduler(cluster, gs.BestFit())
    cluster.place("a", gs.Shape(gpu=0.7), node="small", devices=[0])
    cluster.place("b", gs.Shape(gpu=0.6), node="small", devices=[1])
    before = cluster.state_hash()
    decision = scheduler.place("c", gs.Shape(gpu=0.5, models=["T4"]))
    assert not decision
    assert (decision.kind, decision.node, decision.devices, decision.score) == (
        "wait",
        None,
        (),
        None,
    )
    reason = decision.reason
    assert reason is not None
    assert reason.dominant == "NoDeviceWithRoom"
    assert reason.counts == {"ModelNotAllowed": 1, "NoDeviceWithRoom": 1}
    assert (reason.outcome, reason.nearest, reason.need, reason.have) == ("wait", "small", 500, 400)
    assert str(reason) == decision.text
    assert "'small': 500 gpu_milli of one device asked, 400 free" in str(reason)
    assert cluster.state_hash() == before


def test_never_is_told_apart_from_not_now(cluster: gs.Cluster) -> None:
    decision = gs.Scheduler(cluster, gs.BestFit()).place("t", gs.Shape(cpu=65))
    assert decision.kind == "reject"
    assert decision.reason is not None
    assert decision.reason.outcome == "never"
    assert "it would not fit even on empty nodes" in decision.text


def test_a_decision_stays_true_when_the_cluster_goes() -> None:
    cluster = gs.Cluster()
    cluster.add_node("n", cpu=1)
    refused = gs.Scheduler(cluster, gs.BestFit()).decide(gs.Shape(cpu=2))
    placed = gs.Scheduler(cluster, gs.BestFit()).decide(gs.Shape(cpu=1))
    cluster.remove_node("n")
    cluster.add_node("m", cpu=1)
    with pytest.raises(gs.NotFound):
        gs.Scheduler(cluster, gs.BestFit()).commit("t", placed)
    del cluster
    gc.collect()
    assert placed.node == "n"
    assert refused.reason is not None
    assert refused.reason.nearest == "n"
    assert "'n'" in refused.text


def test_an_empty_cluster_has_no_nodes() -> None:
    cluster = gs.Cluster()
    reason = gs.Scheduler(cluster, gs.BestFit()).place("t", gs.Shape(gpu=1)).reason
    assert reason is not None
    assert (reason.dominant, reason.nearest, reason.counts) == ("NoNodes", None, {})
    assert str(reason) == "the cluster has no nodes"


def test_gpu_asked_of_a_cluster_without_any() -> None:
    cluster = gs.Cluster()
    cluster.add_node("n", cpu=8)
    scheduler = gs.Scheduler(cluster, gs.BestFit())
    with pytest.raises(gs.PreconditionFailed, match="gpu_count is 1; this cluster has no GPU; add"):
        scheduler.place("t", gs.Shape(gpu=0.5))
    assert scheduler.place("t", gs.Shape(cpu=1))


def test_errors_change_nothing(cluster: gs.Cluster) -> None:
    scheduler = gs.Scheduler(cluster, gs.BestFit())
    scheduler.place("job", gs.Shape(cpu=1))
    before, sequence = cluster.state_hash(), scheduler.sequence
    with pytest.raises(gs.AlreadyExists, match="'job'"):
        scheduler.place("job", gs.Shape(cpu=1))
    with pytest.raises(gs.InvalidSpec, match=r"models\[0\] is 'T5'; did you mean 'T4'"):
        scheduler.place("t", gs.Shape(gpu=1, models=["T5"]))
    with pytest.raises(gs.InvalidSpec, match="name is ''"):
        scheduler.place("", gs.Shape(cpu=1))
    with pytest.raises(gs.InvalidSpec, match="name is None; use text"):
        scheduler.place(None, gs.Shape(cpu=1))  # type: ignore[arg-type]
    with pytest.raises(gs.InvalidSpec, match="nothing to commit"):
        scheduler.commit("t", scheduler.decide(gs.Shape(cpu=1000)))
    assert (cluster.state_hash(), scheduler.sequence) == (before, sequence)


def test_a_shape_may_be_used_with_several_clusters() -> None:
    shape = gs.Shape(gpu=1, models=["G2"])
    knows, knows_not = gs.Cluster(opaque_models=["G1", "G2"]), gs.Cluster()
    knows.add_node("a", gpus=1, model="G1")
    knows.add_node("b", gpus=1, model="G2")
    knows_not.add_node("n", gpus=1, model="T4")
    first, second = gs.Scheduler(knows, gs.FirstFit()), gs.Scheduler(knows_not, gs.FirstFit())
    for _ in range(2):
        assert first.decide(shape).node == "b"
        with pytest.raises(gs.InvalidSpec, match="'G2'"):
            second.decide(shape)


def test_a_decision_belongs_to_its_cluster(cluster: gs.Cluster) -> None:
    other = gs.Cluster()
    other.add_node("large", cpu=64)
    decision = gs.Scheduler(other, gs.FirstFit()).decide(gs.Shape(cpu=1))
    with pytest.raises(gs.InvalidSpec, match="decision is of another cluster"):
        gs.Scheduler(cluster, gs.FirstFit()).commit("t", decision)


def test_a_scheduler_keeps_its_cluster() -> None:
    def make() -> gs.Scheduler:
        cluster = gs.Cluster()
        cluster.add_node("n", cpu=8)
        return gs.Scheduler(cluster, gs.BestFit())

    scheduler = make()
    gc.collect()
    assert scheduler.place("t", gs.Shape(cpu=1)).node == "n"
    assert scheduler.cluster.task("t").node == "n"
    assert repr(scheduler) == "Scheduler(BestFit())"


def test_schedulers_need_a_policy(cluster: gs.Cluster) -> None:
    with pytest.raises(gs.NotFound, match="policy: name is 'best'; known are fgd, best_fit"):
        gs.Scheduler(cluster, "best")
    with pytest.raises(gs.InvalidSpec, match="scheduler: policy is 5; use a Policy"):
        gs.Scheduler(cluster, 5)  # type: ignore[arg-type]
    with pytest.raises(gs.InvalidSpec, match="use a Policy"):
        gs.Scheduler(cluster, gs.BestFit)  # type: ignore[arg-type]

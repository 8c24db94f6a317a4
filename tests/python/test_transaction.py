"""Transactions: all or nothing, marks, and misuse that must not hurt."""

from __future__ import annotations

import gc

import pytest
from hypothesis import given
from hypothesis import strategies as st

import libgpusched as gs


def test_commits_at_the_end(cluster: gs.Cluster) -> None:
    with cluster.transaction() as tx:
        tx.add_node("n", cpu=4)
        tx.place("t", gs.Shape(cpu=1), node="n")
    assert cluster.task("t").node == "n"


def test_rolls_back_on_any_exception(cluster: gs.Cluster) -> None:
    before = cluster.state_hash()

    def fail_late() -> None:
        with cluster.transaction() as tx:
            tx.add_node("n", cpu=4)
            tx.place("t", gs.Shape(cpu=1), node="n")
            tx.set_foreign("small", cpu_milli=5)
            tx.remove_node("large")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_late()
    assert cluster.state_hash() == before
    cluster.audit()


def test_a_refused_step_leaves_the_transaction_usable(cluster: gs.Cluster) -> None:
    with cluster.transaction() as tx:
        tx.place("a", gs.Shape(cpu=1), node="small")
        with pytest.raises(gs.PreconditionFailed):
            tx.place("b", gs.Shape(cpu=100), node="small")
        tx.place("b", gs.Shape(cpu=2), node="small")
    assert [task.name for task in cluster.tasks()] == ["a", "b"]


def test_marks(cluster: gs.Cluster) -> None:
    with cluster.transaction() as tx:
        tx.place("a", gs.Shape(cpu=1), node="small")
        first = tx.mark()
        tx.place("b", gs.Shape(cpu=1), node="small")
        second = tx.mark()
        tx.release("a")
        tx.rollback_to(second)
        assert cluster.task_count == 2
        tx.rollback_to(first)
        tx.rollback_to(first)
        tx.place("c", gs.Shape(cpu=1), node="small")
        tx.place("d", gs.Shape(cpu=1), node="small")
        with pytest.raises(gs.PreconditionFailed, match="was taken back itself"):
            tx.rollback_to(second)
    assert [task.name for task in cluster.tasks()] == ["a", "c", "d"]


def test_marks_of_another_transaction_are_refused(cluster: gs.Cluster) -> None:
    with cluster.transaction() as tx:
        mark = tx.mark()
    with cluster.transaction() as tx:
        tx.mark()
        with pytest.raises(gs.PreconditionFailed, match="mark is of another transaction"):
            tx.rollback_to(mark)


def test_rollback_ends_it(cluster: gs.Cluster) -> None:
    before = cluster.state_hash()
    with cluster.transaction() as tx:
        tx.add_node("n", cpu=4)
        tx.rollback()
        assert cluster.state_hash() == before
        with pytest.raises(gs.PreconditionFailed, match="this transaction is over"):
            tx.add_node("n", cpu=4)
        cluster.add_node("m", cpu=4)
    assert cluster.node_names() == ["large", "small", "m"]


def test_use_outside_of_the_block(cluster: gs.Cluster) -> None:
    tx = cluster.transaction()
    with pytest.raises(gs.PreconditionFailed, match="has not begun; use it as `with"):
        tx.add_node("n", cpu=1)
    with tx:
        pass
    for use in (lambda: tx.add_node("n", cpu=1), tx.mark, tx.rollback):
        with pytest.raises(gs.PreconditionFailed, match="this transaction is over"):
            use()
    with pytest.raises(gs.PreconditionFailed, match="was used before"), tx:
        pass


def test_one_at_a_time(cluster: gs.Cluster) -> None:
    scheduler = gs.Scheduler(cluster, gs.BestFit())
    scheduler.place("old", gs.Shape(cpu=1))
    decision = scheduler.decide(gs.Shape(cpu=1))
    with cluster.transaction() as tx:
        tx.add_node("n", cpu=1)
        before = cluster.state_hash()
        for misuse in (
            lambda: cluster.transaction().__enter__(),
            lambda: cluster.add_node("m", cpu=1),
            lambda: cluster.remove_node("small"),
            lambda: scheduler.place("t", gs.Shape(cpu=1)),
            lambda: scheduler.commit("t", decision),
            lambda: scheduler.release("old"),
        ):
            with pytest.raises(gs.PreconditionFailed, match="a transaction is open on this clust"):
                misuse()
        assert cluster.state_hash() == before
        assert scheduler.decide(gs.Shape(cpu=1))
    scheduler.release("old")


def test_decide_inside_of_a_transaction_makes_gangs(cluster: gs.Cluster) -> None:
    scheduler = gs.Scheduler(cluster, gs.BestFit())
    before = cluster.state_hash()
    placed = []
    with cluster.transaction() as tx:
        for i in range(20):
            decision = scheduler.decide(gs.Shape(gpu=1))
            if decision.node is None:
                tx.rollback()
                break
            tx.place(f"worker-{i}", gs.Shape(gpu=1), node=decision.node, devices=decision.devices)
            placed.append(decision.node)
    assert len(placed) == 10
    assert cluster.state_hash() == before


def test_lifetimes() -> None:
    cluster = gs.Cluster()
    cluster.add_node("n", cpu=4)
    tx = cluster.transaction()
    inner = tx.__enter__()
    assert inner is tx
    inner.place("t", gs.Shape(cpu=1), node="n")
    # Dropped while open: taken back.
    del tx, inner
    gc.collect()
    assert cluster.task_count == 0
    with cluster.transaction() as tx:
        del cluster
        gc.collect()
        tx.place("t", gs.Shape(cpu=1), node="n")


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["place", "release", "add", "remove", "foreign", "mark", "back"]),
        st.integers(0, 4),
    ),
    max_size=30,
)


@given(steps=STEPS, commit=st.booleans())
def test_rollback_is_identity(steps: list[tuple[str, int]], commit: bool) -> None:
    cluster = gs.Cluster()
    for i in range(2):
        cluster.add_node(f"n{i}", cpu=8, gpus=2, model="T4")
    cluster.place("t0", gs.Shape(cpu=1, gpu=0.5), node="n0", devices=[0])
    before = cluster.state_hash()
    with cluster.transaction() as tx:
        marks: list[tuple[gs.Mark, str]] = []
        for what, number in steps:
            try:
                if what == "place":
                    tx.place(
                        f"t{number}",
                        gs.Shape(cpu=number, gpu=0.5),
                        node=f"n{number % 3}",
                        devices=[number % 2],
                    )
                elif what == "release":
                    tx.release(f"t{number}")
                elif what == "add":
                    tx.add_node(f"n{number}", cpu=4, gpus=number % 3, model="T4")
                elif what == "remove":
                    tx.remove_node(f"n{number}")
                elif what == "foreign":
                    tx.set_foreign(f"n{number}", cpu_milli=1000 * number)
                elif what == "mark":
                    marks.append((tx.mark(), cluster.state_hash()))
                elif marks:
                    mark, then = marks.pop()
                    tx.rollback_to(mark)
                    assert cluster.state_hash() == then
            except gs.GpuschedError:
                pass
            cluster.audit()
        after = cluster.state_hash()
        if not commit:
            tx.rollback()
    assert cluster.state_hash() == (after if commit else before)
    cluster.audit()

"""Many tasks at once, and how places are looked for."""

from __future__ import annotations

import numpy as np
import pytest

import libgpusched as gs


def many_nodes(count: int = 40) -> gs.Cluster:
    cluster = gs.Cluster()
    for i in range(count):
        cluster.add_node(f"n{i}", cpu=16, mem_mib=65536, gpus=2, model="T4")
    return cluster


def test_a_batch_places_what_one_after_the_other_would() -> None:
    shapes = [gs.Shape(cpu=c, gpu=g) for c in (1, 3) for g in (0.3, 0.5, 1, 2)]
    order = np.random.default_rng(3).integers(0, len(shapes), 300)
    one, two = many_nodes(), many_nodes()
    single, batch = gs.Scheduler(one, "best_fit"), gs.Scheduler(two, "best_fit")
    numbers = np.array([two.intern(shape) for shape in shapes])
    placed = batch.place_many(numbers[order])
    assert len(placed) == 300
    assert 0 < placed.placed < 300
    for i, which in enumerate(order):
        decision = single.place(f"t{i}", shapes[which])
        if not decision:
            assert (placed.nodes[i], placed.tasks[i]) == (-1, 2**64 - 1)
            continue
        assert two.node_name(placed.nodes[i]) == decision.node
        assert sum(1 << device for device in decision.devices) == placed.devices[i]
        assert placed.scores[i] == decision.score
    assert one.free == two.free
    assert batch.sequence == single.sequence == 300
    assert sum(batch.path_counts.values()) == 300
    assert [task.name for task in two.tasks()] == [""] * placed.placed


def test_a_batch_is_given_back_whole_or_not_at_all() -> None:
    cluster = many_nodes(2)
    empty = cluster.state_hash()
    scheduler = gs.Scheduler(cluster, "best_fit")
    batch = scheduler.place_many([cluster.intern(gs.Shape(gpu=1))] * 4)
    assert batch.placed == 4
    assert (batch.tasks.dtype.name, batch.nodes.dtype.name) == ("uint64", "int32")
    assert repr(batch) == "<Placements: 4 of 4 placed>"
    with pytest.raises(ValueError, match="read-only"):
        batch.nodes[0] = 7
    full = cluster.state_hash()
    twice = np.concatenate([batch.tasks, batch.tasks[:1]])
    with pytest.raises(gs.NotFound, match=f"tasks is {batch.tasks[0]}; .* each once"):
        scheduler.release_many(twice)
    assert cluster.state_hash() == full
    scheduler.release_many(batch.tasks)
    assert cluster.state_hash() == empty
    with pytest.raises(gs.NotFound, match=f"tasks is {batch.tasks[0]}; no task of this number"):
        scheduler.release_many(batch.tasks)
    scheduler.release_many([])
    assert len(scheduler.place_many([])) == 0


def test_interning_gives_equal_shapes_one_number() -> None:
    cluster = many_nodes(1)
    assert cluster.intern(gs.Shape(gpu=1)) == cluster.intern(gs.Shape(gpu=1))
    assert cluster.intern(gs.Shape(gpu=1)) != cluster.intern(gs.Shape(gpu=2))
    with pytest.raises(gs.InvalidSpec):
        cluster.intern(gs.Shape(gpu=1, models=["No such model"]))
    with pytest.raises(gs.NotFound, match="number is 1"):
        cluster.node_name(1)
    with pytest.raises(gs.NotFound, match="number is -1"):
        cluster.node_name(-1)


@pytest.mark.parametrize(
    ("shapes", "says"),
    [
        ([0.5], "float64"),
        (["a"], "whole numbers"),
        ([[0, 0]], "2 dimensions"),
        (7, "0 dimensions"),
        ([0, -1], "-1"),
        ([2**40], str(2**40)),
        ([2**63], str(2**63)),
        ([0, 999], "#999"),
        ([True], "bool"),
        (None, "object"),
    ],
)
def test_what_is_no_column_of_numbers_is_refused(shapes: object, says: str) -> None:
    cluster = many_nodes(1)
    scheduler = gs.Scheduler(cluster, "best_fit")
    assert cluster.intern(gs.Shape(gpu=1)) == 0
    before = cluster.state_hash()
    with pytest.raises(gs.InvalidSpec, match=says):
        scheduler.place_many(shapes)  # type: ignore[arg-type]
    assert cluster.state_hash() == before


def test_a_batch_is_refused_while_a_transaction_is_open() -> None:
    cluster = many_nodes(1)
    scheduler = gs.Scheduler(cluster, "best_fit")
    number = cluster.intern(gs.Shape(gpu=1))
    with cluster.transaction(), pytest.raises(gs.PreconditionFailed, match="transaction is open"):
        scheduler.place_many([number])


def test_the_way_of_looking_for_places_is_told_and_does_not_matter() -> None:
    decisions = []
    for path in ("auto", "scan", "index", "columns"):
        scheduler = gs.Scheduler(many_nodes(), gs.BestFit(), path=path)
        decision = scheduler.decide(gs.Shape(gpu=1))
        decisions.append((decision.node, decision.score))
        assert decision.path == ("index" if path == "auto" else path)
        assert scheduler.path_counts == {decision.path: 1}
    assert len(set(decisions)) == 1
    with pytest.raises(gs.InvalidSpec, match="'auto', 'scan', 'index' or 'columns'"):
        gs.Scheduler(many_nodes(), "best_fit", path="fast")  # type: ignore[arg-type]
    workload = gs.Workload.builtin(pods=200, nodes=20)
    digests = set()
    for way in ("scan", "index", "columns"):
        result = gs.run_fill(workload, "fgd", path=way)
        assert result.path == {way: result.decisions}
        digests.add(result.placements_digest)
    assert len(digests) == 1
    with pytest.raises(gs.InvalidSpec, match="'auto', 'scan', 'index' or 'columns'"):
        gs.run_fill(workload, "fgd", path=3)  # type: ignore[arg-type]


def test_an_engine_counts_its_searches() -> None:
    engine = gs.Engine("best_fit")
    for i in range(20):
        engine.add_node(f"n{i}", cpu=8, gpus=1, model="T4")
    engine.submit(gs.Job("job", gs.Shape(gpu=1)))
    engine.decide(0)
    assert engine.path_counts == {"index": 1}

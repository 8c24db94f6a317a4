"""Built-in policies, and how policies compose."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import libgpusched as gs

TARGET = gs.TargetWorkload.from_counts({gs.Shape(cpu=8, gpu=1): 3, gs.Shape(cpu=4, gpu=0.5): 1})


def all_policies() -> list[gs.Policy]:
    return [gs.policy(name, target=TARGET) for name in gs.policy_names()]


def test_names() -> None:
    assert gs.policy_names() == [
        "fgd",
        "best_fit",
        "first_fit",
        "worst_fit",
        "dot_product",
        "gpu_packing",
        "gpu_clustering",
        "mig_start",
        "random",
    ]
    assert [type(policy).__name__ for policy in all_policies()] == [
        "Fgd",
        "BestFit",
        "FirstFit",
        "WorstFit",
        "DotProduct",
        "GpuPacking",
        "GpuClustering",
        "MigStart",
        "Random",
    ]


@pytest.mark.parametrize("policy", all_policies(), ids=repr)
def test_every_policy_places(cluster: gs.Cluster, policy: gs.Policy) -> None:
    scheduler = gs.Scheduler(cluster, policy)
    shapes = [gs.Shape(gpu=0.5), gs.Shape(cpu=1), gs.Shape(gpu=4), gs.Shape(cpu=2, gpu=1)]
    for number in range(12):
        scheduler.place(f"t{number}", shapes[number % 4])
    assert cluster.task_count >= 8
    cluster.audit()


def test_fgd_keeps_room_for_the_target() -> None:
    cluster = gs.Cluster()
    for name in ("a", "b"):
        cluster.add_node(name, cpu=32, gpus=2, model="T4")
    cluster.place("t", gs.Shape(gpu=0.5), node="b", devices=[1])
    wanted = gs.TargetWorkload.from_counts({gs.Shape(gpu=1): 1})
    decision = gs.Scheduler(cluster, gs.Fgd(wanted)).place("u", gs.Shape(gpu=0.5))
    assert (decision.node, decision.devices) == ("b", (1,))


def test_norms_count() -> None:
    assert repr(gs.BestFit(cpu_norm_milli=64000)) == "BestFit(cpu_norm_milli=64000)"
    for wrong, message in (
        ({"cpu_norm_milli": 0}, "policy BestFit: cpu_norm_milli is 0; use 1 to 16777216"),
        ({"cpu_norm_milli": 2**24 + 1}, "cpu_norm_milli is 16777217; use 1 to 16777216"),
        ({"gpu_norm_milli": -1}, "gpu_norm_milli is -1; use 1 to 131072"),
        ({"gpu_norm_milli": 0.5}, "gpu_norm_milli is 0.5; use 1 to 131072"),
    ):
        with pytest.raises(gs.InvalidSpec) as error:
            gs.BestFit(**wrong)
        assert message in str(error.value)


def test_random_draws_by_seed() -> None:
    def places(seed: int) -> list[str | None]:
        cluster = gs.Cluster()
        for i in range(10):
            cluster.add_node(f"n{i}", cpu=100)
        scheduler = gs.Scheduler(cluster, gs.Random(seed))
        return [scheduler.place(f"t{i}", gs.Shape(cpu=1)).node for i in range(10)]

    assert places(1) == places(1) != places(2)
    assert repr(gs.Random(2**64 - 1)) == "Random(seed=18446744073709551615)"
    for wrong in (-1, 2**64, 0.5, True, "x"):
        with pytest.raises(gs.InvalidSpec, match="policy Random: seed is"):
            gs.Random(wrong)  # type: ignore[arg-type]


# --- targets --------------------------------------------------------------------------------------


def test_targets_from_requests_keep_the_head() -> None:
    common, rare = gs.Shape(cpu=8, gpu=1), gs.Shape(cpu=8, gpu=4)
    target = gs.TargetWorkload.from_requests([common] * 96 + [rare] * 4)
    assert target.counts == {common: 96}
    assert gs.TargetWorkload.from_requests([common, rare], popularity_pct=100).total == 2
    assert gs.TargetWorkload.from_requests([]).total == 0


untyped: Any = gs  # to call it wrongly without remarks


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: untyped.TargetWorkload.from_requests([], popularity_pct=0),
            "popularity_pct is 0; use",
        ),
        (
            lambda: untyped.TargetWorkload.from_requests([], popularity_pct=101),
            "popularity_pct is 101",
        ),
        (lambda: untyped.TargetWorkload.from_requests(["x"]), "requests[0] is 'x'; use a Shape"),
        (lambda: untyped.TargetWorkload.from_counts({"x": 1}), "counts[0] is 'x'; use a Shape"),
        (
            lambda: untyped.TargetWorkload.from_counts({gs.Shape(gpu=1): 0}),
            "count is 0; use at least 1",
        ),
        (
            lambda: untyped.TargetWorkload.from_counts({gs.Shape(gpu=1): 1.5}),
            "counts[0] is 1.5; use a",
        ),
        (
            lambda: untyped.TargetWorkload.from_counts({gs.Shape(gpu=1): 2**23 + 1}),
            "count is 8388609",
        ),
        (lambda: untyped.TargetWorkload.from_requests(5), "target: requests is 5; use an iterable"),
        (lambda: untyped.TargetWorkload.from_counts(5), "target: counts is 5; use a dict"),
        (lambda: untyped.Fgd("target"), "policy Fgd: target is 'target'; use a TargetWorkload"),
        (lambda: untyped.policy("fgd"), "policy 'fgd': target is None; give the TargetWorkload"),
    ],
)
def test_refused_targets(make: Any, message: str) -> None:
    with pytest.raises(gs.InvalidSpec) as error:
        make()
    assert message in str(error.value)


def test_a_target_may_name_unknown_models_until_it_is_used(cluster: gs.Cluster) -> None:
    policy = gs.Fgd(gs.TargetWorkload.from_counts({gs.Shape(gpu=1, models=["G2"]): 1}))
    with pytest.raises(gs.InvalidSpec, match="'G2'; did you mean"):
        gs.Scheduler(cluster, policy)


# --- sums -----------------------------------------------------------------------------------------


def weights(policy: gs.Weighted) -> list[tuple[float, str]]:
    return [(weight, repr(term)) for weight, term in policy.terms]


def test_operators_flatten() -> None:
    a, b, c = gs.BestFit(), gs.GpuPacking(), gs.FirstFit()
    assert weights(0.8 * a + 0.2 * b) == [(0.8, "BestFit()"), (0.2, "GpuPacking()")]
    assert weights(a + b) == [(1, "BestFit()"), (1, "GpuPacking()")]
    assert weights(0.5 * (0.8 * a + b * 0.2) + c) == [
        (0.4, "BestFit()"),
        (0.1, "GpuPacking()"),
        (1, "FirstFit()"),
    ]
    assert weights(np.float64(0.5) * a) == weights(a * np.float32(0.5)) == [(0.5, "BestFit()")]
    assert weights(2 * a) == [(2, "BestFit()")]


@pytest.mark.parametrize("weight", [0, -1, 0.0009, 1000.5, float("nan"), float("inf"), True])
def test_bad_weights_raise_at_once(weight: float) -> None:
    with pytest.raises(
        gs.InvalidSpec, match="policy: weight is .*; (a weight must be 0.001|use a)"
    ):
        weight * gs.BestFit()


def test_weights_may_leave_their_range_when_multiplied() -> None:
    with pytest.raises(gs.InvalidSpec, match="weight of BestFit.. is 0 when multiplied out"):
        0.001 * (0.001 * gs.BestFit())
    with pytest.raises(gs.InvalidSpec, match="when multiplied out; a weight must be 0.001"):
        1000 * (1000 * gs.BestFit())


def test_only_numbers_and_policies_compose() -> None:
    with pytest.raises(TypeError):
        gs.BestFit() + 1  # type: ignore[operator]
    with pytest.raises(TypeError):
        gs.BestFit() * "2"  # type: ignore[operator]
    with pytest.raises(TypeError):
        gs.BestFit() * gs.BestFit()  # type: ignore[operator]


class Fixed(gs.ScorePolicy):
    """Scores nodes by a list."""

    def __init__(self, scores: list[int], lo: int, hi: int) -> None:
        super().__init__()
        self.scores = np.array(scores)
        self.range = (lo, hi)

    def score(self, batch: gs.Batch) -> Any:
        return self.scores[batch.node]


def blend(terms: list[tuple[int, int, int, int]]) -> int:
    """The rule of composed scores, of (weight_milli, score, lo, hi), in exact integers."""
    weight_sum = sum(weight for weight, *_ in terms)
    total = 0
    for weight, score, lo, hi in terms:
        if hi > lo:
            total += (weight * 10000 << 32) // (weight_sum * (hi - lo)) * (score - lo)
    return (total + (1 << 31)) >> 32


@st.composite
def weighted_terms(draw: st.DrawFn) -> list[tuple[int, int, int, list[int]]]:
    terms = []
    for _ in range(draw(st.integers(1, 4))):
        lo, hi = sorted(draw(st.tuples(st.integers(-32768, 32767), st.integers(-32768, 32767))))
        scores = draw(st.lists(st.integers(lo, hi), min_size=5, max_size=5))
        terms.append((draw(st.integers(1, 1_000_000)), lo, hi, scores))
    return terms


@given(terms=weighted_terms())
def test_sums_follow_the_stated_rule(terms: list[tuple[int, int, int, list[int]]]) -> None:
    cluster = gs.Cluster()
    for node in range(5):
        cluster.add_node(f"n{node}", cpu=8)
    policy: gs.Policy | None = None
    for weight, lo, hi, scores in terms:
        term = (weight / 1000) * Fixed(scores, lo, hi)
        policy = term if policy is None else policy + term
    assert policy is not None
    decision = gs.Scheduler(cluster, policy).decide(gs.Shape(cpu=1))
    expected = [
        blend([(weight, scores[node], lo, hi) for weight, lo, hi, scores in terms])
        for node in range(5)
    ]
    assert decision.score == max(expected)
    assert decision.node == f"n{expected.index(max(expected))}"


def test_sums_of_built_in_policies_follow_it_too(cluster: gs.Cluster) -> None:
    shape = gs.Shape(cpu=8, gpu=1)
    scores = {}
    for name, policy in (("best", gs.BestFit()), ("packing", gs.GpuPacking())):
        decision = gs.Scheduler(cluster, policy).decide(shape)
        assert decision.node == "small"
        scores[name] = decision.score or 0
    decision = gs.Scheduler(cluster, 0.7 * gs.BestFit() + 0.3 * gs.GpuPacking()).decide(shape)
    assert decision.score == blend(
        [(700, scores["best"], 0, 100), (300, scores["packing"], 0, 100)]
    )


def test_equal_shapes_of_a_target_are_one() -> None:
    two = {gs.Shape(cpu=1, mem_mib=1): 2, gs.Shape(cpu=1, mem_mib=2): 3}
    target = gs.TargetWorkload.from_counts(two)
    assert target.counts == {gs.Shape(cpu=1): 5}
    assert target.total == 5


def test_an_empty_target_is_refused_where_it_is_used() -> None:
    cluster = gs.Cluster()
    with pytest.raises(gs.InvalidSpec, match="target is empty"):
        gs.Scheduler(cluster, gs.Fgd(gs.TargetWorkload.from_counts({})))

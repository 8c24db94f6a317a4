"""What an engine is told: nodes, jobs, news of tasks, holds and time."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import libgpusched as gs
from engines import GPU, MINUTE, gang, go, phases, refused, small_engine, start

# --- nodes ----------------------------------------------------------------------------------------


def test_add_node_takes_what_a_cluster_takes() -> None:
    cluster, engine = gs.Cluster(), gs.Engine()
    for target in (cluster, engine):
        target.add_node("a", cpu=1.5, mem_mib=10, gpus=2, model="T4", gpu_mem_mib=16000)
        target.add_node("b", cpu_milli=7, devices=[gs.Device("A10"), gs.Device("T4")])
    for ours, theirs in zip(engine.nodes(), cluster.nodes(), strict=True):
        assert repr(ours) == repr(theirs)
        assert ours.capacity == theirs.capacity
        assert [d.model for d in ours.devices] == [d.model for d in theirs.devices]
    with refused(engine, gs.AlreadyExists, "'a'"):
        engine.add_node("a")
    with refused(engine, gs.InvalidSpec, "node: name is ''"):
        engine.add_node("")
    with refused(engine, gs.InvalidSpec, r"devices\[0\].model is 'T5'; did you mean 'T4'"):
        engine.add_node("c", gpus=1, model="T5")
    with refused(engine, gs.InvalidSpec, "cpu_milli is given too"):
        engine.add_node("c", cpu=1, cpu_milli=1)


def test_update_node_leaves_what_is_left_out() -> None:
    engine = small_engine(1)
    engine.update_node("n0", cpu=2)
    assert engine.node("n0").capacity.cpu_milli == 2000
    engine.update_node("n0", cpu_milli=2500, mem_mib=5)
    node = engine.node("n0")
    assert (node.capacity.cpu_milli, node.capacity.mem_mib) == (2500, 5)
    assert node.capacity.gpu_milli == 4000
    engine.update_node("n0", gpus=2, model="A10", gpu_mem_mib=100)
    devices = engine.node("n0").devices
    assert [(d.model, d.mem_capacity_mib) for d in devices] == [("A10", 100)] * 2
    engine.update_node("n0", devices=[gs.Device("T4")])
    assert [d.model for d in engine.node("n0").devices] == ["T4"]
    engine.update_node("n0", gpus=0)
    assert engine.node("n0").devices == ()
    assert engine.node("n0").capacity.cpu_milli == 2500
    assert not engine.update_node("n0")


def test_foreign_usage_goes_together() -> None:
    engine = small_engine(1)
    engine.update_node("n0", foreign_cpu_milli=500, foreign_device_milli=[0, 300])
    node = engine.node("n0")
    assert (node.foreign.cpu_milli, node.foreign.mem_mib) == (500, 0)
    assert [d.foreign_milli for d in node.devices] == [0, 300, 0, 0]
    assert node.free.cpu_milli == 15500
    engine.update_node("n0", cpu=8)
    assert engine.node("n0").foreign.cpu_milli == 500
    engine.update_node("n0", foreign_mem_mib=7)
    node = engine.node("n0")
    assert (node.foreign.cpu_milli, node.foreign.mem_mib) == (0, 7)
    assert [d.foreign_milli for d in node.devices] == [0] * 4


def test_a_node_that_shrinks_keeps_what_runs() -> None:
    engine = small_engine(1)
    engine.submit(gang("j", 4))
    start(engine)
    engine.update_node("n0", gpus=2, model="T4")
    assert phases(engine, "j") == ["running"] * 4
    assert [task.over for task in engine.job("j").tasks] == [False, False, True, True]
    assert engine.node("n0").free.gpu_milli == 0
    engine.audit()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"model": "A10"}, "node 'n0': gpus is None; say how many"),
        ({"gpu_mem_mib": 7}, "node 'n0': gpus is None; say how many"),
        ({"gpus": 65, "model": "T4"}, "gpus is 65; use 0 to 64"),
        ({"gpus": 1}, "model is None; name the model"),
        ({"gpus": 1, "devices": []}, "gpus is 1; devices is given too"),
        ({"cpu": -1}, "cpu"),
        ({"mem_mib": 0.5}, "mem_mib is 0.5"),
        ({"foreign_cpu_milli": -1}, "foreign.cpu_milli is -1"),
        ({"foreign_mem_mib": "x"}, "foreign_mem_mib is 'x'"),
        ({"foreign_device_milli": "12"}, "foreign_device_milli is '12'; use a list"),
        ({"foreign_device_milli": [0] * 5}, "device_milli"),
        ({"foreign_device_milli": [1001]}, "device_milli"),
    ],
)
def test_updates_that_cannot_be(arguments: dict[str, Any], message: str) -> None:
    engine = small_engine(1)
    with refused(engine, gs.InvalidSpec, message):
        engine.update_node("n0", **arguments)


def test_unknown_nodes() -> None:
    engine = small_engine(1)
    with refused(engine, gs.NotFound, "'x'"):
        engine.update_node("x", cpu=1)
    with refused(engine, gs.NotFound, "'x'"):
        engine.cordon("x")
    effect = engine.remove_node("x")
    assert not effect
    assert effect.note == "no node 'x' is here (any more)"


def test_a_cordoned_node_gets_nothing_new() -> None:
    engine = small_engine(1)
    engine.submit(gang("old", 1))
    start(engine)
    assert engine.cordon("n0")
    assert engine.node("n0").cordoned
    assert not engine.cordon("n0", on=True)
    engine.submit(gang("new", 1))
    assert engine.explain("new").reason == "Cordoned"
    assert phases(engine, "old") == ["running"]
    assert engine.cordon("n0", False)
    assert not engine.node("n0").cordoned
    assert len(go(engine).placements) == 1


def test_a_lost_node_queues_its_tasks_again() -> None:
    engine = small_engine()
    engine.submit(gs.Job("j", gs.TaskGroup("main", GPU, 6, min_available=1)))
    start(engine)
    effect = engine.remove_node("n0")
    assert [(t.name, t.attempt) for t in effect.requeued] == [(f"j/main/{i}", 1) for i in range(4)]
    assert phases(engine, "j") == ["pending"] * 4 + ["running"] * 2
    assert [task.task.attempt for task in engine.job("j").tasks] == [2] * 4 + [1] * 2
    plan = go(engine)
    assert [step.node for step in plan.placements] == ["n1", "n1"]
    engine.audit()


# --- jobs -----------------------------------------------------------------------------------------


def test_submit() -> None:
    engine = small_engine()
    engine.submit(gang("j", 1))
    with refused(engine, gs.AlreadyExists, "'j'"):
        engine.submit(gang("j", 2))
    with refused(engine, gs.InvalidSpec, "submit_time is 5; it is now 0"):
        engine.submit(gang("k", 1, submit_time=5))
    effect = engine.submit(gang("empty", 0))
    assert effect.ended == {"empty": "finished"}


def test_a_gang_starts_whole_or_not_at_all() -> None:
    engine = small_engine()
    engine.submit(gang("a", 5))
    engine.submit(gang("b", 4))
    plan = go(engine)
    assert {step.task.job for step in plan.placements} == {"a"}
    assert len(plan.placements) == 5
    assert [(wait.job, wait.need, wait.have) for wait in plan.waits] == [("b", 4, 3)]
    for step in plan.placements[:2]:
        engine.finished(step)
    assert [step.task.job for step in go(engine).placements] == ["b"] * 4


def test_more_than_the_minimum_is_placed_one_by_one() -> None:
    engine = small_engine(1)
    engine.submit(gs.Job("j", gs.TaskGroup("main", GPU, 6, min_available=2)))
    plan = go(engine)
    assert len(plan.placements) == 4
    assert [wait.job for wait in plan.waits] == ["j"]


def test_alternatives_and_their_number() -> None:
    engine = small_engine(1)
    eight = gs.TaskGroup("eight", GPU, 8)
    engine.submit(gs.Job("j", eight, alternatives=[gs.TaskGroup("four", GPU, 4)]))
    plan = start(engine)
    assert {(step.task.group, step.alternative) for step in plan.placements} == {("four", 1)}
    assert engine.job("j").alternative == 1
    assert "by alternative 1" in str(plan)


def test_a_homogeneous_job_keeps_to_one_model() -> None:
    engine = small_engine(1, gpus=2)
    engine.add_node("other", cpu=16, mem_mib=65536, gpus=3, model="A10")
    engine.submit(gang("mixed", 4, homogeneous=True))
    engine.submit(gang("j", 3, homogeneous=True))
    plan = go(engine)
    assert [(step.task.job, step.node) for step in plan.placements] == [("j", "other")] * 3


def test_jobs_that_start_together() -> None:
    engine = small_engine()
    engine.submit(gang("a", 2, co_schedule=("pair", 2)))
    account = engine.explain("a")
    assert (account.reason, account.subject) == ("JobGroupIncomplete", "pair")
    assert (account.need, account.have) == (2, 1)
    engine.submit(gang("b", 7, co_schedule=("pair", 2)))
    assert {wait.job for wait in engine.decide(0).waits} == {"a", "b"}
    with refused(engine, gs.InvalidSpec, "it has its 2 jobs"):
        engine.submit(gang("c", 1, co_schedule=("pair", 2)))
    engine.update_job("b", groups={"main": {"count": 6}})
    assert len(go(engine).placements) == 8


def test_affinity() -> None:
    engine = small_engine()
    engine.submit(gang("data", 1, labels={"app": "data"}))
    (home,) = (step.node for step in start(engine).placements)
    engine.submit(gang("near", 1, affinity={"app": "data"}))
    engine.submit(gang("far", 1, anti_affinity={"app": ["data", "other"]}))
    where = {step.task.job: step.node for step in go(engine).placements}
    assert where["near"] == home
    assert where["far"] != home


def test_update_job() -> None:
    engine = small_engine()
    engine.submit(gang("j", 2))
    engine.submit(gang("k", 2))
    assert engine.update_job("k", priority=5, queue="q", expected_duration=7)
    assert [job.name for job in engine.jobs()] == ["k", "j"]
    assert engine.job("k").queue == "q"
    effect = engine.update_job("k", priority=5)
    assert not effect
    assert effect.note == "job 'k' is so already"
    assert engine.update_job("j", groups={"main": {"count": 3, "min_available": 1}})
    assert len(engine.job("j").tasks) == 3
    assert engine.update_job("j", groups={"main": {"shape": gs.Shape(gpu=2)}})
    assert engine.decide(0).placements[-1].devices != (0,)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"queue": ""}, gs.InvalidSpec, "job 'j': queue is ''"),
        ({"queue": 3}, gs.InvalidSpec, "job 'j': queue is 3; use text"),
        ({"priority": 2**40}, gs.InvalidSpec, "priority is 1099511627776"),
        ({"expected_duration": -1}, gs.InvalidSpec, "expected_duration is -1"),
        ({"groups": [1]}, gs.InvalidSpec, r"groups is \[1\]; use a dict from group"),
        ({"groups": {"main": 3}}, gs.InvalidSpec, r"groups\['main'\] is 3; use a dict with count"),
        ({"groups": {"main": {"size": 3}}}, gs.InvalidSpec, "key is 'size'; use a dict with count"),
        ({"groups": {"main": {"count": -1}}}, gs.InvalidSpec, "count is -1"),
        ({"groups": {"main": {"count": "x"}}}, gs.InvalidSpec, r"\['main'\].count is 'x'"),
        ({"groups": {"main": {"min_available": 9}}}, gs.InvalidSpec, "min_available is 9"),
        ({"groups": {"main": {"shape": 3}}}, gs.InvalidSpec, r"\['main'\].shape is 3; use a Shape"),
        ({"groups": {"other": {"count": 1}}}, gs.NotFound, "'other'"),
        (
            {"groups": {"main": {"shape": gs.Shape(cpu=1)}}},
            gs.PreconditionFailed,
            "job 'j', group 'main': shape is in use by 2 tasks",
        ),
    ],
)
def test_updates_of_jobs_that_cannot_be(
    arguments: dict[str, Any], error: type[gs.GpuschedError], message: str
) -> None:
    engine = small_engine()
    engine.submit(gang("j", 2))
    start(engine)
    with refused(engine, error, message):
        engine.update_job("j", **arguments)
    with refused(engine, gs.NotFound, "'nobody'"):
        engine.update_job("nobody", priority=1)


def test_scaling_down_evicts_and_up_places() -> None:
    engine = small_engine()
    engine.submit(gs.Job("s", gs.TaskGroup("main", GPU, 4), kind="service"))
    start(engine)
    engine.update_job("s", groups={"main": {"count": 2}})
    plan = go(engine)
    assert [(step.task.index, step.cause) for step in plan.evictions] == [
        (2, "ScaledDown"),
        (3, "ScaledDown"),
    ]
    assert phases(engine, "s") == ["running", "running", "evicting", "evicting"]
    assert str(plan.evictions[0]) == "evict s/main/2 attempt 1 from n0: ScaledDown"
    for step in plan.evictions:
        assert step.node == "n0"
        engine.evicted(step)
    assert phases(engine, "s") == ["running", "running"]
    engine.update_job("s", groups={"main": {"count": 3}})
    assert [step.task for step in start(engine).placements] == [gs.Task("s", "main", 2, 2)]


def test_cancelling() -> None:
    engine = small_engine(1)
    engine.submit(gang("running", 2))
    start(engine)
    engine.submit(gang("pending", 3))
    assert engine.cancel("pending").ended == {"pending": "cancelled"}
    effect = engine.cancel("running")
    assert (effect.changed, effect.ended) == (True, {})
    assert engine.job("running").ending == "Cancelled"
    assert engine.cancel("running").note == "job 'running' is being taken back already"
    plan = go(engine)
    assert [step.cause for step in plan.evictions] == ["Cancelled", "Cancelled"]
    assert engine.node("n0").free.gpu_milli == 2000
    assert engine.evicted(plan.evictions[0]).ended == {}
    assert engine.failed(plan.evictions[1]).ended == {"running": "cancelled"}
    assert engine.jobs() == ()


# --- tasks ----------------------------------------------------------------------------------------


def test_news_may_name_a_task_in_any_way() -> None:
    engine = small_engine()
    engine.submit(gang("j", 4))
    plan = go(engine)
    first, second, third, fourth = plan.placements
    assert engine.started(first)
    assert engine.started(second.task)
    assert engine.started(("j", "main", 2, 1))
    assert engine.started(gs.Task("j", "main", 3), node=fourth.node, devices=fourth.devices)
    assert phases(engine, "j") == ["running"] * 4
    assert not engine.started(third)


def test_news_of_attempts_that_are_over_changes_nothing() -> None:
    engine = small_engine()
    engine.submit(gang("j", 1))
    (step,) = start(engine).placements
    assert [task.attempt for task in engine.failed(step).requeued] == [1]
    for tell in (engine.started, engine.finished, engine.failed, engine.evicted):
        effect = tell(step)
        assert not effect
        assert effect.note == "attempt 1 of 'j/main/0' is over; attempt 2 is pending"
    assert engine.finished(("gone", "main", 0, 1)).note == "no job 'gone' is here (any more)"


@pytest.mark.parametrize(
    ("task", "message"),
    [
        (3, "task is 3; use a Task, a Place or Evict, or"),
        ("j/main/0", "task is 'j/main/0'; use a Task"),
        (("j", "main", 0), "use a Task, a Place or Evict"),
        (("j", "main", "0", 1), "task: index is '0'; use a whole number"),
        (("j", 1, 0, 1), "task: group is 1; use text"),
        (("j", "main", -1, 1), "index is -1"),
        (("j", "main", 0, 0), "attempt is 0"),
        (("j", "main", 7, 1), "index is 7; the job has no such task"),
        (("j", "other", 0, 1), "group is 'other'; the job has no such task"),
        (("j", "main", 0, 1), "attempt is 1; it was never placed; the task is pending"),
        (("j", "main", 0, 2), "attempt is 2; it was never placed"),
    ],
)
def test_news_that_makes_no_sense(task: Any, message: str) -> None:
    engine = small_engine()
    engine.submit(gang("j", 1))
    for tell in (engine.started, engine.finished, engine.failed, engine.evicted):
        with refused(engine, gs.InvalidSpec, message):
            tell(task)


def test_a_place_that_is_not_its_own() -> None:
    engine = small_engine()
    engine.submit(gang("j", 1))
    (step,) = go(engine).placements
    with refused(engine, gs.InvalidSpec, "this attempt was placed elsewhere, on 'n0'"):
        engine.started(step, node="n1", devices=[0])
    with refused(engine, gs.InvalidSpec, "node is None; name the node of the devices"):
        engine.started(step, devices=[0])
    with refused(engine, gs.InvalidSpec, "use indices from 0 to 63"):
        engine.started(step, node="n0", devices=[64])


def test_an_unacknowledged_placement_expires() -> None:
    engine = small_engine(start_timeout=MINUTE)
    engine.submit(gang("j", 2))
    plan = go(engine, 10)
    engine.started(plan.placements[0])
    assert not engine.tick(10)
    assert engine.tick(10 + MINUTE - 1).requeued == ()
    effect = engine.tick(10 + MINUTE)
    assert effect.requeued == (gs.Task("j", "main", 1, 1),)
    assert phases(engine, "j") == ["running", "pending"]
    again = start(engine)
    assert [step.task for step in again.placements] == [gs.Task("j", "main", 1, 2)]


def test_a_gang_that_lost_a_member_is_repaired_first() -> None:
    engine = small_engine(1)
    engine.submit(gang("j", 3))
    plan = start(engine)
    engine.submit(gang("older", 2, submit_time=0))
    engine.tick(7)
    engine.failed(plan.placements[1])
    assert engine.job("j").repair_deadline == 7 + 10 * MINUTE
    repair = start(engine)
    assert [step.task for step in repair.placements] == [gs.Task("j", "main", 1, 2)]
    assert engine.job("j").repair_deadline is None


def test_a_gang_that_cannot_be_repaired_is_released() -> None:
    engine = small_engine(repair_timeout=MINUTE)
    engine.submit(gang("j", 8))
    start(engine)
    engine.remove_node("n1")
    assert engine.job("j").repair_deadline == MINUTE
    assert engine.explain("j").reason == "GangDoesNotFit" or engine.explain("j").waits
    plan = go(engine, MINUTE)
    assert {step.cause for step in plan.evictions} == {"GangNotWhole"}
    assert len(plan.evictions) == 4
    assert engine.explain("j").reason == "BeingReleased"
    for step in plan.evictions:
        engine.evicted(step)
    assert phases(engine, "j") == ["pending"] * 8
    engine.add_node("n2", cpu=16, mem_mib=65536, gpus=4, model="T4")
    assert len(start(engine).placements) == 8


def test_max_attempts_ends_a_job() -> None:
    engine = small_engine()
    engine.submit(gang("j", 2, max_attempts=2))
    plan = start(engine)
    assert engine.failed(plan.placements[0]).ended == {}
    plan = start(engine)
    engine.failed(plan.placements[0])
    assert engine.job("j").ending == "JobFailed"
    evictions = go(engine).evictions
    assert [step.cause for step in evictions] == ["JobFailed"]
    assert engine.evicted(evictions[0]).ended == {"j": "failed"}


def test_a_service_runs_for_ever() -> None:
    engine = small_engine()
    engine.submit(gang("s", 1, kind="service"))
    (step,) = start(engine).placements
    assert engine.finished(step).requeued == (step.task,)
    assert [step.task.attempt for step in start(engine).placements] == [2]


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_adoption_in_any_order(order: tuple[int, ...]) -> None:
    """Nodes, jobs and running tasks may be told as they come in."""
    engine = gs.Engine(validate=True)
    engine.submit(gang("j", 2))
    facts = (
        lambda: engine.add_node("n0", cpu=16, mem_mib=65536, gpus=4, model="T4"),
        lambda: engine.started(("j", "main", 0, 3), node="n0", devices=[2]),
        lambda: engine.started(("j", "main", 1, 1), node="n0", devices=[0]),
    )
    for i in order:
        assert facts[i]()
    assert phases(engine, "j") == ["running", "running"]
    assert [task.devices for task in engine.job("j").tasks] == [(2,), (0,)]
    assert [device.used_milli for device in engine.node("n0").devices] == [1000, 0, 1000, 0]
    assert len(engine.decide(0)) == 0
    engine.audit()
    known = gs.Engine()
    known.submit(gang("j", 2))
    known.add_node("n0", cpu=16, mem_mib=65536, gpus=4, model="T4")
    known.started(("j", "main", 0, 3), node="n0", devices=[2])
    known.started(("j", "main", 1, 1), node="n0", devices=[0])
    assert engine.state_hash == known.state_hash


def test_a_task_adopted_on_a_node_to_come() -> None:
    engine = gs.Engine(validate=True)
    engine.submit(gang("j", 1))
    engine.started(("j", "main", 0, 1), node="later", devices=[1])
    (task,) = engine.job("j").tasks
    assert (task.node, task.devices, task.phase) == ("later", (1,), "running")
    assert engine.remove_node("later").requeued == (gs.Task("j", "main", 0, 1),)


# --- holds and time -------------------------------------------------------------------------------


def test_a_hold_keeps_capacity_for_its_owner() -> None:
    engine = small_engine(1)
    assert engine.hold("h", owner="later", node="n0", shape=gs.Shape(gpu=3), devices=[0, 1, 2])
    (hold,) = engine.holds()
    assert (hold.name, hold.owner, hold.node, hold.devices) == ("h", "later", "n0", (0, 1, 2))
    assert (hold.shape, hold.until) == (gs.Shape(gpu=3), None)
    assert repr(hold) == "HoldInfo('h', owner='later', node='n0')"
    node = engine.node("n0")
    assert (node.held.gpu_milli, node.free.gpu_milli) == (3000, 1000)
    assert [device.held_milli for device in node.devices] == [1000, 1000, 1000, 0]
    engine.submit(gang("other", 2))
    engine.submit(gang("later", 2))
    plan = go(engine)
    # What the owner does not use is free for others at the next cycle.
    assert {step.task.job for step in plan.placements} == {"later"}
    assert engine.holds() == ()
    assert [step.task.job for step in go(engine).placements] == ["other"] * 2


def test_holds_end() -> None:
    engine = small_engine(1)
    engine.hold("a", owner="x", node="n0", shape=gs.Shape(cpu=1), until=5)
    engine.hold("b", owner="x", node="n0", shape=gs.Shape(cpu=1))
    assert [(hold.name, hold.until) for hold in engine.holds()] == [("a", 5), ("b", None)]
    assert engine.tick(4).expired_holds == ()
    assert engine.tick(5).expired_holds == ("a",)
    assert engine.drop_hold("b")
    assert engine.drop_hold("b").note == "no hold 'b' is here (any more)"
    assert engine.node("n0").held.cpu_milli == 0
    engine.hold("c", owner="x", node="n0", shape=gs.Shape(cpu=1))
    assert engine.remove_node("n0").expired_holds == ("c",)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"name": "h"}, gs.AlreadyExists, "'h'"),
        ({"name": ""}, gs.InvalidSpec, "name is ''"),
        ({"owner": 3}, gs.InvalidSpec, "hold 'k': owner is 3; use text"),
        ({"node": "x"}, gs.NotFound, "'x'"),
        ({"devices": []}, gs.InvalidSpec, "devices"),
        ({"devices": [0, 0]}, gs.InvalidSpec, "name each device once"),
        ({"devices": [9]}, gs.PreconditionFailed, r"devices\[9\] is missing; the node has 4"),
        ({"devices": [0]}, gs.PreconditionFailed, "0 free"),
        ({"until": "x"}, gs.InvalidSpec, "until is 'x'; use whole microseconds"),
        ({"until": 0}, gs.InvalidSpec, "until"),
        ({"shape": gs.Shape(gpu=1, models=["T5"])}, gs.InvalidSpec, "'T5'; did you mean 'T4'"),
    ],
)
def test_holds_that_cannot_be(
    arguments: dict[str, Any], error: type[gs.GpuschedError], message: str
) -> None:
    engine = small_engine(1)
    engine.hold("h", owner="x", node="n0", shape=GPU, devices=[0])
    good: dict[str, Any] = {"name": "k", "owner": "x", "node": "n0", "shape": GPU, "devices": [1]}
    with refused(engine, error, message):
        engine.hold(**{**good, **arguments})
    assert engine.hold(**good)


def test_names_are_text() -> None:
    engine = small_engine()
    calls: list[Any] = [
        engine.remove_node,
        engine.cordon,
        engine.cancel,
        engine.drop_hold,
        engine.job,
        engine.node,
    ]
    for call in calls:
        with refused(engine, gs.InvalidSpec, "name is 3; use text"):
            call(3)
    with refused(engine, gs.InvalidSpec, "is ''; give it a name"):
        engine.cancel("")

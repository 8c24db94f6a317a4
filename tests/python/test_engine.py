"""The cycle of an engine: plans, what they say, and what can be seen."""

from __future__ import annotations

import copy
import gc
import pickle
from typing import Any

import pytest

import libgpusched as gs
from engines import GPU, MINUTE, gang, go, phases, refused, small_engine, start


def test_a_job_from_submit_to_its_end() -> None:
    engine = small_engine()
    assert engine.submit(gang("j", 3))
    plan = engine.decide(now=MINUTE)
    assert [(str(step.task.name), step.node, step.devices) for step in plan.placements] == [
        ("j/main/0", "n0", (0,)),
        ("j/main/1", "n0", (1,)),
        ("j/main/2", "n0", (2,)),
    ]
    assert phases(engine, "j") == ["pending"] * 3
    assert engine.commit(plan)
    assert engine.now == MINUTE
    assert phases(engine, "j") == ["assumed"] * 3
    assert [task.deadline for task in engine.job("j").tasks] == [6 * MINUTE] * 3
    for step in plan.placements:
        assert engine.started(step)
    assert engine.job("j").counts == {
        "pending": 0,
        "assumed": 0,
        "running": 3,
        "evicting": 0,
        "finished": 0,
    }
    assert engine.node("n0").used.gpu_milli == 3000
    first, second, third = (step.task for step in plan.placements)
    assert engine.finished(first).ended == {}
    assert engine.finished(("j", "main", 1, second.attempt)).ended == {}
    effect = engine.finished(third)
    assert (effect.changed, effect.note, effect.ended) == (True, "", {"j": "finished"})
    assert engine.jobs() == ()
    assert engine.node("n0").used.gpu_milli == 0
    engine.audit()


def test_deciding_changes_nothing_and_is_repeatable() -> None:
    engine = small_engine()
    engine.submit(gang("a", 6))
    engine.submit(gang("b", 6))
    before = (engine.state_hash, engine.version, engine.now, engine.save())
    first, second = engine.decide(5), engine.decide(5)
    assert first == second
    assert hash(first) == hash(second)
    assert first.encode() == second.encode()
    assert engine.decide(6) != first
    assert (engine.state_hash, engine.version, engine.now, engine.save()) == before


def test_what_a_plan_says() -> None:
    engine = small_engine(1)
    engine.submit(gang("fits", 3))
    engine.submit(gang("waits", 2))
    engine.submit(gs.Job("never", gs.Shape(cpu=17)))
    plan = engine.decide(7)
    assert (plan.now, plan.version, len(plan)) == (7, engine.version, 5)
    assert tuple(plan) == plan.steps == plan.placements + plan.waits
    assert plan.evictions == ()
    place = plan.placements[2]
    assert isinstance(place, gs.Place)
    assert place.task == gs.Task("fits", "main", 2, 1)
    assert isinstance(place.task, gs.Task)
    assert (place.node, place.devices, place.alternative, place.rank) == ("n0", (2,), 0, 2)
    assert 0 <= place.score <= 100
    wait, reject = plan.waits
    assert isinstance(wait, gs.Wait)
    assert isinstance(reject, gs.Reject)
    assert (wait.job, wait.reason, wait.group) == ("waits", "GangDoesNotFit", "main")
    assert (wait.subject, wait.need, wait.have) == ("n0", 2, 1)
    assert wait.text == (
        "GangDoesNotFit: 1 of 2 tasks that must start together find a place "
        "(group 'main', nearest node 'n0')"
    )
    assert (reject.job, reject.reason, reject.group) == ("never", "InsufficientCpu", "main")
    assert (reject.subject, reject.need, reject.have) == ("n0", 17000, 13000)
    assert "could not hold it when empty" in reject.text
    lines = str(plan).splitlines()
    assert lines[2:] == [
        "place fits/main/2 attempt 1 on n0 device 2",
        "wait waits: GangDoesNotFit, group 'main', needs 2, has 1 (n0)",
        "reject never: InsufficientCpu, group 'main', needs 17000, has 13000 (n0)",
    ]
    assert lines == [str(step) for step in plan]
    assert repr(place) == "<place fits/main/2 attempt 1 on n0 device 2>"
    assert "3 place, 0 evict, 1 wait, 1 reject" in repr(plan)
    assert set(plan.steps) == set(engine.decide(7).steps)
    assert place != wait
    assert {wait.reason, reject.reason} <= set(gs.reasons())


def test_a_plan_travels_as_bytes() -> None:
    engine = small_engine()
    engine.submit(gang("j", 2))
    plan = engine.decide(0)
    assert gs.Plan.decode(plan.encode()) == plan
    assert pickle.loads(pickle.dumps(plan)) == plan
    assert copy.deepcopy(plan) == plan
    assert engine.commit(gs.Plan.decode(plan.encode()))
    with pytest.raises(gs.CorruptData):
        gs.Plan.decode(plan.encode()[:-1])
    with pytest.raises(gs.InvalidSpec, match="data is 'x'; use bytes"):
        gs.Plan.decode("x")  # type: ignore[arg-type]


def test_a_stale_plan_is_refused() -> None:
    engine = small_engine()
    engine.submit(gang("j", 2))
    plan = engine.decide(0)
    engine.submit(gang("k", 2))
    with refused(engine, gs.PreconditionFailed, "decide again"):
        engine.commit(plan)
    plan = go(engine)
    with refused(engine, gs.PreconditionFailed, "decide again"):
        engine.commit(plan)


def test_a_plan_of_another_engine_is_refused_where_it_makes_no_sense() -> None:
    engine, other = small_engine(), small_engine()
    engine.submit(gang("j", 2))
    other.submit(gang("k", 2))
    with refused(engine, gs.InvalidSpec, "'k'.*it is not live; decide again"):
        engine.commit(other.decide(0))


def test_a_plan_without_steps() -> None:
    engine = small_engine()
    plan = engine.decide(engine.now)
    assert (len(plan), plan.steps, str(plan)) == (0, (), "")
    effect = engine.commit(plan)
    assert not effect
    assert effect.note == "the plan does nothing"


def test_abort_takes_back_what_has_not_started() -> None:
    engine = small_engine()
    engine.submit(gs.Job("j", gs.TaskGroup("main", GPU, 3, min_available=1)))
    plan = go(engine)
    engine.started(plan.placements[1])
    effect = engine.abort(plan)
    assert [task.name for task in effect.requeued] == ["j/main/0", "j/main/2"]
    assert phases(engine, "j") == ["pending", "running", "pending"]
    assert engine.job("j").tasks[0].task.attempt == 2
    again = engine.abort(plan)
    assert not again
    assert again.note == "no placement of this plan is waiting to start"


def test_an_effect_in_words() -> None:
    engine = small_engine()
    assert repr(engine.submit(gang("j", 1))) == "<Effect: changed>"
    plan = start(engine)
    assert "j/main/0 requeued after attempt 1" in repr(engine.evicted(plan.placements[0]))
    assert "j cancelled" in repr(engine.cancel("j"))
    assert repr(engine.cancel("j")) == "<Effect: no change: no job 'j' is here (any more)>"


def test_version_counts_changes() -> None:
    engine = small_engine()
    version = engine.version
    assert not engine.tick(engine.now)
    assert not engine.cancel("nobody")
    assert engine.version == version
    assert engine.tick(1)
    assert engine.version == version + 1


def test_jobs_are_seen_in_the_order_of_service() -> None:
    engine = small_engine(1)
    engine.tick(10)
    engine.submit(gang("late", 1))
    engine.submit(gang("early", 1, submit_time=3))
    engine.submit(gang("high", 1, priority=1, queue="q", kind="service"))
    assert [job.name for job in engine.jobs()] == ["high", "early", "late"]
    info = engine.job("high")
    assert (info.kind, info.queue, info.priority, info.submit_time) == ("service", "q", 1, 10)
    assert (info.alternative, info.repair_deadline, info.ending) == (0, None, None)
    (task,) = info.tasks
    assert (task.task, task.phase) == (gs.Task("high", "main", 0, 1), "pending")
    assert (task.node, task.devices, task.deadline, task.over) == (None, (), None, False)
    assert repr(info).startswith("JobInfo('high', service, tasks={'pending': 1,")
    assert repr(task) == "<TaskStatus high/main/0 attempt 1: pending>"
    with refused(engine, gs.NotFound, "'nobody'.*no job of this name is live"):
        engine.job("nobody")


def test_what_was_seen_stays_true() -> None:
    engine = small_engine(1)
    engine.submit(gang("j", 1))
    plan, before, node = engine.decide(0), engine.job("j"), engine.node("n0")
    engine.commit(plan)
    assert before.tasks[0].phase == "pending"
    assert node.used.gpu_milli == 0
    account = engine.explain("j")
    del engine
    gc.collect()
    assert plan.placements[0].node == "n0"
    assert account.outcome == "ok"


def test_nodes_are_seen_in_the_order_of_joining() -> None:
    engine = small_engine()
    engine.add_node("a", cpu_milli=1500, devices=[gs.Device("A10", gpu_mem_mib=24576)])
    assert [node.name for node in engine.nodes()] == ["n0", "n1", "a"]
    node = engine.node("a")
    assert (node.capacity.cpu_milli, node.task_count, node.cordoned) == (1500, 0, False)
    assert (node.held.gpu_milli, node.devices[0].model) == (0, "A10")
    with refused(engine, gs.NotFound, "node is 'b'; no node of this name is in the cluster"):
        engine.node("b")


def test_explain_a_job_that_waits() -> None:
    engine = small_engine()
    engine.submit(gang("first", 7))
    engine.submit(gs.Job("second", gs.TaskGroup("main", GPU, 2), alternatives=[gs.Shape(gpu=2)]))
    account = engine.explain("second")
    assert (account.job, account.waits, account.outcome) == ("second", True, "wait")
    assert (account.reason, account.group) == ("GangDoesNotFit", "main")
    assert (account.need, account.have) == (2, 1)
    assert account.subject in ("n0", "n1")
    group, other = account.groups
    assert (group.job, group.group, group.alternative) == ("second", "main", 0)
    assert (group.need, group.placed) == (2, 1)
    assert isinstance(group.reason, gs.Refusal)
    assert group.reason.dominant == "NoDeviceWithRoom" or group.reason.counts
    assert group.text == str(group.reason)
    assert (other.alternative, other.need, other.placed) == (1, 1, 0)
    assert str(account) == account.text
    assert account.text.splitlines()[0].startswith("job 'second' waits: GangDoesNotFit")
    assert "of alternative 1" in account.text
    assert repr(group).startswith("<GroupAccount 'main': 1 of 2 placed, then ")
    assert repr(account).startswith("<Account wait: job 'second' waits")


def test_explain_a_job_that_does_not() -> None:
    engine = small_engine()
    engine.submit(gang("j", 2))
    account = engine.explain("j")
    assert (account.waits, account.outcome, account.reason, account.groups) == (
        False,
        "ok",
        None,
        (),
    )
    assert (account.group, account.subject, account.need, account.have) == (None, None, 0, 0)
    assert "does not wait" in str(account)
    engine.submit(gs.Job("k", gs.Shape(mem_mib=2**40)))
    never = engine.explain("k")
    assert (never.outcome, never.reason) == ("never", "InsufficientMemory")
    with refused(engine, gs.NotFound, "'nobody'"):
        engine.explain("nobody")
    with refused(engine, gs.InvalidSpec, "explain: job is 3; use text"):
        engine.explain(3)  # type: ignore[arg-type]


def test_settings() -> None:
    assert gs.Engine().settings == {
        "start_timeout": 300_000_000,
        "repair_timeout": 600_000_000,
        "strict_fifo": False,
        "gang_search_limit": 2000,
    }
    chosen = {
        "start_timeout": 1,
        "repair_timeout": 2,
        "strict_fifo": True,
        "gang_search_limit": 3,
    }
    assert gs.Engine(**chosen).settings == chosen  # type: ignore[arg-type]
    assert repr(gs.Engine().policy) == "BestFit()"
    policy = gs.BestFit() + gs.GpuPacking()
    assert gs.Engine(policy).policy is policy
    assert repr(small_engine()) == "<Engine of 2 nodes and 0 jobs at 0 us>"


def test_strict_fifo() -> None:
    for strict, reason in ((False, None), (True, "BehindInPool")):
        engine = small_engine(1, strict_fifo=strict)
        start_with = gang("running", 3)
        engine.submit(start_with)
        start(engine)
        engine.submit(gang("old", 2))
        engine.submit(gang("young", 1))
        account = engine.explain("young")
        assert account.reason == reason
        assert account.subject == (None if reason is None else "old")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"policy": "best"}, gs.NotFound, "best"),
        ({"policy": 3}, gs.InvalidSpec, "policy is 3; use a Policy"),
        ({"policy": "fgd"}, gs.InvalidSpec, "target"),
        ({"opaque_models": [""]}, gs.InvalidSpec, "engine: opaque_models is ''; name the model"),
        ({"opaque_models": 3}, gs.InvalidSpec, "engine: opaque_models is 3; use a list of names"),
        ({"start_timeout": 0}, gs.InvalidSpec, "start_timeout is 0"),
        ({"start_timeout": 1.5}, gs.InvalidSpec, "start_timeout is 1.5; use whole microseconds"),
        ({"repair_timeout": -1}, gs.InvalidSpec, "repair_timeout is -1"),
        ({"gang_search_limit": 0}, gs.InvalidSpec, "gang_search_limit is 0"),
        ({"durable": True}, gs.InvalidSpec, "durable is True; it is about a journal"),
        ({"journal": 3}, gs.InvalidSpec, "journal is 3; use the path of a file"),
    ],
)
def test_engines_that_cannot_be(
    arguments: dict[str, Any], error: type[gs.GpuschedError], message: str
) -> None:
    with pytest.raises(error, match=message) as raised:
        gs.Engine(**arguments)
    assert type(raised.value) is error


def test_time_never_goes_back() -> None:
    engine = small_engine()
    engine.tick(10)
    with refused(engine, gs.InvalidSpec, "9"):
        engine.tick(9)
    with refused(engine, gs.InvalidSpec, "9"):
        engine.decide(9)
    for wrong in (-1, 2**61, 1.5, "x", True, None):
        with refused(engine, gs.InvalidSpec, "now is"):
            engine.tick(wrong)  # type: ignore[arg-type]
        with refused(engine, gs.InvalidSpec, "now is"):
            engine.decide(wrong)  # type: ignore[arg-type]


def test_types_of_whole_objects() -> None:
    engine = small_engine()
    calls: list[Any] = [engine.submit, engine.commit, engine.abort]
    for call in calls:
        with pytest.raises(TypeError):
            call(3)

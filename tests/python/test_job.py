"""What is submitted: jobs, their groups, and the names of their tasks."""

from __future__ import annotations

import copy
import pickle
from types import MappingProxyType
from typing import Any

import pytest

import libgpusched as gs

SHAPE = gs.Shape(cpu=8, mem_mib=32768, gpu=1)


def full() -> gs.Job:
    return gs.Job(
        "train",
        [
            gs.TaskGroup("workers", SHAPE, 4, min_available=3, max_tasks_per_node=2),
            gs.TaskGroup("ps", gs.Shape(cpu=2)),
        ],
        kind="service",
        queue="research",
        priority=-3,
        submit_time=7,
        expected_duration=9,
        max_attempts=2,
        labels={"team": "nlp", "app": "x"},
        alternatives=[gs.TaskGroup("workers", gs.Shape(gpu=2), 2), gs.Shape(gpu=1)],
        homogeneous=True,
        affinity={"data": "here"},
        anti_affinity={"noise": ["loud", "high"], "app": "y"},
        co_schedule=("pair", 2),
    )


def test_properties_mirror_the_arguments() -> None:
    job = full()
    assert (job.name, job.kind, job.queue, job.priority) == ("train", "service", "research", -3)
    assert (job.submit_time, job.expected_duration, job.max_attempts) == (7, 9, 2)
    workers, ps = job.groups
    assert (workers.name, workers.shape, workers.count) == ("workers", SHAPE, 4)
    assert (workers.min_available, workers.max_tasks_per_node) == (3, 2)
    assert (ps.name, ps.count, ps.min_available, ps.max_tasks_per_node) == ("ps", 1, None, None)
    assert job.labels == {"team": "nlp", "app": "x"}
    assert job.alternatives == (
        (gs.TaskGroup("workers", gs.Shape(gpu=2), 2),),
        (gs.TaskGroup("main", gs.Shape(gpu=1)),),
    )
    assert job.homogeneous
    assert job.affinity == {"data": "here"}
    assert job.anti_affinity == {"app": "y", "noise": ("high", "loud")}
    assert job.co_schedule == ("pair", 2)


def test_defaults() -> None:
    job = gs.Job("j", SHAPE)
    assert job.groups == (gs.TaskGroup("main", SHAPE, 1),)
    assert (job.kind, job.queue, job.priority) == ("batch", "default", 0)
    assert (job.submit_time, job.expected_duration, job.max_attempts) == (None, None, None)
    assert (job.labels, job.alternatives, job.homogeneous) == ({}, (), False)
    assert (job.affinity, job.anti_affinity, job.co_schedule) == ({}, {}, None)


def test_repr_shows_what_is_not_the_default_and_can_be_read_back() -> None:
    assert repr(gs.Job("j", SHAPE)) == f"Job('j', [TaskGroup('main', {SHAPE!r})])"
    job = full()
    names = {"Job": gs.Job, "TaskGroup": gs.TaskGroup, "Shape": gs.Shape}
    assert eval(repr(job), names) == job
    long = gs.Job("it's " + "x" * 100, SHAPE)
    assert eval(repr(long), names) == long


def test_equality_and_hash() -> None:
    assert full() == full()
    assert hash(full()) == hash(full())
    assert full() != gs.Job("train", SHAPE)
    assert gs.Job("j", SHAPE, labels={"a": "1", "b": "2"}) == gs.Job(
        "j", SHAPE, labels=MappingProxyType({"b": "2", "a": "1"})
    )
    group = gs.TaskGroup("g", SHAPE, 2)
    assert group == gs.TaskGroup("g", SHAPE, 2)
    assert hash(group) == hash(gs.TaskGroup("g", SHAPE, 2))
    assert group != gs.TaskGroup("g", SHAPE, 3)
    assert group != "g"
    assert gs.Job("j", SHAPE) != 1


def test_they_are_immutable() -> None:
    with pytest.raises(AttributeError):
        full().priority = 1  # type: ignore[misc]
    with pytest.raises(AttributeError):
        gs.TaskGroup("g", SHAPE).count = 1  # type: ignore[misc]
    job = full()
    job.labels["team"] = "vision"
    assert job.labels["team"] == "nlp"


def test_copies_and_pickles() -> None:
    job = full()
    assert pickle.loads(pickle.dumps(job)) == job
    assert copy.deepcopy(job) == job
    group = job.groups[0]
    assert pickle.loads(pickle.dumps(group)) == group


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": ""}, "job: name is ''; give it a name"),
        ({"name": 3}, "job: name is 3; use text"),
        ({"groups": []}, "job 'j': groups is empty; give it at least one group"),
        ({"groups": 3}, "groups is 3; use a Shape, a TaskGroup, or a list of them"),
        ({"groups": "abc"}, "groups is 'abc'; use a Shape"),
        ({"groups": [SHAPE]}, r"groups\[0\] is Shape(.*); use a TaskGroup"),
        ({"groups": [gs.TaskGroup("a/b", SHAPE)]}, "use a name without '/'"),
        ({"groups": [gs.TaskGroup("a", SHAPE, -1)]}, r"groups\[0\].count is -1; use 0 to 1048576"),
        (
            {"groups": [gs.TaskGroup("a", SHAPE, 2, min_available=3)]},
            r"groups\[0\].min_available is 3; use 0 to 2",
        ),
        (
            {"groups": [gs.TaskGroup("a", SHAPE, max_tasks_per_node=0)]},
            r"max_tasks_per_node is 0; use 1 or more",
        ),
        (
            {"groups": [gs.TaskGroup("a", SHAPE), gs.TaskGroup("a", SHAPE)]},
            r"groups\[0\] has this name already",
        ),
        ({"kind": "cron"}, "job 'j': kind is 'cron'; use 'batch' or 'service'"),
        ({"queue": ""}, "queue is ''; give it a name"),
        ({"priority": 1.5}, "priority is 1.5; use a whole number, -2147483648 to 2147483647"),
        ({"priority": 2**31}, "priority is 2147483648; use -2147483648 to 2147483647"),
        ({"submit_time": -1}, "submit_time is -1; use 0 to"),
        ({"submit_time": "now"}, "submit_time is 'now'; use whole microseconds"),
        ({"expected_duration": 2**62}, "expected_duration is 4611686018427387904; use 0 to"),
        ({"max_attempts": 0}, "max_attempts is 0; use 1 or more"),
        ({"labels": {"a": 1}}, r"labels\['a'\] is 1; use text"),
        ({"labels": [("a", "b")]}, "labels is .*; use a dict from key to value"),
        ({"labels": {"": "b"}}, r"labels\[0\].key is ''; give it a name"),
        ({"affinity": {"a": 1}}, r"affinity\['a'\] is 1; use a list of names"),
        ({"anti_affinity": "a"}, "anti_affinity is 'a'; use a dict"),
        ({"alternatives": 3}, "alternatives is 3; use a list of groups"),
        ({"alternatives": [3]}, r"alternatives\[0\] is 3; use a Shape"),
        ({"alternatives": [[]]}, r"alternatives\[0\] is empty"),
        ({"co_schedule": "pair"}, "co_schedule is 'pair'; use \\(group, size\\)"),
        ({"co_schedule": ("pair", 0)}, "co_schedule.size is 0; use 1 to 1024"),
    ],
)
def test_what_cannot_be_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(gs.InvalidSpec, match=message):
        gs.Job(**{"name": "j", "groups": SHAPE, **arguments})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": None}, "group: name is None; use text"),
        ({"count": 1.0}, "group 'g': count is 1.0; use a whole number"),
        ({"count": True}, "count is True; use a whole number"),
        ({"min_available": "2"}, "min_available is '2'; use a whole number"),
        ({"max_tasks_per_node": 2**70}, "max_tasks_per_node is .*; use a whole number"),
    ],
)
def test_what_is_no_number_is_refused_by_the_group(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(gs.InvalidSpec, match=message):
        gs.TaskGroup(**{"name": "g", "shape": SHAPE, **arguments})


def test_the_shape_of_a_group_is_a_shape() -> None:
    with pytest.raises(TypeError):
        gs.TaskGroup("g", 3)  # type: ignore[arg-type]


def test_a_model_is_checked_where_it_is_known() -> None:
    job = gs.Job("j", gs.Shape(gpu=1, models=["G2"]))
    with pytest.raises(gs.InvalidSpec, match=r"job 'j': groups\[0\].shape: models\[0\] is 'G2'"):
        gs.Engine().submit(job)
    assert gs.Engine(opaque_models=["G2"]).submit(job)


def test_a_task_is_a_tuple_with_names() -> None:
    task = gs.Task("j", "main", 3, 2)
    assert (task.job, task.group, task.index, task.attempt, task.name) == (
        "j",
        "main",
        3,
        2,
        "j/main/3",
    )
    job, *rest = task
    assert (job, rest) == ("j", ["main", 3, 2])
    assert task == ("j", "main", 3, 2)
    assert len({task, gs.Task("j", "main", 3, 2), gs.Task("j", "main", 3, 1)}) == 2
    assert gs.Task("j", "main", 3) < task < gs.Task("j", "main", 10)
    assert pickle.loads(pickle.dumps(task)) == task
    with pytest.raises(AttributeError):
        task.index = 4  # type: ignore[misc]

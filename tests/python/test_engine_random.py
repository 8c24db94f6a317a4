"""Random histories: whatever is told, plans keep their promises, and nothing is lost on the way."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

import libgpusched as gs
from engines import MINUTE

MODELS = ("T4", "A10")


class History:
    """Tells an engine one thing after the other, most of which make sense."""

    def __init__(self, seed: int, engine: gs.Engine) -> None:
        self.random = random.Random(seed)
        self.engine = engine
        self.made = 0
        self.plans: list[gs.Plan] = []

    def name(self, kind: str) -> str:
        """One that may or may not exist."""
        return f"{kind}{self.random.randrange(6)}"

    def shape(self) -> gs.Shape:
        draw = self.random
        models = draw.choice(((), (), MODELS[:1], MODELS[1:]))
        gpu = draw.choice((0, 0.5, 0.3, 1, 2))
        return gs.Shape(cpu=draw.randrange(4), mem_mib=draw.randrange(3000), gpu=gpu, models=models)

    def groups(self) -> list[gs.TaskGroup]:
        draw = self.random
        groups = []
        for i in range(draw.choice((1, 1, 2))):
            count = draw.randrange(5)
            least = draw.choice((None, draw.randint(0, count)))
            most = draw.choice((None, None, 1, 2))
            groups.append(
                gs.TaskGroup(
                    f"g{i}", self.shape(), count, min_available=least, max_tasks_per_node=most
                )
            )
        return groups

    def submit(self) -> gs.Effect:
        draw = self.random
        labels = {"app": draw.choice("xy")}
        return self.engine.submit(
            gs.Job(
                self.name("j"),
                self.groups(),
                kind=draw.choice(("batch", "batch", "service")),
                priority=draw.randrange(3),
                max_attempts=draw.choice((None, None, 2)),
                labels=draw.choice(({}, labels)),
                alternatives=[self.groups()] if draw.random() < 0.3 else [],
                homogeneous=draw.random() < 0.2,
                affinity=draw.choice(({}, {}, {}, {"app": "x"})),
                anti_affinity=draw.choice(({}, {}, {}, {"app": ["y", "z"]})),
                co_schedule=draw.choice((None, None, None, ("pair", 2))),
            )
        )

    def add_node(self) -> gs.Effect:
        return self.engine.add_node(
            self.name("n"), cpu=8, mem_mib=8000, gpus=4, model=self.random.choice(MODELS)
        )

    def update_node(self) -> gs.Effect:
        draw = self.random
        if draw.random() < 0.5:
            return self.engine.update_node(
                self.name("n"), foreign_cpu_milli=draw.randrange(9000), foreign_device_milli=[500]
            )
        return self.engine.update_node(
            self.name("n"), cpu=draw.randrange(10), gpus=draw.randrange(5), model="T4"
        )

    def update_job(self) -> gs.Effect:
        update: dict[str, int] = {"count": self.random.randrange(6)}
        return self.engine.update_job(self.name("j"), groups={"g0": update})  # type: ignore[dict-item]

    def hold(self) -> gs.Effect:
        shape = self.shape()
        return self.engine.hold(
            self.name("h"),
            owner=self.name("j"),
            node=self.name("n"),
            shape=shape,
            devices=range(shape.gpu_count),
            until=self.engine.now + self.random.randrange(1, 5 * MINUTE),
        )

    def news(self) -> gs.Effect:
        tasks = [task for job in self.engine.jobs() for task in job.tasks]
        if not tasks:
            return self.engine.tick(self.engine.now)
        status = self.random.choice(tasks)
        task = status.task
        if self.random.random() < 0.1:
            task = task._replace(attempt=max(1, task.attempt + self.random.choice((-1, 1))))
        if status.phase == "pending" and self.random.random() < 0.3:
            return self.engine.started(task, node=self.name("n"), devices=[0])
        tell: list[Callable[[gs.Task], gs.Effect]] = [
            self.engine.started,
            self.engine.started,
            self.engine.finished,
            self.engine.failed,
            self.engine.evicted,
        ]
        return self.random.choice(tell)(task)

    def cycle(self) -> gs.Effect:
        now = self.engine.now + self.random.choice((0, 1, MINUTE))
        plan = self.engine.decide(now)
        assert self.engine.decide(now) == plan
        self.plans.append(plan)
        return self.engine.commit(plan)

    def abort(self) -> gs.Effect:
        return self.engine.abort(self.random.choice(self.plans[-3:] or [self.engine.decide(2**59)]))

    def step(self) -> None:
        """One call; if it is refused, or says that nothing changed, then nothing has."""
        engine = self.engine
        calls: list[tuple[int, Callable[[], gs.Effect]]] = [
            (3, self.submit),
            (2, self.add_node),
            (1, self.update_node),
            (1, lambda: engine.remove_node(self.name("n"))),
            (1, lambda: engine.cordon(self.name("n"), self.random.random() < 0.3)),
            (1, self.update_job),
            (1, lambda: engine.cancel(self.name("j"))),
            (1, self.hold),
            (1, lambda: engine.drop_hold(self.name("h"))),
            (8, self.news),
            (1, lambda: engine.tick(engine.now + self.random.randrange(3 * MINUTE))),
            (6, self.cycle),
            (1, self.abort),
        ]
        (call,) = self.random.choices([c for _, c in calls], [weight for weight, _ in calls])
        before = (engine.state_hash, engine.version)
        try:
            changed = call().changed
        except (gs.AlreadyExists, gs.NotFound, gs.PreconditionFailed, gs.InvalidSpec):
            changed = False
        assert ((engine.state_hash, engine.version) != before) is changed
        self.made += 1


def explain_all(engine: gs.Engine) -> None:
    """Every job is explained, in agreement with the plan."""
    waits = {wait.job: wait for wait in engine.decide(engine.now).waits}
    for job in engine.jobs():
        account = engine.explain(job.name)
        wait = waits.get(job.name)
        assert account.waits == (wait is not None)
        if wait is not None:
            assert (account.reason, account.group, account.subject) == (
                wait.reason,
                wait.group,
                wait.subject,
            )
            assert (account.need, account.have) == (wait.need, wait.have)
            assert account.outcome == ("never" if isinstance(wait, gs.Reject) else "wait")


@pytest.mark.parametrize("seed", range(40))
def test_a_random_history(seed: int, tmp_path: Path) -> None:
    path = tmp_path / "journal"
    policy = gs.Random(seed) if seed % 3 == 0 else gs.BestFit()
    engine = gs.Engine(
        policy,
        journal=path,
        validate=True,
        strict_fifo=seed % 2 == 1,
        start_timeout=2 * MINUTE,
        repair_timeout=3 * MINUTE,
    )
    history = History(seed, engine)
    for i in range(120):
        history.step()
        if i % 10 == 9:
            engine.audit()
            explain_all(engine)
    soon = engine.now + MINUTE
    plan = engine.decide(soon).encode()
    copies = [
        engine.fork(),
        gs.Engine.load(engine.save(), policy),
        gs.Engine.restore(path, policy, verify=True, resume=False).engine,
        gs.Engine.restore(path, policy, resume=False).engine,
    ]
    for copy in copies:
        copy.audit()
        assert (copy.state_hash, copy.version, copy.now) == (
            engine.state_hash,
            engine.version,
            engine.now,
        )
        assert copy.decide(soon).encode() == plan
        assert [repr(job) for job in copy.jobs()] == [repr(job) for job in engine.jobs()]

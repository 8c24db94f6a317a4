"""One run of a scenario: a fresh engine that is told the timeline, held up to the expectations."""

from __future__ import annotations

import functools
import hashlib
import operator
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import libgpusched as gs
from libgpusched.scenario_checks import Failure, Mismatch, failures
from libgpusched.scenario_events import EventStep, World
from libgpusched.scenario_format import Scenario, Step
from libgpusched.scenario_state_checks import Remembered, Seen

# Cycles without an end are a finding, not a reason to hang.
MOST_CYCLES = 1_000


@dataclass(frozen=True)
class Told:
    """Something that must be the same in each run: what it is, and a digest of it."""

    what: str
    digest: str


@dataclass
class Run:
    """What came of a run. It ends with the first step that fails."""

    failures: list[Failure] = field(default_factory=list)
    story: list[Told] = field(default_factory=list)
    checks: int = 0
    # Of the step that failed, for people.
    rounds: list[str] = field(default_factory=list)  # of the loops around it
    plan: list[str] = field(default_factory=list)
    explanations: dict[str, str] = field(default_factory=dict)


def run_scenario(scenario: Scenario) -> Run:
    """Runs it once. Expectations that do not hold are in the answer; nothing is raised."""
    return _Runner(scenario).run()


class _Stop(Exception):
    """The rest of the run makes no sense."""


class _Runner:
    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._run = Run()
        self._remembered: dict[str, Remembered] = {}
        self._now = 0

    def run(self) -> Run:
        try:
            self._world = World(self._engine())
            self._steps(self._scenario.steps)
        except _Stop:
            pass
        except (gs.GpuschedError, TypeError, OverflowError) as error:
            self._fail(self._scenario.where, "options and a cluster that make an engine", error)
        return self._run

    def _engine(self) -> gs.Engine:
        scenario = self._scenario
        engine = gs.Engine(_policy(scenario), validate=True, **scenario.options)
        for name, arguments in scenario.nodes:
            engine.add_node(name, **arguments())
        return engine

    def _fail(self, where: Any, expected: str, got: object) -> None:
        shown = f"{type(got).__name__}: {got}" if isinstance(got, Exception) else str(got)
        self._run.failures.append(Failure(where, expected, shown))

    def _steps(self, steps: Sequence[Step]) -> None:
        for step in steps:
            for number in range(1, step.times + 1):
                self._run.rounds.append(f"round {number:,} of {step.times:,}")
                self._steps(step.steps)
                self._run.rounds.pop()
            if step.times == 0:
                self._step(step)

    def _step(self, step: Step) -> None:
        engine = self._world.engine
        seen = Seen(engine, engine.state_hash, self._remembered)
        self._advance(step, seen)
        for event in step.events:
            if not self._run.failures:
                self._event(event)
        self._now = max(self._now, engine.now)
        self._cycle(step, seen)
        if not self._run.failures:
            self._run.failures += failures(step.checks, seen)
            self._run.checks += len(step.checks)
        self._tell(f"state after line {step.where.line}", engine.state_hash)
        if step.remember is not None:
            self._remembered[step.remember] = Remembered(engine.state_hash, seen.plan)
        if self._run.failures:
            self._describe(seen)
            raise _Stop

    def _advance(self, step: Step, seen: Seen) -> None:
        engine = self._world.engine
        if step.at is not None:
            self._now = step.at
        try:
            # A cycle moves the time by itself.
            if self._now != engine.now and (step.events or step.cycle is None):
                seen.changes.add([engine.tick(self._now)])
        except gs.GpuschedError as error:
            self._fail(step.where, "a time that can come", error)

    def _event(self, event: EventStep) -> None:
        seen = Seen(self._world.engine, "", {})
        for _ in range(event.times):
            before = self._world.engine.state_hash
            problem: Exception | None = None
            seen.changes = type(seen.changes)()
            try:
                seen.changes.add(event.act(self._world))
            except Mismatch as error:
                self._fail(event.where, "an event about something that is there", str(error))
                return
            except (gs.GpuschedError, TypeError, OverflowError) as error:
                problem = error
            if not self._as_wanted(event, problem, before):
                return
            self._run.checks += len(event.effect)
            self._run.failures += failures(event.effect, seen.changes)

    def _as_wanted(self, event: EventStep, problem: Exception | None, before: str) -> bool:
        """Whether an event was refused or taken as expected."""
        wanted = event.error
        if wanted is None:
            if problem is not None:
                self._fail(event.where, "an event that is accepted", problem)
            return problem is None
        self._run.checks += 2 + len(wanted.contains)
        if problem is None:
            self._fail(wanted.type_where, f"{wanted.type}", "the event was accepted")
        elif type(problem).__name__ != wanted.type:
            self._fail(wanted.type_where, wanted.type, problem)
        else:
            for where, part in wanted.contains:
                if part not in str(problem):
                    self._fail(where, f"a message with {part!r}", str(problem))
            self._tell(f"the refusal at line {event.where.line}", str(problem))
        after = self._world.engine.state_hash
        if after != before:
            self._fail(wanted.where, "a refusal that changes nothing", f"the state is {after} now")
        return not self._run.failures

    def _cycle(self, step: Step, seen: Seen) -> None:
        if step.cycle is None or self._run.failures:
            return
        most = MOST_CYCLES if step.cycle == "to_fixed_point" else 1
        for _ in range(most):
            try:
                plan = self._decide(step, seen)
                if step.cycle != "decide":
                    seen.changes.add([self._world.engine.commit(plan)])
                    self._world.took(plan)
            except gs.GpuschedError as error:
                self._fail(step.where, "a plan that can be made and committed", error)
                return
            if step.cycle != "to_fixed_point":
                return
            if not plan.placements and not plan.evictions:
                return
            seen.cycles += 1
        self._fail(step.where, "a fixed point", f"plans that still act after {most} cycles")

    def _decide(self, step: Step, seen: Seen) -> gs.Plan:
        engine = self._world.engine
        plan = engine.decide(self._now)
        self._world.plan = plan
        seen.plan = tuple(plan.steps)
        seen.decided.add(plan)
        self._tell(f"the plan of line {step.where.line}", plan.encode())
        for wait in plan.waits:
            self._tell(f"why {wait.job} waits, line {step.where.line}", wait.text)
            text = engine.explain(wait.job).text
            self._tell(f"the explanation of {wait.job}, line {step.where.line}", text)
        return plan

    def _tell(self, what: str, content: str | bytes) -> None:
        data = content.encode() if isinstance(content, str) else content
        self._run.story.append(Told(what, hashlib.sha256(data).hexdigest()[:16]))

    def _describe(self, seen: Seen) -> None:
        """What a reader of the failure wants to know."""
        self._run.plan = [
            step_text(step)
            for step in [*seen.decided.evictions, *seen.decided.placements, *seen.decided.waits]
        ]
        jobs = {failure.job for failure in self._run.failures if failure.job is not None}
        for job in sorted(jobs):
            try:
                self._run.explanations[job] = seen.engine.explain(job).text
            except gs.GpuschedError as error:
                self._run.explanations[job] = str(error)


def step_text(step: gs.Place | gs.Evict | gs.Wait | gs.Reject) -> str:
    """One step of a plan in one line."""
    if isinstance(step, gs.Place):
        devices = f", devices {list(step.devices)}" if step.devices else ""
        alternative = f", alternative {step.alternative}" if step.alternative else ""
        return (
            f"place {step.task.name} on {step.node}{devices}{alternative} "
            f"(rank {step.rank}, attempt {step.task.attempt})"
        )
    if isinstance(step, gs.Evict):
        return f"evict {step.task.name} from {step.node}: {step.cause}"
    kind = "reject" if isinstance(step, gs.Reject) else "wait"
    return f"{kind} {step.job}: {step.text}"


def _policy(scenario: Scenario) -> gs.Policy:
    target = None
    if "fgd" in scenario.policies:
        target = gs.TargetWorkload.from_requests(_sound_shapes(scenario))
    terms = [
        (weight, gs.policy(name, target=target, seed=scenario.seed))
        for name, weight in scenario.policies.items()
    ]
    if len(terms) == 1 and terms[0][0] == 1:
        return terms[0][1]
    return functools.reduce(operator.add, [weight * policy for weight, policy in terms])


def _sound_shapes(scenario: Scenario) -> list[gs.Shape]:
    """Those that the library takes: a scenario may also have others, to see them refused."""
    shapes = []
    for make in scenario.shapes:
        try:
            shapes.append(make())
        except (gs.GpuschedError, TypeError, OverflowError):
            continue
    return shapes

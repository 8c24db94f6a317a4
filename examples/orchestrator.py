"""An in-house orchestrator: tasks are real processes; one of them crashes, and so does it itself.

What it must not forget is on disk: the engine's journal, and a file with the process id of each
attempt that it started. After its crash it restores the engine, looks at the processes, and goes
on.
"""

import os
import signal
import sys
import tempfile
import time
from pathlib import Path

import libgpusched as gs

SECONDS = {"train/workers/0": 1.5, "train/workers/1": 2.0, "eval/main/0": 0.5, "report/main/0": 0.1}


class Orchestrator:
    """Carries plans out in a folder, and tells the engine what becomes of them."""

    def __init__(self, engine: gs.Engine, folder: Path) -> None:
        self.engine, self.folder = engine, folder

    def pid_file(self, task: gs.Task) -> Path:
        return self.folder / f"{task.name.replace('/', '-')}-{task.attempt}.pid"

    def decide(self) -> gs.Plan:
        plan = self.engine.decide(now=time.time_ns() // 1000)
        self.engine.commit(plan)
        for wait in plan.waits:
            print(f"{wait.job} waits: {wait.reason}")
        return plan

    def start(self, step: gs.Place | gs.TaskStatus) -> None:
        devices = ",".join(map(str, step.devices))
        program = f"import time; time.sleep({SECONDS[step.task.name]})"
        environment = os.environ | {"CUDA_VISIBLE_DEVICES": devices}
        pid = os.posix_spawn(sys.executable, [sys.executable, "-c", program], environment)
        self.pid_file(step.task).write_text(str(pid))
        self.engine.started(step.task)
        print(f"{step.task.name} attempt {step.task.attempt} starts on devices {devices}")

    def look(self) -> bool:
        """Says which processes have ended, and starts any that a crash kept from starting."""
        news = False
        for status in [task for job in self.engine.jobs() for task in job.tasks if task.node]:
            if not self.pid_file(status.task).exists():
                self.start(status)
                continue
            pid, code = os.waitpid(int(self.pid_file(status.task).read_text()), os.WNOHANG)
            if pid:
                news = True
                (self.engine.failed if code else self.engine.finished)(status.task)
                ended = "crashed" if code else "finished"
                print(f"{status.task.name} attempt {status.task.attempt} {ended}")
        return news


def wait_for_end(orchestrator: Orchestrator, task: gs.Task, kill: bool = False) -> None:
    pid = int(orchestrator.pid_file(task).read_text())
    if kill:
        os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)


def main(folder: Path) -> None:
    first = Orchestrator(gs.Engine(journal=folder / "journal"), folder)
    first.engine.add_node("local", cpu=8, mem_mib=16384, gpus=3, model="T4")
    first.engine.submit(gs.Job("train", gs.TaskGroup("workers", gs.Shape(cpu=1, gpu=1), 2)))
    first.engine.submit(gs.Job("eval", gs.Shape(cpu=1, gpu=1)))
    first.engine.submit(gs.Job("report", gs.Shape(cpu=1, gpu=3)))
    for place in first.decide().placements:
        first.start(place)
    wait_for_end(first, gs.Task("train", "workers", 1, 1), kill=True)
    first.look()
    first.decide()
    print("the orchestrator crashes before it starts the second attempt")
    wait_for_end(first, gs.Task("eval", "main", 0, 1))  # while nobody looks
    del first  # and the journal is free for another engine

    second = Orchestrator(gs.Engine.restore(folder / "journal").engine, folder)
    running = [job.name for job in second.engine.jobs() if job.counts["running"]]
    print(f"restored; running as far as the journal knows: {', '.join(running)}")
    while second.engine.jobs():
        if second.look():
            for place in second.decide().placements:
                second.start(place)
        time.sleep(0.02)
    print("all jobs have ended")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        main(Path(scratch))

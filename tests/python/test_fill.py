"""The fill experiment from Python: workloads, results, determinism, and files that are broken."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import libgpusched as gs
import placements_checker
from libgpusched.csv_files import node_lines, pod_lines
from libgpusched.experiment import Summary
from libgpusched.table import REASON_SENTENCES, duration_text, refusal_sentence, shown_points

SMALL = gs.Workload.builtin(pods=300, nodes=30)


def test_built_in_workload() -> None:
    workload = gs.Workload.builtin()
    assert (workload.node_count, workload.pod_count) == (1213, 8152)
    assert workload.nodes_source.startswith("built-in")
    name, shape = workload.pods()[0]
    assert name == "pod-0000000"
    assert isinstance(shape, gs.Shape)
    _, cpu_milli, mem_mib, devices = workload.nodes()[0]
    assert cpu_milli > 0
    assert mem_mib > 0
    assert devices[0].model == "G2"
    assert workload.target().total > 0


def test_a_run_adds_up() -> None:
    result = gs.run_fill(SMALL, "best_fit", seed=3)
    assert (result.policy, result.seed) == ("best_fit", 3)
    assert result.arrived_pct == [50, 80, 90, 95, 100, 105, 110, 115, 120, 125, 130]
    assert len(result.allocated_pct) == len(result.fragmentation_pct) == 11
    assert sorted(result.allocated_pct) == result.allocated_pct
    assert result.placed + sum(result.failed.values()) == result.decisions
    assert sum(result.path.values()) == result.decisions
    assert 0 < result.latency_ns.p50 <= result.latency_ns.p99 <= result.latency_ns.max
    assert result.seconds > 0
    assert len(result.placements_digest) == len(result.state_hash) == 16
    assert result.placements == []


def test_placements_are_kept_if_asked() -> None:
    result = gs.run_fill(SMALL, "best_fit", keep_placements=True)
    assert len(result.placements) == result.decisions
    first = result.placements[0]
    assert first.sequence == 0
    assert first.node is not None
    assert len(first.devices) == first.shape.gpu_count
    dropped = [placement for placement in result.placements if placement.node is None]
    assert len(dropped) == sum(result.failed.values())
    assert all(placement.devices == () for placement in dropped)
    result.forget_placements()
    assert result.placements == []


@pytest.mark.parametrize("policy", gs.policy_names())
def test_same_seed_same_digest_in_fresh_processes(policy: str) -> None:
    program = (
        "import libgpusched as gs\n"
        f"w = gs.Workload.builtin(pods=300, nodes=30)\n"
        f"print(gs.run_fill(w, {policy!r}, seed=5).placements_digest)\n"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True
        ).stdout.strip()
        for _ in range(2)
    }
    assert outputs == {gs.run_fill(SMALL, policy, seed=5).placements_digest}


def test_seeds_matter() -> None:
    digests = {gs.run_fill(SMALL, "best_fit", seed=seed).placements_digest for seed in range(4)}
    assert len(digests) == 4


def test_sums_and_parameters_are_policies_too() -> None:
    plain = gs.run_fill(SMALL, "fgd")
    given = gs.run_fill(SMALL, gs.Fgd(SMALL.target()))
    assert given.placements_digest == plain.placements_digest
    blended = gs.run_fill(SMALL, 0.5 * gs.Fgd(SMALL.target()) + 0.5 * gs.BestFit())
    assert blended.policy.startswith("0.5 * Fgd(")
    assert blended.placed > 0


def test_progress_and_stopping() -> None:
    seen: list[tuple[int, int]] = []
    result = gs.run_fill(SMALL, "best_fit", progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (result.decisions, result.decisions)
    assert seen == sorted(seen)
    with pytest.raises(gs.Cancelled):
        gs.run_fill(SMALL, "best_fit", progress=lambda done, total: False)

    def fail(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        gs.run_fill(SMALL, "best_fit", progress=fail)


def test_other_threads_run_meanwhile() -> None:
    workload = gs.Workload.builtin(pods=4000, nodes=600)
    ticks = 0
    done = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not done.is_set():
            ticks += 1
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    gs.run_fill(workload, "fgd")
    done.set()
    thread.join()
    assert ticks > 5


def test_two_runs_at_once_do_not_disturb_each_other() -> None:
    expected = [gs.run_fill(SMALL, "fgd", seed=seed).placements_digest for seed in range(4)]
    found: dict[int, str] = {}

    def run(seed: int) -> None:
        found[seed] = gs.run_fill(SMALL, "fgd", seed=seed).placements_digest

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[seed] for seed in range(4)] == expected


# --- over policies and seeds ----------------------------------------------------------------------


def test_fill_runs_all_policies_with_all_seeds() -> None:
    parts: list[float] = []
    experiment = gs.fill(SMALL, seeds=2, seed_base=7, progress=parts.append)
    assert [(run.policy, run.seed) for run in experiment] == [
        (policy, seed) for policy in gs.policy_names() if policy != "mig_start" for seed in (7, 8)
    ]
    assert len(experiment) == 16
    assert parts == sorted(parts)
    assert parts[-1] == 1.0
    report = json.loads(json.dumps(experiment.to_json()))
    assert report["schema"] == 1
    run = report["runs"][0]
    assert run["policy"] == "fgd"
    assert run["pods"] == SMALL.pods_source
    assert set(run["latency_ns"]) == {"p50", "p99", "max"}
    assert sum(run["path"].values()) == run["decisions"]
    summary = experiment.summaries()[0]
    values = [r.allocated_pct[-1] for r in experiment.runs[:2]]
    spread = summary.allocated_pct[130]
    assert (spread.mean, spread.sd) == pytest.approx((np.mean(values), np.std(values, ddof=1)))


class FirstOrLast(gs.ScorePolicy):
    """The first candidate, or the last."""

    range = (0, 1)

    def __init__(self, last: bool) -> None:
        super().__init__()
        self.last = last

    def __repr__(self) -> str:
        return f"FirstOrLast(last={self.last})"

    def score(self, batch: gs.Batch) -> np.ndarray[Any, np.dtype[np.int64]]:
        scores = np.zeros(len(batch), dtype=np.int64)
        scores[-1 if self.last else 0] = 1
        return scores


def test_two_objects_of_a_class_are_two_policies() -> None:
    first, last = gs.fill(SMALL, [FirstOrLast(False), FirstOrLast(True)], seeds=2).summaries()
    assert (first.policy, first.seeds) == ("FirstOrLast(last=False)", 2)
    assert (last.policy, last.seeds) == ("FirstOrLast(last=True)", 2)


def test_fill_up_to_less() -> None:
    assert gs.fill(SMALL, "best_fit", seeds=1, to=0.8).runs[0].arrived_pct == [50, 80]
    assert gs.fill(SMALL, "best_fit", seeds=1, to=0.3).runs[0].arrived_pct == [30]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"policies": ["best"]}, gs.NotFound, "policy: name is 'best'; known are fgd, best_fit"),
        ({"policies": []}, gs.InvalidSpec, "policies is []; name at least one"),
        ({"policies": ["fgd", "fgd"]}, gs.InvalidSpec, "policies names 'fgd' twice"),
        ({"policies": [5]}, gs.InvalidSpec, "fill: policy is 5; use a Policy, or the name of one"),
        ({"seeds": 0}, gs.InvalidSpec, "fill: seeds is 0; use a whole number from 1"),
        ({"seeds": 1.5}, gs.InvalidSpec, "fill: seeds is 1.5; use a whole number from 1"),
        ({"seeds": True}, gs.InvalidSpec, "fill: seeds is True; use a whole number from 1"),
        ({"seed_base": -1}, gs.InvalidSpec, "fill: seed_base is -1; use a whole number from 0"),
        ({"to": float("nan")}, gs.InvalidSpec, "fill: to is nan; use 0.01 to 100"),
        ({"to": 0}, gs.InvalidSpec, "fill: to is 0; use 0.01 to 100"),
        ({"to": 101}, gs.InvalidSpec, "fill: to is 101; use 0.01 to 100"),
        ({"to": "x"}, gs.InvalidSpec, "fill: to is 'x'; use a number"),
    ],
)
def test_refused_experiments(arguments: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as raised:
        gs.fill(SMALL, **arguments)
    assert message in str(raised.value)


def test_refused_runs() -> None:
    with pytest.raises(gs.InvalidSpec, match="norms.cpu_milli must be"):
        gs.run_fill(SMALL, "best_fit", cpu_norm_milli=0)
    with pytest.raises(gs.InvalidSpec, match="fill: seed is -1"):
        gs.run_fill(SMALL, "best_fit", seed=-1)
    with pytest.raises(gs.InvalidSpec, match="progress is 5; use a function of"):
        gs.run_fill(SMALL, "best_fit", progress=5)  # type: ignore[arg-type]
    wrong: dict[str, Any]
    for wrong in ({"pods": 0}, {"nodes": -1}, {"pods": 10**8}, {"seed": "x"}, {"pods": 1.5}):
        with pytest.raises(gs.InvalidSpec, match="generator: "):
            gs.Workload.builtin(**wrong)


def test_reports_for_people() -> None:
    assert set(REASON_SENTENCES) == set(gs.reasons())
    assert shown_points([50, 80, 90, 95, 100, 105, 130]) == [100, 130]
    assert shown_points([50, 80]) == [80]
    assert shown_points([50, 100, 105, 110]) == [100, 110]
    assert shown_points([]) == []
    assert [duration_text(ns) for ns in (950, 1234, 5.678e6, 2e9)] == [
        "950 ns",
        "1.23 µs",
        "5.68 ms",
        "2 s",
    ]
    summary = Summary(
        "p", 1, {}, {}, {"InsufficientCpu": 399, "NoDeviceWithRoom": 1}, 1000, 1, 1, 1
    )
    assert refusal_sentence(summary) == (
        "p: 400 of 1,000 pods were dropped; of these 100 % met too little free CPU "
        "(InsufficientCpu), fewer than 1 % found no single GPU with enough left (NoDeviceWithRoom)."
    )
    summary = Summary("p", 1, {}, {}, {}, 1000, 1, 1, 1)
    assert refusal_sentence(summary) == "p: all 1,000 pods found a place."


# --- files ----------------------------------------------------------------------------------------

NODES = "sn,cpu_milli,memory_mib,gpu,model\nn1,64000,262144,4,T4\nn2,32000,65536,0,\n"
PODS = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n"
    "p1,4000,8192,1,500,\n"
    "p2,1,1,2,1000,T4|A10\n"
)


def read(folder: Path, nodes: str, pods: str) -> gs.Workload:
    (folder / "nodes.csv").write_text(nodes, newline="")
    (folder / "pods.csv").write_text(pods, newline="")
    return gs.Workload.read_openb(folder / "nodes.csv", str(folder / "pods.csv"))


def test_files_are_read(tmp_path: Path) -> None:
    workload = read(tmp_path, NODES, PODS)
    assert (workload.node_count, workload.pod_count, workload.gpu_count) == (2, 2, 4)
    assert workload.pods()[1] == (
        "p2",
        gs.Shape(cpu_milli=1, mem_mib=1, gpu=2, models=["T4", "A10"]),
    )
    assert workload.pods_source == str(tmp_path / "pods.csv")
    windows = read(tmp_path, "\ufeff" + NODES.replace("\n", "\r\n"), PODS.replace("\n", "\r\n"))
    assert windows.pods() == workload.pods()


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    back = read(tmp_path, "".join(node_lines(SMALL)), "".join(pod_lines(SMALL)))
    assert back.pods() == SMALL.pods()
    for policy in ("fgd", "random"):
        assert (
            gs.run_fill(back, policy).placements_digest
            == gs.run_fill(SMALL, policy).placements_digest
        )
    assert placements_checker.read_pods(tmp_path / "pods.csv").keys() == dict(SMALL.pods()).keys()


BROKEN_FILES: list[tuple[Callable[[str], str], Callable[[str], str], type[Exception], str]] = [
    (lambda n: "", str, gs.InvalidSpec, "nodes.csv: the file is empty; expected a header line"),
    (lambda n: NODES.splitlines()[0], str, gs.InvalidSpec, "the file is only a header; expected"),
    (
        str,
        lambda p: p.replace("num_gpu", "gpus"),
        gs.InvalidSpec,
        "pods.csv:1: column 'num_gpu' is",
    ),
    (
        lambda n: n.replace("sn,", "name,"),
        str,
        gs.InvalidSpec,
        "nodes.csv:1: column 'sn' is missing",
    ),
    (
        str,
        lambda p: p[:-20],
        gs.InvalidSpec,
        "pods.csv:3: the line is 1 fields long; the header has 6",
    ),
    (
        str,
        lambda p: p + "p1,1,1,0,0,\n",
        gs.AlreadyExists,
        "pods.csv:4:1: name is 'p1'; an earlier line",
    ),
    (
        lambda n: n + "n1,1,1,0,\n",
        str,
        gs.AlreadyExists,
        "nodes.csv:4:1: sn is 'n1'; an earlier line",
    ),
    (
        str,
        lambda p: p.replace("8192", "x"),
        gs.InvalidSpec,
        "pods.csv:2:3: memory_mib is 'x'; use a",
    ),
    (str, lambda p: p.replace("8192", "1.5"), gs.InvalidSpec, "memory_mib is '1.5'; use a whole"),
    (str, lambda p: p.replace("8192", "9" * 30), gs.InvalidSpec, "use a whole number"),
    (
        str,
        lambda p: p.replace("500", "1500"),
        gs.InvalidSpec,
        "pods.csv:2: shape: gpu_milli is 1500",
    ),
    (
        lambda n: n.replace(",4,T4", ",-1,T4"),
        str,
        gs.InvalidSpec,
        "nodes.csv:2:4: gpu is '-1'; use a whole number, 0 to",
    ),
    (
        lambda n: n.replace(",4,T4", ",4,"),
        str,
        gs.InvalidSpec,
        "nodes.csv:2:5: model is ''; name the",
    ),
    (
        lambda n: n.replace("n1", '"n1"'),
        str,
        gs.InvalidSpec,
        "nodes.csv:2: the line is quoted; write",
    ),
]


@pytest.mark.parametrize(
    ("nodes", "pods", "error", "message"), BROKEN_FILES, ids=[case[-1] for case in BROKEN_FILES]
)
def test_broken_files(
    tmp_path: Path,
    nodes: Callable[[str], str],
    pods: Callable[[str], str],
    error: type[Exception],
    message: str,
) -> None:
    with pytest.raises(gs.GpuschedError) as raised:
        read(tmp_path, nodes(NODES), pods(PODS))
    assert type(raised.value) is error
    assert message in str(raised.value)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(gs.NotFound, match="none.csv'; it cannot be read; check the path"):
        gs.Workload.read_openb(tmp_path / "none.csv", tmp_path / "none.csv")
    with pytest.raises(gs.NotFound, match="cannot be read"):
        gs.Workload.read_openb(tmp_path, tmp_path)


def test_gpus_asked_of_nodes_without_any(tmp_path: Path) -> None:
    workload = read(tmp_path, NODES.replace(",4,T4", ",0,"), PODS)
    with pytest.raises(
        gs.PreconditionFailed, match="the fill experiment needs a cluster with GPUs"
    ):
        gs.run_fill(workload, "best_fit")
    workload = read(tmp_path, NODES, "name,cpu_milli,memory_mib,num_gpu,gpu_milli\np,1,1,0,0\n")
    with pytest.raises(gs.InvalidSpec, match="pods is 1 without GPU; the fill experiment needs"):
        gs.run_fill(workload, "best_fit")


def test_python_places_as_the_committed_digests_say() -> None:
    """The C++ test holds the same file against C++ (tests/sim/fill_test.cc)."""
    golden = Path(__file__).parents[1] / "sim" / "fill_digests.txt"
    workload = gs.Workload.builtin(pods=800, nodes=120, seed=1)
    runs = gs.fill(workload, policies=gs.policy_names(), seeds=1, seed_base=1)
    lines = [f"{run.policy} {run.seed} {run.placements_digest}" for run in runs]
    assert lines == golden.read_text().splitlines()

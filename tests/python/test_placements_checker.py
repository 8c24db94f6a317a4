"""The independent checker finds nothing wrong with us, and everything that is made wrong."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import placements_checker
from libgpusched.cli import main

Rows = list[dict[str, str]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small workload that asks for models and memory, filled under three policies."""
    folder = tmp_path_factory.mktemp("checked")
    nodes = [
        f"n{i},{16 + i % 3}000,{65536 + i},{i % 5},{'T4' if i % 2 else 'A10'}" for i in range(30)
    ]
    asks = ["1,500,", "0,0,", "1,1000,", "1,330,", "2,1000,"]
    pods = [
        f"p{i},{500 * (i % 7)},{1024 * (i % 9)},{asks[i % 5]}{'T4' if i % 20 in (3, 7) else ''}"
        for i in range(90)
    ]
    (folder / "nodes.csv").write_text("\n".join(["sn,cpu_milli,memory_mib,gpu,model", *nodes, ""]))
    (folder / "pods.csv").write_text(
        "\n".join(["name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec", *pods, ""])
    )
    files = ["--nodes", "nodes.csv", "--pods", "pods.csv", "--json", "report.json"]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        policy = ["--policy", "best_fit,fgd,random", "--seeds", "2"]
        assert main(["fill", *files, "--placements", "placements.csv", *policy]) == 0
    return folder


def check(folder: Path, placements: Path | None = None, report: Path | None = None) -> list[str]:
    return placements_checker.check(
        folder / "nodes.csv",
        folder / "pods.csv",
        placements or folder / "placements.csv",
        report or folder / "report.json",
    )


def test_nothing_is_wrong(folder: Path) -> None:
    assert check(folder) == []


def test_as_a_script(folder: Path) -> None:
    command = [sys.executable, placements_checker.__file__]
    for option in ("nodes", "pods", "placements"):
        command += [f"--{option}", str(folder / f"{option}.csv")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "nothing is wrong\n")
    command[-1] = str(folder / "none.csv")
    assert subprocess.run(command, capture_output=True).returncode == 2


def first(rows: Rows, wanted: Callable[[dict[str, str]], bool]) -> dict[str, str]:
    return next(row for row in rows if wanted(row))


def placed_share(row: dict[str, str]) -> bool:
    return row["node"] != "" and row["gpu_milli"] == "500"


def placed_whole(row: dict[str, str]) -> bool:
    return row["node"] != "" and row["gpu_milli"] == "1000" and row["num_gpu"] == "1"


def drop_one(rows: Rows) -> None:
    rows[1].update(node="", devices="")


def over_commit_cpu(rows: Rows) -> None:
    for row in rows[:60]:
        if row["num_gpu"] == "0":
            row["node"] = "n0"


def over_commit_device(rows: Rows) -> None:
    for row in [row for row in rows if placed_share(row)][:3]:
        row.update(node="n1", devices="0")


def share_a_whole_device(rows: Rows) -> None:
    whole = first(rows, placed_whole)
    other = first(rows, lambda row: row["node"] != "" and row["gpu_milli"] == "330")
    other.update(node=whole["node"], devices=whole["devices"])


def wrong_model(rows: Rows) -> None:
    row = first(rows, lambda row: row["node"] != "" and row["models"] == "T4")
    row.update(node="n28")  # an A10 node with as many devices


def change_request(rows: Rows) -> None:
    rows[0]["cpu_milli"] = str(int(rows[0]["cpu_milli"]) + 1)


def swap_arrivals(rows: Rows) -> None:
    rows[0], rows[-1] = rows[-1], rows[0]


def repeat_pod(rows: Rows) -> None:
    rows[1]["pod"] = rows[0]["pod"]


def wrong_clone(rows: Rows) -> None:
    row = first(rows, lambda row: "#" in row["pod"])
    row["pod"] = row["pod"].partition("#")[0] + "#7"


def unknown_pod(rows: Rows) -> None:
    rows[0]["pod"] = "stranger"


def unknown_node(rows: Rows) -> None:
    first(rows, lambda row: row["node"] != "")["node"] = "n99"


def missing_device(rows: Rows) -> None:
    first(rows, placed_share)["devices"] = "9"


def too_few_devices(rows: Rows) -> None:
    first(rows, placed_share)["devices"] = ""


def cut_off(rows: Rows) -> None:
    last = rows[-1]
    while rows and (rows[-1]["policy"], rows[-1]["seed"]) == (last["policy"], last["seed"]):
        if rows[-1]["seq"] < "5" and len(rows[-1]["seq"]) == 1:
            break
        rows.pop()


def lose_a_run(rows: Rows) -> None:
    rows[:] = [row for row in rows if row["policy"] != "random"]


def clone_too_early(rows: Rows) -> None:
    clone = first(rows, lambda row: "#" in row["pod"])
    rows.remove(clone)
    rows.insert(0, clone)


CORRUPTIONS: list[tuple[Callable[[Rows], None], str]] = [
    (drop_one, "was dropped, but"),
    (over_commit_cpu, "cpu_milli more than it has"),
    (over_commit_device, "gives more than all of itself"),
    (share_a_whole_device, "gives more than all of itself"),
    (wrong_model, "which it does not allow"),
    (change_request, "but its pod asks"),
    (swap_arrivals, "row 0: seq is"),
    (repeat_pod, "arrives twice"),
    (wrong_clone, "is clone number 1 to arrive"),
    (unknown_pod, "is neither a pod nor a clone of one"),
    (unknown_node, "which is no node"),
    (missing_device, "has no device 9"),
    (too_few_devices, "asks 1 devices but is on []"),
    (cut_off, "arrivals stop at"),
    (lose_a_run, "the report has"),
    (clone_too_early, "a clone arrives before all pods have"),
]


@pytest.mark.parametrize(
    ("corrupt", "complaint"), CORRUPTIONS, ids=[corrupt.__name__ for corrupt, _ in CORRUPTIONS]
)
def test_corrupt_placements(
    folder: Path, tmp_path: Path, corrupt: Callable[[Rows], None], complaint: str
) -> None:
    with (folder / "placements.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    corrupt(rows)
    with (tmp_path / "placements.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    complaints = check(folder, placements=tmp_path / "placements.csv")
    assert any(complaint in found for found in complaints), complaints


def set_entry(key: str, change: Callable[[Any], Any]) -> Callable[[dict[str, Any]], None]:
    def corrupt(run: dict[str, Any]) -> None:
        run[key] = change(run[key])

    return corrupt


@pytest.mark.parametrize(
    ("corrupt", "complaint"),
    [
        (set_entry("placements_digest", lambda d: d[::-1]), "placements_digest is"),
        (set_entry("allocated_pct", lambda v: [*v[:-1], v[-1] + 0.01]), "allocated at 130.0 %"),
        (set_entry("placed", lambda n: n + 1), "placed is"),
        (set_entry("decisions", lambda n: n - 1), "decisions is"),
        (set_entry("failed", lambda f: {**f, "NoNodes": 1}), "failed is"),
        (set_entry("to", lambda to: to + 0.5), "arrivals stop at"),
        (set_entry("to", lambda to: to - 0.5), "arrivals go on at"),
        (set_entry("seed", lambda seed: 99), "the report has"),
    ],
)
def test_corrupt_reports(
    folder: Path, tmp_path: Path, corrupt: Callable[[dict[str, Any]], None], complaint: str
) -> None:
    report = json.loads((folder / "report.json").read_text())
    corrupt(report["runs"][2])
    (tmp_path / "report.json").write_text(json.dumps(report))
    complaints = check(folder, report=tmp_path / "report.json")
    assert any(complaint in found for found in complaints), complaints


def test_the_digest_notices_what_is_as_good(folder: Path, tmp_path: Path) -> None:
    lines = (folder / "placements.csv").read_text().splitlines(keepends=True)
    # The first pod that takes a share of a node with several devices, moved to another device while
    # all are empty.
    index = next(i for i, line in enumerate(lines) if ",500," in line and line.endswith(",0\n"))
    lines[index] = lines[index][:-2] + "1\n"
    (tmp_path / "placements.csv").write_text("".join(lines))
    complaints = check(folder, placements=tmp_path / "placements.csv")
    assert any("placements_digest is" in found for found in complaints), complaints

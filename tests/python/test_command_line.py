"""The command `libgpusched`, as a process of its own."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import libgpusched as gs
from libgpusched.cli import main

SMALL = ["--pod-count", "200", "--node-count", "20"]


def run(
    *arguments: str | Path, cwd: Path | None = None, expect: int = 0
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "libgpusched", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        timeout=120,
    )
    assert done.returncode == expect, done.stderr
    return done


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With a small workload in nodes.csv and pods.csv."""
    folder = tmp_path_factory.mktemp("workload")
    files = ["--nodes", str(folder / "nodes.csv"), "--pods", str(folder / "pods.csv")]
    assert main(["workload", *files, *SMALL]) == 0
    return folder


@pytest.fixture
def workload(folder: Path) -> list[str | Path]:
    return ["--nodes", folder / "nodes.csv", "--pods", folder / "pods.csv"]


def test_version_and_help() -> None:
    assert run("--version").stdout == f"libgpusched {gs.__version__}\n"
    text = run("--help").stdout
    assert "fill" in text
    assert "workload" in text
    text = run("fill", "--help").stdout
    for option in ("--nodes", "--pods", "--policy", "--seeds", "--seed-base", "--to", "--json"):
        assert option in text
    assert all(policy in text for policy in gs.policy_names() if policy != "mig_start")
    assert max(map(len, text.splitlines())) <= 84


def test_fill_reports(workload: list[str | Path], tmp_path: Path) -> None:
    done = run(
        "fill",
        *workload,
        "--policy=fgd,random",
        "--seeds=2",
        "--seed-base=5",
        "--json=report.json",
        "--placements=placements.csv",
        "--plot=fill.png",
        cwd=tmp_path,
    )
    assert done.stderr == ""  # no terminal: no progress bar
    out = done.stdout
    assert "200 pods" in out
    assert "at 100 %" in out
    assert "at 130 %" in out
    assert "fgd: " in out
    assert "pods were dropped; of these" in out
    for file in ("report.json", "placements.csv", "fill.png"):
        assert file in out
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "fill.png",
        "placements.csv",
        "report.json",
    ]

    report = json.loads((tmp_path / "report.json").read_text())
    assert report["schema"] == 1
    assert [(r["policy"], r["seed"]) for r in report["runs"]] == [
        ("fgd", 5),
        ("fgd", 6),
        ("random", 5),
        ("random", 6),
    ]
    for entry in report["runs"]:
        assert entry["pods"].endswith("pods.csv")
        assert len(entry["arrived_pct"]) == len(entry["allocated_pct"]) == 11
        assert entry["placed"] + sum(entry["failed"].values()) == entry["decisions"]
        assert int(entry["placements_digest"], 16) >= 0
        assert len(entry["placements_digest"]) == 16
    with (tmp_path / "placements.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    columns = "policy seed seq pod cpu_milli mem_mib num_gpu gpu_milli models node devices"
    assert " ".join(rows[0]) == columns
    assert len(rows) == sum(entry["decisions"] for entry in report["runs"])
    png = (tmp_path / "fill.png").read_bytes()
    assert png.startswith(b"\x89PNG")
    assert len(png) > 10_000


def test_plain_output_is_plain(workload: list[str | Path]) -> None:
    done = run("fill", *workload, "--policy", "best_fit", "--seeds", "1")
    assert "\x1b" not in done.stdout + done.stderr
    assert "\r" not in done.stdout + done.stderr
    assert max(map(len, done.stdout.split("Why")[0].splitlines()[1:])) <= 120


@pytest.mark.parametrize(
    ("to", "columns"),
    [("1.1", ["at 100 %", "at 110 %"]), ("0.8", ["at 80 %"]), ("0.3", []), ("2", ["at 200 %"])],
)
def test_the_table_shows_the_points_that_exist(
    workload: list[str | Path],
    to: str,
    columns: list[str],
    tmp_path: Path,
) -> None:
    plot = tmp_path / "fill.png"
    done = run("fill", *workload, "--policy=best_fit", "--seeds=1", "--to", to, "--plot", plot)
    for column in columns:
        assert column in done.stdout
    assert ("at 130 %" in done.stdout) == (float(to) >= 1.3)
    assert plot.stat().st_size > 0


def test_workload_is_the_one_that_fill_uses(tmp_path: Path) -> None:
    run("workload", "--nodes", "n.csv", "--pods", "p.csv", cwd=tmp_path)
    back = gs.Workload.read_openb(tmp_path / "n.csv", tmp_path / "p.csv")
    assert back.pods() == gs.Workload.builtin().pods()
    run("workload", "--nodes", "n.csv", "--pods", "p.csv", "--seed", "2", cwd=tmp_path)
    other = gs.Workload.read_openb(tmp_path / "n.csv", tmp_path / "p.csv")
    assert other.pods() == gs.Workload.builtin(seed=2).pods() != back.pods()


WRONG: list[tuple[list[str], str]] = [
    ([], "libgpusched: error: "),
    (["dance"], "libgpusched: error: "),
    (["fill", "--policy", "best"], "'best' is no policy; known are fgd, best_fit"),
    (["fill", "--policy", ","], "name at least one policy"),
    (["fill", "--seeds", "0"], "'0' is not a whole number, 1 to"),
    (["fill", "--seeds", "1.5"], "'1.5' is not a whole number, 1 to"),
    (["fill", "--seed-base", "-1"], "'-1' is not a whole number, 0 to"),
    (
        ["fill", "--seed-base", str(2**64)],
        "'18446744073709551616' is not a whole number, 0 to 18446744073709551615",
    ),
    (["fill", "--to", "nan"], "'nan' is not a number from 0.01 to 100"),
    (["fill", "--to", "1000"], "'1000' is not a number from 0.01 to 100"),
    (["fill", "--nodes", "n.csv"], "--nodes and --pods belong together"),
    (
        ["fill", "--nodes", "none.csv", "--pods", "no_pods.csv"],
        "file is 'none.csv'; it cannot be read",
    ),
    (["fill", "--json", "no/such/folder/x.json"], "--json: the file is 'no/such/folder/x.json'"),
    (["fill", "--placements", "/proc/x.csv"], "--placements: the file is '/proc/x.csv'; it cannot"),
    (["fill", "--plot", "."], "--plot: the file is '.'; it cannot be written"),
    (["fill", "--nodes", "n", "--pods", "p", "--json", "./n"], "files are n, p, ./n; give each"),
    (["workload", "--nodes", "w", "--pods", "./w"], "files are w, ./w; give each a name"),
    (["fill", "--json", "a", "--plot", "./a"], "files are a, ./a; give each a name"),
    (["workload", "--nodes", "n.csv"], "--pods"),
]


@pytest.mark.parametrize(("arguments", "message"), WRONG, ids=[" ".join(a) for a, _ in WRONG])
def test_errors_are_one_line_and_early(arguments: list[str], message: str, tmp_path: Path) -> None:
    start = time.monotonic()
    done = run(*arguments, cwd=tmp_path, expect=2)
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr
    assert time.monotonic() - start < 20
    assert list(tmp_path.iterdir()) == []


def test_broken_files_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "n.csv").write_text("sn,cpu_milli,memory_mib,gpu,model\nn,1,1,1\n")
    (tmp_path / "p.csv").write_text("")
    done = run("fill", "--nodes", "n.csv", "--pods", "p.csv", cwd=tmp_path, expect=2)
    assert done.stderr == (
        "libgpusched fill: error: "
        "n.csv:2: the line is 4 fields long; the header has 5; is the line cut off?\n"
    )


def test_a_file_stays_until_the_new_one_is_whole(
    workload: list[str | Path], tmp_path: Path
) -> None:
    report = tmp_path / "report.json"
    report.write_text("old")
    link = tmp_path / "link.json"
    link.symlink_to(report)
    run("fill", *workload, "--json", link, "--seeds", "1", "--plot", "/no/such/folder", expect=2)
    assert report.read_text() == "old"
    run("fill", *workload, "--json", link, "--policy", "best_fit", "--seeds", "1")
    assert json.loads(report.read_text())["schema"] == 1
    assert link.is_symlink()
    assert len(list(tmp_path.iterdir())) == 2


def test_output_may_be_a_pipe(workload: list[str | Path]) -> None:
    done = run("fill", *workload, "--policy=best_fit", "--seeds=1", "--json", "/dev/stderr")
    assert json.loads(done.stderr)["runs"][0]["policy"] == "best_fit"


def test_a_full_disk_costs_nobody_the_table(workload: list[str | Path], tmp_path: Path) -> None:
    options = ["--policy=best_fit", "--seeds=1", "--json=report.json", "--placements=/dev/full"]
    done = run("fill", *workload, *options, cwd=tmp_path, expect=2)
    assert "at 130 %" in done.stdout
    assert "report.json" in done.stdout
    assert done.stderr == (
        "libgpusched fill: error: --placements: the file is '/dev/full'; it could not be written "
        "(No space left on device)\n"
    )
    assert (tmp_path / "report.json").stat().st_size > 0


def test_a_reader_may_leave_early(workload: list[str | Path]) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "libgpusched", "fill", *map(str, workload), "--seeds", "1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    errors = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=60) == 141
    assert errors == b""


def test_interruption_reports_what_was_finished(tmp_path: Path) -> None:
    options = ["--policy=best_fit", "--seeds=1000", "--json=r.json", "--placements=placements.csv"]
    with subprocess.Popen(
        [sys.executable, "-m", "libgpusched", "fill", *options],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell's background job would ignore Ctrl-C, and so would we.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:
        deadline = time.monotonic() + 60
        # The placements grow in a hidden file beside where they will be.
        while not any(p.stat().st_size > 1000 for p in tmp_path.glob(".placements.csv.*")):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    runs = json.loads((tmp_path / "r.json").read_text())["runs"]
    assert err == f"libgpusched fill: interrupted after {len(runs)} of 1000 runs\n"
    assert 1 <= len(runs) < 1000
    assert "best_fit" in out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["placements.csv", "r.json"]


def has_terminals() -> bool:
    """Containers may lack them."""
    try:
        for end in os.openpty():
            os.close(end)
    except (AttributeError, OSError):
        return False
    return True


@pytest.mark.skipif(not has_terminals(), reason="needs a pseudo-terminal")
def test_a_terminal_gets_a_progress_bar(workload: list[str | Path]) -> None:
    parent, child = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "libgpusched", "fill", *map(str, workload), "--seeds", "1"],
        stdout=subprocess.DEVNULL,
        stderr=child,
        env={**os.environ, "TERM": "xterm"},
    )
    os.close(child)
    shown = b""
    while True:
        try:
            part = os.read(parent, 4096)
        except OSError:
            break
        if not part:
            break
        shown += part
    os.close(parent)
    assert process.wait(timeout=60) == 0
    assert b"fgd" in shown
    assert b"%" in shown

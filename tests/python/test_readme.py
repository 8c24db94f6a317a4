"""Every Python and shell block of the README runs as it stands (for C++: tests/CMakeLists.txt).

The two commands at its top, and `fill` without arguments, take minutes: `.ci/run` runs them.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import subprocess
import sys
from pathlib import Path

README = Path(__file__).resolve().parents[2] / "README.md"


def blocks(language: str) -> list[str]:
    """The fenced blocks of a language, in order."""
    return re.findall(rf"```{language}\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


def output_of(source: str) -> list[str]:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(source, "README.md", "exec"), {})
    return out.getvalue().splitlines()


def test_python_block_places_a_batch_by_the_index() -> None:
    _, source = blocks("python")
    assert output_of(source) == ["10000 placed; {'index': 10000}"]


def test_python_block_places_one_gang_and_says_why_the_other_waits() -> None:
    lines = output_of(blocks("python")[0])
    assert [line.split()[0] for line in lines[:3]] == [f"train/worker/{i}" for i in range(3)]
    assert all(line.split()[2] in ("n1", "n2") for line in lines[:3])
    assert lines[3].startswith("job 'tune' waits: GangDoesNotFit: 1 of 2 tasks")


def test_fill_command_writes_what_it_names(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text(
        "sn,cpu_milli,memory_mib,gpu,model\nn1,64000,262144,4,T4\nn2,64000,262144,4,T4\n"
    )
    (tmp_path / "pods.csv").write_text(
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli\np1,4000,8192,1,600\np2,8000,8192,1,1000\n"
    )
    commands = blocks("sh")[1].replace("\\\n", " ").splitlines()
    (command,) = [line for line in commands if "--nodes" in line]
    words = shlex.split(command, comments=True)
    assert words[0] == "libgpusched"
    subprocess.run(
        [sys.executable, "-m", "libgpusched", *words[1:]], cwd=tmp_path, check=True, timeout=120
    )
    for name in ("result.json", "placements.csv", "fill.png"):
        assert (tmp_path / name).stat().st_size > 0


def test_files_that_the_readme_names_exist() -> None:
    text = README.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        assert (README.parent / target).exists(), f"README.md links to {target}"

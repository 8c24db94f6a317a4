"""`libgpusched journal`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engines import gang, small_engine, start
from libgpusched.cli import main


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    path = tmp_path / "journal"
    engine = small_engine(1, journal=path)
    engine.submit(gang("jöb", 1))
    start(engine)
    return path


def test_one_record_a_line(journal: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["journal", str(journal)]) == 0
    output = capsys.readouterr()
    lines = output.out.splitlines()
    assert [line.split()[1] for line in lines] == [
        "snapshot:",
        "event:",
        "event:",
        "commit:",
        "event:",
    ]
    assert lines[0].startswith("        19  snapshot: ")
    assert "add node 'n0'" in lines[1]
    assert output.err == ""


def test_as_json(journal: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["journal", "--json", str(journal)]) == 0
    output = capsys.readouterr().out
    assert output.isascii()
    records = [json.loads(line) for line in output.splitlines()]
    assert [record["kind"] for record in records] == [
        "snapshot",
        "event",
        "event",
        "commit",
        "event",
    ]
    assert [set(record) for record in records] == [{"kind", "at", "text"}] * 5
    assert records[0]["at"] == 19


def test_a_cut_end(journal: Path, capsys: pytest.CaptureFixture[str]) -> None:
    journal.write_bytes(journal.read_bytes()[:-3])
    assert main(["journal", str(journal)]) == 2
    output = capsys.readouterr()
    assert len(output.out.splitlines()) == 4
    assert output.err.startswith(
        f"libgpusched journal: error: journal '{journal}': record 5 at byte"
    )
    assert "is cut" in output.err


def test_what_is_no_journal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["journal", str(tmp_path / "none")]) == 2
    assert "none': cannot open it: No such file" in capsys.readouterr().err
    other = tmp_path / "other"
    other.write_text("hello, world, hello")
    assert main(["journal", str(other)]) == 2
    assert "another file's" in capsys.readouterr().err

"""Which files hold scenarios, and which situations wait for a part of the library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from libgpusched.scenario_format import Case, read_file
from libgpusched.scenario_source import ScenarioError, read_documents

SUFFIXES = (".yaml", ".yml")
# Beside the scenarios: situations that can't be told yet, by id.
WAITING_FILE = "waiting_for.yaml"
WAITING_KEYS = ("room", "why", "part")


@dataclass(frozen=True)
class Waiting:
    """A situation that no scenario tells yet."""

    id: str
    room: str  # the part of the library that it waits for
    why: str
    part: str | None = None  # if a scenario tells the rest: what it leaves out


@dataclass
class Suite:
    """What the given files and folders hold."""

    cases: list[tuple[Case, int]] = field(default_factory=list)  # with their number in their file
    files: list[Path] = field(default_factory=list)  # all that were read
    waiting: list[Waiting] = field(default_factory=list)


def read_suite(paths: Sequence[str]) -> Suite:
    """Reads files, and folders with all that is in them. Raises ScenarioError."""
    suite = Suite()
    seen: set[Path] = set()
    for path in map(Path, paths):
        for file in _files(path):
            if file.resolve() in seen:
                continue
            seen.add(file.resolve())
            suite.files.append(file)
            if file.name == WAITING_FILE:
                suite.waiting += read_waiting(file)
                continue
            suite.cases += [(case, number) for number, case in enumerate(read_file(file))]
    return suite


def read_waiting(path: Path) -> list[Waiting]:
    """The list of situations that wait."""
    try:
        documents = read_documents(path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise ScenarioError(f"{path}: the file cannot be read ({error})") from None
    waiting = []
    for document in documents:
        for identity, entry in document.mapping("a mapping of ids to room and why").items():
            parts = entry.keys(WAITING_KEYS, ("room", "why"))
            left_out = parts["part"].text() if "part" in parts else None
            waiting.append(Waiting(identity, parts["room"].text(), parts["why"].text(), left_out))
    return waiting


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = [file for file in sorted(path.rglob("*")) if file.suffix in SUFFIXES]
    if not found:
        endings = " or ".join(SUFFIXES)
        raise ScenarioError(f"{path}: the folder holds no file that ends in {endings}")
    return found

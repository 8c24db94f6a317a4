#!/usr/bin/env python3
"""Checks the layout that docs/architecture.md promises. Prints each violation; exit code 1 if any.

* Includes go only down the list of rooms, and the umbrella header is for callers.
* The cheap tier reaches no abseil header, so that a caller's file compiles in about a second.
* A public header has 300 lines or fewer and a test file of the same name (or a stated reason).
* No file is named after nothing.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

# A room may include itself and the rooms to its left.
ROOMS = ("base", "spec", "decision", "state", "policy", "index", "journal", "engine", "sim")
CHEAP_ROOMS = ("base", "spec", "decision")
CHEAP_EXTRA = ("policy/concepts.h",)
CHEAP_EXCEPT = (
    "spec/validate.h",
    "spec/validate_job.h",
    "spec/validate_model.h",
    "spec/field_error.h",
    "decision/plan_validator.h",
)
TOP_HEADERS = ("fwd.h", "gpusched.h")  # may include any room
OPEN_TO_ALL = ("fwd.h", "export.h")  # any room may include these
MAX_HEADER_LINES = 300
EMPTY_WORDS = {"util", "utils", "common", "helper", "helpers", "misc", "manager", "managers"}
NAMED_FOLDERS = ("include", "src", "bindings", "python", "benchmarks", "examples", "tests", "cmake")
ALLOWLIST = "tests/layout/headers_without_test.txt"

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)


def includes_of(file: Path) -> list[str]:
    return INCLUDE.findall(file.read_text(encoding="utf-8"))


def own_includes_of(file: Path) -> list[str]:
    """Our headers that a file includes, relative to include/gpusched/."""
    prefix = "gpusched/"
    return [name.removeprefix(prefix) for name in includes_of(file) if name.startswith(prefix)]


def check_direction(root: Path) -> Iterator[str]:
    for top in (root / "include/gpusched", root / "src"):
        for file in sorted([*top.rglob("*.h"), *top.rglob("*.cc")]):
            inside = file.relative_to(top).as_posix()
            if inside in TOP_HEADERS:
                continue
            shown = file.relative_to(root).as_posix()
            room = inside.split("/")[0]
            if room not in ROOMS:
                yield f"{shown}: '{room}' is not a room; rooms are {', '.join(ROOMS)}"
                continue
            for target in own_includes_of(file):
                target_room = target.split("/")[0]
                if target in OPEN_TO_ALL:
                    continue
                if target == "gpusched.h":
                    yield f"{shown}: includes the umbrella gpusched.h; include what is used"
                elif target_room not in ROOMS:
                    yield f"{shown}: includes gpusched/{target}, which is in no room"
                elif ROOMS.index(target_room) > ROOMS.index(room):
                    yield f"{shown}: {room} must not include gpusched/{target}, a room above it"


def is_cheap(header: str) -> bool:
    if header in CHEAP_EXCEPT:
        return False
    return header in CHEAP_EXTRA or header.split("/")[0] in CHEAP_ROOMS


def way_to_abseil(include: Path, header: str, seen: set[str]) -> list[str]:
    """The chain of headers by which `header` reaches abseil; empty if it does not."""
    if header in seen or not (include / header).is_file():
        return []
    seen.add(header)
    for name in includes_of(include / header):
        if name.startswith("absl/"):
            return [header, name]
    for target in own_includes_of(include / header):
        rest = way_to_abseil(include, target, seen)
        if rest:
            return [header, *rest]
    return []


def check_cheap_tier(root: Path) -> Iterator[str]:
    include = root / "include/gpusched"
    for file in sorted(include.rglob("*.h")):
        header = file.relative_to(include).as_posix()
        if is_cheap(header):
            way = way_to_abseil(include, header, set())
            if way:
                shown = file.relative_to(root).as_posix()
                yield f"{shown}: is in the cheap tier, but reaches abseil: {' -> '.join(way)}"


def read_allowlist(root: Path) -> tuple[dict[str, str], list[str]]:
    """Headers that need no test file, with the reason; and what is wrong with the list itself."""
    reasons: dict[str, str] = {}
    problems: list[str] = []
    path = root / ALLOWLIST
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith("#"):
            continue
        header, _, reason = line.partition(":")
        if not reason.strip():
            problems.append(f"{ALLOWLIST}:{number}: '{header}' has no reason after a colon")
        reasons[header.strip()] = reason.strip()
    return reasons, problems


def check_headers(root: Path) -> Iterator[str]:
    include = root / "include/gpusched"
    allowed, problems = read_allowlist(root)
    yield from problems
    untested: set[str] = set()
    for file in sorted(include.rglob("*.h")):
        header = file.relative_to(include).as_posix()
        shown = file.relative_to(root).as_posix()
        count = len(file.read_text(encoding="utf-8").splitlines())
        if count > MAX_HEADER_LINES:
            yield f"{shown}: {count} lines, more than {MAX_HEADER_LINES}; is it still one concept?"
        if header in TOP_HEADERS:
            continue
        test = f"tests/{header.removesuffix('.h')}_test.cc"
        if not (root / test).is_file():
            untested.add(header)
            if header not in allowed:
                yield f"{shown}: has no {test}, and no reason in {ALLOWLIST}"
    for header in sorted(set(allowed) - untested):
        yield f"{ALLOWLIST}: '{header}' has a test or does not exist; remove the line"


def check_names(root: Path) -> Iterator[str]:
    for folder in NAMED_FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if "__pycache__" not in path.parts and EMPTY_WORDS & set(
                re.split(r"[_\-.]", path.name.lower())
            ):
                yield f"{path.relative_to(root).as_posix()}: the name does not say what it holds"


def violations(root: Path) -> list[str]:
    checks = (check_direction, check_cheap_tier, check_headers, check_names)
    return [violation for check in checks for violation in check(root)]


def main() -> int:
    if len(sys.argv) != 2:
        print(f"usage: {Path(sys.argv[0]).name} REPOSITORY", file=sys.stderr)
        return 2
    root = Path(sys.argv[1]).resolve()
    if not (root / "include/gpusched").is_dir():
        print(f"{root} has no include/gpusched", file=sys.stderr)
        return 2
    found = violations(root)
    print("\n".join(found) if found else "layout: nothing to report")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Prints what pyproject.toml requires to build, run and test the package, one requirement a line.

Installing these first lets the package itself be installed without build isolation, which keeps its
build tree. CMake is added where the system's is missing or older than CMakeLists.txt asks for.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def read_pyproject() -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        from pip._vendor import tomli as tomllib
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def cmake_is_new_enough(needed: tuple[int, int]) -> bool:
    try:
        output = subprocess.run(["cmake", "--version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return False
    found = re.search(r"(\d+)\.(\d+)", output.stdout)
    return found is not None and (int(found[1]), int(found[2])) >= needed


def main() -> None:
    pyproject = read_pyproject()
    project = pyproject["project"]
    requirements: list[str] = [
        *pyproject["build-system"]["requires"],
        *project["dependencies"],
        *project["optional-dependencies"]["test"],
    ]
    lists = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    needed = re.search(r"cmake_minimum_required\(VERSION (\d+)\.(\d+)\)", lists)
    assert needed is not None
    if not cmake_is_new_enough((int(needed[1]), int(needed[2]))):
        requirements.append(f"cmake>={needed[1]}.{needed[2]},<4")
    print("\n".join(requirements))


if __name__ == "__main__":
    main()

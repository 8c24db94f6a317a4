#!/usr/bin/env python3
"""Counts the instructions of small fixed cases and compares them with the committed figures.

    benchmarks/instructions.py build/release/benchmarks/instruction_cases [--write]

Figures are of the release build with g++ 12 on x86-64 with AVX2, which the index uses where it is;
on other machines the counts are printed and not compared. A case may take 5 % more or less before
it counts as changed: less is to be written down too, or it can be lost again unseen.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

FIGURES = Path(__file__).with_name("instructions.txt")
TOLERANCE = 0.05


def committed() -> dict[str, int]:
    lines = FIGURES.read_text(encoding="utf-8").splitlines()
    return {
        name: int(count)
        for name, count in (line.split() for line in lines if line and not line.startswith("#"))
    }


def count(program: str, case: str) -> int:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "callgrind.out"
        subprocess.run(
            [
                "valgrind",
                "--tool=callgrind",
                f"--callgrind-out-file={out}",
                "--toggle-collect=CountedEvents",
                program,
                case,
            ],
            check=True,
            capture_output=True,
        )
        totals = re.search(r"^(?:summary|totals): (\d+)", out.read_text(), re.MULTILINE)
    if totals is None or int(totals[1]) == 0:
        raise SystemExit(f"{case}: callgrind counted nothing")
    return int(totals[1])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("--write", action="store_true", help="commit what is counted now")
    arguments = parser.parse_args()
    figures = committed()
    counted = {case: count(arguments.program, case) for case in figures}
    comparable = "avx2" in Path("/proc/cpuinfo").read_text(encoding="utf-8").split()
    wrong = 0
    for case, now in counted.items():
        change = now / figures[case] - 1
        far = abs(change) > TOLERANCE
        wrong += far
        print(f"{case:24} {now:>12,} {change:+7.1%}{'  differs' if far else ''}")
    if arguments.write:
        head = [line for line in FIGURES.read_text().splitlines() if line.startswith("#")]
        body = [f"{case} {now}" for case, now in counted.items()]
        FIGURES.write_text("\n".join([*head, *body]) + "\n", encoding="utf-8")
        return 0
    if wrong and not comparable:
        print("this machine has no AVX2, so the figures are not of its kind")
        return 0
    if wrong:
        print("write the new figures down with --write, and say why in the commit")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

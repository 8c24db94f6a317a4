#!/usr/bin/env python3
"""Prints how many tests ran, from JUnit reports, a line each and a total in the last line.

Usage: summarize_tests.py NAME=REPORT...
The exit code is 1 if a test failed, or if a report is missing or holds no test that passed: a
suite that ran nothing has not passed.
"""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path


def count(report: Path) -> tuple[int, int, int]:
    """Passed, failed and skipped tests in one report."""
    passed = failed = skipped = 0
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            failed += 1
        elif case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
            skipped += 1
        else:
            passed += 1
    return passed, failed, skipped


def line(passed: int, failed: int, skipped: int) -> str:
    return f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else "")


def main() -> int:
    total = [0, 0, 0]
    good = True
    print()
    for argument in sys.argv[1:]:
        name, _, path = argument.partition("=")
        if not Path(path).is_file():
            print(f"{name} tests: did not run (no {path})")
            good = False
            continue
        counts = count(Path(path))
        print(f"{name} tests: {line(*counts)}")
        good = good and counts[0] > 0 and counts[1] == 0
        total = [a + b for a, b in zip(total, counts, strict=True)]
    print(line(*total))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Shows that check_includes.py accepts a good tree and catches each kind of violation."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

import check_includes

GOOD = {
    "include/gpusched/gpusched.h": '#include "gpusched/engine/engine.h"\n',
    "include/gpusched/fwd.h": "",
    "include/gpusched/base/id.h": "#include <cstdint>\n",
    "include/gpusched/spec/job.h": '#include "gpusched/base/id.h"\n',
    "include/gpusched/spec/validate.h": '#include "absl/status/status.h"\n',
    "include/gpusched/policy/erased/any_score.h": '#include "gpusched/fwd.h"\n',
    "include/gpusched/engine/engine.h": '#include "gpusched/spec/validate.h"\n',
    "src/engine/engine.cc": '#include "gpusched/engine/engine.h"\n',
    "tests/base/id_test.cc": "",
    "tests/spec/job_test.cc": "",
    "tests/spec/validate_test.cc": "",
    "tests/policy/erased/any_score_test.cc": "",
    "tests/engine/engine_test.cc": "",
}


class CheckIncludesTest(unittest.TestCase):
    def found(self, changes: dict[str, str | None]) -> list[str]:
        """What is reported of the good tree with some files replaced, added or (None) removed."""
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for name, text in {**GOOD, **changes}.items():
                if text is not None:
                    path = root / name
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_text(text, encoding="utf-8")
            return check_includes.violations(root)

    def assert_one(self, changes: dict[str, str | None], *parts: str) -> None:
        found = self.found(changes)
        self.assertEqual(len(found), 1, found)
        for part in parts:
            self.assertIn(part, found[0])

    def test_good_tree(self) -> None:
        self.assertEqual(self.found({}), [])

    def test_include_upwards_in_a_header(self) -> None:
        self.assert_one(
            {"include/gpusched/base/id.h": '#include "gpusched/policy/erased/any_score.h"\n'},
            "include/gpusched/base/id.h",
            "a room above",
        )

    def test_include_upwards_in_a_source(self) -> None:
        self.assert_one(
            {"src/spec/job.cc": "#  include <gpusched/engine/engine.h>\n"},
            "src/spec/job.cc",
            "a room above",
        )

    def test_umbrella_inside_a_room(self) -> None:
        self.assert_one({"src/sim/sim.cc": '#include "gpusched/gpusched.h"\n'}, "umbrella")

    def test_unknown_room(self) -> None:
        self.assert_one({"src/cellar/wine.cc": ""}, "'cellar' is not a room")
        self.assert_one(
            {"src/sim/sim.cc": '#include "gpusched/cellar/wine.h"\n'}, "which is in no room"
        )

    def test_abseil_in_the_cheap_tier(self) -> None:
        for header in ("base/id.h", "spec/job.h", "decision/plan.h", "policy/concepts.h"):
            changes: dict[str, str | None] = {
                "include/gpusched/spec/job.h": "",  # or it would reach abseil through base/id.h
                f"include/gpusched/{header}": '#include "absl/status/status.h"\n',
                f"tests/{header.removesuffix('.h')}_test.cc": "",
            }
            self.assert_one(changes, header, "cheap tier")

    def test_abseil_reached_through_another_header(self) -> None:
        self.assert_one(
            {"include/gpusched/spec/job.h": '#include "gpusched/spec/validate.h"\n'},
            "spec/job.h -> spec/validate.h -> absl/status/status.h",
        )

    def test_long_header(self) -> None:
        self.assertEqual(self.found({"include/gpusched/base/id.h": "\n" * 300}), [])
        self.assert_one({"include/gpusched/base/id.h": "\n" * 301}, "301 lines")

    def test_header_without_test(self) -> None:
        self.assert_one({"tests/base/id_test.cc": None}, "has no tests/base/id_test.cc")

    def test_allowlist(self) -> None:
        allowlist = check_includes.ALLOWLIST
        no_test: dict[str, str | None] = {"tests/base/id_test.cc": None}
        self.assertEqual(
            self.found({**no_test, allowlist: "# why\nbase/id.h: tested in spec\n"}), []
        )
        self.assert_one({**no_test, allowlist: "base/id.h:\n"}, "no reason")
        self.assert_one({allowlist: "base/id.h: tested in spec\n"}, "remove the line")

    def test_names(self) -> None:
        for name in (
            "src/base/utils.cc",
            "src/sim/job_manager.cc",
            "python/libgpusched/helpers.py",
            "tests/common/x.txt",
        ):
            self.assert_one({name: ""}, name.removesuffix("/x.txt"), "does not say what it holds")
        self.assertEqual(self.found({"src/sim/commonality.cc": ""}), [])


if __name__ == "__main__":
    unittest.main()

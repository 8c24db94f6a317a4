"""The committed stub says what the compiled module has."""

from __future__ import annotations

import ast
import inspect
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import libgpusched as gs
from libgpusched import _core

STUB = Path(gs.__file__).with_name("_core.pyi")

# What stubtest cannot know about pybind11: its metaclass, and that a class without a constructor
# has an __init__ that refuses every argument.
EXPECTED = re.compile(
    r"is inconsistent, metaclass differs$"
    r"|__init__ is inconsistent, stub does not have \*args parameter \"args\"$"
)


def test_stubtest() -> None:
    pytest.importorskip("mypy")
    environment = dict(os.environ)
    if "site-packages" not in STUB.parts:  # where mypy looks anyway, and forbids to say so
        environment["MYPYPATH"] = str(STUB.parents[1])
    done = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "--concise", "libgpusched._core"],
        capture_output=True,
        text=True,
        env=environment,
    )
    assert "not checked" not in done.stderr, done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("libgpusched")]
    assert lines, done.stdout + done.stderr
    assert [line for line in lines if not EXPECTED.search(line)] == []


def signatures_of_stub() -> Iterator[tuple[str, list[str]]]:
    """Parameters of every function with arguments that is public, or a constructor."""
    tree = ast.parse(STUB.read_text(encoding="utf-8"))
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}

    def functions(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, list[str]]]:
        for node in body:
            if not isinstance(node, ast.FunctionDef):
                continue
            if any(isinstance(d, ast.Name) and d.id == "property" for d in node.decorator_list):
                continue
            if node.name.startswith("_") and node.name != "__init__":
                continue
            arguments = [arg.arg for arg in node.args.posonlyargs + node.args.args]
            if node.args.kwonlyargs:
                arguments += ["*", *(arg.arg for arg in node.args.kwonlyargs)]
            yield prefix + node.name, arguments

    yield from functions(tree.body, "")
    for name, node in classes.items():
        if name.startswith("_"):
            continue
        yield from functions(node.body, f"{name}.")
        for base in node.bases:
            if isinstance(base, ast.Name) and base.id.startswith("_"):
                yield from functions(classes[base.id].body, f"{name}.")


@pytest.mark.parametrize(("name", "expected"), list(signatures_of_stub()))
def test_parameters(name: str, expected: list[str]) -> None:
    found: object = _core
    for part in name.split("."):
        found = getattr(found, part)
    signature = (inspect.getdoc(found) or "").splitlines()[0]
    match = re.match(r"\w+\((.*)\) -> ", signature)
    assert match, signature
    # Types and defaults may hold commas, but neither a colon nor a star.
    names = re.findall(r"(?:^|, )(\w+)(?=:)|(?:^|, )(\*)(?=,)", match[1])
    assert [a or b for a, b in names] == expected


def test_package_is_typed() -> None:
    assert STUB.with_name("py.typed").exists()

"""Examples in docstrings run, everything public has a docstring, and the quickstart works."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import libgpusched as gs
from libgpusched import _core

ROOT = Path(__file__).resolve().parents[2]
MODULES = [
    gs,
    *(
        importlib.import_module(f"libgpusched.{module.name}")
        for module in pkgutil.iter_modules(gs.__path__)
        if module.name != "__main__"
    ),
]


def documented(owner: object, name: str) -> Iterator[tuple[str, str]]:
    """Names and docstrings of an object and, if it is ours and a class, of its public members."""
    yield name, inspect.getdoc(owner) or ""
    if not inspect.isclass(owner):
        return
    for member_name, member in vars(owner).items():
        if not member_name.startswith("_") and (callable(member) or isinstance(member, property)):
            yield f"{name}.{member_name}", inspect.getdoc(member) or ""
        elif member_name == "__init__":
            yield f"{name}.__init__", inspect.getdoc(member) or ""


DOCSTRINGS = {module.__name__: module.__doc__ or "" for module in MODULES} | {
    name: text
    for public in gs.__all__
    if public != "__version__"
    for name, text in documented(getattr(gs, public), public)
}
EXAMPLES = {name: text for name, text in DOCSTRINGS.items() if ">>>" in text}


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_examples_run(name: str) -> None:
    test = doctest.DocTestParser().get_doctest(EXAMPLES[name], {"gs": gs}, name, None, None)
    output: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(test, out=output.append)
    assert "".join(output) == ""


def test_there_are_examples() -> None:
    assert {"libgpusched", "Scheduler", "Cluster", "ScorePolicy", "libgpusched.errors"} <= set(
        EXAMPLES
    )


# Their names say it all, given the docstring of the class.
OBVIOUS = {"DeviceInfo", "LatencyNs", "Transaction.__exit__"}


@pytest.mark.parametrize("name", sorted(DOCSTRINGS))
def test_everything_public_has_a_docstring(name: str) -> None:
    lines = DOCSTRINGS[name].splitlines()
    if lines and "(self: " in lines[0]:
        lines = lines[1:]  # the signature, which is written by itself
    class_name, _, member = name.partition(".")
    undocumented_init = member == "__init__" and class_name in (
        "FirstFit",
        "GpuPacking",
        "ScorePolicy",
    )
    assert "".join(lines).strip() or class_name in OBVIOUS or undocumented_init


def test_quickstart() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples/quickstart.py")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == (
        "notebook: placed on 'small', device 0\n"
        "training: placed on 'big', devices 0, 1, 2, 3, 4, 5, 6, 7\n"
        "inference: waits, because 0 of 2 nodes take it: 1 ModelNotAllowed, 1 TooFewWholeDevices; "
        "nearest is 'small': 2 whole devices asked, 1 free\n"
        "inference: placed on 'small', devices 0, 1\n"
    )


def test_all_names_are_exported() -> None:
    assert sorted(gs.__all__) == gs.__all__
    ours = {name for name in vars(_core) if not name.startswith("_")}
    assert ours <= set(gs.__all__)
    errors = importlib.import_module("libgpusched.errors")
    assert {name for name in vars(errors) if name[0].isupper()} <= set(gs.__all__)

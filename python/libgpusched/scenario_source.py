"""Scenario files as values that know where they stand, so that every message can say where.

A file is YAML, read as YAML 1.2 reads plain words: only `true` and `false` are truth values, so a
node may be called `on`. Keys are text and stand once. `.nan` and `.inf` are numbers.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

import yaml

from libgpusched.errors import InvalidSpec

_DURATION = re.compile(r"([0-9]+)(?:\.([0-9]+))?(us|ms|s|m|h|d)")
_UNITS = {
    "us": 1,
    "ms": 1_000,
    "s": 1_000_000,
    "m": 60_000_000,
    "h": 3_600_000_000,
    "d": 86_400_000_000,
}
# The engine's kMaxTime.
MOST_TIME = 2**60
# More than any cluster that is written by hand; aliases of aliases multiply.
MOST_VALUES = 200_000


class ScenarioError(InvalidSpec):
    """A scenario file says something that is no scenario; the message names file, line and key."""


@dataclass(frozen=True)
class Where:
    """A place in a file: the line, and the keys that lead there."""

    file: str
    line: int
    path: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.path}" if self.path else f"{self.file}:{self.line}"


class YamlMap(dict[str, Any]):
    """A mapping with the line of each key."""

    lines: dict[str, int]


class YamlList(list[Any]):
    """A list with the line of each item."""

    lines: list[int]


@dataclass(frozen=True)
class Field:
    """A value and where it stands; reading it as anything else than it is raises ScenarioError."""

    value: Any
    where: Where

    def wrong(self, remedy: str, shown: str | None = None) -> NoReturn:
        """Refuses the value: what would be right."""
        shown = _shown(self.value) if shown is None else shown
        path = self.where.path or "the document"
        place = f"{self.where.file}:{self.where.line}"
        raise ScenarioError(f"{place}: {path} is {shown}; {remedy}")

    def mapping(self, what: str = "a mapping of keys to values") -> dict[str, Field]:
        """The entries by key."""
        if not isinstance(self.value, YamlMap):
            self.wrong(f"use {what}")
        return {key: self._entry(key) for key in self.value}

    def keys(self, allowed: Collection[str], required: Collection[str] = ()) -> dict[str, Field]:
        """The entries of a mapping that has these keys and no others."""
        entries = self.mapping(f"a mapping with the keys {', '.join(allowed)}")
        for key, entry in entries.items():
            if key not in allowed:
                near = difflib.get_close_matches(key, allowed, n=1)
                entry.wrong(
                    f"did you mean {near[0]}?" if near else f"known are {', '.join(allowed)}",
                    "no key that is known here",
                )
        for key in required:
            if key not in entries:
                missing = Field(None, self._where(key, self.where.line))
                missing.wrong("it must be given", "missing")
        return entries

    def some_keys(self, allowed: Collection[str]) -> dict[str, Field]:
        """The entries of a mapping that has some of these keys and no others."""
        entries = self.keys(allowed)
        if not entries:
            self.wrong(f"give it some of {', '.join(allowed)}")
        return entries

    def items(self, what: str = "a list") -> list[Field]:
        """The items of a list."""
        if not isinstance(self.value, YamlList):
            self.wrong(f"use {what}")
        return [
            Field(item, Where(self.where.file, line, f"{self.where.path}[{position}]"))
            for position, (item, line) in enumerate(zip(self.value, self.value.lines, strict=True))
        ]

    def one_or_more(self) -> list[Field]:
        """The items of a list, or the value itself as the only one."""
        return self.items() if isinstance(self.value, YamlList) else [self]

    def text(self) -> str:
        """The value, which is text."""
        if not isinstance(self.value, str):
            self.wrong("use text; in quotes if it looks like something else")
        return self.value

    def word(self, allowed: Collection[str]) -> str:
        """The value, which is one of these words."""
        if not isinstance(self.value, str) or self.value not in allowed:
            near = difflib.get_close_matches(str(self.value), allowed, n=1)
            hint = f"did you mean {near[0]}? " if near else ""
            self.wrong(f"{hint}use one of {', '.join(allowed)}")
        return self.value

    def whole(self, least: int | None = None, most: int | None = None) -> int:
        """The value, which is a whole number of any size, or within these bounds."""
        if isinstance(self.value, bool) or not isinstance(self.value, int):
            self.wrong("use a whole number")
        if least is not None and self.value < least:
            self.wrong(f"use {least} or more")
        if most is not None and self.value > most:
            self.wrong(f"use {most} or less")
        return self.value

    def number(self) -> int | float:
        """The value, which is a number, not-a-number and infinity included."""
        if isinstance(self.value, bool) or not isinstance(self.value, (int, float)):
            self.wrong("use a number")
        return self.value

    def flag(self) -> bool:
        """The value, which is true or false."""
        if not isinstance(self.value, bool):
            self.wrong("use true or false")
        return self.value

    def duration(self) -> int:
        """The value, which is a duration like 250ms, in microseconds."""
        match = _DURATION.fullmatch(self.value) if isinstance(self.value, str) else None
        if match is None:
            self.wrong("use a number with its unit, like 250ms, 10s, 5m, 2h")
        # No numbers of thousands of digits: Python refuses to read them.
        whole, part = match[1].lstrip("0"), (match[2] or "").rstrip("0")
        if len(whole) > len(str(MOST_TIME)):
            self._too_long()
        if len(part) > len(str(_UNITS["d"])):
            self._too_fine()
        scale: int = 10 ** len(part)
        time, rest = divmod(int(f"0{whole}{part}") * _UNITS[match[3]], scale)
        if time > MOST_TIME or (time == MOST_TIME and rest):
            self._too_long()
        if rest:
            self._too_fine()
        return time

    def _too_long(self) -> NoReturn:
        self.wrong(f"use {MOST_TIME}us (2^60 microseconds) or less")

    def _too_fine(self) -> NoReturn:
        self.wrong("use a whole number of microseconds")

    def _where(self, key: str, line: int) -> Where:
        path = f"{self.where.path}.{key}" if self.where.path else key
        return Where(self.where.file, line, path)

    def _entry(self, key: str) -> Field:
        return Field(self.value[key], self._where(key, self.value.lines[key]))


def read_documents(text: str, file: str) -> list[Field]:
    """The documents of a file, which `---` parts. Raises ScenarioError with the line."""
    try:
        # Not a context manager in PyYAML: dispose() is all that it would do.
        loader = _Loader(text)
        try:
            documents = []
            while loader.check_node():
                node = loader.get_node()
                assert node is not None  # there is one more
                where = Where(file, _line(node))
                documents.append(Field(_Builder(loader, where).build(node), where))
            return documents
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        message = " ".join(part for part in (error.context, error.problem) if part)
        raise ScenarioError(f"{file}:{line}: the file is not YAML: {message}") from None
    except yaml.YAMLError as error:
        line = text[: getattr(error, "position", 0)].count("\n") + 1
        raise ScenarioError(f"{file}:{line}: the file is not YAML: {error}") from None
    except RecursionError:
        raise ScenarioError(f"{file}:1: the file is nested too deeply") from None


class _Loader(yaml.SafeLoader):
    """With the plain words of YAML 1.2 alone."""


_Loader.yaml_implicit_resolvers = {}
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(?:true|false)$"), list("tf"))
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:int", re.compile(r"^[-+]?(?:0|[1-9][0-9_]*)$"), list("-+0123456789")
)
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(
        r"^(?:[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
        r"|[-+]?[0-9]+[eE][-+]?[0-9]+|[-+]?\.inf|\.nan)$"
    ),
    list("-+0123456789."),
)
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:null", re.compile(r"^(?:~|null|)$"), ["~", "n", ""]
)


class _Builder:
    """The value of a document: maps and lists with their lines. Aliases are written out."""

    def __init__(self, loader: _Loader, document: Where) -> None:
        self._loader = loader
        self._document = document
        self._values = 0

    def build(self, node: yaml.Node, parents: tuple[yaml.Node, ...] = ()) -> Any:
        """The value of a node."""
        file = self._document.file
        if any(node is parent for parent in parents):
            raise ScenarioError(f"{file}:{_line(node)}: an anchor stands inside itself")
        self._values += 1
        if self._values > MOST_VALUES:
            raise ScenarioError(
                f"{self._document}: the document is more than {MOST_VALUES:,} values, with its "
                "aliases written out; use fewer, or count and times"
            )
        inside = (*parents, node)
        if isinstance(node, yaml.MappingNode):
            result = YamlMap()
            result.lines = {}
            for key, value in _entries(node, file):
                result[key.value] = self.build(value, inside)
                result.lines[key.value] = _line(key)
            return result
        if isinstance(node, yaml.SequenceNode):
            items = YamlList(self.build(item, inside) for item in node.value)
            items.lines = [_line(item) for item in node.value]
            return items
        try:
            value = self._loader.construct_object(node)
            # PyYAML's has a sign, which shows in messages.
            return math.nan if isinstance(value, float) and math.isnan(value) else value
        except ValueError as error:
            raise ScenarioError(f"{file}:{_line(node)}: {_shown(node.value)} is {error}") from None


def _entries(node: yaml.MappingNode, file: str) -> Iterator[tuple[yaml.ScalarNode, yaml.Node]]:
    seen: dict[str, int] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode) or key.tag != "tag:yaml.org,2002:str":
            shown = _shown(key.value) if isinstance(key, yaml.ScalarNode) else "no word"
            raise ScenarioError(
                f"{file}:{_line(key)}: the key is {shown}; use text, in quotes if need be"
            )
        if key.value in seen:
            raise ScenarioError(
                f"{file}:{_line(key)}: the key {key.value} stands twice, first on line "
                f"{seen[key.value]}; keep one"
            )
        seen[key.value] = _line(key)
        yield key, value


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return "a mapping" if value else "an empty mapping"
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    if value is None:
        return "empty"
    if isinstance(value, bool):
        return str(value).lower()
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"

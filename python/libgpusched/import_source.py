"""A parsed document with the path to each value, so that errors can say where it stands."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from libgpusched.errors import InvalidSpec, NotFound, Unavailable


def read_text(path: str | os.PathLike[str]) -> str:
    """The text of a file. Raises NotFound, Unavailable or InvalidSpec (not UTF-8)."""
    file = os.fspath(path)
    try:
        return Path(file).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise NotFound(f"{file}: there is no such file") from None
    except OSError as error:
        raise Unavailable(f"{file}: the file cannot be read ({error.strerror})") from None
    except UnicodeDecodeError as error:
        raise InvalidSpec(f"{file}: the file is not UTF-8 at byte {error.start}") from None


def parse_json(text: str, file: str) -> Any:
    """The document. Raises InvalidSpec with file and line."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise InvalidSpec(f"{file}:{error.lineno}: the file is not JSON: {error.msg}") from None
    except ValueError:
        raise InvalidSpec(f"{file}: the file has a number of thousands of digits") from None
    except RecursionError:
        raise InvalidSpec(f"{file}: the file is nested too deeply") from None


@dataclass(frozen=True)
class At:
    """A value and the path to it."""

    value: Any
    source: str
    path: str = ""

    def wrong(self, remedy: str) -> NoReturn:
        """Refuses the value: what would be right."""
        try:
            shown = repr(self.value)
        except ValueError:
            shown = "a number of thousands of digits"
        shown = shown if len(shown) <= 60 else shown[:57] + "..."
        raise InvalidSpec(f"{self.source}: {self.path or 'the document'} is {shown}; {remedy}")

    def get(self, key: str) -> At | None:
        """The entry of a mapping; None if there is none, or it is null."""
        if not isinstance(self.value, Mapping):
            self.wrong("use an object")
        if self.value.get(key) is None:
            return None
        plain = key.isidentifier()
        step = (f".{key}" if self.path else key) if plain else f"['{key}']"
        return At(self.value[key], self.source, self.path + step)

    def need(self, key: str) -> At:
        """The entry, which must be there."""
        entry = self.get(key)
        if entry is None:
            raise InvalidSpec(
                f"{self.source}: {self.path or 'the document'} has no '{key}'; it must be given"
            )
        return entry

    def text(self) -> str:
        """The value, which is text."""
        if not isinstance(self.value, str):
            self.wrong("use text")
        return self.value

    def flag(self) -> bool:
        """The value, which is true or false."""
        if not isinstance(self.value, bool):
            self.wrong("use true or false")
        return self.value

    def items(self) -> Iterator[At]:
        """The items of a list."""
        if not isinstance(self.value, list):
            self.wrong("use a list")
        for index, item in enumerate(self.value):
            yield At(item, self.source, f"{self.path}[{index}]")

    def entries(self) -> dict[str, At]:
        """The entries of a mapping."""
        if not isinstance(self.value, Mapping):
            self.wrong("use an object")
        if not all(isinstance(key, str) for key in self.value):
            self.wrong("use text as keys")
        return {key: entry for key in self.value if (entry := self.get(key)) is not None}

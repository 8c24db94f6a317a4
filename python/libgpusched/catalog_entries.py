"""What a file of GPU models and MIG geometries says, entry by entry, with places in messages."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from libgpusched._core import Catalog, GpuModel, MigGeometry, MigProfile
from libgpusched.catalog_file import (
    FILE_KEYS,
    GEOMETRY_KEYS,
    MODEL_KEYS,
    MODEL_NUMBERS,
    MODEL_TEXTS,
    PROFILE_KEYS,
)
from libgpusched.errors import InvalidSpec
from libgpusched.scenario_source import Field, ScenarioError, Where, read_documents

_Made = TypeVar("_Made")

# JSON's strings, and tabs outside of them.
_STRINGS_AND_TABS = re.compile(r'"(?:\\.|[^"\\])*"|\t', re.DOTALL)


def catalog_of(text: str, file: str) -> Catalog:
    """The catalogue of a file's text. Raises InvalidSpec with the file, line and path inside."""
    try:
        return _catalog(yaml_of(text), file)
    except ScenarioError as error:
        raise InvalidSpec(str(error)) from None


def yaml_of(text: str) -> str:
    """The text, if it is JSON without the tabs that it may be laid out with, and YAML may not."""
    if not text.lstrip().startswith(("{", "[")):
        return text
    return _STRINGS_AND_TABS.sub(lambda part: " " if part[0] == "\t" else part[0], text)


def _catalog(text: str, file: str) -> Catalog:
    documents = [document for document in read_documents(text, file) if document.value is not None]
    if len(documents) != 1:
        number = "nothing" if not documents else f"{len(documents)} documents"
        raise InvalidSpec(f"{file}: the file holds {number}; use one mapping of {_listed()}")
    entries = _known(documents[0].some_keys(FILE_KEYS))
    items = {key: entry.items() for key, entry in entries.items()}
    geometries = [_geometry(item) for item in items.get("geometries", [])]
    opaque = []
    for item in items.get("opaque_models", []):
        opaque.append(_text(item) or item.wrong("name the model"))
    models: list[GpuModel] = []
    for item in items.get("models", []):
        model = _model(item)
        models.append(model)
        # One by one, so that a geometry that is not there is said of the entry.
        _made(item, partial(Catalog, models=[model], geometries=geometries))
    return Catalog(models=models, geometries=geometries, opaque_models=opaque)


def _listed() -> str:
    return f"{', '.join(FILE_KEYS[:-1])} or {FILE_KEYS[-1]}"


def _text(field: Field) -> str:
    """A text. JSON escapes a character beyond 16 bits as two, which YAML leaves apart."""
    text = field.text()
    try:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError:
        return text  # half a pair: the library refuses it


def _known(entries: dict[str, Field]) -> dict[str, Field]:
    """The entries that are not empty."""
    return {key: entry for key, entry in entries.items() if entry.value is not None}


def _model(field: Field) -> GpuModel:
    entries = _known(field.keys(MODEL_KEYS, ("name",)))
    arguments: dict[str, Any] = {}
    for key, entry in entries.items():
        if key in MODEL_TEXTS:
            arguments[key] = _text(entry)
        elif key in MODEL_NUMBERS:
            arguments[key] = entry.whole()
        else:
            arguments[key] = [_text(item) for item in entry.items()]
    _require(field, arguments, ("name",))
    return _made(field, partial(GpuModel, **arguments))


def _geometry(field: Field) -> MigGeometry:
    required = ("name", "profiles")
    entries = _known(field.keys(GEOMETRY_KEYS, required))
    arguments: dict[str, Any] = {}
    for key, entry in entries.items():
        if key == "name":
            arguments[key] = _text(entry)
        elif key == "profiles":
            arguments[key] = [_profile(item) for item in entry.items("a list of profiles")]
        elif key == "unsourced":
            arguments[key] = [_text(item) for item in entry.items()]
        else:
            arguments[key] = entry.whole()
    _require(field, arguments, required)
    return _made(field, partial(MigGeometry, **arguments))


def _profile(field: Field) -> MigProfile:
    required = ("name", "compute_slices", "memory_slices", "starts")
    entries = _known(field.keys(PROFILE_KEYS, required))
    arguments: dict[str, Any] = {}
    for key, entry in entries.items():
        if key == "name":
            arguments[key] = _text(entry)
        elif key == "starts":
            arguments[key] = [item.whole() for item in entry.items("a list of memory slices")]
        elif key == "media_extensions":
            arguments[key] = entry.flag()
        else:
            arguments[key] = entry.whole()
    _require(field, arguments, required)
    return _made(field, partial(MigProfile, **arguments))


def _require(field: Field, arguments: dict[str, Any], required: tuple[str, ...]) -> None:
    """Refuses keys without a value that must have one."""
    for key in required:
        if key not in arguments:
            field.mapping()[key].wrong("it must be given")


def _made(field: Field, make: Callable[[], _Made]) -> _Made:
    """What is made of an entry; what the library refuses of it is said with its place."""
    try:
        return make()
    except InvalidSpec as error:
        rest = _without_subject(str(error), field)
        path, verb, _ = rest.partition(" is ")
        where = _place(field, path) if verb else field.where
        inside = f"{field.where.path}." if field.where.path else ""
        raise ScenarioError(f"{where.file}:{where.line}: {inside}{rest}") from None


def _without_subject(message: str, field: Field) -> str:
    """A message of the library without what it is about, such as `GPU model 'X1': `."""
    name = _text(field.mapping()["name"])
    for kind in ("GPU model", "MIG geometry", "MIG profile"):
        for subject in (f"{kind} '{name}': ", f"{kind}: "):
            if message.startswith(subject):
                return message.removeprefix(subject)
    return message


def _place(field: Field, path: str) -> Where:
    """Where a part of an entry stands, such as `profiles[0].starts[1]`; as far as it is there."""
    for key, index in re.findall(r"(\w+)|\[(\d+)\]", path):
        if key and isinstance(field.value, dict) and key in field.value:
            field = field.mapping()[key]
        elif index and isinstance(field.value, list) and int(index) < len(field.value):
            field = field.items()[int(index)]
        else:
            break
    return field.where

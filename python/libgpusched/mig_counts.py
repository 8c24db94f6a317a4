"""Starts for MIG instances of which only the number is told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache

from libgpusched._core import MigGeometry, MigProfile

_Layout = tuple[tuple[str, int], ...]
_Counts = tuple[int, ...]


def layouts_for(
    geometry: MigGeometry, counts: Mapping[str, int], devices: int | None = None
) -> list[list[tuple[str, int]]] | None:
    """A layout for each device, so that together they have these instances.

    Without `devices`, on as few as will do. The search is exact and always gives the same answer:
    the fullest devices first, each with the starts that leave most to be placed. None if it can't
    be done, or names a profile that the geometry does not have.
    """
    names = sorted(counts)
    if not set(names) <= {profile.name for profile in geometry.profiles}:
        return None
    wanted = tuple(counts[name] for name in names)
    possible = _layouts_by_counts(geometry, names, wanted)
    order = sorted(possible, key=lambda some: (-sum(_slices(geometry, names, some)), some))

    @cache
    def split(rest: _Counts, left: int) -> tuple[_Counts, ...] | None:
        if not any(rest):
            return ((0,) * len(rest),) * left
        if left == 0:
            return None
        for some in order:
            if not any(some) or any(a > b for a, b in zip(some, rest, strict=True)):
                continue
            after = split(tuple(b - a for a, b in zip(some, rest, strict=True)), left - 1)
            if after is not None:
                return (some, *after)
        return None

    limit = sum(wanted)
    for number in [devices] if devices is not None else range(limit + 1):
        parts = split(wanted, number)
        if parts is not None:
            return [list(possible[part]) for part in parts]
    return None


def _slices(geometry: MigGeometry, names: list[str], counts: _Counts) -> list[int]:
    size = {profile.name: profile.memory_slices for profile in geometry.profiles}
    return [count * size[name] for name, count in zip(names, counts, strict=True)]


def _layouts_by_counts(
    geometry: MigGeometry, names: list[str], most: _Counts
) -> dict[_Counts, _Layout]:
    """For each number of instances that one device can have, the layout of the highest value."""
    profiles = [profile for profile in geometry.profiles if profile.name in names]
    best: dict[_Counts, tuple[tuple[int, _Layout], _Layout]] = {}
    for layout, occupied in _layouts(profiles, 0, frozenset(), False):
        seen = Counter(name for name, _ in layout)
        key = tuple(seen[name] for name in names)
        if any(a > b for a, b in zip(key, most, strict=True)):
            continue
        rank = (-geometry.value(sorted(occupied)), layout)
        if key not in best or rank < best[key][0]:
            best[key] = (rank, layout)
    return {key: layout for key, (_, layout) in best.items()}


def _layouts(
    profiles: list[MigProfile], at: int, occupied: frozenset[int], media: bool
) -> Iterator[tuple[_Layout, frozenset[int]]]:
    """Every set of instances once, by start."""
    yield (), occupied
    for profile in profiles:
        if profile.media_extensions and media:
            continue
        for start in profile.starts:
            slices = frozenset(range(start, start + profile.memory_slices))
            if start < at or slices & occupied:
                continue
            rest = _layouts(
                profiles, start + 1, occupied | slices, media or profile.media_extensions
            )
            for layout, all_occupied in rest:
                yield ((profile.name, start), *layout), all_occupied

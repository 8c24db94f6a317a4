"""Pictures in text of MIG instances: a row of memory slices, in which each instance has its cells.

>>> import libgpusched as gs
>>> from libgpusched.mig_picture import layout_row, maximal_layouts
>>> geometry = gs.mig_geometry("A30")
>>> for layout in maximal_layouts(geometry):
...     print(layout_row(geometry, layout))
|4g.24gb                    |
|2g.12gb      |2g.12gb      |
|2g.12gb      |1g.6gb|1g.6gb|
|1g.6gb|1g.6gb|2g.12gb      |
|1g.6gb|1g.6gb|1g.6gb|1g.6gb|
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from libgpusched._core import MigGeometry, MigProfile
from libgpusched.errors import InvalidSpec

# Profiles with their starts, in the order of starts.
Layout: TypeAlias = tuple[tuple[MigProfile, int], ...]

_FREE = "."
_TAKEN = "#"


def slices_of(profile: MigProfile, start: int) -> range:
    """The memory slices of an instance."""
    return range(start, start + profile.memory_slices)


def occupied_slices(layout: Layout) -> set[int]:
    """The memory slices of all instances."""
    return {index for profile, start in layout for index in slices_of(profile, start)}


def maximal_layouts(geometry: MigGeometry) -> Iterator[Layout]:
    """All sets of instances that nothing can be added to, those with large first instances first.

    Profiles with media extensions are left out: they lie as those without do.
    """
    choices: list[list[MigProfile]] = [[] for _ in range(geometry.memory_slices)]
    for profile in geometry.profiles:
        if not profile.media_extensions:
            for start in profile.starts:
                choices[start].append(profile)
    for profiles in choices:
        profiles.sort(key=lambda each: (-each.memory_slices, -each.compute_slices))

    def fits_before(end: int, used: set[int]) -> bool:
        """Whether something fits wholly before the slice, where nothing more will be put."""
        return any(
            used.isdisjoint(slices_of(profile, start))
            for start in range(end)
            for profile in choices[start]
            if start + profile.memory_slices <= end
        )

    def extend(at: int, layout: Layout, used: set[int]) -> Iterator[Layout]:
        if fits_before(at, used):
            return
        if at >= geometry.memory_slices:
            yield layout
            return
        for profile in choices[at]:
            slices = slices_of(profile, at)
            yield from extend(slices.stop, (*layout, (profile, at)), used.union(slices))
        yield from extend(at + 1, layout, used)

    return extend(0, (), set())


def parse_layout(geometry: MigGeometry, text: str) -> Layout:
    """Instances written as `1g.5gb@0,3g.20gb@4`. Raises InvalidSpec."""
    profiles = {profile.name: profile for profile in geometry.profiles}
    layout: list[tuple[MigProfile, int]] = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, at, start = part.rpartition("@")
        if not at or not start.isascii() or not start.isdecimal() or len(start) > 3:
            raise InvalidSpec(f"instance is {part!r}; write PROFILE@START, such as 1g.5gb@0")
        if name not in profiles:
            raise InvalidSpec(
                f"instance is {part!r}; {geometry.name} has no such profile, but "
                f"{', '.join(profiles)}"
            )
        profile, first = profiles[name], int(start)
        if first not in profile.starts:
            raise InvalidSpec(
                f"instance is {part!r}; {name} may begin at {_numbers(profile.starts)}"
            )
        for other, other_start in layout:
            if not set(slices_of(profile, first)).isdisjoint(slices_of(other, other_start)):
                raise InvalidSpec(f"instance is {part!r}; it overlaps {other.name}@{other_start}")
            if profile.media_extensions and other.media_extensions:
                raise InvalidSpec(
                    f"instance is {part!r}; {other.name}@{other_start} has the media engines"
                )
        layout.append((profile, first))
    return tuple(sorted(layout, key=lambda instance: instance[1]))


def fitting_starts(geometry: MigGeometry, profile: MigProfile, layout: Layout) -> tuple[int, ...]:
    """Where one more instance may begin beside those that are there."""
    if profile.media_extensions and any(other.media_extensions for other, _ in layout):
        return ()
    return geometry.free_starts(profile.name, occupied_slices(layout))


def layout_row(geometry: MigGeometry, layout: Layout) -> str:
    """The instances by name; dots are free slices."""
    # Wide enough for any layout without media extensions, so that rows stand below each other.
    named = [profile for profile in geometry.profiles if not profile.media_extensions]
    named += [profile for profile, _ in layout]
    width = max((-(-(len(each.name) + 1) // each.memory_slices) for each in named), default=4)
    cells = {start: (profile.memory_slices, profile.name) for profile, start in layout}
    return _row(geometry.memory_slices, width, cells, set())


def starts_row(
    geometry: MigGeometry, profile: MigProfile, starts: Sequence[int], taken: set[int]
) -> str:
    """An instance at each of the starts, with its number; `#` is taken, dots are free slices."""
    cells = {start: (profile.memory_slices, str(start)) for start in starts}
    return _row(geometry.memory_slices, 4, cells, taken)


def _row(slices: int, width: int, cells: dict[int, tuple[int, str]], taken: set[int]) -> str:
    text = "|"
    at = 0
    while at < slices:
        size, label = cells.get(at, (1, ""))
        room = size * width - 1
        if label:
            text += f"{label:<{room}}|"
        else:
            text += (_TAKEN if at in taken else _FREE) * room + "|"
        at += size
    return text


def _numbers(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))

"""Starts for MIG instances of which only the number is told.

>>> import libgpusched as gs
>>> from libgpusched.mig_counts import layouts_for
>>> for layout in layouts_for(gs.mig_geometry("A30"), {"2g.12gb": 2, "1g.6gb": 3}):
...     print(layout)
[('1g.6gb', 0), ('1g.6gb', 1), ('2g.12gb', 2)]
[('1g.6gb', 0), ('2g.12gb', 2)]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TypeAlias

from libgpusched._core import MigGeometry, MigProfile
from libgpusched.errors import LimitExceeded

# Profiles with their starts, and how many instances there are of each profile of a geometry.
_Layout: TypeAlias = tuple[tuple[str, int], ...]
_Counts: TypeAlias = tuple[int, ...]

# What partitioned nodes need is a few steps a device; this is seconds.
_MOST_STEPS = 100_000


def layouts_for(
    geometry: MigGeometry, counts: Mapping[str, int], devices: int | None = None
) -> list[list[tuple[str, int]]] | None:
    """A layout for each device, so that together they have these instances.

    Without `devices`, on as few as will do. The same on all devices if that is possible, since
    nodes are mostly partitioned so. Starts are those that leave most to be placed. The search is
    exact and always gives the same answer; None if it can't be done, or a profile is not one of the
    geometry. Raises LimitExceeded after 100,000 steps.
    """
    names = [profile.name for profile in geometry.profiles]
    if not set(counts) <= set(names):
        return None
    wanted = tuple(counts.get(name, 0) for name in names)
    search = _Search(geometry)
    least = search.least(wanted)
    if least is None:
        return None
    for number in [devices] if devices is not None else range(least, sum(wanted) + 1):
        parts = search.split(wanted, number) if number >= least else None
        if parts is not None:
            return [list(search.layouts[part]) for part in parts]
    return None


class _Search:
    """How instances are parted among equal devices."""

    def __init__(self, geometry: MigGeometry) -> None:
        self.layouts = _layouts_by_counts(geometry)
        self._sizes = [
            (
                [profile.memory_slices for profile in geometry.profiles],
                geometry.memory_slices,
            ),
            (
                [profile.compute_slices for profile in geometry.profiles],
                geometry.compute_slices,
            ),
            # One instance with media extensions a device.
            ([int(profile.media_extensions) for profile in geometry.profiles], 1),
        ]
        for index in range(len(geometry.profiles)):
            alone = [int(index == other) for other in range(len(geometry.profiles))]
            most = max(part[index] for part in self.layouts)
            self._sizes.append((alone, most))
        # The hardest to place first.
        self._hardest = sorted(
            range(len(geometry.profiles)),
            key=lambda index: (
                -geometry.profiles[index].memory_slices,
                -geometry.profiles[index].compute_slices,
                not geometry.profiles[index].media_extensions,
            ),
        )
        self._order = sorted(self.layouts, key=lambda part: (-self._memory(part), part))

    def least(self, wanted: _Counts) -> int | None:
        """No fewer devices will do; None if no number of them will."""
        number = 0
        for sizes, room in self._sizes:
            size = sum(a * b for a, b in zip(sizes, wanted, strict=True))
            if size > 0 and room == 0:
                return None
            number = max(number, -(-size // room) if room else 0)
        return number

    def split(self, wanted: _Counts, number: int) -> list[_Counts] | None:
        """What each of so many devices has; None if they can't have it all."""
        even = self._evenly(wanted, number)
        if even is not None:
            return even
        self._steps = 0
        self._failed: set[tuple[_Counts, int]] = set()
        return self._exactly(wanted, number)

    def _evenly(self, wanted: _Counts, number: int) -> list[_Counts] | None:
        """The same on all devices, but for what is left over, which goes one by one."""
        if number == 0:
            return None if any(wanted) else []
        parts = [[count // number for count in wanted] for _ in range(number)]
        at = 0
        for index in self._hardest:
            for _ in range(wanted[index] % number):
                parts[at % number][index] += 1
                at += 1
        made = [tuple(part) for part in parts]
        return made if all(part in self.layouts for part in made) else None

    def _exactly(self, rest: _Counts, left: int) -> list[_Counts] | None:
        if not any(rest):
            return [(0,) * len(rest)] * left
        least = self.least(rest)
        if least is None or least > left or (rest, left) in self._failed:
            return None
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise LimitExceeded(
                f"MIG instances: how {sum(rest)} of them lie on {left} devices takes more than "
                f"{_MOST_STEPS:,} steps to find; describe the devices with their partitions"
            )
        # Some device has the hardest instance. It may as well be this one, and full: one that has
        # less in some solution can be given what another has.
        hardest = next(index for index in self._hardest if rest[index])
        tried: list[_Counts] = []
        for part in self._order:
            if not part[hardest] or any(a > b for a, b in zip(part, rest, strict=True)):
                continue
            if any(all(a <= b for a, b in zip(part, other, strict=True)) for other in tried):
                continue
            tried.append(part)
            others = self._exactly(tuple(b - a for a, b in zip(part, rest, strict=True)), left - 1)
            if others is not None:
                return [part, *others]
        self._failed.add((rest, left))
        return None

    def _memory(self, part: _Counts) -> int:
        return sum(a * b for a, b in zip(self._sizes[0][0], part, strict=True))


@lru_cache(maxsize=32)
def _layouts_by_counts(geometry: MigGeometry) -> dict[_Counts, _Layout]:
    """For each number of instances that one device can have, the layout of the highest value."""
    names = [profile.name for profile in geometry.profiles]
    best: dict[_Counts, tuple[int, _Layout]] = {}
    for layout, occupied in _layouts(geometry.profiles, 0, frozenset(), False):
        seen = Counter(name for name, _ in layout)
        key = tuple(seen[name] for name in names)
        rank = (-geometry.value(sorted(occupied)), layout)
        if key not in best or rank < best[key]:
            best[key] = rank
    return {key: layout for key, (_, layout) in best.items()}


def _layouts(
    profiles: tuple[MigProfile, ...], at: int, occupied: frozenset[int], media: bool
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

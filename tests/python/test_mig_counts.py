"""Layouts for numbers of MIG instances, against all that there are."""

import itertools
from collections import Counter

import pytest

import libgpusched as gs
from libgpusched.mig_counts import layouts_for


def counts_of_one(geometry: gs.MigGeometry) -> set[tuple[int, ...]]:
    """What one device can have, by trying all sets of instances."""
    pieces = [
        (index, start)
        for index, profile in enumerate(geometry.profiles)
        for start in profile.starts
    ]
    found = set()
    for size in range(geometry.memory_slices + 1):
        for some in itertools.combinations(pieces, size):
            slices = [
                start + part
                for index, start in some
                for part in range(geometry.profiles[index].memory_slices)
            ]
            media = sum(geometry.profiles[index].media_extensions for index, _ in some)
            if len(set(slices)) == len(slices) and media <= 1:
                seen = Counter(index for index, _ in some)
                found.add(tuple(seen[index] for index in range(len(geometry.profiles))))
    return found


@pytest.mark.parametrize("number", [1, 2, 3])
def test_exact(number: int) -> None:
    geometry = gs.mig_geometry("A30")
    names = [profile.name for profile in geometry.profiles]
    one = counts_of_one(geometry)
    possible = {
        tuple(map(sum, zip(*some, strict=True)))
        for some in itertools.combinations_with_replacement(sorted(one), number)
    }
    beyond = {
        tuple(count + (index == more) for index, count in enumerate(some))
        for some in possible
        for more in range(len(names))
    }
    for wanted in sorted(possible | beyond):
        made = layouts_for(geometry, dict(zip(names, wanted, strict=True)), number)
        assert (made is not None) == (wanted in possible)
        if made is None:
            continue
        assert len(made) == number
        seen = Counter(profile for layout in made for profile, _ in layout)
        assert tuple(seen[name] for name in names) == wanted


def test_alike_on_all_devices() -> None:
    geometry = gs.mig_geometry("A100-40GB")
    made = layouts_for(geometry, {"1g.5gb": 32, "2g.10gb": 16, "3g.20gb": 16}, 16)
    assert made == [[("1g.5gb", 0), ("1g.5gb", 1), ("2g.10gb", 2), ("3g.20gb", 4)]] * 16


def test_no_number_of_devices() -> None:
    geometry = gs.mig_geometry("A100-40GB")
    assert layouts_for(geometry, {}, 0) == []
    assert layouts_for(geometry, {}, 2) == [[], []]
    assert layouts_for(geometry, {"1g.5gb": 1}, 0) is None
    assert layouts_for(geometry, {"none": 1}) is None
    few = layouts_for(geometry, {"1g.10gb": 5})
    assert few is not None
    assert [len(layout) for layout in few] == [3, 2]

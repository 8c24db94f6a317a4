"""The orders in which a scenario may be told: each permutation of what `orders` names."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from libgpusched.scenario_format import Case
from libgpusched.scenario_source import Field, YamlList, YamlMap

_MOST_ORDERS = 5_000


@dataclass(frozen=True)
class _Site:
    """A list some of whose items change places."""

    path: tuple[str | int, ...]
    positions: tuple[int, ...]


def count_orders(case: Case) -> int:
    """How many there are, the written one included. Raises ScenarioError if they are too many."""
    count = math.prod(math.factorial(len(site.positions)) for site in _sites(case))
    if count > _MOST_ORDERS:
        entry = case.tree.mapping()["orders"]
        entry.wrong(f"use fewer things or fewer kinds: at most {_MOST_ORDERS}", f"{count:,} orders")
    return count


def each_order(case: Case) -> Iterator[tuple[str, Field]]:
    """The trees with a word on what is where; the written order is the first, without a word."""
    count_orders(case)
    sites = _sites(case)
    for choice in itertools.product(*(itertools.permutations(site.positions) for site in sites)):
        if all(order == site.positions for order, site in zip(choice, sites, strict=True)):
            yield "", case.tree
            continue
        tree = copy.deepcopy(case.tree)
        words = []
        for site, order in zip(sites, choice, strict=True):
            target = _at(tree.value, site.path)
            _permute(target, site.positions, order)
            if order != site.positions:
                words.append(f"{_path(site.path)} in the order {[*order]}")
        yield ", ".join(words), tree


def _sites(case: Case) -> list[_Site]:
    sites = []
    tree = case.tree.value
    if "nodes" in case.orders and isinstance(tree.get("cluster"), YamlList):
        sites.append(_Site(("cluster",), tuple(range(len(tree["cluster"])))))
    sites += list(_step_sites(tree["timeline"], ("timeline",), case.orders))
    return [site for site in sites if len(site.positions) > 1]


def _step_sites(
    steps: YamlList, path: tuple[str | int, ...], orders: tuple[str, ...]
) -> Iterator[_Site]:
    for number, step in enumerate(steps):
        here = (*path, number)
        if "steps" in step:
            yield from _step_sites(step["steps"], (*here, "steps"), orders)
        events = step.get("events", YamlList())
        submits = [
            position
            for position, event in enumerate(events)
            if "submit" in event and "expect_error" not in event
        ]
        if "submits" in orders:
            yield _Site((*here, "events"), tuple(submits))
        if "groups" not in orders:
            continue
        for position in submits:
            job: YamlMap = events[position]["submit"]
            inside = (*here, "events", position, "submit")
            if "groups" in job:
                yield _Site((*inside, "groups"), tuple(range(len(job["groups"]))))
            for choice, groups in enumerate(job.get("alternatives", ())):
                yield _Site((*inside, "alternatives", choice), tuple(range(len(groups))))


def _at(tree: Any, path: tuple[str | int, ...]) -> Any:
    for part in path:
        tree = tree[part]
    return tree


def _permute(items: YamlList, positions: tuple[int, ...], order: tuple[int, ...]) -> None:
    old, lines = list(items), list(items.lines)
    for position, source in zip(positions, order, strict=True):
        items[position] = old[source]
        items.lines[position] = lines[source]


def _path(path: tuple[str | int, ...]) -> str:
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.removeprefix(".")

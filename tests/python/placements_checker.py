"""Checks a placements file of `libgpusched fill` from scratch, sharing no code with what made it.

It reads the cluster, the pods and the placements, replays every run by arithmetic of its own, and
says what is wrong:

* the protocol: each pod arrives once, then clones `<pod>#<k>` in order, with the pod's own request;
* no node gives more CPU or memory than it has, no device more than all of itself, and a device that
  is wholly taken is taken by one pod alone;
* every pod sits on devices of a model that it allows, and on as many as it asks;
* no pod was dropped that some node could have taken at that moment;
* with the JSON report: allocated % at each grid point, counts and placements digest are equal.

Usage: placements_checker.py --nodes CSV --pods CSV --placements CSV [--json FILE]
Exit code 0 if nothing is wrong, 1 if something is, 2 if a file cannot be read.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

WHOLE = 1000


@dataclass(frozen=True)
class Request:
    cpu: int
    mem: int
    count: int
    milli: int  # of each device
    models: frozenset[str]

    @property
    def total(self) -> int:
        return self.count * self.milli


@dataclass
class Machine:
    model: str
    cpu: int  # what is left
    mem: int
    devices: list[int]  # what is left of each

    def could_take(self, request: Request) -> bool:
        if self.cpu < request.cpu or self.mem < request.mem:
            return False
        if request.count == 0:
            return True
        if request.models and self.model not in request.models:
            return False
        return sum(left >= request.milli for left in self.devices) >= request.count


@dataclass
class Row:
    seq: str
    pod: str
    request: Request
    node: str
    devices: list[int]
    text: str  # seq,pod,node,devices,milli: what the digest covers


@dataclass
class Replay:
    """What one run turned out to be, for comparison with the report."""

    placed: int = 0
    dropped: int = 0
    requested: list[int] = field(default_factory=list)  # running sums
    allocated: list[int] = field(default_factory=list)


def names_of(text: str) -> frozenset[str]:
    return frozenset(text.split("|")) if text else frozenset()


def request_of(row: dict[str, str], mem: str, models: str) -> Request:
    return Request(
        int(row["cpu_milli"]),
        int(row[mem]),
        int(row["num_gpu"]),
        int(row["gpu_milli"]),
        names_of(row.get(models, "")),
    )


def read_rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8-sig") as stream:
        return list(csv.DictReader(stream))


def read_pods(path: Path) -> dict[str, Request]:
    return {row["name"]: request_of(row, "memory_mib", "gpu_spec") for row in read_rows(path)}


def read_machines(path: Path) -> dict[str, Machine]:
    return {
        row["sn"]: Machine(
            row["model"],
            int(row["cpu_milli"]),
            int(row["memory_mib"]),
            [WHOLE] * int(row["gpu"]),
        )
        for row in read_rows(path)
    }


def read_runs(path: Path) -> dict[tuple[str, int], list[Row]]:
    runs: dict[tuple[str, int], list[Row]] = {}
    for row in read_rows(path):
        request = request_of(row, "mem_mib", "models")
        runs.setdefault((row["policy"], int(row["seed"])), []).append(
            Row(
                seq=row["seq"],
                pod=row["pod"],
                request=request,
                node=row["node"],
                devices=[int(device) for device in row["devices"].split("|") if device],
                text=",".join(
                    [row["seq"], row["pod"], row["node"], row["devices"], str(request.milli)]
                ),
            )
        )
    return runs


def fnv1a(lines: Iterable[str]) -> str:
    digest = 0xCBF29CE484222325
    for line in lines:
        for byte in f"{line}\n".encode():
            digest = (digest ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{digest:016x}"


def check_arrivals(rows: list[Row], pods: dict[str, Request]) -> Iterator[str]:
    """The protocol of arrival, and that every request is the pod's own."""
    seen: set[str] = set()
    clones = 0
    for number, row in enumerate(rows):
        if row.seq != str(number):
            yield f"row {number}: seq is {row.seq}"
        if row.pod in seen:
            yield f"{row.pod}: arrives twice"
        seen.add(row.pod)
        original = row.pod
        if row.pod not in pods:
            clones += 1
            original, _, counter = row.pod.rpartition("#")
            if original not in pods:
                yield f"{row.pod}: is neither a pod nor a clone of one"
                continue
            if counter != str(clones):
                yield f"{row.pod}: is clone number {clones} to arrive"
            if clones == 1 and len(seen) - 1 < len(pods):
                yield f"{row.pod}: a clone arrives before all pods have"
        elif clones:
            yield f"{row.pod}: arrives after clones"
        if row.request != pods[original]:
            yield f"{row.pod}: asks {row.request}, but its pod asks {pods[original]}"


def take(machine: Machine, row: Row) -> Iterator[str]:
    """Gives a pod what it asks, complaining about what is not there."""
    request = row.request
    machine.cpu -= request.cpu
    machine.mem -= request.mem
    if machine.cpu < 0:
        yield f"{row.pod}: {row.node} gives {-machine.cpu} cpu_milli more than it has"
    if machine.mem < 0:
        yield f"{row.pod}: {row.node} gives {-machine.mem} MiB more than it has"
    if len(row.devices) != request.count or len(set(row.devices)) != len(row.devices):
        yield f"{row.pod}: asks {request.count} devices but is on {row.devices}"
    if request.count and request.models and machine.model not in request.models:
        yield f"{row.pod}: is on {machine.model}, which it does not allow"
    for device in row.devices:
        if device >= len(machine.devices):
            yield f"{row.pod}: {row.node} has no device {device}"
            continue
        if request.milli == WHOLE and machine.devices[device] != WHOLE:
            yield f"{row.pod}: device {device} of {row.node} is not its alone"
        machine.devices[device] -= request.milli
        if machine.devices[device] < 0:
            yield f"{row.pod}: device {device} of {row.node} gives more than all of itself"


def check_placements(
    rows: list[Row], machines: dict[str, Machine], replay: Replay
) -> Iterator[str]:
    """Replays a run on machines that nobody uses yet."""
    # Nobody leaves, so what fits nowhere once fits nowhere for ever.
    hopeless: set[Request] = set()
    requested = allocated = 0
    for row in rows:
        requested += row.request.total
        if row.node == "":
            replay.dropped += 1
            if row.devices:
                yield f"{row.pod}: was dropped but holds devices {row.devices}"
            if row.request not in hopeless:
                able = next((n for n, m in machines.items() if m.could_take(row.request)), None)
                if able is None:
                    hopeless.add(row.request)
                else:
                    yield f"{row.pod}: was dropped, but {able} could have taken it"
        elif row.node not in machines:
            yield f"{row.pod}: is on {row.node}, which is no node"
        else:
            replay.placed += 1
            allocated += row.request.total
            yield from take(machines[row.node], row)
        replay.requested.append(requested)
        replay.allocated.append(allocated)


def check_report(run: dict[str, Any], rows: list[Row], replay: Replay, gpus: int) -> Iterator[str]:
    """Compares with the run's entry in the JSON report."""
    capacity = gpus * WHOLE
    for pct, reported in zip(run["arrived_pct"], run["allocated_pct"], strict=True):
        allocated = 0
        for requested, so_far in zip(replay.requested, replay.allocated, strict=True):
            if requested * 100 > pct * capacity:
                break
            allocated = so_far
        exact = 100 * allocated / capacity
        if abs(exact - reported) > 1e-9:
            yield f"allocated at {pct} % arrived is {reported} in the report but {exact} by count"
    for what, reported, counted in (
        ("placed", run["placed"], replay.placed),
        ("failed", sum(run["failed"].values()), replay.dropped),
        ("decisions", run["decisions"], len(rows)),
        ("placements_digest", run["placements_digest"], fnv1a(row.text for row in rows)),
    ):
        if reported != counted:
            yield f"{what} is {reported} in the report but {counted} by count"
    enough = run["to"] * capacity
    if replay.requested[-1] < enough - 0.5:
        yield f"arrivals stop at {replay.requested[-1]} milli, before {enough:g}"
    if len(rows) > 1 and replay.requested[-2] >= enough + 0.5:
        yield f"arrivals go on at {replay.requested[-2]} milli, after {enough:g}"


def check(nodes: Path, pods: Path, placements: Path, report: Path | None = None) -> list[str]:
    """Everything that is wrong, as sentences."""
    requests = read_pods(pods)
    runs = read_runs(placements)
    complaints = [] if runs else ["the placements file holds no run"]
    reported: dict[tuple[str, int], dict[str, Any]] = {}
    if report is not None:
        for run in json.loads(report.read_text(encoding="utf-8"))["runs"]:
            reported[run["policy"], run["seed"]] = run
        if reported.keys() != runs.keys():
            complaints.append(f"the report has {sorted(reported)} but the file {sorted(runs)}")
    for key, rows in runs.items():
        machines = read_machines(nodes)
        gpus = sum(len(machine.devices) for machine in machines.values())
        replay = Replay()
        found = [*check_arrivals(rows, requests), *check_placements(rows, machines, replay)]
        if key in reported:
            found += check_report(reported[key], rows, replay, gpus)
        complaints += [f"{key[0]} seed {key[1]}: {complaint}" for complaint in found]
    return complaints


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    for option in ("--nodes", "--pods", "--placements"):
        parser.add_argument(option, type=Path, required=True)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    try:
        complaints = check(arguments.nodes, arguments.pods, arguments.placements, arguments.json)
    except (OSError, KeyError, ValueError) as error:
        print(f"cannot read: {error!r}", file=sys.stderr)
        return 2
    for complaint in complaints[:20]:
        print(complaint)
    if len(complaints) > 20:
        print(f"… and {len(complaints) - 20} more")
    if not complaints:
        print("nothing is wrong")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())

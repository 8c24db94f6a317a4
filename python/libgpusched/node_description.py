"""NodeDescription: a node as some other system describes it, ready to be added."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from libgpusched._core import Cluster, Device, Engine
from libgpusched.errors import PreconditionFailed


class Taint(NamedTuple):
    """What keeps tasks off a node that do not tolerate it, in the words of Kubernetes."""

    key: str
    value: str
    effect: str


@dataclass(frozen=True)
class NodeDescription:
    """A node with its devices, and what else its source says of it. Amounts as in add_node."""

    name: str
    cpu_milli: int
    mem_mib: int
    devices: tuple[Device, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    cordoned: bool = False

    def add_to(self, target: Cluster | Engine) -> None:
        """Adds the node. A cordoned one needs an Engine: a Cluster keeps nobody off.

        Raises as add_node, and PreconditionFailed for a cordoned node and a Cluster.
        """
        if self.cordoned and not isinstance(target, Engine):
            raise PreconditionFailed(
                f"node '{self.name}': cordoned is True; add it to an Engine, or leave it out"
            )
        target.add_node(
            self.name, cpu_milli=self.cpu_milli, mem_mib=self.mem_mib, devices=list(self.devices)
        )
        if self.cordoned and isinstance(target, Engine):
            target.cordon(self.name)

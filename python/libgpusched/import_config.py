"""Nodes from a file of one's own: YAML or JSON, in the words of scenarios."""

from __future__ import annotations

import os

from libgpusched.import_source import read_text
from libgpusched.node_description import NodeDescription


def nodes_from_config(path: str | os.PathLike[str]) -> list[NodeDescription]:
    """The nodes of a file with the key `nodes`: a list, each as a scenario describes one.

    A node has name, cpu or cpu_milli, mem_mib, and gpus, model, gpu_mem_mib, or devices: a list of
    model, gpu_milli, gpu_mem_mib, reserved_mem_mib, sharing, replicas, partitions ("3g.20gb@4"),
    partition_on_demand, count. With count, a node stands for so many: name0, name1, … Models that
    are not of the catalogue stand in the list opaque_models.

    Raises NotFound or Unavailable (file), or InvalidSpec with file, line and key.
    """
    # Imported here, since YAML takes as long to import as all the rest of the package.
    from libgpusched.catalog_entries import yaml_of
    from libgpusched.scenario_source import read_documents
    from libgpusched.scenario_specs import described_nodes

    described: dict[str, NodeDescription] = {}
    for document in read_documents(yaml_of(read_text(path)), os.fspath(path)):
        if document.value is None:
            continue
        entries = document.keys(("nodes", "opaque_models"), ("nodes",))
        opaque = (
            [item.text() for item in entries["opaque_models"].items()]
            if ("opaque_models" in entries)
            else []
        )
        for entry in entries["nodes"].items():
            for node in described_nodes(entry, opaque):
                if node.name in described:
                    entry.wrong("give each node a name of its own", f"a second '{node.name}'")
                described[node.name] = node
    return list(described.values())

"""Files of nodes that say what can't be, or say it as JSON may."""

from pathlib import Path

import pytest

import libgpusched as gs


def read(folder: Path, text: str) -> list[gs.NodeDescription]:
    file = folder / "nodes.yaml"
    file.write_text(text)
    return gs.nodes_from_config(file)


def test_json_with_tabs(tmp_path: Path) -> None:
    (made,) = read(tmp_path, '{\n\t"nodes": [\n\t\t{"name": "a\tb", "cpu": 2}\n\t]\n}')
    assert (made.name, made.cpu_milli) == ("a\tb", 2000)


def test_empty_documents(tmp_path: Path) -> None:
    assert [made.name for made in read(tmp_path, "---\nnodes: [{name: a}]\n---\n")] == ["a"]


def device(more: str) -> str:
    return f"nodes: [{{name: a, devices: [{{model: A30, {more}}}]}}]"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (device("count: 30000000"), r"nodes\[0\].devices\[0\].count is 30000000; use 64 or less"),
        (device("count: -1"), r"devices\[0\].count is -1; use 0 or more"),
        (device("sharing: []"), r"devices\[0\].sharing is an empty list"),
        (device("sharing: [exclusive, mps]"), r"devices\[0\].sharing is a list"),
        (device(f'sharing: mig, partitions: ["1g.6gb@{"1" * 5000}"]'), "write profile@start"),
        (device('sharing: mig, partitions: ["1g.6gb@٣"]'), "write profile@start"),
        ("nodes: [{name: a}, {name: a}]", r":1: nodes\[1\] is a second 'a'; give each node a name"),
        ("nodes: [{name: a, count: 2}, {name: a1}]", r"nodes\[1\] is a second 'a1'"),
        ("nodes:", "nodes is empty; use a list"),
    ],
)
def test_what_cannot_be(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(gs.InvalidSpec, match=message):
        read(tmp_path, text)

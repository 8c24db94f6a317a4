"""`libgpusched models`."""

from __future__ import annotations

import itertools
import json
import shlex
from pathlib import Path
from typing import Any

import pytest

import libgpusched as gs
from libgpusched.catalog_file import read_catalog
from libgpusched.cli import main
from libgpusched.mig_picture import maximal_layouts, occupied_slices, parse_layout

PAGE = Path(__file__).resolve().parents[2] / "docs/devices.md"

MINE = """\
models:
  - {name: "[X1]", vendor: Maker, memory_gib: 48, fp16: 120500, tdp_w: 350, mig: X1}
  - {name: T4, memory_gib: 17}
geometries:
  - name: X1
    compute_slices: 2
    memory_slices: 2
    profiles: [{name: all, compute_slices: 2, memory_slices: 2, mem_mib: 46000, starts: [0]}]
opaque_models: [G2]
"""


@pytest.fixture
def mine(tmp_path: Path) -> str:
    path = tmp_path / "mine.yaml"
    path.write_text(MINE)
    return str(path)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["models", *arguments]) == 0
    output = capsys.readouterr()
    assert output.err == ""
    return output.out


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["models", *arguments]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("libgpusched models: error: ")
    assert output.err.count("\n") == 1
    return output.err


def test_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    out = run(capsys)
    rows = {
        cells[0]: cells[1:]
        for line in out.splitlines()
        if (cells := [cell.strip() for cell in line.split("│")[1:-1]] or [""])[0] in gs.models()
    }
    assert list(rows) == list(gs.models())
    assert rows["A100-SXM4-40GB"] == [
        "NVIDIA Ampere",
        "40",
        "312",
        "1,555",
        "400",
        "600",
        "A100-40GB",
    ]
    # Marked: TDP and bandwidth have no source. It has no fp16 and no MIG; a dash is no NVLink.
    assert rows["K80"] == ["NVIDIA Kepler", "12", "", "240*", "150*", "-", ""]
    assert rows["H100-SXM5-80GB"][2] == "989.4"
    assert out.splitlines()[-1] == "* no public source was found for this value"
    assert max(map(len, out.splitlines())) <= 120


def test_json_is_what_file_reads(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, mine: str
) -> None:
    path = tmp_path / "all.json"
    path.write_text(run(capsys, "--json", "--file", mine))
    catalog = read_catalog(path)
    assert len(catalog.models) == len(gs.models()) + 1
    assert catalog.model("T4").memory_gib == 17
    assert catalog.opaque_models == ("G2",)
    assert run(capsys, "--json", "--file", str(path)) == path.read_text()


def test_models_of_a_file(capsys: pytest.CaptureFixture[str], mine: str) -> None:
    out = run(capsys, "--file", mine)
    assert "[X1]" in out
    assert "120.5" in out
    assert "Opaque: G2" in out
    out = run(capsys, "--file", mine, "T4")
    assert "17 GiB" in out
    assert "fp16" not in out


def test_one_model(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "A30") == (
        "A30\n"
        "  vendor              NVIDIA\n"
        "  architecture        Ampere\n"
        "  compute capability  8.0\n"
        "  memory              24 GiB\n"
        "  fp64                5.2 TFLOPS\n"
        "  fp64 tensor         10.3 TFLOPS\n"
        "  fp32                10.3 TFLOPS\n"
        "  tf32                82 TFLOPS\n"
        "  fp16                165 TFLOPS\n"
        "  bf16                165 TFLOPS\n"
        "  int8                330 TOPS*\n"
        "  memory bandwidth    933 GB/s\n"
        "  TDP                 165 W\n"
        "  NVLink              200 GB/s*\n"
        "  MIG                 A30-24GB\n"
        "                      1g.6gb, 1g.6gb+me, 2g.12gb, 2g.12gb+me, 4g.24gb\n"
        "* no public source was found for this value\n"
    )
    out = run(capsys, "T4")
    assert "MIG" not in out
    assert "*" not in out
    value = json.loads(run(capsys, "A30", "--json"))
    assert [model["name"] for model in value["models"]] == ["A30"]
    assert [geometry["name"] for geometry in value["geometries"]] == ["A30-24GB"]
    assert json.loads(run(capsys, "T4", "--json"))["geometries"] == []


def test_every_model_can_be_shown(capsys: pytest.CaptureFixture[str]) -> None:
    for model in gs.models():
        assert run(capsys, model).startswith(f"{model}\n")


def test_picture_of_a_geometry(capsys: pytest.CaptureFixture[str]) -> None:
    out = run(capsys, "--mig", "A30")
    assert out == run(capsys, "--mig", "A30-24GB")
    assert out == (
        "A30-24GB: 4 compute slices, 4 memory slices\n"
        "Models: A30\n"
        "\n"
        "profile     compute  memory        MiB  starts\n"
        "1g.6gb            1       1      5,836  |0  |1  |2  |3  |\n"
        "1g.6gb+me         1       1      5,836  |0  |1  |2  |3  | one only\n"
        "2g.12gb           2       2     11,672  |0      |2      |\n"
        "2g.12gb+me        2       2     11,672  |0      |2      | one only\n"
        "4g.24gb           4       4     23,344  |0              |\n"
        "\n"
        "Layouts that nothing can be added to: 5\n"
        "|4g.24gb                    |\n"
        "|2g.12gb      |2g.12gb      |\n"
        "|2g.12gb      |1g.6gb|1g.6gb|\n"
        "|1g.6gb|1g.6gb|2g.12gb      |\n"
        "|1g.6gb|1g.6gb|1g.6gb|1g.6gb|\n"
    )


def test_pictures_of_all_built_in_geometries(capsys: pytest.CaptureFixture[str]) -> None:
    for geometry in gs.mig_geometries():
        out = run(capsys, "--mig", geometry.name)
        large = geometry.memory_slices == 8
        assert f"nothing can be added to: {78 if large else 5}\n" in out
        rows = out.split("added to: ")[1].splitlines()[1:]
        assert len(set(rows)) == len(rows) == (78 if large else 5)
        assert len(set(map(len, rows))) == 1
        assert max(map(len, rows)) <= 80
        assert ("starts*" in out) == ("starts" in geometry.unsourced)
        assert ("MiB*" in out) == ("mem_mib" in geometry.unsourced)
        assert ("* inferred" in out) == bool(geometry.unsourced)


def test_layouts_are_all_there_and_maximal() -> None:
    """Against the plainest way to find them: all sets of instances."""
    for name in ("A30-24GB", "A100-40GB"):
        geometry = gs.mig_geometry(name)
        pieces = [
            (profile.name, start, frozenset(range(start, start + profile.memory_slices)))
            for profile in geometry.profiles
            if not profile.media_extensions
            for start in profile.starts
        ]
        expected = set()
        for size in range(geometry.memory_slices + 1):
            for some in itertools.combinations(pieces, size):
                used = set().union(*(slices for _, _, slices in some))
                if len(used) < sum(len(slices) for _, _, slices in some):
                    continue
                if all(used & slices for _, _, slices in pieces):
                    expected.add(frozenset((name, start) for name, start, _ in some))
            if name == "A100-40GB" and size == 4:
                break  # seven of 19 pieces are too many sets to try
        found = {
            frozenset((profile.name, start) for profile, start in layout)
            for layout in maximal_layouts(geometry)
        }
        few = {layout for layout in found if len(layout) <= 4}
        assert (few if name == "A100-40GB" else found) == expected


def test_layouts_are_bounded(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    profiles: list[dict[str, Any]] = [
        {"name": name, "compute_slices": 1, "memory_slices": 1, "starts": list(range(8))}
        for name in "abcd"
    ]
    path = tmp_path / "many.json"
    geometry = {"name": "many", "compute_slices": 8, "profiles": profiles}
    path.write_text(json.dumps({"geometries": [geometry]}))
    out = run(capsys, "--file", str(path), "--mig", "many")
    assert "added to: more than 10,000, of which the first 100\n" in out
    assert len(out.split("added to: ")[1].splitlines()) == 101
    value = json.loads(run(capsys, "--file", str(path), "--mig", "many", "--json"))
    assert len(value["layouts"]) == 100


def test_picture_of_what_is_used(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--mig", "A100-40GB", "--used", "1g.5gb@5, 1g.5gb@0,1g.5gb@1"]
    assert run(capsys, *arguments) == (
        "A100-40GB: 7 compute slices, 8 memory slices\n"
        "\n"
        "|1g.5gb|1g.5gb|......|......|......|1g.5gb|......|......|\n"
        "\n"
        "profile    where it still fits\n"
        "1g.5gb     |###|###|2  |3  |4  |###|6  |...| 2, 3, 4, 6\n"
        "1g.5gb+me  |###|###|2  |3  |4  |###|6  |...| 2, 3, 4, 6\n"
        "1g.10gb    |###|###|2      |...|###|6      | 2, 6\n"
        "2g.10gb    |###|###|2      |...|###|...|...| 2\n"
        "3g.20gb    |###|###|...|...|...|###|...|...| nowhere\n"
        "4g.20gb    |###|###|...|...|...|###|...|...| nowhere\n"
        "7g.40gb    |###|###|...|...|...|###|...|...| nowhere\n"
    )
    value = json.loads(run(capsys, *arguments, "--json"))
    assert value["used"] == [{"profile": "1g.5gb", "start": start} for start in (0, 1, 5)]
    assert value["fits"]["1g.10gb"] == [2, 6]
    assert value["fits"]["7g.40gb"] == []
    assert value["geometry"]["name"] == "A100-40GB"


def test_media_extensions_are_given_once(capsys: pytest.CaptureFixture[str]) -> None:
    out = run(capsys, "--mig", "A30", "--used", "1g.6gb+me@3")
    assert "|.........|.........|.........|1g.6gb+me|\n" in out
    assert "1g.6gb+me   |...|...|...|###| nowhere\n" in out
    assert "2g.12gb+me  |...|...|...|###| nowhere\n" in out
    assert "1g.6gb      |0  |1  |2  |###| 0, 1, 2\n" in out


def test_nothing_used(capsys: pytest.CaptureFixture[str]) -> None:
    out = run(capsys, "--mig", "A30", "--used", "")
    assert "|......|......|......|......|\n" in out
    assert "4g.24gb     |0              | 0\n" in out


def test_fits_agree_with_the_library() -> None:
    geometry = gs.mig_geometry("A100-40GB")
    layout = parse_layout(geometry, "3g.20gb@4,2g.10gb@0")
    assert [(profile.name, start) for profile, start in layout] == [("2g.10gb", 0), ("3g.20gb", 4)]
    assert occupied_slices(layout) == {0, 1, 4, 5, 6, 7}


@pytest.mark.parametrize(
    ("used", "message"),
    [
        ("1g.5gb", "instance is '1g.5gb'; write PROFILE@START, such as 1g.5gb@0"),
        ("1g.5gb@", "write PROFILE@START"),
        ("1g.5gb@-1", "write PROFILE@START"),
        ("1g.5gb@²", "write PROFILE@START"),
        ("1g.5gb@" + 5000 * "1", "write PROFILE@START"),
        ("@0", "A100-40GB has no such profile, but 1g.5gb, 1g.5gb+me"),
        ("1g.6gb@0", "instance is '1g.6gb@0'; A100-40GB has no such profile"),
        ("3g.20gb@2", "instance is '3g.20gb@2'; 3g.20gb may begin at 0, 4"),
        ("1g.5gb@7", "1g.5gb may begin at 0, 1, 2, 3, 4, 5, 6"),
        ("3g.20gb@4,1g.5gb@6", "instance is '1g.5gb@6'; it overlaps 3g.20gb@4"),
        ("1g.5gb+me@0,1g.5gb+me@1", "'1g.5gb+me@1'; 1g.5gb+me@0 has the media engines"),
    ],
)
def test_instances_that_cannot_be(
    capsys: pytest.CaptureFixture[str], used: str, message: str
) -> None:
    assert message in refused(capsys, "--mig", "A100-40GB", "--used", used)


def test_what_is_not_known(capsys: pytest.CaptureFixture[str], tmp_path: Path, mine: str) -> None:
    assert "model is 'A100'; did you mean 'A100-PCIe-40GB'?" in refused(capsys, "A100")
    assert "no MIG geometry is known for this model" in refused(capsys, "--mig", "T4")
    assert "name a model, such as" in refused(capsys, "--mig", "A1000")
    assert "it is opaque" in refused(capsys, "--file", mine, "G2")
    assert "leave it out with --mig" in refused(capsys, "T4", "--mig", "A30")
    assert "--used is given without --mig" in refused(capsys, "--used", "1g.5gb@0")
    assert "there is no such file" in refused(capsys, "--file", str(tmp_path / "none"))
    bad = tmp_path / "bad.yaml"
    bad.write_text("models:\n  - {name: A}\n  - {name: B, memory_gib: -1}\n")
    assert f"{bad}:3: models[1].memory_gib is -1; use 0 to" in refused(capsys, "--file", str(bad))


def test_help_is_narrow(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["models", "--help"])
    text = capsys.readouterr().out
    for option in ("--file", "--json", "--mig", "--used"):
        assert option in text
    assert max(map(len, text.splitlines())) <= 84


def test_the_page_shows_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    text = PAGE.read_text(encoding="utf-8").split("## The catalogue")[1].split("\n## ")[0]
    blocks = [block.split("```")[0] for block in text.split("```text\n")[1:]]
    assert blocks
    for block in blocks:
        command, _, output = block.partition("\n")
        words = shlex.split(command.removeprefix("$ "))
        assert words[:2] == ["libgpusched", "models"]
        assert run(capsys, *words[2:]) == output


def test_the_page_shows_a_file_that_can_be_read(tmp_path: Path) -> None:
    text = PAGE.read_text(encoding="utf-8").split("## The catalogue")[1].split("\n## ")[0]
    path = tmp_path / "mine.yaml"
    path.write_text(text.split("```yaml\n")[1].split("```")[0])
    catalog = read_catalog(path)
    assert catalog.mig_geometry("X1-48GB").free_starts("2g.24gb", [0]) == (2,)
    assert catalog.opaque_models == ("G2",)

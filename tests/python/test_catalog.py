"""GPU models and MIG geometries: the built-in ones, and ones that a caller or a file adds."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import libgpusched as gs
from libgpusched import catalog_file
from libgpusched.catalog_file import geometry_entry, model_entry, read_catalog

untyped: Any = gs  # for arguments of types that are refused

PROFILES = [
    gs.MigProfile("1g.12gb", compute_slices=1, memory_slices=1, starts=range(4), mem_mib=11_500),
    gs.MigProfile("2g.24gb", compute_slices=2, memory_slices=2, starts=[0, 2], mem_mib=23_000),
]
GEOMETRY = gs.MigGeometry("X1-MIG", profiles=PROFILES, compute_slices=4, memory_slices=4)
MODEL = gs.GpuModel(
    "X1-48GB",
    vendor="Maker",
    architecture="Arch",
    compute_capability="1.0",
    memory_gib=48,
    fp16=120_000,
    tdp_w=350,
    nvlink_gbs=0,
    mig="X1-MIG",
    unsourced=["tdp_w"],
)


def test_built_in_models() -> None:
    assert tuple(model.name for model in gs.gpu_models()) == gs.models()
    model = gs.Catalog().model("A30")
    assert (model.vendor, model.architecture, model.compute_capability) == (
        "NVIDIA",
        "Ampere",
        "8.0",
    )
    assert (model.memory_gib, model.bandwidth_gbs, model.tdp_w, model.nvlink_gbs) == (
        24,
        933,
        165,
        200,
    )
    assert (model.fp64, model.fp64_tensor, model.fp32, model.tf32) == (5200, 10300, 10300, 82000)
    assert (model.fp16, model.bf16, model.fp8, model.int8) == (165000, 165000, None, 330000)
    assert model.mig == "A30-24GB"
    assert model.unsourced == ("int8", "nvlink_gbs")
    assert repr(model) == "GpuModel('A30', memory_gib=24, mig='A30-24GB')"
    assert gs.Catalog().model("T4").mig is None


def test_built_in_geometries() -> None:
    names = [geometry.name for geometry in gs.mig_geometries()]
    assert len(set(names)) == len(names)
    assert {model.mig for model in gs.gpu_models() if model.mig is not None} <= set(names)
    geometry = gs.mig_geometry("A100-40GB")
    assert geometry == gs.mig_geometry("A100-PCIe-40GB")
    assert hash(geometry) == hash(gs.mig_geometry("A100-PCIe-40GB"))
    assert geometry != gs.mig_geometry("A100-80GB")
    assert geometry.unsourced == ()
    assert [profile.name for profile in geometry.profiles][3:] == [
        "2g.10gb",
        "3g.20gb",
        "4g.20gb",
        "7g.40gb",
    ]
    profile = geometry.profiles[1]
    assert (profile.name, profile.mem_mib, profile.media_extensions) == ("1g.5gb+me", 4864, True)
    assert profile.starts == tuple(range(7))


def test_free_starts_and_value() -> None:
    geometry = gs.mig_geometry("A100-40GB")
    assert geometry.free_starts("1g.5gb", {0, 1, 5}) == (2, 3, 4, 6)
    assert geometry.free_starts("2g.10gb", iter([0, 1, 5])) == (2,)
    assert geometry.free_starts("3g.20gb", [0, 1, 5]) == ()
    assert geometry.free_starts("3g.20gb") == (0, 4)
    assert geometry.value(range(8)) == 0
    assert geometry.value({6}) > geometry.value({0}) > geometry.value({0, 6})
    with pytest.raises(gs.NotFound, match="'A100-40GB': profile is '1g.6gb'; it has 1g.5gb, 1g"):
        geometry.free_starts("1g.6gb")
    for occupied in ([8], [-1], [True], ["0"], [2**70]):
        with pytest.raises(gs.InvalidSpec, match="occupied is .*; use 0 to 7"):
            geometry.value(occupied)  # type: ignore[arg-type]
    with pytest.raises(gs.InvalidSpec, match="occupied is '01'; use a list of memory slices"):
        geometry.value("01")  # type: ignore[arg-type]
    with pytest.raises(gs.InvalidSpec, match="use 0 to 3"):
        gs.mig_geometry("A30").free_starts("1g.6gb", [4])


def test_models_compare_by_all_fields() -> None:
    arguments = model_entry(MODEL)
    assert gs.GpuModel(**arguments) == MODEL
    assert hash(gs.GpuModel(**arguments)) == hash(MODEL)
    for key, value in arguments.items():
        other: Any = [] if key == "unsourced" else "x" if isinstance(value, str) else 7
        assert gs.GpuModel(**{**arguments, key: other}) != MODEL, key
    assert (MODEL == 1) is False
    profile = PROFILES[0]
    assert profile == eval(repr(profile), {"MigProfile": gs.MigProfile})
    assert profile != PROFILES[1]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: untyped.GpuModel(""), "GPU model: name is ''; give it a name"),
        (lambda: untyped.GpuModel("X", memory_gib=-1), "GPU model 'X': memory_gib is -1; use 0 to"),
        (lambda: untyped.GpuModel("X", memory_gib=1.5), "memory_gib is 1.5; use 0 to 1048576"),
        (lambda: untyped.GpuModel("X", tdp_w=-5), "GPU model 'X': tdp_w is -5; use 0 to"),
        (lambda: untyped.GpuModel("X", fp8=True), "fp8 is True; use a whole number, or None"),
        (lambda: untyped.GpuModel("X", vendor=None), "vendor is None; use text"),
        (lambda: untyped.GpuModel("X", unsourced="price"), "unsourced[0] is 'price'; name a field"),
        (lambda: untyped.GpuModel("昇" * 100), "name is 300 bytes long"),
        (
            lambda: untyped.MigProfile("p", compute_slices=0, memory_slices=1, starts=[]),
            "MIG profile 'p': compute_slices is 0; use 1 to 64",
        ),
        (
            lambda: untyped.MigProfile("p", compute_slices=1, memory_slices=9, starts=[]),
            "memory_slices is 9; use 1 to 8",
        ),
        (
            lambda: untyped.MigProfile("p", compute_slices=1, memory_slices=1, starts=[0, 8]),
            "starts[1] is 8; use 0 to 7",
        ),
        (
            lambda: untyped.MigProfile("p", compute_slices=1, memory_slices=1, starts=3),
            "starts is 3; use a list of memory slices",
        ),
        (
            lambda: untyped.MigProfile(
                "p", compute_slices=1, memory_slices=1, starts=[0], media_extensions=1
            ),
            "media_extensions is 1; use True or False",
        ),
        (lambda: untyped.MigGeometry("g", profiles=[]), "profiles is 0 profiles; use 1 to 16"),
        (
            lambda: untyped.MigGeometry("g", profiles=["p"]),
            "profiles[0] is 'p'; use a list",
        ),
        (
            lambda: untyped.MigGeometry("g", profiles=PROFILES, compute_slices=3, memory_slices=4),
            "MIG geometry 'g': compute_slices is 3; instances side by side can take 4",
        ),
        (
            lambda: untyped.MigGeometry("g", profiles=PROFILES, memory_slices=3),
            "profiles[0].starts[3] is 3; leave it out",
        ),
        (
            lambda: untyped.Catalog(models=["T4"]),
            "catalog: models[0] is 'T4'; use a list of Gpu",
        ),
        (lambda: untyped.Catalog(geometries=3), "geometries is 3; use a list of MigGeometry"),
        (
            lambda: untyped.Catalog(models=[MODEL]),
            "GPU model 'X1-48GB': mig is 'X1-MIG'; name",
        ),
        (lambda: untyped.Catalog(opaque_models=[""]), "catalog: opaque_models is ''"),
        (
            lambda: untyped.Cluster(catalog="mine.yaml"),
            "cluster: catalog is 'mine.yaml'; use",
        ),
        (lambda: untyped.Engine(catalog=3), "engine: catalog is 3; use a Catalog"),
    ],
)
def test_each_bad_argument_is_named(make: Callable[[], object], message: str) -> None:
    with pytest.raises(gs.InvalidSpec, match=re.escape(message)):
        make()


def test_catalog_of_ones_own() -> None:
    catalog = gs.Catalog(models=[MODEL], geometries=[GEOMETRY], opaque_models=["G2"])
    assert catalog.models == (MODEL,)
    assert catalog.geometries == (GEOMETRY,)
    assert catalog.opaque_models == ("G2",)
    assert all(name in catalog for name in ("X1-48GB", "G2", "T4"))
    assert "X1" not in catalog
    assert 3 not in catalog
    assert catalog.model("X1-48GB") == MODEL
    assert catalog.mig_geometry("X1-48GB") == catalog.mig_geometry("X1-MIG") == GEOMETRY
    assert catalog.all_models() == (*gs.gpu_models(), MODEL)
    assert catalog.all_geometries() == (*gs.mig_geometries(), GEOMETRY)
    assert "1 more" in repr(catalog)
    with pytest.raises(gs.NotFound, match="model is 'X1-40GB'; did you mean 'X1-48GB'?"):
        catalog.model("X1-40GB")
    with pytest.raises(gs.NotFound, match="model is 'G2'; it is opaque"):
        catalog.model("G2")
    with pytest.raises(gs.NotFound, match="geometry is 'T4'; no MIG geometry is known for this"):
        catalog.mig_geometry("T4")
    with pytest.raises(gs.NotFound, match="geometry is 'A1000'; name a model.* A100-40GB .*X1-MIG"):
        catalog.mig_geometry("A1000")


def test_added_ones_come_before_built_in_ones() -> None:
    geometry = gs.MigGeometry("A30-24GB", profiles=PROFILES[:1], compute_slices=4, memory_slices=4)
    model = gs.GpuModel("T4", memory_gib=17, mig="A30-24GB")
    catalog = gs.Catalog(models=[gs.GpuModel("T4"), model], geometries=[geometry])
    assert catalog.model("T4") == model
    assert catalog.models == (model,)
    assert catalog.mig_geometry("A30") == catalog.mig_geometry("T4") == geometry
    assert [each.name for each in catalog.all_models()] == list(gs.models())
    assert model in catalog.all_models()
    assert geometry in catalog.all_geometries()
    assert gs.mig_geometry("A30") != geometry


def test_a_known_name_is_not_opaque() -> None:
    catalog = gs.Catalog(models=[gs.GpuModel("X2")], opaque_models=["X2", "T4", "G2", "G2"])
    assert catalog.opaque_models == ("G2",)


def test_clusters_and_engines_take_it() -> None:
    catalog = gs.Catalog(models=[MODEL], geometries=[GEOMETRY], opaque_models=["G2"])
    cluster = gs.Cluster(catalog=catalog, opaque_models=["G3"])
    for model in ("X1-48GB", "G2", "G3", "T4"):
        cluster.add_node(model, cpu=8, gpus=1, model=model)
    with pytest.raises(gs.InvalidSpec, match="did you mean"):
        cluster.add_node("n", cpu=8, gpus=1, model="G4")
    with pytest.raises(gs.InvalidSpec, match="did you mean"):
        gs.Cluster().add_node("n", cpu=8, gpus=1, model="X1-48GB")
    assert catalog.opaque_models == ("G2",)  # the cluster has its own


def partitioned_engine(catalog: gs.Catalog, **options: Any) -> gs.Engine:
    engine = gs.Engine(catalog=catalog, **options)
    device = untyped.Device("X1-48GB", sharing="mig", partition_on_demand=True)
    engine.add_node("n1", cpu=8, devices=[device])
    for i in range(3):
        engine.submit(gs.Job(f"j{i}", untyped.Shape(cpu=1, mig="2g.24gb")))
    return engine


def test_engines_place_instances_of_a_geometry_of_ones_own(tmp_path: Path) -> None:
    catalog = gs.Catalog(models=[MODEL], geometries=[GEOMETRY])
    journal = tmp_path / "journal"
    engine = partitioned_engine(catalog, journal=journal, validate=True)
    plan: Any = engine.decide(now=0)
    starts = [step.grant.instances[0].start for step in plan.placements]
    assert sorted(starts) == [0, 2]
    assert len(plan.waits) == 1
    engine.commit(plan)
    engine.audit()
    # What is saved knows the models too.
    for other in (
        gs.Engine.load(engine.save()),
        engine.fork(),
        gs.Engine.restore(journal, resume=False, verify=True).engine,
    ):
        assert other.state_hash == engine.state_hash
        other.add_node("n2", cpu=8, gpus=1, model="X1-48GB")


# --- files ----------------------------------------------------------------------------------------


def write(folder: Path, text: str, name: str = "mine.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


FILE = """\
models:
  - name: X1-48GB
    vendor: Maker
    architecture: Arch
    compute_capability: "1.0"
    memory_gib: 48
    fp16: 120000
    fp8:
    tdp_w: 350
    nvlink_gbs: 0
    mig: X1-MIG
    unsourced: [tdp_w]
geometries:
  - name: X1-MIG
    compute_slices: 4
    memory_slices: 4
    profiles:
      - name: 1g.12gb
        compute_slices: 1
        memory_slices: 1
        mem_mib: 11500
        starts: [0, 1, 2, 3]
      - {name: 2g.24gb, compute_slices: 2, memory_slices: 2, mem_mib: 23000, starts: [0, 2]}
opaque_models: [G2]
"""


def test_a_file(tmp_path: Path) -> None:
    catalog = read_catalog(write(tmp_path, FILE))
    assert catalog.models == (MODEL,)
    assert catalog.geometries == (GEOMETRY,)
    assert catalog.opaque_models == ("G2",)


def test_json_and_back(tmp_path: Path) -> None:
    geometries = list(gs.mig_geometries())
    value = {
        "models": [model_entry(model) for model in gs.gpu_models()],
        "geometries": [geometry_entry(geometry) for geometry in geometries],
    }
    for indent in (None, 2):
        path = write(tmp_path, json.dumps(value, indent=indent), "all.json")
        catalog = read_catalog(str(path))
        assert catalog.models == gs.gpu_models()
        assert catalog.geometries == gs.mig_geometries()


def test_json_of_any_layout_and_alphabet(tmp_path: Path) -> None:
    name = "X\U0001f600\t昇"  # a pair of escapes in JSON, and a tab that is part of the name
    value = {"models": [{"name": name, "unsourced": ["tdp_w"]}], "opaque_models": [name + "2"]}
    for indent in (None, 2, "\t"):
        for escaped in (True, False):
            text = json.dumps(value, indent=indent, ensure_ascii=escaped)
            catalog = read_catalog(write(tmp_path, text, "x.json"))
            assert [model.name for model in catalog.models] == [name]
            assert catalog.opaque_models == (name + "2",)
    separated = '{\t"models"\t:\t[\t{"name":\t"a\\"b"}\t]}'
    assert read_catalog(write(tmp_path, separated, "x.json")).models[0].name == 'a"b'
    # The line stays the one of the file.
    text = '{\n\t"models": [\n\t\t{"name": "X",\n\t\t "tdp_w": -1}]}'
    with pytest.raises(gs.InvalidSpec, match=r"x.json:4: models\[0\].tdp_w is -1"):
        read_catalog(write(tmp_path, text, "x.json"))


def test_the_example_of_the_docstring(tmp_path: Path) -> None:
    text = (catalog_file.__doc__ or "").split("\n\n")[2]
    catalog = read_catalog(write(tmp_path, text))
    assert catalog.mig_geometry("X1-48GB").free_starts("2g.24gb", [0]) == (2,)


BAD_FILES = [
    ("", "mine.yaml: the file holds nothing; use one mapping of models, geometries or opaque"),
    ("models: []\n---\nmodels: []", "mine.yaml: the file holds 2 documents"),
    ("[1]", "mine.yaml:1: the document is a list; use a mapping with the keys models, geom"),
    ("{}", "the document is an empty mapping; give it some of models, geometries"),
    ("models: {", "mine.yaml:1: the file is not YAML"),
    ("model: []", "mine.yaml:1: model is no key that is known here; did you mean models?"),
    ("models: T4", "mine.yaml:1: models is 'T4'; use a list"),
    ("models: [T4]", "models[0] is 'T4'; use a mapping with the keys name"),
    ("models:\n - {memory_gib: 4}", "mine.yaml:2: models[0].name is missing; it must be given"),
    ("models:\n - {name: }", "mine.yaml:2: models[0].name is empty; it must be given"),
    ("models:\n - {name: 4}", "mine.yaml:2: models[0].name is 4; use text; in quotes"),
    ("models: [{name: X, memory_gb: 4}]", "models[0].memory_gb is no key that is known here; did"),
    ("models: [{name: X, fp16: 1.5}]", "models[0].fp16 is 1.5; use a whole number"),
    (
        "models:\n - {name: A}\n - name: B\n   memory_gib: -4",
        "mine.yaml:4: models[1].memory_gib is -4; use 0 to 1048576",
    ),
    ("models: [{name: X, tdp_w: 1" + 30 * "0" + "}]", "models[0].tdp_w is 1000"),
    (
        "models:\n - {name: A}\n - name: B\n   mig: A31",
        "mine.yaml:4: models[1].mig is 'A31'; name a geometry of the catalogue",
    ),
    (
        "models:\n - name: B\n   unsourced:\n    - fp16\n    - price",
        "mine.yaml:5: models[0].unsourced[1] is 'price'; name a field",
    ),
    (FILE.replace("starts: [0, 2]", "starts: [0, 3]"), "geometries[0].profiles[1].starts[1] is 3"),
    (FILE.replace("starts: [0, 2]", "starts: [0, 9]"), "geometries[0].profiles[1].starts[1] is 9"),
    (FILE.replace("starts: [0, 2]", "starts: 0"), "profiles[1].starts is 0; use a list of memory"),
    (FILE.replace("starts: [0, 2]", "x: 0"), "geometries[0].profiles[1].x is no key"),
    (FILE.replace(", starts: [0, 2]", ""), "geometries[0].profiles[1].starts is missing"),
    (
        FILE.replace("        compute_slices: 1\n", "        compute_slices: 0\n"),
        "mine.yaml:19: geometries[0].profiles[0].compute_slices is 0; use 1 to 64",
    ),
    (
        FILE.replace("    compute_slices: 4\n", "    compute_slices: 3\n"),
        "mine.yaml:15: geometries[0].compute_slices is 3; instances side by side",
    ),
    (
        FILE.replace("mem_mib: 11500", "media_extensions: 1"),
        "geometries[0].profiles[0].media_extensions is 1; use true or false",
    ),
    ("geometries:\n - name: g", "mine.yaml:2: geometries[0].profiles is missing"),
    ("opaque_models: ['']", "mine.yaml:1: opaque_models[0] is ''; name the model"),
    ("opaque_models: [3]", "opaque_models[0] is 3; use text"),
    ('models: [{name: "a\': b is ", tdp_w: -1}]', "mine.yaml:1: models[0].tdp_w is -1; use 0 to"),
    ('{"models": [{"name": "X\\ud83d"}]}', "models[0].name is 'X\\ud83d'; use text that can be"),
]


@pytest.mark.parametrize(("text", "message"), BAD_FILES)
def test_bad_files_say_where(text: str, message: str, tmp_path: Path) -> None:
    path = write(tmp_path, text)
    with pytest.raises(gs.InvalidSpec) as caught:
        read_catalog(path)
    assert type(caught.value) is gs.InvalidSpec
    assert message in str(caught.value)
    assert str(caught.value).startswith(str(path))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(gs.NotFound, match="none.yaml: there is no such file"):
        read_catalog(tmp_path / "none.yaml")
    with pytest.raises(gs.Unavailable, match="the file cannot be read"):
        read_catalog(tmp_path)
    (tmp_path / "latin").write_bytes(b"models: [\xe9]")
    with pytest.raises(gs.InvalidSpec, match="not UTF-8 at byte 9"):
        read_catalog(tmp_path / "latin")

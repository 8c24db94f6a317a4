"""`libgpusched models`: prints the catalogue of GPU models, and pictures of their MIG instances."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from libgpusched._core import Catalog, GpuModel, MigGeometry
from libgpusched.catalog_file import RATE_KEYS, geometry_entry, model_entry, read_catalog
from libgpusched.errors import InvalidSpec
from libgpusched.mig_picture import (
    Layout,
    fitting_starts,
    layout_row,
    maximal_layouts,
    occupied_slices,
    parse_layout,
    starts_row,
)

_DESCRIPTION = """\
Prints the GPU models that devices and tasks may name, what a model is, or the
MIG instances that it can have."""

_EPILOG = """\
examples:
  libgpusched models A100-SXM4-40GB
  libgpusched models --file mine.yaml --json
  libgpusched models --mig A100-40GB
  libgpusched models --mig A100-40GB --used 1g.5gb@0,1g.5gb@5

With --json, models are printed as --file reads them; with --mig, an object with
"geometry" and "layouts" (or "used" and "fits"). Rates are dense, in GFLOPS."""

# More are counted, but neither drawn nor listed.
MOST_LAYOUTS = 100
_MOST_COUNTED = 10_000

_UNSOURCED = "* no public source was found for this value"
_INFERRED = "* inferred, not published"


def add_command(commands: argparse._SubParsersAction[Any]) -> None:
    """Adds `models` to the commands."""
    parser = commands.add_parser(
        "models",
        help="print the GPU models that are known, and pictures of their MIG instances",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("name", metavar="MODEL", nargs="?", help="all that is known of this one")
    parser.add_argument(
        "--file", metavar="FILE", help="also models and geometries of this file (YAML or JSON)"
    )
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.add_argument(
        "--mig", metavar="NAME", help="draw the MIG instances of a model or MIG geometry"
    )
    parser.add_argument(
        "--used",
        metavar="PROFILE@START,…",
        help="with --mig: draw these instances, and where others still fit",
    )


def run_command(arguments: argparse.Namespace) -> int:
    """Prints what was asked for. Raises GpuschedError."""
    if arguments.mig is None and arguments.used is not None:
        raise InvalidSpec("--used is given without --mig; say of which model")
    if arguments.mig is not None and arguments.name is not None:
        raise InvalidSpec(f"MODEL is {arguments.name!r}; leave it out with --mig")
    catalog = Catalog() if arguments.file is None else read_catalog(arguments.file)
    if arguments.mig is not None:
        _show_mig(catalog, arguments)
    elif arguments.name is not None:
        _show_model(catalog, arguments)
    else:
        _show_all(catalog, arguments.json)
    return 0


def _print_json(value: object) -> None:
    # Escaped, so that names of any kind pass through any terminal and pipe.
    print(json.dumps(value, indent=1))


# --- models ---------------------------------------------------------------------------------------


def _show_all(catalog: Catalog, as_json: bool) -> None:
    models = catalog.all_models()
    if as_json:
        _print_json(
            {
                "models": [model_entry(model) for model in models],
                "geometries": [geometry_entry(each) for each in catalog.all_geometries()],
                "opaque_models": list(catalog.opaque_models),
            }
        )
        return
    # Imported here, so that the other commands start without it.
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title="GPU models")
    table.add_column("model", no_wrap=True)
    table.add_column("architecture")
    for heading in ("memory\nGiB", "fp16\nTFLOPS", "bandwidth\nGB/s", "TDP\nW", "NVLink\nGB/s"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("MIG", no_wrap=True)
    for model in models:
        maker = f"{model.vendor} {model.architecture}".strip()
        numbers = [
            _cell(model, "memory_gib", model.memory_gib or None),
            _cell(model, "fp16", model.fp16, 1000),
            _cell(model, "bandwidth_gbs", model.bandwidth_gbs),
            _cell(model, "tdp_w", model.tdp_w),
            "-" if model.nvlink_gbs == 0 else _cell(model, "nvlink_gbs", model.nvlink_gbs),
        ]
        # As Text, so that brackets in a name are no markup.
        table.add_row(*map(Text, (model.name, maker, *numbers, model.mig or "")))
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=120)  # a file has no width to wrap at
    console.print(table)
    if any("*" in str(cell) for column in table.columns for cell in column.cells):
        print(_UNSOURCED)
    if catalog.opaque_models:
        print(f"Opaque: {', '.join(catalog.opaque_models)}")


def _cell(model: GpuModel, field: str, value: int | None, unit: int = 1) -> str:
    """A number of a table, or nothing if it is not known."""
    if value is None:
        return ""
    return _number(value, unit) + ("*" if field in model.unsourced else "")


def _number(value: int, unit: int = 1) -> str:
    """In units of so many, as exactly as it is known."""
    if value % unit == 0:
        return f"{value // unit:,}"
    return f"{value / unit:,.3f}".rstrip("0")


def _show_model(catalog: Catalog, arguments: argparse.Namespace) -> None:
    model = catalog.model(arguments.name)
    geometry = catalog.mig_geometry(model.mig) if model.mig is not None else None
    if arguments.json:
        geometries = [geometry_entry(geometry)] if geometry is not None else []
        _print_json({"models": [model_entry(model)], "geometries": geometries})
        return
    lines = list(_model_lines(model))
    if geometry is not None:
        lines.append(("MIG", geometry.name))
        lines.append(("", ", ".join(profile.name for profile in geometry.profiles)))
    print(model.name)
    for label, text in lines:
        print(f"  {label:<20}{text}")
    if any(text.endswith("*") for _, text in lines):
        print(_UNSOURCED)


def _model_lines(model: GpuModel) -> Iterator[tuple[str, str]]:
    """What is known of a model, as a label and a text each."""
    for label, text in (
        ("vendor", model.vendor),
        ("architecture", model.architecture),
        ("compute capability", model.compute_capability),
    ):
        if text:
            yield label, text

    def line(label: str, field: str, unit: str, size: int = 1) -> Iterator[tuple[str, str]]:
        value = getattr(model, field)
        if value is not None:
            star = "*" if field in model.unsourced else ""
            yield label, f"{_number(value, size)} {unit}{star}"

    if model.memory_gib:
        yield from line("memory", "memory_gib", "GiB")
    for rate in RATE_KEYS:
        label = rate.replace("_", " ")
        yield from line(label, rate, "TOPS" if rate == "int8" else "TFLOPS", 1000)
    yield from line("memory bandwidth", "bandwidth_gbs", "GB/s")
    yield from line("TDP", "tdp_w", "W")
    yield from line("NVLink", "nvlink_gbs", "GB/s")


# --- MIG ------------------------------------------------------------------------------------------


def _show_mig(catalog: Catalog, arguments: argparse.Namespace) -> None:
    geometry = catalog.mig_geometry(arguments.mig)
    if arguments.used is None:
        _show_geometry(catalog, geometry, arguments.json)
    else:
        _show_used(geometry, parse_layout(geometry, arguments.used), arguments.json)


def _show_geometry(catalog: Catalog, geometry: MigGeometry, as_json: bool) -> None:
    layouts = list(islice(maximal_layouts(geometry), _MOST_COUNTED + 1))
    shown = layouts[:MOST_LAYOUTS]
    if as_json:
        _print_json(
            {
                "geometry": geometry_entry(geometry),
                "layouts": [_layout_entry(layout) for layout in shown],
            }
        )
        return
    models = [model.name for model in catalog.all_models() if model.mig == geometry.name]
    print(_heading(geometry))
    if models:
        print(f"Models: {', '.join(models)}")
    print()
    memory = "MiB*" if "mem_mib" in geometry.unsourced else "MiB"
    starts = "starts*" if "starts" in geometry.unsourced else "starts"
    label = max(len("profile"), *(len(profile.name) for profile in geometry.profiles))
    print(f"{'profile':<{label}}  {'compute':>7}  {'memory':>6}  {memory:>9}  {starts}")
    for profile in geometry.profiles:
        row = starts_row(geometry, profile, profile.starts, set())
        print(
            f"{profile.name:<{label}}  {profile.compute_slices:>7}  {profile.memory_slices:>6}  "
            f"{profile.mem_mib:>9,}  {row}" + (" one only" if profile.media_extensions else "")
        )
    if geometry.unsourced:
        print(_INFERRED)
    print()
    counted = f"more than {_MOST_COUNTED:,}" if len(layouts) > _MOST_COUNTED else f"{len(layouts)}"
    beside = "" if len(shown) == len(layouts) else f", of which the first {len(shown)}"
    print(f"Layouts that nothing can be added to: {counted}{beside}")
    for layout in shown:
        print(layout_row(geometry, layout))


def _show_used(geometry: MigGeometry, used: Layout, as_json: bool) -> None:
    fits = {profile.name: fitting_starts(geometry, profile, used) for profile in geometry.profiles}
    if as_json:
        _print_json(
            {
                "geometry": geometry_entry(geometry),
                "used": _layout_entry(used),
                "fits": {name: list(starts) for name, starts in fits.items()},
            }
        )
        return
    print(_heading(geometry))
    print()
    print(layout_row(geometry, used))
    print()
    label = max(len("profile"), *(len(name) for name in fits))
    print(f"{'profile':<{label}}  where it still fits")
    taken = occupied_slices(used)
    for profile in geometry.profiles:
        starts = fits[profile.name]
        row = starts_row(geometry, profile, starts, taken)
        print(f"{profile.name:<{label}}  {row} {_places(starts)}")


def _heading(geometry: MigGeometry) -> str:
    return (
        f"{geometry.name}: {geometry.compute_slices} compute slices, "
        f"{geometry.memory_slices} memory slices"
    )


def _places(starts: Sequence[int]) -> str:
    return ", ".join(map(str, starts)) if starts else "nowhere"


def _layout_entry(layout: Layout) -> list[dict[str, Any]]:
    return [{"profile": profile.name, "start": start} for profile, start in layout]

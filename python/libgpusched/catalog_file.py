"""GPU models and MIG geometries of one's own, as a file.

A file is YAML, of which JSON is a part; `libgpusched models --json` prints one.

    models:
      - {name: X1-48GB, vendor: Maker, memory_gib: 48, fp16: 120000, tdp_w: 350, mig: X1}
    geometries:
      - name: X1
        compute_slices: 4
        memory_slices: 4
        profiles:
          - {name: 1g.12gb, compute_slices: 1, memory_slices: 1, mem_mib: 11500, starts: [0, 1]}
          - {name: 2g.24gb, compute_slices: 2, memory_slices: 2, mem_mib: 23000, starts: [0, 2]}
    opaque_models: [G2, G3]

Keys are the arguments of GpuModel, MigGeometry and MigProfile. An empty value is one that is not
known.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from libgpusched._core import Catalog, GpuModel, MigGeometry
from libgpusched.errors import InvalidSpec, NotFound, Unavailable

FILE_KEYS = ("models", "geometries", "opaque_models")
RATE_KEYS = ("fp64", "fp64_tensor", "fp32", "tf32", "fp16", "bf16", "fp8", "int8")
MODEL_TEXTS = ("name", "vendor", "architecture", "compute_capability", "mig")
MODEL_NUMBERS = ("memory_gib", *RATE_KEYS, "bandwidth_gbs", "tdp_w", "nvlink_gbs")
MODEL_KEYS = (*MODEL_TEXTS, *MODEL_NUMBERS, "unsourced")
PROFILE_KEYS = (
    "name",
    "compute_slices",
    "memory_slices",
    "mem_mib",
    "starts",
    "media_extensions",
)
GEOMETRY_KEYS = ("name", "compute_slices", "memory_slices", "profiles", "unsourced")


def read_catalog(path: str | os.PathLike[str]) -> Catalog:
    """The built-in models with those of a file.

    The file is YAML or JSON with the keys models, geometries and opaque_models; what stands there
    are the arguments of GpuModel, MigGeometry with its MigProfile, and names. Raises NotFound or
    Unavailable (file), or InvalidSpec with the file, the line and the path inside.

    >>> import libgpusched as gs, pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "mine.yaml")
    ...     _ = file.write_text("models: [{name: X1-48GB, memory_gib: 48, mig: A30-24GB}]")
    ...     catalog = gs.read_catalog(file)
    >>> catalog.models
    (GpuModel('X1-48GB', memory_gib=48, mig='A30-24GB'),)
    """
    file = os.fspath(path)
    try:
        text = Path(file).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise NotFound(f"{file}: there is no such file") from None
    except OSError as error:
        raise Unavailable(f"{file}: the file cannot be read ({error.strerror})") from None
    except UnicodeDecodeError as error:
        raise InvalidSpec(f"{file}: the file is not UTF-8 at byte {error.start}") from None
    # Imported here, since YAML takes as long to import as all the rest of the package.
    from libgpusched.catalog_entries import catalog_of

    return catalog_of(text, file)


def model_entry(model: GpuModel) -> dict[str, Any]:
    """A model as a file has it."""
    return {key: _plain(getattr(model, key)) for key in MODEL_KEYS}


def geometry_entry(geometry: MigGeometry) -> dict[str, Any]:
    """A geometry as a file has it."""
    entry = {key: _plain(getattr(geometry, key)) for key in GEOMETRY_KEYS}
    entry["profiles"] = [
        {key: _plain(getattr(profile, key)) for key in PROFILE_KEYS}
        for profile in geometry.profiles
    ]
    return entry


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

import libgpusched as gs

# The same examples on every machine, however slow it is.
settings.register_profile("libgpusched", deadline=None, derandomize=True)
settings.load_profile("libgpusched")


@pytest.fixture
def cluster() -> gs.Cluster:
    """One large node with memory tracked, one small node of another model."""
    cluster = gs.Cluster()
    cluster.add_node(
        "large", cpu=64, mem_mib=262144, gpus=8, model="A100-SXM4-80GB", gpu_mem_mib=81920
    )
    cluster.add_node("small", cpu=16, mem_mib=65536, gpus=2, model="T4")
    return cluster


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder with the openb trace and the published results, if there is one."""
    folder = os.environ.get("GPUSCHED_DATA")
    if not folder or not (Path(folder) / "openb").is_dir():
        pytest.skip("GPUSCHED_DATA names no folder with the openb trace")
    if "libasan" in os.environ.get("LD_PRELOAD", ""):
        pytest.skip("thousands of decisions are too slow under a sanitizer")
    return Path(folder)

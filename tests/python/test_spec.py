"""Shapes and devices: how requests are described and what is refused."""

from __future__ import annotations

import copy
import pickle
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import libgpusched as gs


@pytest.mark.parametrize(
    ("gpu", "count", "milli"),
    [
        (0, 0, 0),
        (0.5, 1, 500),
        (0.0029, 1, 3),
        (0.001, 1, 1),
        (0.9999, 1, 1000),
        (1, 1, 1000),
        (1.0, 1, 1000),
        (8, 8, 1000),
        (np.float32(0.5), 1, 500),
        (np.float64(2), 2, 1000),
        (np.int16(4), 4, 1000),
        (np.array(2), 2, 1000),
        (Fraction(1, 4), 1, 250),
        (Decimal("0.25"), 1, 250),
    ],
)
def test_gpu_is_a_share_or_a_whole_number(gpu: Any, count: int, milli: int) -> None:
    shape = gs.Shape(gpu=gpu)
    assert (shape.gpu_count, shape.gpu_milli) == (count, milli)


def test_gpu_in_milli() -> None:
    assert gs.Shape(gpu_milli=250) == gs.Shape(gpu=0.25)
    assert gs.Shape(gpu_count=4) == gs.Shape(gpu=4) == gs.Shape(gpu_count=4, gpu_milli=1000)
    assert gs.Shape(gpu_count=0) == gs.Shape(gpu_milli=0) == gs.Shape()


def test_cpu_in_cores_or_milli() -> None:
    assert gs.Shape(cpu=1.5).cpu_milli == 1500
    assert gs.Shape(cpu=0.0015).cpu_milli == 2
    assert gs.Shape(cpu_milli=np.int64(1500)) == gs.Shape(cpu=1.5)


def test_models_are_a_set() -> None:
    shape = gs.Shape(gpu=1, models=["T4", "A10", "T4"])
    assert shape.models == ("A10", "T4")
    assert shape == gs.Shape(gpu=1, models=("A10", "T4"))
    assert gs.Shape(gpu=1, models="T4").models == ("T4",)


def test_equal_shapes_hash_alike() -> None:
    assert len({gs.Shape(cpu=1), gs.Shape(cpu_milli=1000), gs.Shape(cpu=2)}) == 2
    assert gs.Shape() != "shape"


@given(
    cpu_milli=st.integers(0, 2**40),
    mem_mib=st.integers(0, 2**40),
    count=st.integers(0, 64),
    models=st.lists(st.sampled_from(["T4", "A10", "G2"])),
)
def test_shapes_survive_copies(cpu_milli: int, mem_mib: int, count: int, models: list[str]) -> None:
    shape = gs.Shape(
        cpu_milli=cpu_milli, mem_mib=mem_mib, gpu=count, models=models if count else []
    )
    assert pickle.loads(pickle.dumps(shape)) == shape
    assert copy.deepcopy(shape) == shape
    assert eval(repr(shape), {"Shape": gs.Shape}) == shape


# Each: what is asked, and what the message says (field, value, remedy).
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"gpu": float("nan")}, "shape: gpu is nan; use a finite number"),
    ({"gpu": float("inf")}, "shape: gpu is inf; use a finite number"),
    ({"gpu": float("-inf")}, "shape: gpu is -inf; use a finite number"),
    ({"gpu": -1}, "shape: gpu is -1; use 0 or more"),
    ({"gpu": 1.5}, "shape: gpu is 1.5; use a share below 1 or a whole number of devices"),
    ({"gpu": 1.0001}, "shape: gpu is 1.0001; use a share below 1 or a whole number of devices"),
    ({"gpu": 0.0003}, "shape: gpu is 0.0003; the resolution is 0.001; use 0 or at least 0.001"),
    ({"gpu": 65}, "shape: gpu_count is 65; one task uses 0 to 64 devices of one node"),
    ({"gpu": 10**9}, "shape: gpu_count is 1000000000; one task uses 0 to 64 devices"),
    ({"gpu": 10**400}, "shape: gpu is 1000"),
    ({"gpu": True}, "shape: gpu is True; use a number"),
    ({"gpu": np.True_}, "use a number"),
    ({"gpu": "1"}, "shape: gpu is '1'; use a number"),
    ({"gpu": 1j}, "shape: gpu is 1j; use a number"),
    ({"gpu": 1, "gpu_milli": 500}, "shape: gpu is 1; gpu_milli is given too; give one of them"),
    ({"gpu": 1, "gpu_count": 1}, "shape: gpu is 1; gpu_count is given too; give one of them"),
    ({"gpu_milli": 1500}, "shape: gpu_milli is 1500; use 1 to 999 for a share of one device"),
    ({"gpu_milli": -5}, "shape: gpu_milli is -5; use 1 to 999"),
    ({"gpu_milli": 0.5}, "shape: gpu_milli is 0.5; use a whole number"),
    (
        {"gpu_count": 2, "gpu_milli": 500},
        "shape: gpu_milli is 500; a task on 2 devices takes whole",
    ),
    ({"gpu_count": -1}, "shape: gpu_count is -1; one task uses 0 to 64 devices"),
    ({"cpu": float("nan")}, "shape: cpu is nan; use a finite number"),
    ({"cpu": -0.5}, "shape: cpu is -0.5; use 0 or more"),
    ({"cpu": 1e300}, "shape: cpu is 1e+300; use at most"),
    ({"cpu": 1, "cpu_milli": 1000}, "shape: cpu is 1; cpu_milli is given too; give one of them"),
    ({"cpu_milli": -4}, "shape: cpu_milli is -4; use 0 to 1099511627776"),
    ({"cpu_milli": 2**40 + 1}, "shape: cpu_milli is 1099511627777; use 0 to 1099511627776"),
    ({"cpu_milli": 2**63}, "shape: cpu_milli is 9223372036854775808; use a whole number, 0 to"),
    ({"cpu_milli": -(2**70)}, "shape: cpu_milli is -1180591620717411303424; use a whole number"),
    ({"cpu_milli": 10**5000}, "shape: cpu_milli is an object of type int; use a whole number"),
    ({"cpu_milli": 1.0}, "shape: cpu_milli is 1.0; use a whole number"),
    ({"mem_mib": False}, "shape: mem_mib is False; use a whole number"),
    ({"mem_mib": None}, "shape: mem_mib is None; use a whole number"),
    ({"mem_mib": np.int64(-1)}, "shape: mem_mib is -1; use 0 to 1099511627776"),
    ({"gpu": 1, "gpu_mem_mib": 2**41}, "shape: gpu_mem_mib is 2199023255552; use 0 to"),
    (
        {"gpu_mem_mib": 5, "gpu_count": 0},
        "shape: gpu_mem_mib is 5; a shape with gpu_count 0 asks no GPU; use 0",
    ),
    ({"models": ["T4"]}, "shape: models is 1 names; a shape with gpu_count 0 asks no GPU"),
    ({"gpu": 1, "models": 5}, "shape: models is 5; use a list of names"),
    ({"gpu": 1, "models": [5]}, "shape: models[0] is 5; use text"),
    ({"gpu": 1, "models": ["\udcff"]}, "use text that can be written as UTF-8"),
]


@pytest.mark.parametrize(("asked", "message"), REFUSED, ids=[text for _, text in REFUSED])
def test_refused_shapes(asked: dict[str, Any], message: str) -> None:
    with pytest.raises(gs.InvalidSpec) as error:
        gs.Shape(**asked)
    assert message in str(error.value)
    assert isinstance(error.value, ValueError)


def test_values_that_cannot_be_shown_are_refused_too() -> None:
    class Odd:
        def __repr__(self) -> str:
            raise RuntimeError("no repr")

        def __index__(self) -> int:
            raise RuntimeError("no index")

    with pytest.raises(gs.InvalidSpec, match="mem_mib is an object of type Odd"):
        gs.Shape(mem_mib=Odd())


def test_devices() -> None:
    device = gs.Device("T4", gpu_milli=500, gpu_mem_mib=15360)
    assert (device.model, device.gpu_milli, device.gpu_mem_mib) == ("T4", 500, 15360)
    assert gs.Device("T4").gpu_mem_mib is None
    assert repr(device) == "Device('T4', gpu_milli=500, gpu_mem_mib=15360)"
    with pytest.raises(gs.InvalidSpec, match="device: gpu_milli is 'x'"):
        gs.Device("T4", gpu_milli="x")  # type: ignore[arg-type]

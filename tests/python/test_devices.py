"""Devices that are shared: what is described, asked, decided and told."""

import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import libgpusched as gs

EXAMPLE = Path(__file__).resolve().parents[2] / "examples/heterogeneous.py"
A100 = "A100-SXM4-40GB"


def partitioned(**other: object) -> gs.Device:
    arguments = {"gpu_mem_mib": 40960, "sharing": "mig", "partition_on_demand": True} | other
    return gs.Device(A100, **arguments)  # type: ignore[arg-type]


@pytest.fixture
def cluster() -> gs.Cluster:
    made = gs.Cluster()
    made.add_node("n", cpu=64, devices=[partitioned()])
    return made


def test_a_device_says_how_it_is_shared() -> None:
    device = gs.Device(
        A100,
        gpu_mem_mib=40960,
        reserved_mem_mib=500,
        sharing="mig",
        partitions=[("3g.20gb", 4), gs.MigPartition("1g.5gb", 0)],
    )
    assert device.partitions == (gs.MigPartition("3g.20gb", 4), gs.MigPartition("1g.5gb", 0))
    assert (device.sharing, device.replicas, device.reserved_mem_mib) == ("mig", 1, 500)
    assert repr(device) == (
        "Device('A100-SXM4-40GB', gpu_mem_mib=40960, reserved_mem_mib=500, sharing='mig', "
        "partitions=[('3g.20gb', 4), ('1g.5gb', 0)])"
    )
    assert repr(gs.Device("T4", sharing="mps", replicas=4)) == (
        "Device('T4', sharing='mps', replicas=4)"
    )
    assert partitioned().partition_on_demand is True


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sharing": "shared"}, "device: sharing is 'shared'; use 'exclusive', 'fraction'"),
        ({"partitions": "3g.20gb"}, "device: partitions is '3g.20gb'; use a list of"),
        ({"partitions": ["3g.20gb"]}, r"device: partitions\[0\] is '3g.20gb'; use a list of"),
        ({"partitions": [("3g.20gb", 8)]}, r"device: partitions\[0\].start is 8; use 0 to 7"),
        ({"partition_on_demand": 1}, "device: partition_on_demand is 1; use True or False"),
        ({"replicas": "4"}, "device: replicas is '4'"),
    ],
)
def test_refused_devices(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(gs.InvalidSpec, match=message):
        gs.Device("T4", **arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        (gs.Shape(mig="3g.20gb"), "Shape(mig='3g.20gb')"),
        (
            gs.Shape(mig="1g.5gb", gpu_count=2, distinct_devices=True),
            "Shape(gpu_count=2, mig='1g.5gb', distinct_devices=True)",
        ),
        (gs.Shape(gpu_mem_mib=5), "Shape(gpu_mem_mib=5)"),
        (
            gs.Shape(gpu=0.5, sharing=["mps", "fraction"]),
            "Shape(gpu_milli=500, sharing=['fraction', 'mps'])",
        ),
    ],
)
def test_shapes_compare_hash_and_travel(shape: gs.Shape, text: str) -> None:
    assert repr(shape) == text
    again = pickle.loads(pickle.dumps(shape))
    assert again == shape
    assert hash(again) == hash(shape)
    assert shape != gs.Shape(cpu=1)
    assert eval(text, {"Shape": gs.Shape}) == shape


def test_what_a_shape_asks() -> None:
    profile = gs.Shape(mig="1g.5gb", gpu_count=3)
    assert (profile.mig, profile.gpu_count, profile.gpu_milli) == ("1g.5gb", 3, 0)
    memory = gs.Shape(gpu_mem_mib=20000)
    assert (memory.gpu_count, memory.gpu_milli, memory.gpu_mem_mib) == (1, 0, 20000)
    replica = gs.Shape(sharing=["mps"])
    assert (replica.gpu_count, replica.gpu_milli, replica.sharing) == (1, 0, ("mps",))
    whole = gs.Shape(gpu_count=2, gpu_mem_mib=5)
    assert whole.gpu_milli == 1000
    assert gs.Shape(gpu=1).mig is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"mig": ""}, "shape: mig is ''; name a profile"),
        ({"mig": "1g.5gb", "gpu": 0.5}, "gpu_milli is 500; an instance has what its profile says"),
        ({"mig": "1g.5gb", "gpu_mem_mib": 4}, "gpu_mem_mib is 4; an instance has"),
        ({"gpu": 1, "sharing": ["mps"]}, "sharing is 1 modes; whole devices are exclusive"),
        ({"gpu": 0.5, "sharing": ["mig"]}, r"sharing\[0\] is mig; a share is had as"),
        ({"gpu": 0.5, "sharing": ["half"]}, "sharing is 'half'"),
        ({"gpu": 1, "distinct_devices": True}, "distinct_devices is true; whole devices are"),
    ],
)
def test_refused_shapes(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(gs.InvalidSpec, match=message):
        gs.Shape(**arguments)  # type: ignore[arg-type]


def test_a_profile_is_one_of_the_cluster(cluster: gs.Cluster) -> None:
    scheduler = gs.Scheduler(cluster, "best_fit")
    with pytest.raises(
        gs.InvalidSpec, match="mig_profile is '1g.4gb'; use a profile of an allowed"
    ):
        scheduler.decide(gs.Shape(mig="1g.4gb"))


def test_decisions_carry_the_grant(cluster: gs.Cluster) -> None:
    scheduler = gs.Scheduler(cluster, 0.5 * gs.BestFit() + 0.5 * gs.MigStart())
    decision = scheduler.place("three", gs.Shape(mig="3g.20gb"))
    grant = decision.grant
    assert grant is not None
    assert grant.mode == "mig"
    assert grant.isolated
    assert (grant.gpu_milli, grant.gpu_mem_mib) == (428, 19968)
    assert grant.instances == (gs.MigInstance(0, "3g.20gb", 4),)
    assert decision.text == "placed on 'n', device 0 as 3g.20gb at 4 of device 0"
    assert cluster.task("three").grant == grant
    (device,) = cluster.node("n").devices
    assert (device.used_milli, device.used_parts, device.used_slices) == (428, 3, (4, 5, 6, 7))
    assert device.spec.sharing == "mig"
    refused = scheduler.decide(gs.Shape(mig="7g.40gb"))
    assert refused.grant is None
    assert refused.text.endswith("start 0 is taken by 'three' (3g.20gb at 4)")


def test_replicas_say_that_nothing_is_isolated() -> None:
    cluster = gs.Cluster()
    cluster.add_node("n", devices=[gs.Device("T4", sharing="time_slicing", replicas=3)])
    decision = gs.Scheduler(cluster, "first_fit").place("t", gs.Shape(gpu=0.3))
    assert decision.grant is not None
    assert (decision.grant.mode, decision.grant.gpu_milli) == ("time_slicing", 333)
    assert not decision.grant.isolated
    assert "not isolated" in decision.text


def test_placing_by_hand(cluster: gs.Cluster) -> None:
    one = gs.Shape(mig="1g.5gb")
    for start in (0, 1, 5):
        cluster.place(f"t{start}", one, node="n", instances=[(0, "1g.5gb", start)])
    before = cluster.state_hash
    with pytest.raises(gs.PreconditionFailed, match="1g.5gb at 5; no such MIG instance"):
        cluster.place("again", one, node="n", instances=[(0, "1g.5gb", 5)])
    with pytest.raises(gs.PreconditionFailed, match="another number of MIG instances"):
        cluster.place("none", one, node="n", devices=[0])
    assert cluster.state_hash == before
    target = gs.TargetWorkload.from_counts({gs.Shape(mig="3g.20gb"): 1, gs.Shape(mig="2g.10gb"): 1})
    report = gs.fragmentation(cluster, target)
    assert report.cluster.idle_milli == 571
    assert report.cluster.of_idle == 0.5
    assert report.nodes["n"].gpus == report.models[A100].gpus == report.cluster.gpus
    assert report.cluster.of_capacity == pytest.approx(0.2855)


def test_an_engine_knows_instances() -> None:
    engine = gs.Engine(validate=True)
    engine.add_node("n", cpu=8, devices=[partitioned()])
    engine.submit(gs.Job("old", [gs.TaskGroup("main", gs.Shape(mig="1g.5gb"))]))
    engine.started(("old", "main", 0, 1), node="n", instances=[(0, "1g.5gb", 0)])
    engine.hold(
        "h", owner="later", node="n", shape=gs.Shape(mig="2g.10gb"), instances=[(0, "2g.10gb", 2)]
    )
    engine.submit(gs.Job("new", [gs.TaskGroup("main", gs.Shape(mig="3g.20gb"))]))
    plan = engine.decide(0)
    (place,) = plan.placements
    assert place.grant.instances == (gs.MigInstance(0, "3g.20gb", 4),)
    assert gs.Plan.decode(plan.encode()) == plan
    engine.commit(plan)
    assert engine.job("old").tasks[0].grant.instances == (gs.MigInstance(0, "1g.5gb", 0),)
    assert engine.holds()[0].instances == (gs.MigInstance(0, "2g.10gb", 2),)
    engine.submit(gs.Job("more", [gs.TaskGroup("main", gs.Shape(mig="4g.20gb"))]))
    account = engine.explain("more")
    assert account.reason == "NoMigPlacement"
    assert "'old/main/0' (1g.5gb at 0)" in account.text
    restored = gs.Engine.load(engine.save())
    assert restored.state_hash == engine.state_hash


def test_the_example() -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLE)], capture_output=True, text=True, check=True
    )
    for part in (
        "3g.20gb at 4 of 0",
        "2g.10gb at 0 of 1",
        "mps, device 1",
        "not isolated",
        "waits",
    ):
        assert part in done.stdout

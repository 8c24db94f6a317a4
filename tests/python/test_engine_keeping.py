"""Keeping an engine: saving, forking, journals and what a crash leaves of them."""

from __future__ import annotations

import gc
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import libgpusched as gs
from engines import MINUTE, gang, go, phases, refused, small_engine, start


def busy_engine(**options: Any) -> gs.Engine:
    """An engine with a bit of everything in it."""
    engine = small_engine(validate=False, **options)
    engine.submit(gang("a", 3, labels={"app": "a"}))
    engine.submit(gang("b", 6, anti_affinity={"app": ["x", "y"]}))
    engine.submit(gang("c", 2, kind="service", alternatives=[gs.Shape(cpu=1)]))
    plan = go(engine, MINUTE)
    for step in plan.placements[:2]:
        engine.started(step)
    engine.abort(plan)
    engine.hold("h", owner="z", node="n1", shape=gs.Shape(cpu=1), until=9 * MINUTE)
    engine.started(("a", "main", 2, 5), node="later", devices=[0])
    engine.cordon("n0")
    go(engine, 2 * MINUTE)
    engine.failed(("a", "main", 0, 1))
    engine.update_node("n1", foreign_cpu_milli=500)
    return engine


COPIES: list[Callable[[gs.Engine], gs.Engine]] = [
    lambda engine: engine.fork(),
    lambda engine: gs.Engine.load(engine.save(), engine.policy),
]


@pytest.mark.parametrize("copy", COPIES, ids=["fork", "load"])
@pytest.mark.parametrize("policy", ["best_fit", gs.Random(3), gs.GpuPacking() + gs.BestFit()])
def test_copies_are_alike_and_apart(
    copy: Callable[[gs.Engine], gs.Engine], policy: str | gs.Policy
) -> None:
    engine = busy_engine(policy=policy, start_timeout=5 * MINUTE)
    other = copy(engine)
    assert other.state_hash == engine.state_hash
    assert (other.version, other.now, other.settings) == (
        engine.version,
        engine.now,
        engine.settings,
    )
    assert other.save() == engine.save()
    assert repr(other.policy) == repr(engine.policy)
    assert other.decide(3 * MINUTE).encode() == engine.decide(3 * MINUTE).encode()
    before = engine.state_hash
    go(other, 3 * MINUTE)
    other.cancel("a")
    other.remove_node("n0")
    assert engine.state_hash == before
    engine.audit()
    other.audit()
    del engine
    gc.collect()
    go(other, 4 * MINUTE)
    other.audit()


def test_bytes_that_are_no_engine() -> None:
    data = busy_engine().save()
    assert isinstance(data, bytes)
    for cut in (len(data) - 1, len(data) // 2, 25):
        with pytest.raises(gs.CorruptData, match="cut"):
            gs.Engine.load(data[:cut])
    broken = bytearray(data)
    broken[-20] ^= 1
    with pytest.raises(gs.CorruptData, match="damaged"):
        gs.Engine.load(bytes(broken))
    with pytest.raises(gs.InvalidSpec, match="journal"):
        gs.Engine.load(b"something else entirely")
    with pytest.raises(gs.InvalidSpec, match="empty"):
        gs.Engine.load(b"")
    with pytest.raises(gs.InvalidSpec, match="data is 'x'; use the bytes that save"):
        gs.Engine.load("x")  # type: ignore[arg-type]
    with pytest.raises(gs.NotFound, match="best"):
        gs.Engine.load(data, "best")


def test_a_validator_needs_the_events_from_the_start() -> None:
    empty = gs.Engine(repair_timeout=MINUTE)
    empty.tick(7)
    engine = gs.Engine.load(empty.save(), validate=True)
    engine.add_node("n", cpu=1)
    engine.submit(gs.Job("j", gs.Shape(cpu=1)))
    assert len(start(engine).placements) == 1
    with pytest.raises(gs.PreconditionFailed, match="the validator needs the events"):
        gs.Engine.load(engine.save(), validate=True)


# --- journals -------------------------------------------------------------------------------------


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal"


@pytest.mark.parametrize("durable", [False, True])
def test_a_journal_restores_the_engine(path: Path, durable: bool) -> None:
    engine = busy_engine(journal=path, durable=durable, start_timeout=5 * MINUTE)
    hash_, version, plan = engine.state_hash, engine.version, engine.decide(3 * MINUTE).encode()
    del engine
    restored = gs.Engine.restore(str(path), verify=True, durable=durable)
    assert restored.problem is None
    assert restored.valid_bytes == restored.total_bytes == path.stat().st_size
    assert restored.plans == 2
    assert restored.records == len(gs.read_journal(path))
    assert repr(restored) == f"<Restored from {restored.records} records>"
    engine = restored.engine
    assert (engine.state_hash, engine.version) == (hash_, version)
    assert engine.settings["start_timeout"] == 5 * MINUTE
    assert engine.decide(3 * MINUTE).encode() == plan
    # It goes on where it ended.
    go(engine, 3 * MINUTE)
    engine.cancel("a")
    hash_ = engine.state_hash
    del engine, restored
    again = gs.Engine.restore(path, verify=True)
    assert (again.problem, again.plans) == (None, 3)
    assert again.engine.state_hash == hash_


def test_what_changes_nothing_is_not_written(path: Path) -> None:
    engine = small_engine(journal=path)
    size = path.stat().st_size
    engine.decide(5)
    engine.cancel("nobody")
    engine.tick(0)
    with refused(engine, gs.AlreadyExists, "'n0'"):
        engine.add_node("n0")
    assert path.stat().st_size == size
    engine.fork().tick(5)
    assert path.stat().st_size == size
    engine.tick(5)
    assert path.stat().st_size > size


def test_a_crash_at_any_byte(path: Path, tmp_path: Path) -> None:
    engine = busy_engine(journal=path)
    whole = path.read_bytes()
    records = gs.read_journal(path)
    ends = [record.at for record in records[1:]] + [len(whole)]
    hashes = {}
    crashed = tmp_path / "crashed"
    for end in ends:
        crashed.write_bytes(whole[:end])
        restored = gs.Engine.restore(crashed)
        assert (restored.problem, restored.valid_bytes) == (None, end)
        hashes[end] = restored.engine.state_hash
        del restored  # and its lock on the file
    assert hashes[ends[-1]] == engine.state_hash
    assert len(set(hashes.values())) > len(ends) / 2
    for cut in range(ends[-4], len(whole)):
        crashed.write_bytes(whole[:cut])
        restored = gs.Engine.restore(crashed)
        end = max(end for end in ends if end <= cut)
        assert (restored.valid_bytes, restored.total_bytes) == (end, cut)
        assert restored.engine.state_hash == hashes[end]
        assert (restored.problem is None) == (cut == end)
        # The rest is gone from the file, and it goes on from there.
        assert crashed.stat().st_size == end
        restored.engine.tick(99 * MINUTE)
        after = restored.engine.state_hash
        del restored
        assert gs.Engine.restore(crashed, resume=False).engine.state_hash == after
    for cut in (0, 1, 10, 30, ends[0] - 1):
        crashed.write_bytes(whole[:cut])
        with pytest.raises(gs.InvalidSpec if cut == 0 else gs.CorruptData, match="cut|empty"):
            gs.Engine.restore(crashed)
        assert crashed.stat().st_size == cut


def test_damage_in_the_middle(path: Path) -> None:
    busy_engine(journal=path)
    whole = path.read_bytes()
    broken = bytearray(whole)
    at = gs.read_journal(path)[5].at
    broken[at + 3] ^= 0x40
    path.write_bytes(broken)
    restored = gs.Engine.restore(path, resume=False)
    assert restored.records == 5
    assert restored.valid_bytes == at
    assert restored.problem is not None
    assert f"record 6 at byte {at}" in restored.problem
    assert "; record 6 at byte" in repr(restored)
    assert path.read_bytes() == broken
    records = gs.read_journal(path)
    assert [record.kind for record in records[4:]] == ["event", "problem"]
    assert (records[-1].at, records[-1].text) == (at, restored.problem)


def test_damage_is_not_removed(path: Path) -> None:
    """One damaged byte: what is behind it is whole, and resuming must not remove it."""
    busy_engine(journal=path)
    whole = path.read_bytes()
    records = gs.read_journal(path)
    at = records[5].at
    # In the payload; and in the length, which then points beyond the end, as if that were cut.
    for where, mask in ((at + 3, 0x40), (at, 0x80), (at, 0x7F & ~whole[at])):
        broken = bytearray(whole)
        broken[where] ^= mask
        path.write_bytes(broken)
        with pytest.raises(gs.PreconditionFailed) as error:
            gs.Engine.restore(path)
        for part in (
            repr(str(path)),
            f"record 6 at byte {at} is damaged",
            "restore with resume=False and begin a new journal with set_journal",
            f"or cut the file to {at} bytes yourself",
        ):
            assert part in str(error.value)
        assert path.read_bytes() == broken
    # The remedies.
    renewed = path.with_name("renewed")
    engine = gs.Engine.restore(path, resume=False).engine
    engine.set_journal(renewed)
    engine.tick(99 * MINUTE)
    assert gs.Engine.restore(renewed, resume=False).engine.state_hash == engine.state_hash
    assert path.read_bytes() == broken
    path.write_bytes(broken[:at])
    assert gs.Engine.restore(path).problem is None


def test_a_crash_before_the_first_record_is_whole(path: Path) -> None:
    small_engine(journal=path)
    whole = path.read_bytes()
    first = gs.read_journal(path)[1].at
    for cut in (1, 10, len("gpusched journal 2\n"), 30, first - 1):
        path.write_bytes(whole[:cut])
        with pytest.raises(gs.InvalidSpec if cut == 19 else gs.CorruptData):
            gs.Engine.restore(path)
        assert path.stat().st_size == cut
        small_engine(journal=path)
        assert path.read_bytes() == whole
    path.write_bytes(whole[:first])
    with pytest.raises(gs.AlreadyExists, match="use another path"):
        gs.Engine(journal=path)


def test_rotation(path: Path, tmp_path: Path) -> None:
    engine = busy_engine(journal=path)
    before = path.read_bytes()
    second = tmp_path / "second"
    engine.set_journal(second, durable=True)
    assert [record.kind for record in gs.read_journal(second)] == ["snapshot"]
    go(engine, 3 * MINUTE)
    engine.cancel("a")
    assert path.read_bytes() == before
    restored = gs.Engine.restore(second, verify=True, resume=False)
    assert (restored.problem, restored.engine.state_hash) == (None, engine.state_hash)
    # The former one is free again; this one is not, and stays in use after a refusal.
    assert gs.Engine.restore(path).problem is None
    with pytest.raises(gs.PreconditionFailed, match="another writer has it"):
        engine.set_journal(second)
    with pytest.raises(gs.AlreadyExists, match="use another path"):
        engine.set_journal(path)
    with pytest.raises(gs.NotFound, match="No such file"):
        engine.set_journal(tmp_path / "no" / "journal")
    with pytest.raises(gs.InvalidSpec, match="path is 3; use the path of a file"):
        engine.set_journal(3)  # type: ignore[arg-type]
    with pytest.raises(gs.InvalidSpec, match="durable is True; it is about a journal"):
        engine.set_journal(None, durable=True)
    engine.tick(50 * MINUTE)
    assert gs.Engine.restore(second, resume=False).engine.state_hash == engine.state_hash
    engine.set_journal(None)
    size = second.stat().st_size
    engine.tick(60 * MINUTE)
    assert second.stat().st_size == size


@pytest.mark.parametrize("copy", COPIES, ids=["fork", "load"])
def test_copies_get_a_journal_of_their_own(
    copy: Callable[[gs.Engine], gs.Engine], path: Path, tmp_path: Path
) -> None:
    engine = busy_engine(journal=path)
    size = path.stat().st_size
    other = copy(engine)
    other.set_journal(tmp_path / "other")
    go(other, 3 * MINUTE)
    assert path.stat().st_size == size
    restored = gs.Engine.restore(tmp_path / "other", verify=True, resume=False)
    assert restored.engine.state_hash == other.state_hash != engine.state_hash


def test_without_resume_the_file_stays_as_it_is(path: Path) -> None:
    busy_engine(journal=path)
    with path.open("ab") as file:
        file.write(b"\x05")
    before = path.read_bytes()
    restored = gs.Engine.restore(path, resume=False)
    assert restored.problem is not None
    restored.engine.tick(99 * MINUTE)
    assert path.read_bytes() == before


def test_verifying_with_another_policy(path: Path) -> None:
    engine = small_engine(journal=path, validate=False)
    engine.submit(gang("j", 1))
    start(engine)
    engine.submit(gang("k", 1))
    start(engine)
    hash_ = engine.state_hash
    del engine
    before = path.read_bytes()
    restored = gs.Engine.restore(path, "worst_fit", verify=True, resume=False)
    assert restored.problem is not None
    assert "the plan that is decided now is another one" in restored.problem
    assert restored.valid_bytes < restored.total_bytes
    # Whole records are not removed because of a policy.
    with pytest.raises(gs.PreconditionFailed, match="would remove whole records"):
        gs.Engine.restore(path, "worst_fit", verify=True)
    assert path.read_bytes() == before
    applied = gs.Engine.restore(path, "worst_fit")
    assert (applied.problem, applied.engine.state_hash) == (None, hash_)
    assert repr(applied.engine.policy) == "WorstFit()"


def test_journals_that_cannot_be_written(path: Path, tmp_path: Path) -> None:
    engine = gs.Engine(journal=path)
    with pytest.raises(gs.PreconditionFailed, match="another writer has it"):
        gs.Engine(journal=path)
    with pytest.raises(gs.PreconditionFailed, match="another writer has it"):
        gs.Engine.restore(path)
    assert gs.Engine.restore(path, resume=False).problem is None
    del engine
    with pytest.raises(gs.AlreadyExists, match="journal"):
        gs.Engine(journal=path)
    assert gs.Engine.restore(path).problem is None
    for missing in (tmp_path / "no" / "journal", tmp_path / "none"):
        with pytest.raises(gs.NotFound, match="No such file"):
            gs.Engine.restore(missing)
        with pytest.raises(gs.NotFound, match="No such file"):
            gs.read_journal(missing)
    with pytest.raises(gs.NotFound, match="journal"):
        gs.Engine(journal=tmp_path / "no" / "journal")
    with pytest.raises(gs.InvalidSpec, match="Is a directory"):
        gs.Engine.restore(tmp_path)
    with pytest.raises(gs.InvalidSpec, match="regular file"):
        gs.Engine.restore(tmp_path, resume=False)
    with pytest.raises(gs.InvalidSpec, match="durable is True; nothing is appended"):
        gs.Engine.restore(path, resume=False, durable=True)
    with pytest.raises(gs.InvalidSpec, match="path is 3; use the path of a file"):
        gs.Engine.restore(3)  # type: ignore[arg-type]
    with pytest.raises(gs.InvalidSpec, match="path is b'x'; use the path of a file"):
        gs.read_journal(b"x")  # type: ignore[arg-type]
    other = tmp_path / "other"
    other.write_bytes(b"hello, world, this is no journal\n")
    with pytest.raises(gs.InvalidSpec, match="journal: the first line is another file's"):
        gs.Engine.restore(other)
    with pytest.raises(gs.InvalidSpec, match="journal: the first line is another file's"):
        gs.read_journal(other)
    other.write_bytes(b"gpusched journal 99\n")
    with pytest.raises(gs.InvalidSpec, match="version is 99"):
        gs.read_journal(other)


def test_paths_that_no_file_can_have(tmp_path: Path) -> None:
    for wrong in ("", "a\0b"):
        with pytest.raises(gs.InvalidSpec, match="use a path that a file can have"):
            gs.Engine(journal=wrong)
    with pytest.raises(gs.InvalidSpec, match="File name too long"):
        gs.read_journal(tmp_path / ("x" * 300))


def test_what_the_system_refuses_is_unavailable(path: Path) -> None:
    resource = pytest.importorskip("resource")
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, limits[1]))
        with pytest.raises(gs.Unavailable, match="Too many open files"):
            gs.Engine(journal=path)
        with pytest.raises(OSError, match="Too many open files"):
            gs.read_journal(path)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert not path.exists()


def test_a_full_disk_refuses_the_change(path: Path) -> None:
    resource = pytest.importorskip("resource")
    signal = pytest.importorskip("signal")
    engine = small_engine(journal=path)
    engine.submit(gang("j", 2))
    plan = engine.decide(0)
    former = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    size = path.stat().st_size
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 3, limits[1]))
        with refused(engine, gs.LimitExceeded, "journal"):
            engine.commit(plan)
        with refused(engine, gs.LimitExceeded, "journal"):
            engine.cancel("j")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, former)
    assert path.stat().st_size == size
    engine.commit(plan)
    assert phases(engine, "j") == ["assumed"] * 2
    copied = path.with_name("copy")
    shutil.copy(path, copied)
    assert gs.Engine.restore(copied).engine.state_hash == engine.state_hash


def test_records_in_words(path: Path) -> None:
    engine = small_engine(1, journal=path, validate=False)
    engine.submit(gang("j", 1))
    plan = start(engine, MINUTE)
    engine.failed(plan.placements[0])
    engine.abort(go(engine))
    records = gs.read_journal(path)
    assert [record.kind for record in records] == [
        "snapshot",
        "event",
        "event",
        "commit",
        "event",
        "event",
        "commit",
        "abort",
    ]
    assert records[0].at == len("gpusched journal 2\n")
    assert [record.at for record in records] == sorted({record.at for record in records})
    assert records[1].text == (
        "event: add node 'n0': cpu_milli 16000, mem_mib 65536, 4 devices (4 T4)"
    )
    assert records[3].text.startswith("commit: at 60000000 us, from version 2: 1 place")
    assert records[4].text == "event: started j/main/0 attempt 1"
    assert records[7].text.startswith("abort: at 60000000 us")
    assert repr(records[4]) == (
        f"<JournalRecord at {records[4].at}, event: started j/main/0 attempt 1>"
    )

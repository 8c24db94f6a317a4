"""The scenario format: what is refused and where, how failures read, and that its page is right."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from libgpusched import (
    scenario_checks,
    scenario_events,
    scenario_format,
    scenario_plan_checks,
    scenario_repetition,
    scenario_specs,
    scenario_state_checks,
)
from libgpusched.cli import main
from libgpusched.scenario_format import Case, read_text
from libgpusched.scenario_repetition import Result, run_case
from libgpusched.scenario_report import result_lines
from libgpusched.scenario_run import Run, Told, run_scenario
from libgpusched.scenario_source import ScenarioError, read_documents

PAGE = Path(__file__).resolve().parents[2] / "docs/scenarios.md"
WHOLE = """\
name: one
cluster:
  - {name: n1, cpu: 4}
timeline:
  - events:
      - submit: {name: j, shape: {cpu: 1}}
    cycle: true
    expect:
      placements: {j: n1}
"""

# Ten million values in eight lines.
LAUGHS = "about:\n  - &l0 ha\n" + "".join(
    f"  - &l{level} [{', '.join([f'*l{level - 1}'] * 10)}]\n" for level in range(1, 8)
)

# What is written instead of what, and the message.
WRONG = [
    ("name: one", "nam: one", "f.yaml:1: nam is no key that is known here; did you mean name?"),
    ("name: one\n", "", "f.yaml:1: name is missing; it must be given"),
    ("cpu: 4}", "cpu: four}", "f.yaml:3: cluster[0].cpu is 'four'; use a number"),
    ("cpu: 4}", "cpu: 4, cpu: 4}", "f.yaml:3: the key cpu stands twice, first on line 3; keep one"),
    ("cpu: 4}", "1: 4}", "f.yaml:3: the key is '1'; use text, in quotes if need be"),
    ("cpu: 4}", "cpu: &a [*a]}", "f.yaml:3: an anchor stands inside itself"),
    ("cpu: 4}", "cpu: 4", "f.yaml:4: the file is not YAML: while parsing a flow mapping"),
    ("submit:", "sumbit:", "timeline[0].events[0].sumbit is no key that is known here; did you"),
    ("name: j", "nmae: j", "f.yaml:6: timeline[0].events[0].submit.nmae is no key that is known"),
    ("shape: {cpu: 1}", "tasks: 1", "submit is without groups and shape; give groups, or shape"),
    ("cycle: true", "cycle: often", "f.yaml:7: timeline[0].cycle is 'often'; use one of true, dec"),
    ("    cycle: true\n", "", "expect.placements is expected without a cycle; give the step a cyc"),
    ("placements: {j: n1}", "cycles_to_fixed_point: 1", "give the step `cycle: to_fixed_point`"),
    ("placements: {j: n1}", "waits: {j: NoNode}", "waits.j is 'NoNode'; did you mean NoNodes? use"),
    ("placements: {j: n1}", "running: {j: -1}", "expect.running.j is -1; use 0 or more"),
    ("placements: {j: n1}", "running: {j: true}", "expect.running.j is true; use a whole number"),
    ("placements: {j: n1}", "waits: {j: {}}", "waits.j is an empty mapping; give it some of"),
    ("placements: {j: n1}", "running: {}", "running is an empty mapping; name something"),
    ("placements: {j: n1}", "running: 1", "running is 1; use a mapping of jobs to numbers of task"),
    ("  - events:", "  - at: 10\n    events:", "f.yaml:5: timeline[0].at is 10; use a number with"),
    (
        "    expect:\n      placements: {j: n1}\n",
        "",
        "timeline is without expect; expect some",
    ),
    ("name: one", "name: one\nqueues: []", "f.yaml:2: queues is no key that is known here; known"),
    ("name: one", "name: one\norders: some", "f.yaml:2: orders is 'some'; use all, or a list"),
    ("name: one", "name: one\nrepeat: 0", "f.yaml:2: repeat is 0; use 1 or more"),
    (
        "name: one",
        "name: one\noptions: {policy: best}",
        "options.policy is 'best'; did you mean best_fit? use one of",
    ),
    (
        "    cycle:",
        "        expect_error: {type: NotFound}\n        effect: {}\n    cycle:",
        "effect is beside expect_error; what is refused has none",
    ),
    (
        "    cycle:",
        "        expect_error: {type: Found}\n    cycle:",
        "expect_error.type is 'Found'; did you mean NotFound? use one of AlreadyExists",
    ),
    (
        "    cycle:",
        "        tick: 1s\n    cycle:",
        "events[0] is 2 events (submit, tick); give exactly one of add_node",
    ),
    (WHOLE, "", "f.yaml:1: the file holds no scenario"),
    (WHOLE, WHOLE + "---\n" + WHOLE, "'one', as is the one on line 1; give each a name of its"),
    (WHOLE, "[" * 5000, "f.yaml:1: the file is nested too deeply"),
    ("  - events:", f"  - at: {'9' * 400}s\n    events:", "; use 1152921504606846976us (2^60 mi"),
    ("  - events:", f"  - at: {'9' * 5000}s\n    events:", "f.yaml:5: timeline[0].at is '9999"),
    ("  - events:", "  - at: 1152921504606846976.5us\n    events:", "(2^60 microseconds) or less"),
    (
        "  - events:",
        "  - at: 1152921504606846977us\n    events:",
        "at is '1152921504606846977us'; u",
    ),
    ("  - events:", "  - at: 0.5us\n    events:", "at is '0.5us'; use a whole number of microse"),
    ("  - events:", f"  - at: 0.{'3' * 5000}d\n    events:", "; use a whole number of microsecon"),
    (WHOLE, WHOLE + LAUGHS, "f.yaml:1: the document is more than 200,000 values, with its aliases"),
    (WHOLE, "name: \x07", "f.yaml:1: the file is not YAML: "),
    (WHOLE, WHOLE.replace("cpu: 4", f"mem_mib: {'9' * 5000}"), "f.yaml:3: '9999"),
]


@pytest.mark.parametrize(("old", "new", "message"), WRONG, ids=[m[:60] for *_, m in WRONG])
def test_what_is_no_scenario_is_refused_with_its_place(old: str, new: str, message: str) -> None:
    assert old in WHOLE
    with pytest.raises(ScenarioError) as error:
        read_text(WHOLE.replace(old, new, 1), "f.yaml")
    assert message in str(error.value)
    assert re.match(r"f\.yaml:\d+: ", str(error.value))


def test_plain_words_are_those_of_yaml_1_2() -> None:
    (document,) = read_documents("[on, no, 010, 1:30, 1e3, .5, -.inf, ~, 1_000, 2024-01-01]", "f")
    assert document.value == [
        "on", "no", "010", "1:30", 1000.0, 0.5, float("-inf"), None, 1000, "2024-01-01"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "microseconds"),
    [
        ("9007199254740993us", 9007199254740993),
        ("1152921504606846976us", 2**60),
        (f"{'0' * 5000}1.5{'0' * 5000}ms", 1500),
        ("0.1s", 100_000),
        ("0.7d", 60_480_000_000),
    ],
)
def test_durations_are_exact(text: str, microseconds: int) -> None:
    (document,) = read_documents(text, "f")
    assert document.duration() == microseconds


def test_time_that_goes_back_by_a_microsecond_is_seen() -> None:
    later = "  - at: 9007199254740993us\n    events:"
    text = WHOLE.replace("  - events:", later) + (
        "  - at: 9007199254740992us\n    events: [{uncordon: n1}]\n    expect: {jobs: [j]}\n"
    )
    assert "time does not go backwards" in "\n".join(result_lines(result(text)))


def result(text: str) -> Result:
    (case,) = read_text(text, "f.yaml")
    return run_case(case, 0)


# What is written instead of what in WHOLE, and a line of the report.
FAILING = [
    ("placements: {j: n1}", "placements: {}", "got      [j/main/0 on n1]"),
    ("placements: {j: n1}", "placements: {j: n2}", "expected [n2]"),
    ("placements: {j: n1}", "running: {k: 1}", "got      no job k is live"),
    ("placements: {j: n1}", "jobs: [j, k]", "f.yaml:9: timeline[0].expect.jobs"),
    ("placements: {j: n1}", "same_state_as: x", "got      nothing is remembered as x"),
    (
        "shape: {cpu: 1}",
        "shape: {gpu: 1.5}",
        "got      InvalidSpec: shape: gpu is 1.5; use a",
    ),
    ("cpu: 4}", "cpu: -4}", "expected options and a cluster that make an engine"),
    ("    cycle:", "      - started: j\n    cycle:", "got      'j' has no task that is assumed"),
    ("    cycle:", "      - commit_plan: last\n    cycle:", "got      no plan has been made yet"),
    (
        "    cycle:",
        "      - cordon: [n1, n2]\n        expect_error: {type: NotFound}\n    cycle:",
        "expected a refusal that changes nothing",
    ),
    (
        "    cycle:",
        "      - cordon: n1\n        expect_error: {type: NotFound}\n    cycle:",
        "got      the event was accepted",
    ),
    (
        "placements: {j: n1}",
        "placements: {j: n1}\n  - times: 3\n    steps:\n      - {cycle: true, expect: {jobs: []}}",
        "in round 1 of 3",
    ),
]


@pytest.mark.parametrize(("old", "new", "line"), FAILING, ids=[line for *_, line in FAILING])
def test_failures_say_what_and_where(old: str, new: str, line: str) -> None:
    report = "\n".join(result_lines(result(WHOLE.replace(old, new, 1))))
    assert line in report
    assert "FAILED  one\n" in report


def test_an_order_that_fails_is_named() -> None:
    text = WHOLE.replace("submit: {name: j, shape: {cpu: 1}}", "submit: {name: j, shape: {cpu: 4}}")
    text = text.replace("    cycle:", "      - submit: {name: k, shape: {cpu: 4}}\n    cycle:", 1)
    text = text.replace("{j: n1}", "{j: n1}\n      waits: {k: InsufficientCpu}")
    assert result(text).passed
    failed = result(text + "orders: [submits]\n")
    assert failed.order == "timeline[0].events in the order [1, 0]"
    assert failed.runs == 2
    assert "told with timeline[0].events in the order [1, 0]" in "\n".join(result_lines(failed))


def test_too_many_orders_are_refused() -> None:
    submits = "".join(f"      - submit: {{name: s{i}, shape: {{}}}}\n" for i in range(9))
    text = WHOLE.replace("    cycle:", submits + "    cycle:") + "orders: all\n"
    with pytest.raises(ScenarioError, match="orders is 3,628,800 orders; use fewer things"):
        result(text)


def test_runs_that_differ_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    (case,) = read_text(WHOLE + "repeat: 3\n", "f.yaml")
    story = run_scenario(case.scenario).story
    runs = iter([story, story, [*story[:-1], Told(story[-1].what, "?")]])
    monkeypatch.setattr(scenario_repetition, "run_scenario", lambda _: Run(story=next(runs)))
    failed = run_case(case, 0)
    assert [failure.got for failure in failed.failures] == [
        "state after line 5 differs in run 3 of 3"
    ]
    assert str(failed.failures[0].where) == "f.yaml:10: repeat"


def test_fresh_processes_run_the_case(tmp_path: Path) -> None:
    file = tmp_path / "f.yaml"
    file.write_text(f"{WHOLE.replace('one', 'zero')}---\n{WHOLE}fresh_processes: 2\n")
    case = read_text(file.read_text(), str(file))[1]
    passed = run_case(case, 1)
    assert passed.passed, "\n".join(result_lines(passed))
    assert passed.runs == 3
    other = WHOLE.replace("cpu: 1", "cpu: 2")
    file.write_text(f"{WHOLE.replace('one', 'zero')}---\n{other}fresh_processes: 2\n")
    assert "differs in process 1 of 2" in run_case(case, 1).failures[0].got
    file.unlink()
    assert "a process that ends with 1" in run_case(case, 1).failures[0].got


def test_a_fresh_process_that_does_not_end_is_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scenario_repetition, "_CHILD_SECONDS", 0.001)
    file = tmp_path / "f.yaml"
    file.write_text(f"{WHOLE}fresh_processes: 1\n")
    (case,) = read_text(file.read_text(), str(file))
    (failure,) = run_case(case, 0).failures
    assert str(failure.where) == f"{file}:10: fresh_processes"
    assert failure.got == "process 1 of 1 still ran 'one' after 0.001 s"


def test_variants_change_what_they_name() -> None:
    text = WHOLE + (
        "options: {strict_fifo: true, policy: {best_fit: 2}}\n"
        "variants:\n"
        "  - {name: other, options: {policy: first_fit}, repeat: 2}\n"
    )
    base, other = read_text(text, "f.yaml")
    assert (base.title, other.title) == ("one", "one · other")
    assert (base.scenario.policies, other.scenario.policies) == (
        {"best_fit": 2.0},
        {"first_fit": 1.0},
    )
    assert other.scenario.options == {"strict_fifo": True}
    assert (base.repeat, other.repeat) == (1, 2)
    assert all(run_case(case, 0).passed for case in (base, other))


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


EXAMPLES = blocks("yaml")


@pytest.mark.parametrize("text", EXAMPLES[:-1])
def test_the_examples_of_the_page_hold(text: str) -> None:
    cases: list[Case] = read_text(text, "example.yaml")
    for number, case in enumerate(cases):
        done = run_case(case, number)
        assert done.passed, "\n".join(result_lines(done))


def test_the_failure_of_the_page_reads_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("gangs.yaml").write_text(EXAMPLES[-1])
    assert main(["test", "gangs.yaml"]) == 1
    out = re.sub(r"\d+\.\d s", "0.0 s", capsys.readouterr().out)
    assert out == blocks("text")[0]


def test_the_page_names_every_key() -> None:
    text = PAGE.read_text(encoding="utf-8")
    modules = (
        scenario_checks,
        scenario_events,
        scenario_format,
        scenario_plan_checks,
        scenario_specs,
        scenario_state_checks,
    )
    keys = {
        key
        for module in modules
        for name, value in vars(module).items()
        if name.endswith("_KEYS") or name in ("ORDERS", "CYCLES", "CAUSES", "OUTCOMES", "ENDS")
        for key in value
    } | set(scenario_events.EVENTS)
    missing = {key for key in keys if not re.search(rf"`[^`\n]*\b{key}\b[^`\n]*`", text)}
    assert not missing


def test_the_command_chooses_and_reports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = Path("folder/below")
    folder.mkdir(parents=True)
    (folder / "good.yaml").write_text(WHOLE)
    (folder / "bad.yml").write_text(WHOLE.replace("one", "two").replace("{j: n1}", "{j: n2}"))
    (folder / "waiting_for.yaml").write_text('S-99: {room: attic, why: "it is not built"}\n')
    assert main(["test", "folder"]) == 1
    out = capsys.readouterr().out
    assert "FAILED  two\n" in out
    assert "passed  one" not in out
    assert "2 scenarios: 1 passed, 1 failed; " in out
    assert "1 situation not told yet, or not in full, by what they wait for: attic 1\n" in out
    assert main(["test", "folder", "-k", "ONE", "-v", "--json", "r.json"]) == 0
    out = capsys.readouterr().out
    assert "passed  one (2 checks, 1 run, " in out
    assert "attic" not in out
    report = json.loads(Path("r.json").read_text())
    assert [(entry["name"], entry["passed"]) for entry in report["scenarios"]] == [("one", True)]
    assert report["waiting"][0]["id"] == "S-99"
    assert main(["test", "folder", "--json", "r.json"]) == 1
    (bad,) = [
        entry
        for entry in json.loads(Path("r.json").read_text())["scenarios"]
        if not entry["passed"]
    ]
    assert bad["failures"] == [
        {
            "line": 9,
            "key": "timeline[0].expect.placements.j",
            "expected": "[n2]",
            "got": "[n1]",
        }
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.yaml"], "none.yaml: the file cannot be read (No such file or directory)"),
        (["empty"], "empty: the folder holds no file that ends in .yaml or .yml"),
        (["f.yaml", "-k", "x", "-k", "y"], "--only is 'x' or 'y'; none of the 1 scenarios has"),
        (["f.yaml", "--json", "./f.yaml"], "--json: the file is './f.yaml', a scenario; choose"),
        ([".", "--json", "f.yaml"], "--json: the file is 'f.yaml', a scenario; choose another"),
        ([".", "--json", "link"], "--json: the file is 'link', a scenario; choose another"),
        ([".", "--json", "waiting_for.yaml"], "--json: the file is 'waiting_for.yaml', a scen"),
        (
            ["f.yaml", "--json", "no/r.json"],
            "--json: the file is 'no/r.json'; it cannot be",
        ),
        (["latin.yaml"], "latin.yaml: the file is not UTF-8 at byte 1"),
    ],
)
def test_what_can_not_be_run_is_one_line(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty").mkdir()
    Path("f.yaml").write_text(WHOLE)
    if "latin.yaml" in arguments:
        Path("latin.yaml").write_bytes(b"a\xe4")
    Path("waiting_for.yaml").write_text("S-99: {room: attic, why: it is not built}\n")
    Path("link").symlink_to("f.yaml")
    assert main(["test", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("libgpusched test: error: ")
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert Path("f.yaml").read_text() == WHOLE

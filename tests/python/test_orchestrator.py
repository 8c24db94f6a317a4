"""The example of an orchestrator does what it says, with real processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parents[2] / "examples/orchestrator.py"


def test_it_survives_crashes() -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLE)], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "report waits: TooFewWholeDevices",
        "train/workers/0 attempt 1 starts on devices 0",
        "train/workers/1 attempt 1 starts on devices 1",
        "eval/main/0 attempt 1 starts on devices 2",
        "train/workers/1 attempt 1 crashed",
        "report waits: TooFewWholeDevices",
        "the orchestrator crashes before it starts the second attempt",
        "restored; running as far as the journal knows: train, eval",
        "train/workers/1 attempt 2 starts on devices 1",
        "eval/main/0 attempt 1 finished",
        "report waits: TooFewWholeDevices",
        "train/workers/0 attempt 1 finished",
        "report waits: TooFewWholeDevices",
        "train/workers/1 attempt 2 finished",
        "report/main/0 attempt 1 starts on devices 0,1,2",
        "report/main/0 attempt 1 finished",
        "all jobs have ended",
    ]

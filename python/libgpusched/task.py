"""Task: the name of one attempt to run one task of a job."""

from __future__ import annotations

from typing import NamedTuple


class Task(NamedTuple):
    """One attempt to run one task of a job.

    A task that is lost, fails or expires is placed anew under the next attempt, so that late news
    of the former one is told apart. Plain tuples of the four parts serve wherever a Task does.

    >>> import libgpusched as gs
    >>> task = gs.Task("train", "workers", 3, attempt=2)
    >>> job, group, index, attempt = task
    >>> task.name, attempt
    ('train/workers/3', 2)
    """

    job: str
    group: str
    index: int  # type: ignore[assignment]  # a tuple has a method of this name, nobody needs it
    attempt: int = 1

    @property
    def name(self) -> str:
        """job/group/index, the same for all attempts."""
        return f"{self.job}/{self.group}/{self.index}"

"""The exceptions of libgpusched: one class for each thing that a caller can act on.

All of them derive from GpuschedError. Messages name the field, the value and the remedy, and
whatever was refused has changed nothing.

>>> import libgpusched as gs
>>> try:
...     gs.Shape(gpu=1.5)
... except gs.InvalidSpec as error:
...     print(error)
shape: gpu is 1.5; use a share below 1 or a whole number of devices
"""

from __future__ import annotations


class GpuschedError(Exception):
    """Base of all errors that libgpusched raises."""


class InvalidSpec(GpuschedError, ValueError):
    """What was described cannot be: a number out of range, an unknown GPU model, a broken file."""


class AlreadyExists(GpuschedError):
    """The name is taken: by a node, a task that runs, a job that is live, a hold, or a file."""


class NotFound(GpuschedError, KeyError):
    """There is nothing of this name: no node, no running task, no job, no policy, no file."""

    # KeyError prints the repr of its argument, which is for keys and not for sentences.
    __str__ = Exception.__str__


class PreconditionFailed(GpuschedError):
    """Fine in itself, but not now: it does not fit, a transaction is open, a plan is stale."""


class LimitExceeded(GpuschedError):
    """More than there is room for: a 65th GPU model, sums beyond 62 bits, a disk that is full."""


class PolicyError(GpuschedError):
    """A policy written in Python answered something that is no answer; the message names it."""


class Cancelled(GpuschedError):
    """A long run was stopped by its progress callback."""


class CorruptData(GpuschedError):
    """Bytes that were saved, or a journal, are cut or damaged; the message says where."""


class Unavailable(GpuschedError, OSError):
    """The operating system refuses a file; the message has its path and the system's words."""


class InternalError(GpuschedError):
    """A fault of libgpusched itself. Please report it."""

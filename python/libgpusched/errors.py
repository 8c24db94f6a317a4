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
    """The name is taken: by a node of the cluster, or by a task that runs."""


class NotFound(GpuschedError, KeyError):
    """There is nothing of this name: no node, no running task, no policy, no file."""

    # KeyError prints the repr of its argument, which is for keys and not for sentences.
    __str__ = Exception.__str__


class PreconditionFailed(GpuschedError):
    """Fine in itself, but not now: it does not fit there, a transaction is open or over."""


class LimitExceeded(GpuschedError):
    """More than one cluster can hold: a 65th GPU model, sums beyond 62 bits."""


class PolicyError(GpuschedError):
    """A policy written in Python answered something that is no answer; the message names it."""


class Cancelled(GpuschedError):
    """A long run was stopped by its progress callback."""


class InternalError(GpuschedError):
    """A fault of libgpusched itself. Please report it."""

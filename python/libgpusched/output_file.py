"""Files that a long run writes at its end: checked before it begins, and never half-written."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import IO

from libgpusched.errors import InvalidSpec


class OutputFile:
    """A file that appears whole under its name when it is kept, and not at all before.

    Opening it raises InvalidSpec if it cannot be written there, so that a run of an hour does not
    end with that news. What stood under the name stays until then. Use it in a with block; leaving
    the block without keep() removes what was written.
    """

    def __init__(self, option: str, path: str) -> None:
        """Opens `path`; `option` is what asked for it, for messages."""
        self.path = Path(path)
        self._option = option
        self._temporary: Path | None = None
        self.stream: IO[bytes]
        try:
            # A pipe or a device has no place beside it, and cannot be replaced.
            if self.path.exists() and not stat.S_ISREG(self.path.stat().st_mode):
                self.stream = open(self.path, "wb")  # noqa: SIM115
                return
            target = self.path.resolve()  # so that a symbolic link stays one
            if target.exists() and not os.access(target, os.W_OK):
                raise PermissionError(13, "Permission denied")
            handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
            self._temporary = Path(name)
            self._target = target
            self.stream = os.fdopen(handle, "wb")
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(name, 0o666 & ~mask)  # mkstemp makes files that are private
        except OSError as error:
            raise InvalidSpec(
                f"{option}: the file is {path!r}; it cannot be written ({error.strerror}), "
                "choose another"
            ) from None

    def write(self, text: str) -> None:
        """Appends text. Raises InvalidSpec if the disk is full."""
        self.write_bytes(text.encode())

    def write_bytes(self, content: bytes) -> None:
        """Appends bytes. Raises InvalidSpec if the disk is full."""
        with self._errors_explained():
            self.stream.write(content)

    def keep(self) -> None:
        """Gives the file its name. Raises InvalidSpec if the disk is full."""
        with self._errors_explained():
            self.stream.close()
            if self._temporary is not None:
                os.replace(self._temporary, self._target)
                self._temporary = None

    @contextlib.contextmanager
    def _errors_explained(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise InvalidSpec(
                f"{self._option}: the file is {str(self.path)!r}; it could not be written "
                f"({error.strerror})"
            ) from None

    def __enter__(self) -> OutputFile:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._temporary is not None:
            with contextlib.suppress(OSError):
                self.stream.close()
            self._temporary.unlink(missing_ok=True)
            self._temporary = None

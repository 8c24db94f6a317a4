"""`libgpusched journal`: prints what an engine has written down."""

from __future__ import annotations

import argparse
import json
from typing import Any

from libgpusched._core import read_journal
from libgpusched.errors import CorruptData

_DESCRIPTION = """\
Prints the records of a journal, one a line: where each begins, and what it says.
An engine may go on writing to the file meanwhile."""

_EPILOG = """\
With --json, each line is an object with "kind" (snapshot, event, commit or
abort), "at" (the byte) and "text". The text is for people and may change.

If the end is cut or damaged, what comes before it is printed, and the exit code
is 2. libgpusched.Engine.restore goes on from there."""


def add_command(commands: argparse._SubParsersAction[Any]) -> None:
    """Adds `journal` to the commands."""
    parser = commands.add_parser(
        "journal",
        help="print what an engine has written down",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("file", metavar="FILE", help="the journal")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")


def run_command(arguments: argparse.Namespace) -> int:
    """Prints the journal; raises CorruptData if its end is not whole."""
    for record in read_journal(arguments.file):
        if record.kind == "problem":
            raise CorruptData(f"journal '{arguments.file}': {record.text}")
        if arguments.json:
            # Escaped, so that names of any kind pass through any terminal and pipe.
            print(json.dumps({"kind": record.kind, "at": record.at, "text": record.text}))
        else:
            print(f"{record.at:>10}  {record.text}")
    return 0

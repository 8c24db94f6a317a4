"""So that `python -m libgpusched` is the command `libgpusched`."""

import sys

from libgpusched.cli import main

sys.exit(main())

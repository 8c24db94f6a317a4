"""Prints what fill_digest.cc prints, through the Python package: `policy seed digest` lines."""

from __future__ import annotations

import libgpusched as gs


def main() -> None:
    for policy in gs.policy_names():
        for run in gs.fill(policies=[policy], seeds=1, seed_base=1):
            print(run.policy, run.seed, run.placements_digest)


if __name__ == "__main__":
    main()

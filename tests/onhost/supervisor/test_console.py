"""Words for people."""

import subprocess
import sys
from pathlib import Path

import pytest

from clusterwright.onhost.supervisor import console

SOURCE = Path(__file__).parents[3] / "src"


def test_words_come_out_in_order(capfd):
    """One line each."""
    console.out("one")
    console.error("two")

    assert capfd.readouterr() == ("one\n", "two\n")


@pytest.mark.parametrize("way", ["out", "error"])
def test_a_full_disk_changes_nothing_else(way):
    """Neither what follows nor the exit code."""
    program = (
        f"from clusterwright.onhost.supervisor import console; console.{way}('x' * 9999); raise SystemExit(7)"
    )
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-c", program],
            stdout=full,
            stderr=full,
            env={"PYTHONPATH": str(SOURCE)},
            check=False,
        )

    assert done.returncode == 7

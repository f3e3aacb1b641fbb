"""The repository passes linter, formatter and type checker."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.timeout(1500)  # mypy takes two minutes without a cache
@pytest.mark.parametrize(
    "tool", [["ruff", "check", "."], ["ruff", "format", "--check", "."], ["mypy"]], ids=" ".join
)
def test_is_clean(tool):
    """Run the tools of `make check`."""
    program = Path(sys.executable).with_name(tool[0])

    done = subprocess.run([program, *tool[1:]], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr

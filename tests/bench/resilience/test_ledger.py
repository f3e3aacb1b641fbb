"""The ledger that a run prints is what was done to it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.train, pytest.mark.timeout(300)]
ROOT = Path(__file__).parents[3]
BENCH = ("-m", "bench.resilience.ledger")


def test_the_printed_ledger_is_within_a_hundredth_of_the_truth(tmp_path):
    """A real training with three kills; every bin within 1 % of the whole, the steps within 1 % of themselves."""
    argv = [sys.executable, *BENCH, "--quick", "--out", tmp_path / "lines.jsonl"]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (line,) = [json.loads(text) for text in (tmp_path / "lines.jsonl").read_text().splitlines()]

    assert line["outcome"] == "ok", line["reason"]
    assert line["figures"]["kills"] == 3
    assert line["figures"]["worst_ratio"] <= 0.01
    assert line["figures"]["step_ratio"] <= 0.01

"""The bench of hurt checkpoints tells right from wrong."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
BENCH = ("-m", "bench.resilience.integrity")


@pytest.mark.train
@pytest.mark.timeout(280)
def test_ours_is_never_silently_wrong_and_a_plain_file_is(tmp_path):
    """A few moments and bits of the full bench: ours always goes on with a step as it was saved."""
    out = tmp_path / "lines.jsonl"
    systems = "ours|torch.save, in place"
    command = [sys.executable, *BENCH, "--quick", "--seeds", "5", "--systems", systems, "--out", out]
    subprocess.run(command, check=True, cwd=ROOT, capture_output=True, timeout=270)
    lines = {(each["system"], each["case"]): each for each in map(json.loads, out.read_text().splitlines())}
    ours = [each for (system, _), each in lines.items() if system == "ours"]

    assert {each["outcome"] for each in ours} <= {"ok", "skipped"}
    assert sum(each["figures"].get("trials", 0) for each in ours) > 20
    assert max(each["figures"].get("most_lost_steps", 0) for each in ours) == 1
    assert lines["torch.save, in place", "bit flip"]["outcome"] == "silent"

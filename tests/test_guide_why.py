"""The commands of the guide to `wright why` are run as they stand there, on the log that it shows."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

GUIDE = (Path(__file__).parents[1] / "docs" / "guides" / "why.md").read_text()


def run(command, place):
    """What a reader of the guide types, and sees."""
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "LC_ALL": "C.UTF-8",
    }
    return subprocess.run(
        ["bash", "-c", command], cwd=place, env=environment, capture_output=True, text=True, check=True
    ).stdout


def test_the_guide_is_true(tmp_path):
    """Each command answers, and its answer is what the guide says."""
    (name, text), *_ = re.findall(r"```text (\S+)\n(.*?)```", GUIDE, flags=re.DOTALL)
    (tmp_path / name).write_text(text)
    commands = [line for line in re.findall(r"^\$ (.+)$", GUIDE, flags=re.MULTILINE) if name in line]

    plain, chinese, document, piped = (run(command, tmp_path) for command in commands)

    first = json.loads(document)["diagnoses"][0]
    assert (first["class"], first["subject"]["rank"], first["evidence"][0]["line"]) == ("shm", "1", 5)
    assert plain.startswith("shm")
    assert "Watchdog" not in plain
    assert "原因" in chinese
    assert "-:5 ┃" in piped

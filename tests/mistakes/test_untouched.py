"""A file with a mistake is refused before anything is touched: no ssh is started, nothing is written."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from clusterwright.errors import EXIT_USAGE

GOOD = (Path(__file__).parent / "good.yaml").read_text()
WRIGHT = Path(sys.executable).with_name("wright")
COMMANDS = [
    ["apply", "--cluster", "FILE", "--yes"],
    ["apply", "--cluster", "FILE", "--dry-run"],
    ["check", "--cluster", "FILE"],
    ["diff", "--cluster", "FILE"],
    ["render", "--cluster", "FILE", "--out", "out"],
    ["export", "--cluster", "FILE", "--out", "out"],
    ["rollback", "--cluster", "FILE", "--yes"],
    ["add-hosts", "a100", "gpu5", "--cluster", "FILE", "--yes"],
    ["remove-hosts", "gpu4", "--cluster", "FILE", "--yes"],
    ["lab", "up", "--cluster", "FILE"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_bad_file_touches_no_host(command, tmp_path):
    """Every command that would reach hosts says what is wrong, ends with 2, and leaves all as it was."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("ssh", "scp", "systemd-nspawn"):
        program = programs / name
        program.write_text(f"#!/bin/sh\necho {name} >> {tmp_path}/started\n")
        program.chmod(0o755)
    file = tmp_path / "cluster.yaml"
    bad = GOOD.replace("gpus_per_node: 2", "gpus_per_node: 8").replace("uid: 6002", "uid: 6001")
    file.write_text(bad)
    environment = os.environ | {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "XDG_STATE_HOME": f"{tmp_path}/state",
    }
    words = [str(file) if word == "FILE" else word for word in command]
    done = subprocess.run(
        [WRIGHT, *words],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert done.returncode == EXIT_USAGE, done.stdout + done.stderr
    assert "error[gres-mismatch]" in done.stderr
    assert "error[id-taken]" in done.stderr
    assert file.read_text() == bad
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cluster.yaml", "programs"]

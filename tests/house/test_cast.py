"""The recorder of tools/cast: what a command prints is what the recording and the drawing show."""

import json
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

ROOT = Path(__file__).parents[2]
PRINTS = """
import time
print("  0.0 s  training <a> & b")
time.sleep(0.3)
print("    1 %\\r  100 %")
print("  1.0 s    kill-host gpu-node2: power off without warning", end="")
"""


@pytest.fixture(scope="module")
def cast(load_tool):
    """Return tools/cast as a module."""
    return load_tool("cast")


def test_a_command_is_recorded_and_drawn(cast, tmp_path):
    """Both files show the lines of the command; the drawing marks the fault and escapes what XML needs."""
    assert cast.main(str(tmp_path / "demo"), sys.executable, "-u", "-c", PRINTS) == 0
    header, *rows = map(json.loads, (tmp_path / "demo.cast").read_text().splitlines())
    assert header["version"] == 2
    assert "".join(text for _, _, text in rows).replace("\r\n", "\n") == (
        "  0.0 s  training <a> & b\n    1 %\r  100 %\n  1.0 s    kill-host gpu-node2: power off without warning"
    )
    assert rows[-1][0] - rows[0][0] > 0.25
    texts = ET.parse(tmp_path / "demo.svg").getroot().findall(".//{*}g/{*}text")
    assert [text.text for text in texts] == [
        "  0.0 s  training <a> & b",
        "  100 %",
        "  1.0 s    kill-host gpu-node2: power off without warning",
    ]
    assert [text.get("class") for text in texts] == ["step", None, "fault"]


def test_a_failed_command_writes_nothing(cast, tmp_path, capsys):
    """The exit code is the command's, and the files from before remain."""
    (tmp_path / "demo.svg").write_text("before")
    assert cast.main(str(tmp_path / "demo"), sys.executable, "-c", "print('x'); raise SystemExit(3)") == 3
    assert [path.read_text() for path in tmp_path.iterdir()] == ["before"]
    assert "exit code 3" in capsys.readouterr().err


def test_long_waits_are_shortened(cast):
    """A wait takes at most WAIT_S in the drawing; shorter ones stay as they were."""
    assert cast.shortened([0.5, 0.6, 60.6, 61.0]) == pytest.approx(
        [0.5, 0.6, 0.6 + cast.WAIT_S, 1.0 + cast.WAIT_S]
    )

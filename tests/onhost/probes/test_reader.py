"""The reader, run as it is run on a host: by its loader."""

import ast
import json
import subprocess
import sys
import time
from importlib import resources
from pathlib import Path

import pytest

from clusterwright.check.reading import MARKER, answer_of
from clusterwright.edge.bundler import FACTS, LOADER, program_input

SOURCE = (resources.files("clusterwright.onhost.probes") / "reader.py").read_text()


def read(*facts, deadline_s=20):
    """The reader's answer for these commands."""
    items = [{"limit_s": 5, "stdin": "", **fact} for fact in facts]
    data = program_input(FACTS) + json.dumps({"deadline_s": deadline_s, "facts": items}).encode()
    done = subprocess.run(
        [sys.executable, "-c", LOADER], input=data, capture_output=True, timeout=60, check=True
    )
    assert done.stderr == b""
    return answer_of(done.stdout.decode())["facts"]


def is_alive(pid):
    """True when the process runs, and is not only waiting to be buried."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_every_command_is_answered_with_code_and_both_outputs():
    """More commands than run at once; each has its own answer."""
    facts = [{"id": str(n), "argv": ["sh", "-c", f"echo {n}; echo e{n} >&2; exit {n}"]} for n in range(20)]

    found = read(*facts)

    assert {key: (end["code"], end["out"], end["err"], end["stopped"]) for key, end in found.items()} == {
        str(n): (n, f"{n}\n", f"e{n}\n", "") for n in range(20)
    }


def test_a_command_that_overruns_is_killed_with_its_children_and_holds_up_nobody(tmp_path):
    """Its grandchild, too, is gone; the other commands are answered."""
    pid = tmp_path / "pid"
    slow = {
        "id": "slow",
        "argv": ["sh", "-c", f"sleep 300 & echo $! > {pid}; echo half; wait"],
        "limit_s": 0.5,
    }
    found = read(slow, {"id": "quick", "argv": ["echo", "there"]})
    end = time.monotonic() + 60
    while is_alive(int(pid.read_text())) and time.monotonic() < end:
        time.sleep(0.02)

    assert found["slow"]["stopped"] == "overran"
    assert found["quick"]["out"] == "there\n"
    assert not is_alive(int(pid.read_text()))


def test_a_command_whose_child_keeps_the_pipe_open_is_not_waited_for():
    """The command itself ended, but what it left behind holds its output: that is an overrun."""
    found = read({"id": "left", "argv": ["sh", "-c", "sleep 300 & echo done"], "limit_s": 0.5})

    assert found["left"]["stopped"] == "overran"


def test_a_command_that_says_too_much_is_stopped():
    """Endless output fills no memory."""
    found = read({"id": "yes", "argv": ["yes"]})

    assert found["yes"]["stopped"] == "printed too much"
    assert len(found["yes"]["out"]) <= 1 << 20


def test_a_tool_that_is_missing_is_said_to_be():
    """Not an exit code that could be the tool's own."""
    found = read({"id": "none", "argv": ["no-such-tool-here"]})

    assert found["none"]["stopped"] == "No such file or directory"


def test_what_comes_after_the_deadline_never_has_its_turn():
    """The whole reading is bounded, whatever the single limits say."""
    facts = [{"id": f"slow{n}", "argv": ["sleep", "300"]} for n in range(8)]

    found = read(*facts, {"id": "late", "argv": ["true"]}, deadline_s=0.5)

    assert found["late"]["stopped"] == "never had its turn"
    assert {found[f"slow{n}"]["stopped"] for n in range(8)} == {"overran"}


def test_input_reaches_the_command_also_when_it_is_not_read():
    """A pipe that nobody empties blocks nothing."""
    text = "x" * 300_000

    found = read(
        {"id": "read", "argv": ["wc", "-c"], "stdin": text}, {"id": "unread", "argv": ["true"], "stdin": text}
    )

    assert found["read"]["out"].strip() == "300000"
    assert found["unread"]["code"] == 0


def test_commands_find_a_plain_environment(monkeypatch):
    """Words are the same in every land, and nothing of the login leaks in."""
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    monkeypatch.setenv("LD_PRELOAD", "")

    out = read({"id": "env", "argv": ["env"]})["env"]["out"]

    assert "LC_ALL=C\n" in out
    assert "LD_PRELOAD" not in out


@pytest.mark.parametrize("before", ["", "Welcome!\n", "no newline at the end"])
def test_the_answer_is_found_behind_a_banner(before):
    """Login shells talk."""
    whole = json.dumps({"python": "3.6.8", "began": 1, "ended": 2, "facts": {}})

    assert answer_of(f"{before}\n{MARKER}{whole}\n")["python"] == "3.6.8"


@pytest.mark.parametrize(
    "path",
    sorted(Path(__file__).parents[3].glob("src/clusterwright/onhost/probes/*.py")),
    ids=lambda path: path.stem,
)
def test_what_runs_on_hosts_is_python_3_6(path):
    """RHEL 8's platform Python reads it, as far as grammar goes."""
    assert ast.parse(path.read_text(), feature_version=(3, 6)).body

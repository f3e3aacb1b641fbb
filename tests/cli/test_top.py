"""`wright top`, with a program in place of ssh that says what a control host would."""

import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import time
from fcntl import ioctl
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from termios import TIOCSWINSZ

import pytest

from clusterwright.i18n import bilingual

WRIGHT = Path(sys.executable).with_name("wright")
ROOT = Path(__file__).parents[2]
LAB = ROOT / "examples" / "lab" / "cluster.yaml"


@pytest.fixture(scope="module")
def recorded():
    """The module of the recorded cluster."""
    spec = spec_from_file_location("recorded", ROOT / "tests" / "monitor" / "recorded.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def control(tmp_path, recorded):
    """The environment of a command whose ssh answers for the control host; and the file that holds the answer."""
    said = tmp_path / "said.json"
    said.write_text(recorded.as_json(recorded.recorded(40, 60)))
    (tmp_path / "ssh").write_text(
        f'#!/bin/sh\ncat >/dev/null\nprintf "%s\\n" "$*" >>{tmp_path}/asked\ncat {said}\n'
    )
    (tmp_path / "ssh").chmod(0o755)
    other = (
        "LC_",
        "LANG",
        "NO_COLOR",
        "COLUMNS",
        "LINES",
    )  # what a terminal's own size and words would give way to
    kept = {name: value for name, value in os.environ.items() if not name.startswith(other)}
    environ = kept | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "LANG": "C.UTF-8", "TERM": "xterm-256color"}
    return environ, said


def wright(environ, *words):
    """How the command ended."""
    return subprocess.run(
        [WRIGHT, "top", "--cluster", str(LAB), *words],
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )


def test_once_prints_one_screen_with_one_ssh(control, tmp_path):
    """Without colours, as there is no terminal; nothing that would act on one."""
    done = wright(control[0], "--batch")

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("lab  nodes 40")
    assert "100000" in done.stdout
    assert "\x1b" not in done.stdout
    asked = (tmp_path / "asked").read_text().splitlines()  # a program that is sent has lines of its own
    assert sum(line.startswith("-F ") for line in asked) == 1


def test_without_a_terminal_it_prints_once(control):
    """`wright top | less` and a cron job."""
    assert wright(control[0]).stdout.startswith("lab  nodes 40")


@pytest.mark.parametrize(
    ("lang", "words"),
    [
        ("zh_CN.UTF-8", f"{bilingual('nodes')[1]} 40"),
        ("de_DE.UTF-8", "nodes 40"),
    ],
)
def test_the_language_is_that_of_the_locale(control, lang, words):
    """Or that of --lang."""
    assert words in wright({**control[0], "LANG": lang, "PYTHONIOENCODING": "utf-8"}, "--batch").stdout
    assert (
        "nodes 40"
        in wright({**control[0], "LANG": lang, "PYTHONIOENCODING": "utf-8"}, "--batch", "--lang", "en").stdout
    )


def test_json_is_the_picture(control, recorded):
    """With a number of its form; names as they are, which JSON escapes."""
    done = wright(control[0], "--json")
    document = json.loads(done.stdout)

    made = recorded.made_picture(40, 60)
    assert (document["schema"], document["cluster"], document["taken"]) == (1, "lab", made.taken)
    assert [job["name"] for job in document["jobs"]] == [job.name for job in made.jobs]
    assert {"nodes", "jobs", "teams", "alerts", "missing"} <= document.keys()
    assert done.stdout.isascii()


def test_a_control_host_that_is_not_reached_is_an_error(control, tmp_path):
    """With ssh's words and its fix."""
    (tmp_path / "ssh").write_text("#!/bin/sh\necho ssh: connect: timed out >&2; exit 255\n")
    done = wright(control[0], "--batch")

    assert done.returncode == 1
    assert "control is unreachable: ssh: connect: timed out" in done.stderr


def test_without_textual_the_mend_is_named(control, tmp_path):
    """The screen needs it; --batch does not."""
    (tmp_path / "hidden").mkdir()
    blocked = "import sys; sys.modules['textual'] = None; from clusterwright.cli import main; main()"
    program = tmp_path / "wright.py"
    program.write_text(blocked.replace("'textual'", "'textual'"))
    shown, code = on_terminal(
        [sys.executable, str(program), "top", "--cluster", str(LAB)], control[0], until="fix"
    )

    assert code == 2
    assert 'pip install "clusterwright[tui]"' in shown


def test_the_screen_on_a_real_terminal(control):
    """It paints, hears keys, and leaves the terminal as it was."""
    shown, code = on_terminal(
        [str(WRIGHT), "top", "--cluster", str(LAB)], control[0], until="100006", then=b"q"
    )

    assert code == 0
    assert "nodes 40" in shown
    assert "\x1b[?1049h" in shown
    assert "\x1b[?1049l" in shown


def test_who_leaves_does_not_wait_for_a_host_that_hangs(control, tmp_path):
    """An ssh that says nothing for a minute; the screen is left at once."""
    (tmp_path / "ssh").write_text("#!/bin/sh\nexec sleep 60\n")
    before = time.monotonic()
    shown, code = on_terminal(
        [str(WRIGHT), "top", "--cluster", str(LAB)], control[0], until="querying control", then=b"q"
    )

    assert code == 0
    assert "\x1b[?1049l" in shown
    assert time.monotonic() - before < 45


def test_no_color_is_obeyed(control):
    """Neither by the flag nor by the variable is a colour sent; bold and dim may be."""
    colour = re.compile(r"\x1b\[[0-9;]*(?:3[1-7]|38;[25]|48;[25])[0-9;]*m")
    plain, _ = on_terminal(
        [str(WRIGHT), "top", "--cluster", str(LAB), "--batch", "--no-color"], control[0], until="100000"
    )
    by_name, _ = on_terminal(
        [str(WRIGHT), "top", "--cluster", str(LAB), "--batch"],
        {**control[0], "NO_COLOR": "1"},
        until="100000",
    )
    bright, _ = on_terminal(
        [str(WRIGHT), "top", "--cluster", str(LAB), "--batch"], control[0], until="100000"
    )

    assert (colour.search(plain), colour.search(by_name)) == (None, None)
    assert colour.search(bright)


def test_what_the_guide_says_is_what_works(control, tmp_path):
    """Each command of docs/guides/top.md, in a folder with a cluster file."""
    guide = (ROOT / "docs" / "guides" / "top.md").read_text()
    (tmp_path / "cluster.yaml").write_text(LAB.read_text())
    commands = re.findall(r"^\$ wright top\b(.*)$", guide, flags=re.MULTILINE)

    assert len(commands) == 5
    for words in commands:
        done = subprocess.run(
            [WRIGHT, "top", *words.split()], cwd=tmp_path, env=control[0] | {"PYTHONIOENCODING": "utf-8"},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, ""), words
        assert "100000" in done.stdout


def on_terminal(argv, environ, *, until, then=b""):
    """What a command wrote to a terminal of 120 columns and 40 lines, and its exit code."""
    child, screen = pty.fork()
    if child == 0:  # the size is there before anybody asks for it
        ioctl(0, TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        os.execve(argv[0], argv, environ)
    seen, end, again = b"", time.monotonic() + 100, 0.0
    while time.monotonic() < end:
        if then and until.encode() in seen and time.monotonic() > again:
            os.write(screen, then)  # each second: what was typed before the keyboard was listened to is lost
            again = time.monotonic() + 1
        if not select.select([screen], [], [], 1)[0]:
            continue
        try:
            block = os.read(screen, 65536)
        except OSError:  # the other side is gone
            break
        if not block:
            break
        seen += block
    else:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    os.close(screen)
    shown = seen.decode(errors="replace")
    assert until in shown, shown[-3000:]
    return shown, os.waitstatus_to_exitcode(status)

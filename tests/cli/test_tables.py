"""Tables of commands: on terminals of several widths, without colors, and in a pipe."""

import os
import pty
import struct
import subprocess
import sys
import termios
from fcntl import ioctl

import pytest

SHOW = """
from clusterwright.cli._show import show_table
show_table(
    ("job", "state", "hosts", "reason"),
    [("1", "ok", "gpu-node[1-4]", "the partition has no free node with four GPUs until Monday"),
     ("2", "fail", "", "-")],
)
"""


def on_terminal(columns, **more):
    """Return the lines that a terminal of this width shows."""
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    env = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR")}
    process = subprocess.Popen(
        [sys.executable, "-c", SHOW],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**env, "TERM": "xterm", **more},
    )
    os.close(theirs)
    output = b""
    while True:
        try:
            piece = os.read(ours, 4096)
        except OSError:
            break
        if not piece:
            break
        output += piece
    os.close(ours)
    assert process.wait(timeout=60) == 0
    return output.decode().replace("\r\n", "\n").splitlines()


def test_a_pipe_gets_tabs_and_whole_cells():
    """One row a line, without padding, so that cut works."""
    done = subprocess.run([sys.executable, "-c", SHOW], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines() == [
        "job\tstate\thosts\treason",
        "1\tok\tgpu-node[1-4]\tthe partition has no free node with four GPUs until Monday",
        "2\tfail\t\t-",
    ]


@pytest.mark.parametrize("more", [{}, {"LANG": "C", "LC_ALL": "C"}, {"TERM": "dumb"}])
@pytest.mark.parametrize(("columns", "shown"), [(120, 4), (80, 4), (40, 3), (20, 2)])
def test_a_table_fits_the_terminal(columns, shown, more):
    """Long cells fold to 16 characters at the least; columns that do not fit are named and not squeezed."""
    lines = on_terminal(columns, NO_COLOR="1", **more)
    headings = ("job", "state", "hosts", "reason")
    note = " ".join("\n".join(lines).partition("note:")[2].split())

    assert lines[0].split() == list(headings[:shown])
    assert all(len(line) <= columns for line in lines)
    assert note == (
        f"columns not shown, as the terminal is too narrow: {', '.join(headings[shown:])}"
        if shown < 4
        else ""
    )
    assert "\x1b" not in "".join(lines)


def test_states_have_colors_on_a_terminal():
    """Unless NO_COLOR is set."""
    assert "\x1b[32mok" in "\n".join(on_terminal(80))
    assert "\x1b" not in "\n".join(on_terminal(80, NO_COLOR="1"))

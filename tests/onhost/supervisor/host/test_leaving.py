"""How a rank ends."""

import subprocess
import sys
import textwrap

import pytest

PROGRAM = """
import atexit, sys, threading, time
from clusterwright.onhost.supervisor.host.rank import exit_process

class Heavy:
    def __del__(self):
        print("taken apart", flush=True)

heavy = Heavy()
atexit.register(lambda: print("exit function"))
threading.Thread(target=lambda: (time.sleep(0.2), print("thread"))).start()
print("begun", end=" ")
exit_process({code})
"""


def ended(code):
    """A process that leaves with this."""
    program = textwrap.dedent(PROGRAM).format(code=repr(code))
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)


def test_a_rank_leaves_in_order_and_takes_nothing_apart():
    """Threads first, then exit functions, and every word is written; what is in memory is left to the kernel."""
    done = ended(0)

    assert done.stdout.split("\n") == ["begun thread", "exit function", ""]
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("code", "expected", "said"),
    [
        (None, 0, ""),
        (3, 3, ""),
        (False, 0, ""),
        (True, 1, ""),
        (-1, 255, ""),
        ("no data", 1, "no data\n"),
        ("", 1, "\n"),
        ([], 1, "[]\n"),
    ],
)
def test_the_exit_code_is_the_one_that_python_would_give(code, expected, said):
    """None is 0, a number itself, a text is said and 1."""
    done = ended(code)

    assert (done.returncode, done.stderr) == (expected, said)

"""A rank leaves without taking apart what its program leaves behind: some of that waits for ever (torch's Gloo)."""

import os
import subprocess
import sys

import pytest

LEAVES = "import sys\nclass Kept:\n    def __del__(self): print('freed', flush=True)\nkept = Kept()\nprint('done')\n"


def rank(*command, cwd):
    """Started cold, as an agent does it; what it printed and its exit code."""
    argv = [sys.executable, "-m", "clusterwright.onhost.supervisor.host.rank", *command]
    done = subprocess.run(
        argv, cwd=cwd, env={**os.environ, "LOCAL_RANK": "0"}, capture_output=True, text=True, check=False
    )
    return done.stdout, done.returncode, done.stderr


@pytest.mark.parametrize("end", ["", "sys.exit(0)\n"])
@pytest.mark.parametrize("way", ["script", "module", "code"])
def test_nothing_is_freed_at_the_end(tmp_path, way, end):
    """However it was started, and however it left."""
    (tmp_path / "leaves.py").write_text(LEAVES + end)
    command = {"script": ["leaves.py"], "module": ["-m", "leaves"], "code": ["-c", LEAVES + end]}[way]

    assert rank(*command, cwd=tmp_path) == ("done\n", 0, "")


def test_a_script_that_is_not_there_is_named_with_its_host(tmp_path):
    """A path that is good on one host may be none on another."""
    _, code, said = rank("nothere.py", cwd=tmp_path)

    assert code == 1
    assert f"no such script on {os.uname().nodename}: '{tmp_path}/nothere.py'" in said

"""What a user sees of errors that no command handles, from the program itself."""

import os
import re
import subprocess
import sys
from json import loads
from pathlib import Path

import pytest

from clusterwright.cli import app
from clusterwright.cli._unexpected import explain
from clusterwright.edge.trees import MARKER

WRIGHT = Path(sys.executable).with_name("wright")
EXAMPLE = Path(__file__).parents[2] / "examples" / "lab" / "cluster.yaml"
BROKEN = """
import sys
from clusterwright import cli
cli.app = lambda **_: 1 / 0
sys.argv[1:] = ["x", "--token=s3cret"]
cli.main()
"""


def test_a_full_disk_behind_stdout_has_an_error_of_its_own():
    """No traceback, also not from the interpreter's exit."""
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(
            [WRIGHT, "plan", "catalog", "gpus"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )

    assert done.returncode == 1
    assert done.stderr.startswith("error[disk-full]: standard output: No space left on device\n")
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


@pytest.mark.parametrize(
    "arguments", [["--help"], ["validate", "no.yaml", "--json"], ["status", "no", "--json"]]
)
def test_help_and_errors_on_a_full_disk_too(arguments, tmp_path):
    """They are written at the end of the command, not of the interpreter."""
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(
            [WRIGHT, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, check=False, cwd=tmp_path
        )

    assert done.returncode == 1
    assert done.stderr.startswith("error[disk-full]: standard output: No space left on device\n")
    assert "Exception ignored" not in done.stderr


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "gbk"])
def test_a_terminal_without_unicode_gets_all_output(encoding, tmp_path):
    """Signs that its encoding lacks have others in their place; in JSON, codes that mean them."""
    env = dict(os.environ, PYTHONIOENCODING=encoding, CLUSTERWRIGHT_CLUSTER="", LC_ALL="C.UTF-8")
    log = tmp_path / "\u00e9\u4e2d\U0001f642.out"
    log.write_text("RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB \u00e9\u4e2d\U0001f642\n")
    text, json = (
        subprocess.run(
            [WRIGHT, "why", log.name, *option], env=env, cwd=tmp_path, capture_output=True, check=False
        )
        for option in ([], ["--json"])
    )

    assert (text.returncode, text.stderr, json.returncode, json.stderr) == (0, b"", 0, b"")
    sign = "┃" if encoding == "gbk" else "|"
    assert f".out:1 {sign} RuntimeError: CUDA out of memory." in text.stdout.decode(encoding)
    assert loads(json.stdout.decode(encoding))["diagnoses"][0]["evidence"][0]["source"] == log.name


@pytest.mark.skipif(os.getuid() != 0, reason="needs root, to mount a small tmpfs")
def test_a_full_disk_leaves_the_earlier_files(tmp_path):
    """The error names the folder."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", tmp_path], check=True)
    try:
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / MARKER).write_text("earlier")
        argv = [WRIGHT, "render", "--cluster", EXAMPLE, "--out", tmp_path / "out"]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        left = [path.name for path in (tmp_path / "out").iterdir()]
        new = subprocess.run([*argv[:-1], tmp_path / "new"], capture_output=True, check=False)
        names = [path.name for path in tmp_path.iterdir()]
    finally:
        subprocess.run(["umount", tmp_path], check=True)

    assert (done.returncode, new.returncode) == (1, 1)
    assert re.match(rf"error\[disk-full\]: {tmp_path}/out\S*: No space left on device", done.stderr)
    assert (left, names) == ([MARKER], ["out"])


def test_a_bug_names_a_private_file_with_the_traceback(tmp_path):
    """Without the values of options; with the variable the traceback itself is shown."""
    env = dict(os.environ, TMPDIR=str(tmp_path))
    done = subprocess.run(
        [sys.executable, "-c", BROKEN], capture_output=True, text=True, env=env, check=False
    )
    (file,) = tmp_path.iterdir()

    assert done.returncode == 1
    assert done.stderr.startswith("error[bug]: unexpected ZeroDivisionError: division by zero\n")
    assert f"report it with {file}" in done.stderr
    assert file.stat().st_mode & 0o777 == 0o600
    assert "s3cret" not in file.read_text()
    assert "ZeroDivisionError" in file.read_text()

    env["CLUSTERWRIGHT_TRACEBACK"] = "1"
    shown = subprocess.run(
        [sys.executable, "-c", BROKEN], capture_output=True, text=True, env=env, check=False
    )
    assert shown.stderr.startswith("Traceback")


def test_a_program_that_is_not_installed_is_no_path_to_change(tmp_path):
    """Nobody typed its name."""
    with pytest.raises(FileNotFoundError) as missing_program:
        subprocess.run(["no-such-program"], check=False)
    with pytest.raises(FileNotFoundError) as missing_file:
        (tmp_path / "no-such-file").read_bytes()

    program, file = (explain(error.value, app).findings[0] for error in (missing_program, missing_file))

    assert program.message == "the program no-such-program is not installed, or not on the PATH"
    assert file.fix == "name another path"

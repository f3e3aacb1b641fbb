"""`make check` finds code that is unsafe, and secrets in the repository."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHECK = (ROOT / "Makefile").read_text().partition("\ncheck:")[2].partition("\n\n")[0]


def options(tool):
    """Return the program of `make check` with its options, without the files."""
    [line] = [line for line in CHECK.splitlines() if f"/bin/{tool}" in line]
    words = shlex.split(line.partition(f"/bin/{tool}")[2])
    return [
        str(Path(sys.executable).with_name(tool)),
        *(words[: words.index("-r")] if "-r" in words else words),
    ]


@pytest.mark.parametrize(
    "code",
    [
        "import pickle\npickle.loads(data)\n",
        "import yaml\nyaml.load(text)\n",
        "import subprocess\nsubprocess.run(text, shell=True)\n",
    ],
)
def test_unsafe_code_fails_the_check(tmp_path, code):
    """With the settings of this repository."""
    (tmp_path / "unsafe.py").write_text(code)
    done = subprocess.run(
        [*options("bandit"), tmp_path / "unsafe.py"], cwd=ROOT, capture_output=True, timeout=60, check=False
    )

    assert done.returncode == 1, done.stderr


@pytest.mark.parametrize("secret", ["AKIA" + "IOSFODNN7ABCDEFG", "ghp_" + "a1B2" * 9])
def test_a_secret_fails_the_check(tmp_path, secret):
    """It is not one of the baseline, which has those of tests."""
    (tmp_path / "settings.py").write_text(f'KEY = "{secret}"\n')
    done = subprocess.run(
        [*options("detect-secrets-hook"), tmp_path / "settings.py"],
        cwd=ROOT,
        capture_output=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 1, done.stderr


def test_the_check_reads_all_of_the_source_and_all_files():
    """The folder `src` for code, and what git tracks for secrets."""
    assert re.search(r"/bin/bandit .* -r src ", CHECK)
    assert re.search(r"git ls-files -z \| .*detect-secrets-hook", CHECK)

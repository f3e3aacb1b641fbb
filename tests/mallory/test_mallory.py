"""Every command that root or an operator runs, against a user who wants to harm them."""

import re
import shlex

import pytest
from tests.mallory.conftest import LIMIT_S, SECRET
from tests.mallory.registry import REGISTRY, Attack, Nothing

from clusterwright.cli import app
from clusterwright.onhost.lib.clean_text import UNSAFE

# Lines that take more than ten seconds for all runs, often after another one that reads the same.
SLOW = {
    "checkpoints convert {folder} {out}/model --to torch", "checkpoints verify {folder}",
    "checkpoints verify {folder} --all",
    "checkpoints list {run} --cluster {file}", "curves {run} --json", "logs {run} --json", "status {run} --json",
    "status {run} --metrics", "report job {run} --csv {out}/job.csv --html {out}/job.html", "why {run}",
}  # fmt: skip
pytestmark = pytest.mark.timeout(1800)  # a line runs for each hostile run, on a machine that may be busy
COLOR = re.compile(r"\x1b\[[0-9;]*m")
LINES = [
    pytest.param(line, marks=[pytest.mark.long] if line in SLOW else [])
    for entry in REGISTRY.values()
    if isinstance(entry, Attack)
    for line in (*entry.lines, *entry.once)
]
SANE = {0, 1, 2, 3, 4, 5, 69, 143}  # the exit codes of commands and of runs


def every_command(tree, prefix=()):
    """Names of all commands and subcommands."""
    for name in (name for name in tree if not name.startswith("-")):
        below = [inner for inner in tree[name] if not inner.startswith("-")]
        if below:
            yield from every_command(tree[name], (*prefix, name))
        if not below or tree[name].default_command:
            yield " ".join((*prefix, name))


def test_every_command_is_registered():
    """A new command joins with the attacks that it meets, or with the reason why it reads nothing of users."""
    assert set(REGISTRY) == set(every_command(app()))
    assert all(entry.reason for entry in REGISTRY.values() if isinstance(entry, Nothing))


@pytest.mark.parametrize("line", LINES)
def test_a_hostile_user_gains_nothing(cluster, victim, line):
    """It ends in time, with an exit code of ours, and shows, writes and ends nothing that it should not."""
    before = cluster.outside()
    names = cluster.named if "{run}" in line or "{folder}" in line else [""]
    results = cluster.wright(*(argv(cluster, line, name) for name in names))

    wrong = [(row["argv"], trouble) for row in results if (trouble := trouble_of(row))]
    assert wrong == []
    assert victim.poll() is None, "the process of another user was ended"
    for path in cluster.out.iterdir():
        assert SECRET not in path.read_text(errors="replace"), path
        path.unlink()
    assert cluster.outside() == before


def argv(cluster, line, name):
    """The words of a line for one run."""
    values = {"run": name, "folder": f"{cluster.runs}/{name}", "out": cluster.out, "file": cluster.file}
    return [word.format(**values) for word in shlex.split(line)]


def trouble_of(row, limit_s=LIMIT_S):
    """What is wrong with the result of a command; empty if nothing is."""
    text = row["out"] + row["err"]
    shown = COLOR.sub("", text) if row["argv"][0] == "logs" else text
    if row["code"] == 124 or row["seconds"] > limit_s:
        return "did not end"
    if row["code"] not in SANE:
        return f"exit code {row['code']}: {row['err'][-300:]}"
    if "Traceback" in text:
        return text[-1500:]
    if unsafe := UNSAFE.search(shown):
        return f"shows {unsafe.group()!r}: {shown[max(0, unsafe.start() - 80) : unsafe.end() + 40]!r}"
    return "shows what root alone may read" if SECRET in text else ""

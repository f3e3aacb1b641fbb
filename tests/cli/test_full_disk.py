"""On a full disk a command writes its files whole or not at all, says so, and leaves nothing behind."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from clusterwright.edge import trees

ROOT = Path(__file__).parents[2]
LAB = str(ROOT / "examples" / "lab" / "cluster.yaml")
MODEL = ("--model", "llama-3-8b", "--gpu", "h100-sxm", "--gpus", "8", "--global-batch", "64", "--seq", "4096")
pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts a file system"),
    pytest.mark.timeout(120),
]


@pytest.fixture
def disk(tmp_path):
    """A file system of 16 KiB, all of them in use."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=16k,mode=755", "tmpfs", str(folder)]
    if subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("mount refused")
    (folder / "other").write_bytes(b"x" * 16384)
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.fixture
def wright(tmp_path):
    """`wright(*words)`: exit code, stdout, stderr; the state of clusters has another disk."""
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state"), "HOME": str(tmp_path)}

    def run(*words):
        done = subprocess.run(
            [sys.executable, "-m", "clusterwright", *map(str, words)],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            env=environment,
        )
        return done.returncode, done.stdout, done.stderr

    return run


def contents(folder):
    """Every path below a folder, and the content of every file."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


def local_run(folder):
    """The folder of a local run that has ended."""
    (folder / "events").mkdir(parents=True)
    (folder / "job.json").write_text('{"local": true}')
    lines = [
        {"time": 1.0, "event": "job_start", "job_id": "1", "hosts": ["a"], "ranks": 1, "generation": 0},
        {"time": 2.0, "event": "job_end", "outcome": "finished", "generation": 0},
    ]
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    (folder / "events" / "supervisor-1.jsonl").write_text(text)
    return folder


COMMANDS = {
    "export": ("export", "--cluster", LAB, "--out", "DISK/new/tree"),
    "render": ("render", "--cluster", LAB, "--out", "DISK/new/tree"),
    "kubernetes": ("kubernetes", "--cluster", LAB, "--out", "DISK/new/tree"),
    "init": ("init", "--template", "hgx", "--out", "DISK/cluster.yaml"),
    "report": ("report", "job", "RUN", "--html", "DISK/new/report.html"),
    "search": ("plan", "search", *MODEL, "--html", "DISK/new/search.html"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_full_disk_is_one_clear_error_and_leaves_nothing(name, disk, wright, tmp_path):
    """The code, the path that was asked for, and exit code 1; no folder, no scratch file, no traceback."""
    run = local_run(tmp_path / "runs" / "gpt-20261121-100000")
    words = [word.replace("DISK", str(disk)).replace("RUN", str(run)) for word in COMMANDS[name]]
    before = contents(disk)
    code, _out, err = wright(*words)

    assert "error[disk-full]" in err
    assert words[-1] in err
    assert code == 1
    assert "Traceback" not in err
    assert ".new-" not in err
    assert contents(disk) == before


def test_an_earlier_export_stays_whole(disk, wright):
    """What was there is there, to the byte, also if the disk fills while the new tree is being written."""
    old = disk / "tree"
    old.mkdir()
    os.truncate(disk / "other", 8192)
    (old / trees.MARKER).write_text("")
    (old / "README.md").write_text("old")
    before = contents(disk)
    code, _out, err = wright("export", "--cluster", LAB, "--out", old)

    assert code == 1
    assert "error[disk-full]" in err
    assert contents(disk) == before


def test_an_interrupted_exchange_puts_the_old_tree_back(tmp_path, monkeypatch):
    """Between the removal of the old entries and the last new one."""
    tree = tmp_path / "tree"
    trees.write_files(tree, {"a": (b"1", 0o644), "b": (b"1", 0o644)})
    before, moves = contents(tree), []
    rename = Path.rename

    def interrupted(self, target):
        moves.append(target)
        if len(moves) == 5:
            raise KeyboardInterrupt
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", interrupted)  # only an interrupt comes between two renames
    with pytest.raises(KeyboardInterrupt):
        trees.write_files(tree, {"a": (b"2", 0o644), "c": (b"2", 0o644)})
    after = contents(tree)
    monkeypatch.undo()
    trees.write_files(tree, {"c": (b"3", 0o644)})

    assert after == before
    assert set(contents(tree)) == {trees.MARKER, "c"}


def test_a_folder_that_was_there_stays(disk, wright):
    """Only folders that the command made are removed."""
    (disk / "mine").mkdir()
    wright("render", "--cluster", LAB, "--out", disk / "mine" / "tree")

    assert (disk / "mine").is_dir()
    assert list((disk / "mine").iterdir()) == []
    shutil.rmtree(disk / "mine")

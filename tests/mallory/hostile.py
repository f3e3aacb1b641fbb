"""What a hostile user writes: run folders in which every file is a trap."""

import os
import random
import shutil
import stat
from pathlib import Path

ESCAPES = "\x1b]0;owned\x07\x1b[2J\x9b1mok\u202egnp\u200b\x1b[8mhidden\r\x7f"
FILES = (
    "job.json", "ended.json", "ledger.json", "jobs", "job.out", "slurm-100.out", "events.jsonl", "cancelled", "stop",
    "standby.json", "job.sh", "verified.jsonl", "checkpoints/verified.jsonl", "chain/1", "events/supervisor.jsonl",
    "events/rank-0.jsonl", "logs/1/gpu-node1/0.out", "logs/1/gpu-node1/0.err", "logs/1/gpu-node1/launcher.log",
    "checkpoints/step-00000010/manifest.json", "checkpoints/step-00000010/complete.json",
    "checkpoints/step-00000010/rank-0.bin", "checkpoints/latest", "replicas/0.json", "goodput.json", "code/main.py",
)  # fmt: skip
NAMES = (
    "two\nlines $(touch owned) `touch owned`-20261121-120000", "'; touch owned; '-20261121-120001",
    "--help-20261121-120002", f"=cmd()[red]<script>{ESCAPES}-20261121-120003",
)  # fmt: skip


def text(number):
    """A document with escape sequences in every text, also where a number is expected."""
    event = f'{{"event": "step", "time": 1, "step": {number}, "loss": 1e999, "{_json()}": "{_json()}"}}\n'
    return (
        event
        + f'{{"local": true, "name": "{_json()}", "reason": "{_json()}", "outcome": "failed", "code": 1}}\n'
    )


def _json():
    return "".join(f"\\u{ord(sign):04x}" for sign in ESCAPES)


def of_texts(path, _secret):
    """Escape sequences everywhere, as JSON and as bytes."""
    if path.name in ("job.json", "ended.json", "ledger.json", "manifest.json", "complete.json"):
        path.write_text(text(1).splitlines()[1])
    else:
        path.write_text(text(2) + f"{ESCAPES}\nRuntimeError: CUDA out of memory {ESCAPES}\n")


def of_pipes(path, _secret):
    """A pipe blocks whoever opens it."""
    os.mkfifo(path)


def of_devices(path, _secret):
    """A link to a file that never ends."""
    path.symlink_to("/dev/zero")


def of_secrets(path, secret):
    """A link to a file that root alone can read."""
    path.symlink_to(secret)


def of_loops(path, _secret):
    """A link to itself."""
    path.symlink_to(path.name)


def of_outside(path, secret):
    """A link to a file that does not exist yet: whoever writes through it creates the file there."""
    path.symlink_to(secret.parent / f"created-{path.name}")


def of_depth(path, _secret):
    """Nesting over every parser's limit, then one line of megabytes."""
    path.write_bytes(b"[" * 60_000 + b"\n" + b'{"event": "step", "x": "' + b"x" * (3 << 20) + b'"}\n')


def of_noise(path, _secret):
    """Random bytes."""
    path.write_bytes(random.Random(str(path)).randbytes(50_000))


def of_folders(path, _secret):
    """A folder in place of the file, with a link back up."""
    path.mkdir()
    (path / "up").symlink_to(path.parent)


KINDS = (of_texts, of_pipes, of_devices, of_secrets, of_loops, of_outside, of_depth, of_noise, of_folders)


def write_runs(runs: Path, secret: Path) -> list[str]:
    """Create the hostile runs as the calling account; return their names. Their `job.json` is good where it can be."""
    names = []
    for number, kind in enumerate(KINDS):
        for good in (True, False):
            name = f"{kind.__name__[3:]}-{int(good)}-20261121-1301{number:02}"
            _write_run(runs / name, kind, secret, good=good)
            names.append(name)
    for name in NAMES:
        if "/" not in name:
            _write_run(runs / name, of_texts, secret, good=True)
            names.append(name)
    (runs / "folder-link-20261121-140000").symlink_to(secret.parent)
    return names


def _write_run(run, kind, secret, *, good):
    for name in FILES:
        path = run / name
        path.parent.mkdir(parents=True, exist_ok=True)
        kind(path, secret)
    if good:
        for name, content in (("job.json", '{"local": true, "name": "x"}'), ("jobs", "100\n")):
            _replace(run / name, content)


def _replace(path, content):
    if stat.S_ISDIR(path.lstat().st_mode):
        shutil.rmtree(path)
    else:
        path.unlink()
    path.write_text(content)

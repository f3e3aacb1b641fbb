"""Failures that nobody saw who wrote the modes: how many are found; and healthy logs, in which nothing is."""

from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from clusterwright.diagnose.judge import judge
from clusterwright.diagnose.knowledge import knowledge
from clusterwright.diagnose.mode import CLASSES
from clusterwright.diagnose.reading import of_text, read

HERE = Path(__file__).parent
HEALTHY = sorted((HERE / "healthy").glob("*.log"))
LOGS = {path.stem: YAML(typ="safe").load(path) for path in sorted((HERE / "unseen").glob("*.yaml"))}
FAILED = {name: log for name, log in LOGS.items() if log["class"] != "benign"}
BENIGN = [name for name, log in LOGS.items() if log["class"] == "benign"]

# First contact, 2026-11-22 23:31, 553 modes, nothing changed for any of these logs: of 175 failures the right
# class came first in 145 (83%) and within the first two in 149 (85%); 6 had no answer or were said to be unknown,
# 24 were wrong. Of 25 cascades 3 were blamed, of 6 harmless texts 1, and 12 of 24 healthy logs had an answer.
# With 599 modes, 2026-11-23, by whoever had read none of these logs but the threads of 19 (unseen2/met.txt): 151 first
# (85%), 164 within two (93%), none of the healthy logs has an answer. Which class was said in place of which had been
# looked at (not for which log) when it was chosen what a mode may be as well, so "within two" is not wholly blind.
# With `follows`, 601 modes, 2026-11-23: 152 first (86%), 164 within two; of 25 cascades 1 is blamed. By then it was
# known which of these logs were wrong and what was said of them; one was read (`srun-timeout-is-munge-key`).
# The floors are a little under that; they may rise, and no log may be looked at to raise them.
FIRST, WITHIN_TWO, CASCADES_BLAMED, HARMLESS_BLAMED = 0.83, 0.89, 1, 1

# Lines that mean nothing, in logs that failed of something else.
MEANS_NOTHING = (
    "Failed to open libibverbs",
    "leaked semaphore",
    "x11.so: Plugin file not found",
    "Setting OMP_NUM_THREADS",
    "ncclCollNetPlugin_v8",
    "cpu_feature_guard",
)

# Logs in which most lines are what followed, or what others said.
CASCADES = (
    "ckpt-eof-then-c10-abort", "efa-empty-provider", "elastic-minus-9-same-place", "gloo-loopback-under-ray",
    "killed-then-leaked-semaphore", "leaked-semaphore-sigkill-jsonl", "mpi-worker-name-then-orte",
    "munge-rewound-4h", "nccl-calloc-oom-then-closed", "oom-crashed-run-still-there",
    "oom-then-sigterm-elastic", "oom-torchrun-summary", "pyxis-no-space-run", "ray-memory-monitor-old",
    "raylet-port-lost-contact", "recv-reset-sick-ib-nodes", "requeue-at-time-limit", "segfault-libc10-cuda",
    "shm-nccl-extend-28", "srun-timeout-is-munge-key", "symbol-then-killing-subprocess", "ufw-blocks-slurm",
    "watchdog-rank-zero-writes", "xid45-of-149", "xid79-container-stays",
)  # fmt: skip


@cache
def answers(name, text):
    """Diagnoses of a log, without those that say that a line is harmless."""
    return [each for each in judge(read([of_text(name, text)], knowledge())) if each.role != "benign"]


def classes(name, text):
    """The classes that are answered, the likeliest first, each once."""
    return list(dict.fromkeys(each.kind for each in answers(name, text)))


def test_the_share_that_is_right():
    """Not less than a little under what was right at first contact."""
    said = {name: classes(name, log["log"]) for name, log in FAILED.items()}
    first = [name for name, log in FAILED.items() if log["class"] in said[name][:1]]
    within_two = [name for name, log in FAILED.items() if log["class"] in said[name][:2]]
    tell(said, first, within_two)
    assert len(first) >= FIRST * len(FAILED)
    assert len(within_two) >= WITHIN_TWO * len(FAILED)


def tell(said, first, within_two):
    """Print how many are right, and what is said in place of what."""
    silent = sum(said[name] in ([], ["unknown"]) for name in FAILED)
    wrong = Counter(
        (FAILED[name]["class"], *(said[name] or ["-"])[:1]) for name in FAILED if name not in first
    )
    lines = [f"{len(FAILED)} logs: {len(first)} first, {len(within_two)} within two, {silent} not known"]
    lines += [f"{number:3} {right} -> {other}" for (right, other), number in wrong.most_common()]
    print("", *lines, sep="\n")  # noqa: T201 (the figures; pytest -s shows them)


def test_what_only_followed_is_not_blamed():
    """Where most lines are consequences, what comes first is the cause or none: but for one."""
    blamed = []
    for name in CASCADES:
        told = answers(name, LOGS[name]["log"])[:1]
        blamed += [name for each in told if each.role == "root" and each.kind != LOGS[name]["class"]]
    assert len(blamed) <= CASCADES_BLAMED, blamed


def test_lines_that_mean_nothing_are_not_blamed():
    """Where something else failed, no cause that comes first rests on them alone."""
    blamed = []
    for name, log in FAILED.items():
        told = [each for each in answers(name, log["log"])[:1] if each.role == "root"]
        lines = [each.text for answer in told for each in answer.evidence]
        if lines and all(any(nothing in line for nothing in MEANS_NOTHING) for line in lines):
            blamed.append(name)
    assert blamed == []


def test_what_is_harmless_is_no_failure():
    """No cause is named where nothing failed: in all but one, whose text is that of a failure elsewhere."""
    blamed = [
        name for name in BENIGN if any(each.role == "root" for each in answers(name, LOGS[name]["log"]))
    ]
    assert len(blamed) <= HARMLESS_BLAMED, blamed


def test_healthy_logs_have_no_diagnosis():
    """No cause, no consequence of one, and no failure of unknown cause."""
    assert len(HEALTHY) > 20
    assert {path.stem for path in HEALTHY if answers(path.name, path.read_text(errors="replace"))} == set()


@pytest.mark.parametrize("name", LOGS)
def test_a_log_is_in_its_form(name):
    """It has all it should have, of a class that there is, and its own name."""
    assert set(LOGS[name]) == {"id", "source", "log", "cause", "class", "fix"}
    assert LOGS[name]["id"] == name
    assert LOGS[name]["class"] in (*CLASSES, "benign")


def test_every_class_is_asked_for():
    """At least three failures of each, and more than a hundred and twenty in all."""
    numbers = Counter(log["class"] for log in FAILED.values())
    assert {kind for kind in CLASSES if numbers[kind] < 3} == set()
    assert len(FAILED) > 120

"""Modes of our own, so that a test of the reader does not change with what is known of the field."""

import pytest

from clusterwright.diagnose.judge import judge
from clusterwright.diagnose.knowledge import Knowledge
from clusterwright.diagnose.reading import of_text, read


def made(role="root", has=(), certain=0.9, **more):
    """A mode's table with nothing in it that matters but what is given."""
    given = [has] if isinstance(has, str | dict) else has
    return {
        "cause": "It broke.",
        "fix": "Fix it.",
        "role": role,
        "retry": "no",
        "certain": certain,
        "programs": ["x"],
        "sources": ["x"],
        "signature": [each if isinstance(each, dict) else {"has": each} for each in given],
        **more,
    }


MODES = {
    "gpu-oom/out-of-memory": made(has="CUDA out of memory"),
    "shm/bus-error": made(has={"has": "is killed by signal: Bus error", "like": r"worker \(pid (?P<pid>\d+)\)"}),
    "network-connectivity/connect": made(
        has={"has": "Connect to peer", "like": r"peer (?P<peer>[\w.]+) failed"},
        cause="{peer} cannot be reached.", exclude="host",
    ),
    "network-connectivity/closed": made("cascade", "Connection closed by remote peer", 0.8),
    "other/stopped": made("teardown", "Sending process closing signal SIGTERM", 0.8),
    "other/harmless": made("benign", "failed to poll a port that nobody uses"),
    "gpu-hardware/xid": made(
        has={"has": "NVRM: Xid", "like": r"Xid \(PCI:(?P<gpu>[0-9a-f:]+)\S*: 79", "in": "kernel"}, exclude="host",
    ),
    "user-code/exception": made(has={"has": "Error: ", "like": r"^\w*Error: "}, certain=0.4),
    "storage-full/no-space": made(has="No space left on device"),
    "checkpoint-corrupt/short": made(
        has="archive is cut short", certain=0.7, ruled_out_by=[{"mode": "storage-full/no-space"}],
        confirmed_by=[{"has": "size of the file is 0"}],
    ),
    "slurm-limits/time": made(has={"has": "State=TIMEOUT", "in": "sacct"}),
    "dataloader/near": made(has={"has": "worker went away", "near": ["prefetching batch"]}),
    "numerical/nan-a": made(has="loss is not a number", certain=0.6, ruled_out_by=[{"has": "other GPU agrees"}]),
    "gpu-hardware/nan-b": made(has="loss is not a number", certain=0.5, ruled_out_by=[{"has": "seed replayed"}]),
}  # fmt: skip


@pytest.fixture
def known():
    """The modes above."""
    return Knowledge(MODES)


@pytest.fixture
def knowing():
    """Knowledge of modes of a test's own: by name, what is given of each."""
    return lambda modes: Knowledge({name: made(**given) for name, given in modes.items()})


@pytest.fixture
def seen(known):
    """What is read in a text: the modes' names with the lines' numbers."""

    def look(text, **of):
        found = read([of_text("a.log", text, **of)], known)
        return [(each.mode.id, each.position.line) for each in found.sightings]

    return look


@pytest.fixture
def told(known):
    """The diagnoses of texts by name."""

    def ask(*texts, **named):
        logs = {**{f"{number}.log": text for number, text in enumerate(texts)}, **named}
        return judge(read([of_text(name, text) for name, text in logs.items()], known))

    return ask

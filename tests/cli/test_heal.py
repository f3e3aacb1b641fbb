"""`wright heal`: what is shown, approved and refused; the loop itself is tested in tests/heal."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from clusterwright.cli import app
from clusterwright.cli.heal import _show_plan
from clusterwright.errors import WrightError
from clusterwright.heal.decide import Decision
from clusterwright.heal.decide.decide import Notification
from clusterwright.heal.journal import Journal
from clusterwright.heal.loop.setup import loop_lock, moment
from clusterwright.heal.past import Incident, Intent
from clusterwright.heal.policy import Policy

EXAMPLE = Path(__file__).parents[2] / "examples" / "lab" / "cluster.yaml"


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """A journal with a proposal, a drain that is done, and a reboot that is done; and its cluster file."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))  # where the journal is: the environment is the seam
    folder = tmp_path / "clusterwright" / "nowhere" / "heal"
    folder.mkdir(parents=True)
    file = tmp_path / "cluster.yaml"
    file.write_text(EXAMPLE.read_text().replace("name: lab\n", "name: nowhere\n"))
    journal, now = Journal(folder / "intents.sqlite"), moment()
    for state, action in (("proposed", "drain"), ("done", "drain"), ("done", "reboot")):
        intent = Intent("gpu-node1", "gpu_lost", action, "check: gpus_answer: gpu 1 is lost")
        journal.write(1, intent, state, now, wall=1e9, prior={})
    yield file
    journal.close()


def run(*words):
    """The command's exit code."""
    return app()(["heal", *map(str, words)], result_action="return_value")


def test_the_log_has_evidence_and_undo(kept, capsys):
    """As JSON with its schema; only what can be taken back says how."""
    assert run("log", "--json", "--cluster", kept) == 0

    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == 1
    assert [deed["undo"] for deed in document["actions"]] == ["", "wright heal undo 2", ""]
    assert document["actions"][0]["reason"] == "check: gpus_answer: gpu 1 is lost"
    assert document["actions"][0]["time"] == "2001-09-09 01:46:40Z"
    assert document["actions"][0]["wall"] == 1e9


def test_the_log_as_a_table(kept, capsys):
    """One line each."""
    assert run("log", "--cluster", kept) == 0
    assert len([line for line in capsys.readouterr().out.splitlines() if "gpu-node1" in line]) == 3


def test_a_proposal_is_approved_once(kept, capsys):
    """What was done already cannot be."""
    assert run("approve", 1, "--cluster", kept) == 0
    assert "gpu-node1: drain (gpu_lost" in capsys.readouterr().err
    with pytest.raises(WrightError, match="heal-not-proposed"):
        run("approve", 1, "--cluster", kept)


@pytest.mark.parametrize(
    ("words", "code"),
    [(("undo", 3), "heal-no-undo"), (("undo", 1), "heal-no-undo"), (("approve", 9), "heal-no-such-id")],
)
def test_what_cannot_be_is_refused(kept, words, code):
    """With its code."""
    with pytest.raises(WrightError, match=code):
        run(*words, "--cluster", kept)


def test_a_second_loop_is_refused(kept):
    """By the lock of the first."""
    with (
        loop_lock(kept.parent / "clusterwright" / "nowhere" / "heal"),
        pytest.raises(WrightError, match="heal-runs-already"),
    ):
        run("watch", "--cluster", kept)


def test_a_loop_beside_the_unit_is_refused(kept):
    """It would do anew what the unit's journal has, and this machine's has not."""
    kept.write_text(kept.read_text() + "\nheal: {watch: true}\n")

    with pytest.raises(WrightError, match="a unit on control heals the cluster already"):
        run("watch", "--cluster", kept)


def test_mode_none_is_refused(kept):
    """There is nothing to watch for."""
    kept.write_text(kept.read_text() + "\nheal: {mode: none}\n")

    with pytest.raises(WrightError, match="heal-off"):
        run("watch", "--cluster", kept)


def test_a_plan_of_a_cluster_that_does_not_answer(kept, capsys):
    """Says so, and proposes nothing about its hosts."""
    assert run("--plan", "--json", "--cluster", kept) == 1

    document = json.loads(capsys.readouterr().out)
    assert (document["slurm"], document["intents"]) == (False, [])


def test_a_plan_says_what_why_and_what_takes_it_back(capsys):
    """What the file allows is done, the rest proposed; who is told is said."""
    policy = Policy(mode="act", allow=frozenset({"drain"}))
    incident = Incident(1, "gpu-node1", "gpu_lost", moment())
    intents = tuple(
        (incident, Intent("gpu-node1", "gpu_lost", action, "gpu 1 is lost")) for action in ("drain", "reboot")
    )
    found = Decision(
        intents=intents, notifications=(Notification(incident, "hand-over", "look at its power"),)
    )
    loop = SimpleNamespace(policy=policy)

    _show_plan(loop, found, slurm=True, json=True)
    document = json.loads(capsys.readouterr().out)
    _show_plan(loop, found, slurm=True, json=False)
    shown = capsys.readouterr().out

    assert [(row["action"], row["how"]) for row in document["intents"]] == [
        ("drain", "automatic"),
        ("reboot", "proposed: not in heal.allow"),
    ]
    assert document["intents"][0]["undo"].startswith("scontrol update")
    assert "notification: look at its power" in shown

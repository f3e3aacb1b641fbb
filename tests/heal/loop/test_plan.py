"""What `wright heal --plan` prints."""

import json
from types import SimpleNamespace

from clusterwright.cli import heal


def test_a_repair_that_is_held_back_is_in_the_plan(pretended, monkeypatch, capsys):
    """The first of its two polls notifies of it, and the second has nothing new."""
    made = pretended()
    made.put("gpu-node2", state="IDLE+DRAIN", reason="a fan is loud")
    made.put("gpu-node1", fault_gpus_answer="gpu 1 is lost")
    loop = made.loop(settle_s=0.0, max_unavailable_percent=10)
    target = SimpleNamespace(
        is_remote=False, journal=lambda: loop.journal, loop=lambda _journal: loop, cluster=made.cluster
    )
    monkeypatch.setattr(heal, "_target", lambda _file, local: target)
    heal._propose(None, local=False, json=True)
    plan = json.loads(capsys.readouterr().out)

    assert plan["intents"] == []
    assert [(row["host"], row["topic"]) for row in plan["notifications"]] == [("gpu-node1", "held-back")]

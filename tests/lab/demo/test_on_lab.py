"""The demo on a lab: what it draws, whose lab it leaves alone, and the whole of it for real."""

import json
import os
from pathlib import Path

import pytest

from clusterwright.config.load import load_cluster, load_job
from clusterwright.edge.fakes import FakeClock
from clusterwright.errors import WrightError
from clusterwright.lab import state
from clusterwright.lab.demo import on_lab
from clusterwright.lab.demo.runner import DEFAULT_JOB, demo
from clusterwright.lab.demo.talk import Talk

EXAMPLE = Path(__file__).parents[3] / "examples" / "lab" / "cluster.yaml"
NAME, NET = "wright-demo-test", "10.183"


@pytest.fixture
def file(tmp_path):
    """The example's lab under another name, in subnets of its own."""
    path = tmp_path / "cluster.yaml"
    path.write_text(
        EXAMPLE.read_text().replace("10.77.", f"{NET}.").replace("name: lab\n", f"name: {NAME}\n")
    )
    return path


def test_the_drawing_has_what_the_file_says(file):
    """Three networks, five hosts, four GPUs in each of four."""
    drawn = on_lab.drawn(load_cluster(file))

    assert [network.name for network in drawn.networks] == ["management", "compute", "storage"]
    assert [host.gpus for host in drawn.hosts] == [0, 4, 4, 4, 4]
    assert drawn.hosts[0].networks == ("management", "storage")
    assert drawn.hosts[2].address == f"{NET}.0.12"


@pytest.fixture
def standing(file, monkeypatch, tmp_path):
    """A lab that stands, as far as its journal says; labs are kept elsewhere for this test."""
    # the real place is the machine's own, and its folder is no argument of anything above
    monkeypatch.setattr(state, "folder", lambda name: tmp_path / "labs" / name)
    from clusterwright.lab.layout import layout

    lab = state.LabState(layout(load_cluster(file)), "up", "boot", "digest")
    state.folder(NAME).mkdir(parents=True)
    return state.write(lab)


def test_somebody_elses_lab_is_left_alone(standing):
    """The demo ends with `lab down`, so it never begins on a lab that it did not make."""
    with pytest.raises(WrightError, match="is up and belongs to you"):
        on_lab._remove_old_lab(standing.name, Talk(lambda _: None, FakeClock()))


def test_the_lab_of_a_demo_that_is_still_going_on_is_left_alone(standing):
    """Two demos of the same file do not share a lab."""
    (state.folder(NAME) / on_lab.OWNER_FILE).write_text(f"{os.getpid()}\n")

    with pytest.raises(WrightError, match=f"the demo of process {os.getpid()}"):
        on_lab._remove_old_lab(standing.name, Talk(lambda _: None, FakeClock()))


@pytest.mark.lab
@pytest.mark.core
@pytest.mark.train
@pytest.mark.timeout(900)
def test_a_killed_host_changes_no_bit_of_the_training(file, tmp_path):
    """The whole demo with its own job, made shorter, and every claim of its report."""
    said, own = [], load_job(DEFAULT_JOB)
    job = own.model_copy(update={"arguments": {**own.arguments, "steps": 175}})

    made = demo(tmp_path / "out", cluster_file=file, job=job, write=said.append)
    assert made.problems == (), "\n".join(said)
    document = json.loads((tmp_path / "out" / "report.json").read_text())
    assert (document["mode"], document["ok"], document["steps_total"]) == ("lab", True, 175)
    assert document["second_apply_changes"] == 0
    assert document["checks"]["fail"] == 0  # what a busy machine did not answer in time is unknown
    assert document["fault"]["kind"] == "kill-host"
    assert 0.2 <= document["fault"]["epoch_part"] <= 0.85
    assert document["losses_hex"]["with_fault"] == document["losses_hex"]["uninterrupted"]
    assert 0 < document["steps_repeated"] <= document["checkpoint_every"]
    assert document["world_sizes"] == [4, 4]
    assert set(document["ranks"].values()) == {2}
    assert document["fault"]["joined_again_s"] > 0
    assert document["left_behind"] == []
    assert not state.folder(NAME).exists()
    assert "A host died after step" in (tmp_path / "out" / "report.html").read_text()

"""What a folder of checkpoints says of itself, without torch for listing it."""

import json
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from clusterwright.edge.bundler import CHECKPOINTS, bundle_script
from clusterwright.onhost.runs import run_checkpoints
from clusterwright.onhost.runs.run_checkpoints import Trouble, checkpoints_of, fates, listing, verify

SOURCE = Path(run_checkpoints.__file__).parents[3]


def test_a_listing_needs_no_torch(saved):
    """The script as it is sent: to a plain python3 that has nothing of ours."""
    command = [sys.executable, "-I", "-S", "-", "list", str(saved(1, 2)), "{}"]
    script = bundle_script(CHECKPOINTS).decode()
    done = subprocess.run(
        command,
        input=script,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert done.returncode == 0, done.stderr
    assert [row["step"] for row in json.loads(done.stdout)["checkpoints"]] == [2, 1]


def test_a_listing_says_what_each_holds_and_what_goes_next(saved):
    """The newest first; two are kept, so the next good save leaves the newest alone, and the others go."""
    run = saved(10, 20, 30, limit=2)
    (run / "checkpoints" / ".partial-step-00000040-3").mkdir()
    (run / "checkpoints" / ".partial-step-00000040-3" / "part").write_bytes(b"12345")
    (run / "checkpoints" / "latest").symlink_to("step-00000030")
    found = listing(str(run))

    assert [row["step"] for row in found["checkpoints"]] == [30, 20, 10]
    assert [row["fate"] for row in found["checkpoints"]] == ["stays", "goes next", "goes next"]
    assert found["checkpoints"][0]["tags"] == ["latest"]
    assert {row["world_size"] for row in found["checkpoints"]} == {1}
    assert {row["state"] for row in found["checkpoints"]} == {"verified"}
    assert [(row["name"], row["bytes"]) for row in found["partial"]] == [(".partial-step-00000040-3", 5)]


def test_the_same_checkpoints_by_run_by_folder_and_by_step(saved):
    """Whichever of them is named."""
    run = saved(10)
    folders = {
        listing(str(run / below))["folder"] for below in ("", "checkpoints", "checkpoints/step-00000010")
    }

    assert folders == {str(run / "checkpoints")}


def test_a_run_may_keep_them_elsewhere(saved, tmp_path):
    """`checkpoint.folder` of its job."""
    run = saved(10)
    (run / "checkpoints").rename(tmp_path / "elsewhere")
    job = {"job": {"checkpoint": {"folder": str(tmp_path / "elsewhere"), "save_total_limit": 3}}}
    (run / "job.json").write_text(json.dumps(job))

    assert listing(str(run))["folder"] == str(tmp_path / "elsewhere")


@pytest.mark.parametrize(
    ("states", "kept", "told"),
    [
        (["verified"] * 3, 3, ["stays", "stays", "goes next"]),
        (["damaged", "verified", "verified"], 2, ["stays", "stays", "goes next"]),
        (["verified", "damaged", "damaged"], 2, ["stays", "goes next", "goes next"]),
        (["damaged", "damaged"], 2, ["stays", "stays"]),
        (["verified", "verified", "best", "verified"], 2, ["stays", "goes next", "stays", "goes next"]),
    ],
)
def test_good_ones_are_counted_and_bad_ones_go_with_their_age(states, kept, told):
    """As many good ones stay as are kept, with the one that is to come; and the best."""
    rows = [{"state": state, "tags": ["best"] * (state == "best")} for state in states]

    assert fates(rows, kept) == told


def test_the_best_is_the_lowest_measure_of_a_good_one():
    """The newest of several; not one that is damaged or is no number."""
    values = [
        (40, 0.1, "damaged"),
        (30, 0.5, "verified"),
        (20, 0.5, "verified"),
        (10, float("nan"), "verified"),
    ]
    rows = [{"step": step, "value": value, "state": state} for step, value, state in values]

    assert run_checkpoints.best_of(rows) == 30
    assert run_checkpoints.best_of([{"step": 1, "value": None, "state": "verified"}]) is None


def damage(path, how):
    """Do it to the checkpoint."""
    part = next(path.glob("*.safetensors"))
    if how == "no manifest":
        (path / "manifest.json").unlink()
    elif how == "manifest":
        (path / "manifest.json").write_text(
            (path / "manifest.json").read_text().replace('"step": 20', '"step": 2')
        )
    elif how == "no part":
        part.unlink()
    elif how == "short":
        part.write_bytes(part.read_bytes()[:-1])
    elif how == "bit":
        data = bytearray(part.read_bytes())
        data[data.index(struct.pack("<f", 20.0)) + 1] ^= 1
        part.write_bytes(data)


@pytest.mark.parametrize(
    ("how", "listed", "words"),
    [
        ("no manifest", "damaged", "never finished"),
        ("manifest", "damaged", "its own checksum"),
        ("no part", "damaged", "part-00000-of-00001.safetensors is missing"),
        ("short", "damaged", "bytes"),
        ("bit", "verified", "other bytes of model/weight than"),
    ],
)
@pytest.mark.train
def test_damage_is_found_and_named(saved, how, listed, words):
    """By the listing where no part needs to be read; by verify in any case, with the file or the tensor."""
    run = saved(10, 20)
    damage(run / "checkpoints" / "step-00000020", how)
    row = listing(str(run))["checkpoints"][0]
    assert row["state"] == listed
    found = verify(str(run), None, everything=False)["checkpoints"][0]

    assert (found["step"], found["state"]) == (20, "damaged")
    assert words in found["reason"]
    assert listing(str(run))["checkpoints"][0]["state"] == "damaged"
    assert verify(str(run), 10, everything=False)["checkpoints"][0]["state"] == "verified"


@pytest.mark.train
def test_what_was_verified_is_noted_until_it_changes(saved):
    """A checkpoint of the same step that is saved again is another one."""
    run = saved(10)
    row = listing(str(run))["checkpoints"][0]
    assert row["verified_at"] == row["time"]  # the save itself read it back
    assert verify(str(run), None, everything=True)["checkpoints"][0]["noted"]
    row = listing(str(run))["checkpoints"][0]
    assert (row["state"], row["reason"]) == ("verified", "")
    assert row["verified_at"] > row["time"]
    shutil.rmtree(run / "checkpoints" / "step-00000010")
    saved(10)

    row = listing(str(run))["checkpoints"][0]
    assert row["verified_at"] == row["time"]


@pytest.mark.parametrize(
    ("where", "code"),
    [("absent", "checkpoint-no-folder"), ("", "checkpoint-none"), ("file", "checkpoint-no-folder")],
)
def test_a_folder_without_checkpoints_says_so(tmp_path, where, code):
    """No folder, an empty one, a file."""
    (tmp_path / "file").touch()
    with pytest.raises(Trouble) as trouble:
        listing(str(tmp_path / where))

    assert trouble.value.code == code


def test_a_step_that_is_not_there(saved):
    """Those that are, are named."""
    with pytest.raises(Trouble, match="step-00000011") as trouble:
        verify(str(saved(10, 20)), 11, everything=False)

    assert trouble.value.fix == "choose one of the steps: 20, 10"


def test_without_torch_verify_says_where_to_go(saved):
    """On a control host, say."""
    command = [
        sys.executable,
        "-S",
        run_checkpoints.__file__,
        "verify",
        str(saved(10)),
        '{"step": null, "everything": true}',
    ]
    done = subprocess.run(
        command, env={"PYTHONPATH": str(SOURCE)}, capture_output=True, text=True, check=False, timeout=60
    )

    assert json.loads(done.stdout)["trouble"] == "checkpoint-no-torch"


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "is no run and has no checkpoints"),
        ({"job.json": '{"job": {}}', "ended.json": "{}"}, "has ended without a checkpoint"),
        ({"job.json": '{"job": {}}'}, "no checkpoint in "),
    ],
)
def test_why_there_is_no_checkpoint(tmp_path, files, message):
    """A folder that is no run, a run that has ended, and one that may save yet."""
    for name, text in files.items():
        (tmp_path / name).write_text(text)

    with pytest.raises(Trouble, match=message):
        checkpoints_of(tmp_path)

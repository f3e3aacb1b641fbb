"""`wright checkpoints`, on folders of this machine."""

import json
import struct
import subprocess

import pytest

from clusterwright.cli.checkpoints import convert, list_, show_list, verify
from clusterwright.errors import WrightError
from clusterwright.launch.checkpoints import listing


def test_list_shows_every_checkpoint(saved, capsys):
    """Its age, size and ranks, whether it is verified, and what goes next."""
    found = listing(str(saved(10, 20, limit=2)))
    for row in found["checkpoints"]:
        row["time"] = row["verified_at"] = 1000.0
    assert show_list(found, json=False, now=1000.0 + 7200) == 0
    out = capsys.readouterr().out.splitlines()

    assert out[0].split() == ["step", "saved", "size", "ranks", "torch", "verified", "tags", "next", "save"]
    assert out[1].startswith("20\t")
    assert "2 h ago" in out[1]
    assert "on save" in out[1]
    assert out[2].rstrip().endswith("goes next")


@pytest.mark.train
def test_verify_ends_with_5_when_a_bit_has_flipped_and_names_the_tensor(saved, capsys):
    """And with 0 when none has."""
    run = saved(10, 20)
    part = next((run / "checkpoints" / "step-00000020").glob("*.safetensors"))
    data = bytearray(part.read_bytes())
    data[data.index(struct.pack("<f", 20.0)) + 3] ^= 128
    part.write_bytes(data)

    assert verify(str(run), step=10) == 0
    capsys.readouterr()
    assert verify(str(run), all_=True) == 5
    out = capsys.readouterr().out
    assert "step 20: part-00000-of-00001.safetensors holds other bytes of model/weight" in out
    assert list_(str(run), json=True) == 0
    states = {row["step"]: row["state"] for row in json.loads(capsys.readouterr().out)["checkpoints"]}
    assert states == {10: "verified", 20: "damaged"}


@pytest.mark.train
def test_convert_says_what_is_not_carried(saved, tmp_path, capsys):
    """The newest of a run, as one file; and into ours again."""
    assert convert(str(saved(10, 20)), str(tmp_path / "gpt.pt"), to="torch") == 0
    told = capsys.readouterr()
    assert "bit-exact" in told.out
    assert "random states" in told.err
    assert convert(str(tmp_path / "gpt.pt"), str(tmp_path / "step-00000020"), from_="torch") == 0
    assert verify(str(tmp_path / "step-00000020")) == 0


@pytest.mark.train
@pytest.mark.parametrize(("to", "name", "code"), [("torch", "model", 2), ("safetensors", "net", 1)])
def test_what_cannot_be_converted_ends_with_its_code(saved, tmp_path, to, name, code):
    """Over what is there; a model of another name."""
    target = tmp_path if to == "torch" else tmp_path / "new"
    with pytest.raises(WrightError) as error:
        convert(str(saved(10)), str(target), to=to, name=name)

    assert error.value.exit_code == code


def test_a_cluster_is_asked_for_what_is_not_here(tmp_path, monkeypatch):
    """A run's name without a cluster file: the places that were tried."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CLUSTERWRIGHT_CLUSTER", raising=False)
    with pytest.raises(WrightError) as error:
        list_("gpt")

    assert error.value.findings[0].code == "no-cluster-file"


@pytest.fixture
def frozen(saved):
    """A run that can only be read."""
    run = saved(10)
    for options in (["--bind"], ["-o", "remount,ro,bind"]):
        done = subprocess.run(["mount", *options, run, run], capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"nothing can be mounted read-only here: {done.stderr.strip()}")
    yield run
    subprocess.run(["umount", run], check=True)


@pytest.mark.train
def test_a_folder_that_cannot_be_written(frozen, capsys):
    """Verify answers and says that it could not note it; convert says why it cannot write."""
    assert verify(str(frozen)) == 0
    assert "cannot store the result" in capsys.readouterr().err
    with pytest.raises(WrightError, match="Read-only file system") as error:
        convert(str(frozen), str(frozen / "gpt.pt"), to="torch")
    assert error.value.findings[0].code == "checkpoint-not-written"

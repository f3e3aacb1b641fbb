"""Checkpoints in other forms, and back, bit for bit."""

import dataclasses
import enum
import io
import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
from torch.distributed import checkpoint as dcp

from clusterwright.onhost.lib.partial_folder import PartialFolder
from clusterwright.runtime import load
from clusterwright.runtime.checkpoints import convert as converting
from clusterwright.runtime.checkpoints import forms, tree
from clusterwright.runtime.checkpoints.convert import Refused, convert, write_step

pytestmark = pytest.mark.train


def a_state(width=6):
    """A model with AdamW after a step, and whatever else a training tracks; all kinds of values."""
    torch.manual_seed(1)
    model = torch.nn.Sequential(
        torch.nn.Linear(4, width), torch.nn.BatchNorm1d(width), torch.nn.Linear(width, 1)
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model(torch.randn(5, 4)).sum().backward()
    optimizer.step()
    model[0].weight.data[0, 0] = float("nan")
    half = {"bf16": torch.randn(3).bfloat16(), "none": torch.empty(0, 3), "scalar": torch.tensor(7)}
    more = {"pair": (1, torch.ones(2)), "list": [1, [torch.zeros(1), "x"]], "empty": {}, "nothing": []}
    return {
        "model": model.state_dict(), "optimizer": optimizer.state_dict(), "half": half, "more": more,
        "sgd": torch.optim.SGD(model.parameters(), lr=0.1).state_dict(), "run": {"loss": 0.5},
    }  # fmt: skip


def ours(folder, state=None, step=100):
    """A checkpoint of ours."""
    path = folder / f"step-{step:08d}"
    folder.mkdir(exist_ok=True)
    write_step(path, step, state or a_state())
    return path


def differing(a, b):
    """Where two states differ."""
    return list(converting._unlike(a, b, ""))


@pytest.mark.parametrize("form", ["torch", "dcp"])
def test_there_and_back_is_the_same_bit_for_bit(tmp_path, form):
    """Every tensor, number, key and empty list; NaN too; and optimizers take their state back."""
    source = ours(tmp_path / "a")
    convert(source, tmp_path / "other", to=form)
    convert(tmp_path / "other", tmp_path / "step-00000100", origin=form)
    back, local = load(tmp_path / "step-00000100", 0, 1)

    assert differing(load(source)[0], back) == []
    assert differing(a_state(), back) == []
    assert local == {}
    fresh = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.BatchNorm1d(6), torch.nn.Linear(6, 1))
    optimizer = torch.optim.AdamW(fresh.parameters())
    optimizer.load_state_dict(back["optimizer"])
    assert differing(optimizer.state_dict(), a_state()["optimizer"]) == []


def test_torch_reads_what_was_written(tmp_path):
    """torch.load, without unpickling code."""
    convert(ours(tmp_path / "a"), tmp_path / "gpt.pt", to="torch")

    assert differing(torch.load(tmp_path / "gpt.pt", weights_only=True), a_state()) == []


@pytest.mark.filterwarnings("ignore:torch.distributed is disabled")
def test_dcp_reads_what_was_written(tmp_path):
    """dcp.load into a training's own state, as a script does it."""
    convert(ours(tmp_path / "a"), tmp_path / "dcp", to="dcp")
    wanted = {"model": {name: torch.zeros_like(value) for name, value in a_state()["model"].items()}}
    dcp.load(wanted, storage_reader=dcp.FileSystemReader(tmp_path / "dcp"))

    assert differing(wanted["model"], a_state()["model"]) == []


@pytest.mark.filterwarnings("ignore:torch.distributed is disabled")
def test_a_dcp_checkpoint_of_another_program_becomes_ours(tmp_path):
    """Lists are lists again, and the numbers of an optimizer's parameters numbers."""
    state = {name: a_state()[name] for name in ("model", "optimizer")}
    dcp.save(state, storage_writer=dcp.FileSystemWriter(tmp_path / "dcp"))
    convert(tmp_path / "dcp", tmp_path / "step-00000007", origin="dcp")
    back, _ = load(tmp_path / "step-00000007")

    assert differing(state, {name: back[name] for name in state}) == []
    assert back["run"] == {"loss": None}


def test_the_safetensors_package_reads_the_model_under_its_own_names(tmp_path):
    """One model.safetensors that says it is of PyTorch; what else there is, is named."""
    reading = pytest.importorskip("safetensors.torch")
    told = convert(ours(tmp_path / "a"), tmp_path / "hf", to="safetensors")
    found = reading.load_file(tmp_path / "hf" / "model.safetensors")

    assert [path.name for path in (tmp_path / "hf").iterdir()] == ["model.safetensors"]
    assert differing(dict(a_state()["model"]), found) == []
    assert {"optimizer", "half", "more", "sgd", "run"} <= set(told["left_behind"])
    with reading.safe_open(tmp_path / "hf" / "model.safetensors", "pt") as file:
        assert file.metadata() == {"format": "pt"}


def test_the_folder_of_checkpoints_is_made_and_only_where_it_is_filled(tmp_path):
    """A refused conversion leaves none behind."""
    torch.save({"model": {"weight": torch.ones(1)}, "run": {"odd": {0: 1, "0": 2}}}, tmp_path / "gpt.pt")
    convert(tmp_path / "gpt.pt", tmp_path / "new" / "step-00000003", origin="torch")
    with pytest.raises(Refused):
        convert(tmp_path / "new" / "step-00000003", tmp_path / "other" / "dcp", to="dcp")

    assert sorted(path.name for path in tmp_path.iterdir()) == ["gpt.pt", "new"]


def test_bare_weights_become_the_model(tmp_path):
    """What `torch.save(model.state_dict())` wrote."""
    torch.save(a_state()["model"], tmp_path / "weights.pt")
    convert(tmp_path / "weights.pt", tmp_path / "step-00000000", origin="torch", name="net")

    assert differing(load(tmp_path / "step-00000000")[0]["net"], dict(a_state()["model"])) == []


class Sneaky:
    """Makes a file when it is unpickled."""

    def __reduce__(self):
        """Code."""
        return os.mkdir, ("sneaked",)


def test_a_file_that_would_run_code_is_refused(tmp_path, monkeypatch):
    """And the code is not run."""
    monkeypatch.chdir(tmp_path)
    torch.save({"model": {}, "evil": Sneaky()}, "evil.pt")
    with pytest.raises(Refused, match="would run code") as refused:
        convert(tmp_path / "evil.pt", tmp_path / "step-00000001", origin="torch")

    assert refused.value.code == "checkpoint-unsafe"
    assert [path.name for path in tmp_path.iterdir()] == ["evil.pt"]


def a_dcp(folder, *, metadata=None, value=7):
    """A DCP checkpoint of torch with another `.metadata`, or another value in place of a number."""
    dcp.save(
        {"model": torch.nn.Linear(2, 2).state_dict(), "step": 7}, storage_writer=dcp.FileSystemWriter(folder)
    )
    about = pickle.loads((folder / ".metadata").read_bytes())
    if metadata:
        (folder / ".metadata").write_bytes(pickle.dumps(metadata(about)))
    if value != 7:
        key, info = next((key, info) for key, info in about.storage_data.items() if key.fqn == "step")
        stream = io.BytesIO()
        torch.save(value, stream)
        data = (folder / info.relative_path).read_bytes() + stream.getvalue()
        info = dataclasses.replace(
            info, offset=len(data) - len(stream.getvalue()), length=len(stream.getvalue())
        )
        (folder / info.relative_path).write_bytes(data)
        (folder / ".metadata").write_bytes(
            pickle.dumps(dataclasses.replace(about, storage_data={**about.storage_data, key: info}))
        )


def outside(about):
    """Metadata that name a file above the folder."""
    moved = {key: dataclasses.replace(info, relative_path="../a") for key, info in about.storage_data.items()}
    return dataclasses.replace(about, storage_data=moved)


@pytest.mark.filterwarnings("ignore:torch.distributed is disabled")
@pytest.mark.parametrize(
    "crafted",
    [
        {"metadata": lambda _about: Sneaky()},
        {"metadata": lambda about: dataclasses.replace(about, planner_data=Sneaky())},
        {"metadata": lambda _about: {"storage_data": {}}},
        {"metadata": outside},
        {"value": Sneaky()},
    ],
    ids=["instead", "inside", "other", "outside", "value"],
)
def test_a_dcp_checkpoint_runs_nothing(tmp_path, monkeypatch, crafted):
    """DCP's own reader would run the code of its metadata and of its values."""
    monkeypatch.chdir(tmp_path)
    a_dcp(tmp_path / "dcp", **crafted)
    with pytest.raises(Refused) as refused:
        convert(tmp_path / "dcp", tmp_path / "step-00000007", origin="dcp")

    assert refused.value.code.startswith("checkpoint-")
    assert "weights_only" not in str(refused.value)  # torch's advice to run the code
    assert [path.name for path in tmp_path.iterdir()] == ["dcp"]


@pytest.mark.filterwarnings("ignore:torch.distributed is disabled")
@pytest.mark.parametrize("name", [".metadata", "__0_0.distcp"])
@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_a_dcp_checkpoint_has_regular_files_only(tmp_path, name, kind):
    """A link of another user leads to a file of the reader, and a pipe waits for ever."""
    a_dcp(tmp_path / "dcp")
    path = tmp_path / "dcp" / name
    if kind == "link":
        path.rename(tmp_path / "private")
        path.symlink_to(tmp_path / "private")
    else:
        path.unlink()
        os.mkfifo(path)
    with pytest.raises(Refused, match="not a regular file"):
        convert(tmp_path / "dcp", tmp_path / "step-00000007", origin="dcp")


@pytest.mark.filterwarnings("ignore:torch.distributed is disabled")
def test_metadata_change_no_class_of_this_process(tmp_path):
    """BUILD sets attributes of whatever it is given, for example how paths are joined."""
    a_dcp(tmp_path / "dcp")
    joined = Path.__truediv__
    (tmp_path / "dcp" / ".metadata").write_bytes(
        b"\x80\x04cpathlib\nPosixPath\n(N}\x8c\x0b__truediv__cpathlib\nPosixPath\nstb."
    )
    with pytest.raises(Refused, match="is set"):
        convert(tmp_path / "dcp", tmp_path / "step-00000007", origin="dcp")
    assert "__truediv__" not in vars(type(Path()))
    assert Path.__truediv__ is joined


@pytest.mark.filterwarnings("ignore:torch.distributed is disabled")
def test_a_member_of_an_enumeration_is_known_as_python_3_11_2_names_it(tmp_path):
    """By getattr, which has no other use in metadata."""
    a_dcp(tmp_path / "dcp")
    about = pickle.loads((tmp_path / "dcp" / ".metadata").read_bytes())

    class Named(pickle._Pickler):
        def reducer_override(self, value):
            return (getattr, (type(value), value.name)) if isinstance(value, enum.Enum) else NotImplemented

    for path in (tmp_path / "dcp" / ".metadata",):
        with path.open("wb") as file:
            Named(file, protocol=4).dump(about)
    assert b"getattr" in (tmp_path / "dcp" / ".metadata").read_bytes()
    convert(tmp_path / "dcp", tmp_path / "step-00000007", origin="dcp")
    forged = b"\x80\x04cbuiltins\ngetattr\ncpathlib\nPosixPath\n\x8c\x03cwd\x86R."
    (tmp_path / "dcp" / ".metadata").write_bytes(forged)
    with pytest.raises(Refused, match="unexpected attribute"):
        convert(tmp_path / "dcp", tmp_path / "step-00000008", origin="dcp")


@pytest.mark.filterwarnings("ignore:torch.distributed is disabled")
def test_no_bytes_are_written_that_are_only_claimed(tmp_path):
    """Of a tensor that repeats one number, and of one that has a shape only."""
    torch.save({"model": {"w": torch.zeros(1).expand(10**12)}}, tmp_path / "a.pt")
    with pytest.raises(Refused, match="claims"):
        convert(tmp_path / "a.pt", tmp_path / "step-00000001", origin="torch")
    a_dcp(tmp_path / "dcp", metadata=huge)
    with pytest.raises(Refused, match="claims"):
        convert(tmp_path / "dcp", tmp_path / "step-00000001", origin="dcp")
    with pytest.raises(ValueError, match="no bytes"):
        tree._tensor("F32", (3 * 10**12,), b"")
    assert tree._tensor("F32", (0, 7), b"").shape == (0, 7)


@pytest.mark.filterwarnings("ignore:torch.distributed is disabled")
def test_a_negative_size_hides_no_claimed_bytes(tmp_path):
    """The sum of the claims would be small, and the memory of the other tensor is reserved first."""

    def hidden(about):
        about = huge(about)
        entries = dict(about.state_dict_metadata)
        key = next(key for key in entries if hasattr(entries[key], "size"))
        entries["negative"] = dataclasses.replace(entries[key], size=torch.Size([-(10**12)]))
        return dataclasses.replace(about, state_dict_metadata=entries)

    a_dcp(tmp_path / "dcp", metadata=hidden)
    with pytest.raises(Refused, match="negative"):
        convert(tmp_path / "dcp", tmp_path / "step-00000001", origin="dcp")


@pytest.mark.filterwarnings("ignore:torch.distributed is disabled")
def test_a_hole_in_a_file_holds_no_claimed_bytes(tmp_path):
    """The size of a sparse file is free."""
    a_dcp(tmp_path / "dcp", metadata=huge)
    (shard,) = (tmp_path / "dcp").glob("*.distcp")
    os.truncate(shard, 10**13)
    with pytest.raises(Refused, match="claims"):
        convert(tmp_path / "dcp", tmp_path / "step-00000001", origin="dcp")


def huge(about):
    """Metadata of a tensor of a terabyte."""
    key, entry = next(
        (key, entry) for key, entry in about.state_dict_metadata.items() if hasattr(entry, "size")
    )
    entry = dataclasses.replace(entry, size=torch.Size([10**12]))
    return dataclasses.replace(about, state_dict_metadata={**about.state_dict_metadata, key: entry})


def test_a_pipe_in_place_of_a_file_of_torch_does_not_block(tmp_path):
    """It is an error at once."""
    os.mkfifo(tmp_path / "f.pt")
    with pytest.raises(Refused, match="regular file"):
        convert(tmp_path / "f.pt", tmp_path / "step-00000001", origin="torch")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_leaves_no_partial_files(tmp_path, number):
    """The conversion is ended while it writes; neither its temporary folder nor a new parent folder stays."""
    torch.save({"model": {"w": torch.ones(4)}}, tmp_path / "a.pt")
    program = (
        "import sys, time\nfrom pathlib import Path\nfrom clusterwright.runtime.checkpoints import convert\n"
        "def write(folder, step, state):\n"
        "    folder.mkdir()\n    (folder / 'part').write_bytes(bytes(1 << 20))\n    print(1, flush=True)\n"
        "    time.sleep(60)\n"
        "convert.write_step = write\n"
        "convert.convert(Path('a.pt'), Path('new/step-00000001'), origin='torch')\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], cwd=tmp_path, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        partial = list(tmp_path.rglob("part"))
        process.send_signal(number)

    assert (process.returncode != 0, len(partial)) == (True, 1)
    assert [path.name for path in tmp_path.iterdir()] == ["a.pt"]


KILLED = (
    "import os\nfrom pathlib import Path\nfrom clusterwright.runtime.checkpoints import convert\n"
    "def write(folder, step, state):\n"
    "    folder.mkdir()\n    (folder / 'part').write_bytes(bytes(9))\n    os.kill(os.getpid(), 9)\n"
    "convert.write_step = write\n"
    "convert.convert(Path('a.pt'), Path('steps/step-00000001'), origin='torch')\n"
)


def test_the_next_conversion_removes_what_a_kill_left(tmp_path):
    """Nothing else: neither a link, another's folder, an unfinished save, nor the folder of one that runs."""
    torch.save({"model": {"w": torch.ones(4)}}, tmp_path / "a.pt")
    folder = tmp_path / "steps"
    assert subprocess.run([sys.executable, "-c", KILLED], cwd=tmp_path, check=False).returncode == -9
    assert len(list(folder.rglob("part"))) == 1
    runs = PartialFolder(folder / "step-00000002")
    precious = tmp_path / "precious"
    for other in (precious, folder / ".partial-generation-1-00aa"):
        other.mkdir()
        (other / "mine").write_text("mine")
    for name in ("conversion.lock", "mine"):
        (precious / name).write_text("mine")
    (folder / ".partial-step-00000001-link").symlink_to(precious)
    before = {path.name for path in folder.iterdir() if not list(path.rglob("part"))}

    convert(tmp_path / "a.pt", folder / "step-00000001", origin="torch")

    assert {path.name for path in folder.iterdir()} == before | {"step-00000001"}
    assert sorted(path.name for path in precious.iterdir()) == ["conversion.lock", "mine"]
    runs.remove()
    assert not list(folder.glob(".partial-step-00000002*"))


def test_a_folder_of_another_user_is_no_leftover(tmp_path):
    """Whoever may write beside the target makes root remove nothing."""
    if os.getuid() != 0:
        pytest.skip("only root gives a folder to another user")
    theirs = tmp_path / ".partial-a-1"
    theirs.mkdir()
    (theirs / "conversion.lock").write_text("")
    os.chown(theirs, 65534, 65534)
    PartialFolder(tmp_path / "a").remove()

    assert [path.name for path in theirs.iterdir()] == ["conversion.lock"]


def test_a_link_in_place_of_the_temporary_folder_is_not_followed(tmp_path, monkeypatch):
    """Another user who may write beside the target exchanges it while the result is written."""
    ours(tmp_path / "run")
    target, elsewhere = tmp_path / "t", tmp_path / "elsewhere"
    target.mkdir()
    elsewhere.mkdir()
    write, read = forms.FORMS["torch"]

    def exchange(state, path):
        [partial] = target.glob(".partial-*")
        partial.rename(target / "gone")
        partial.symlink_to(elsewhere)
        write(state, path)

    monkeypatch.setitem(forms.FORMS, "torch", (exchange, read))
    convert(tmp_path / "run" / "step-00000100", target / "model.pt", to="torch")

    assert not list(elsewhere.iterdir())
    assert (target / "model.pt").is_file()


def test_another_model_is_refused_by_its_tensors(tmp_path):
    """A run's folder holds one model; both shapes are said."""
    ours(tmp_path / "run")
    torch.save(a_state(width=8), tmp_path / "wide.pt")
    with pytest.raises(
        Refused, match=r"model/0.weight is \[6, 4\] in the folder and \[8, 4\] in the new checkpoint"
    ) as refused:
        convert(tmp_path / "wide.pt", tmp_path / "run" / "step-00000200", origin="torch")

    assert refused.value.code == "checkpoint-other-model"
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["step-00000100"]


@pytest.mark.parametrize(
    ("how", "code"),
    [
        ({"to": "torch"}, "checkpoint-target-there"),
        ({"origin": "safetensors"}, "checkpoint-form"),
        ({"to": "torch", "origin": "dcp"}, "checkpoint-form"),
        ({}, "checkpoint-form"),
    ],
)
def test_nothing_is_written_over_and_one_way_is_chosen(tmp_path, how, code):
    """What is there stays as it is."""
    (tmp_path / "there").write_text("precious")
    with pytest.raises(Refused) as refused:
        convert(ours(tmp_path / "a"), tmp_path / ("there" if code.endswith("there") else "new"), **how)

    assert refused.value.code == code
    assert (tmp_path / "there").read_text() == "precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "there"]


def test_a_target_is_named_after_its_step(tmp_path):
    """The step of what comes from elsewhere is said by the folder's name."""
    torch.save(a_state(), tmp_path / "gpt.pt")
    with pytest.raises(Refused, match="which contains the step"):
        convert(tmp_path / "gpt.pt", tmp_path / "mine", origin="torch")
    assert [path.name for path in tmp_path.iterdir()] == ["gpt.pt"]


def test_a_damaged_checkpoint_is_not_converted(tmp_path):
    """One flipped bit."""
    source = ours(tmp_path / "a")
    (path,) = source.glob("*.safetensors")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(Refused) as refused:
        convert(source, tmp_path / "gpt.pt", to="torch")

    assert refused.value.code == "checkpoint-damaged"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize("form", ["torch", "dcp", "safetensors"])
def test_a_full_disk_leaves_nothing(tmp_path, small_disk, form):
    """Whole or not at all."""
    source = ours(tmp_path / "a", {"model": {"weight": torch.randn(1_000_000)}})
    disk = small_disk(2)
    with pytest.raises(Refused, match="No space left on device") as refused:
        convert(source, disk / "other", to=form)

    assert refused.value.code == "checkpoint-not-written"
    assert list(disk.iterdir()) == []


def test_into_ours_on_a_full_disk_leaves_nothing(tmp_path, small_disk):
    """The same the other way."""
    torch.save({"model": {"weight": torch.randn(1_000_000)}}, tmp_path / "gpt.pt")
    disk = small_disk(2)
    with pytest.raises(Refused, match="No space left on device"):
        convert(tmp_path / "gpt.pt", disk / "step-00000001", origin="torch")
    assert list(disk.iterdir()) == []


def test_a_form_that_cannot_hold_it_is_refused(tmp_path):
    """DCP takes 0 and "0" for the same key; and says so."""
    source = ours(tmp_path / "a", {"model": {"0": torch.ones(1), 0: torch.zeros(1)}})
    with pytest.raises(Refused) as refused:
        convert(source, tmp_path / "dcp", to="dcp")

    assert refused.value.code == "checkpoint-not-carried"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize("form", ["torch", "dcp"])
def test_what_is_not_of_the_form_is_refused(tmp_path, form):
    """Text, an empty folder, nothing at all."""
    (tmp_path / "text").write_text(json.dumps({"model": 1}))
    (tmp_path / "folder").mkdir()
    for name in ("text", "folder", "absent"):
        with pytest.raises(Refused):
            convert(tmp_path / name, tmp_path / "step-00000001", origin=form)
    shutil.rmtree(tmp_path / "folder")

    assert [path.name for path in tmp_path.iterdir()] == ["text"]

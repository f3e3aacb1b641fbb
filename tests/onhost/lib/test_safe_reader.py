"""Files that anybody may have written."""

import json
import os

import pytest

from clusterwright.onhost.lib import by_owner, safe_reader
from clusterwright.onhost.lib.safe_reader import (
    Budget,
    UnsafeFileError,
    is_regular,
    list_folder,
    parse_document,
    read_bytes,
    read_object,
    read_part,
    read_text,
    text_or_empty,
)

pytestmark = pytest.mark.timeout(20)  # what blocks fails


def pipe(path):
    """Who opens it waits for a writer."""
    os.mkfifo(path)


def endless(path):
    """A link to what never ends."""
    path.symlink_to("/dev/zero")


def circle(path):
    """Two links that lead to each other."""
    path.symlink_to("circle")
    path.with_name("circle").symlink_to(path.name)


def secret(path):
    """A link to a file that only its owner can read."""
    target = path.with_name("secret")
    target.write_text("secret")
    target.chmod(0o400)
    path.symlink_to(target)


def folder(path):
    """No file at all."""
    path.mkdir()


TRAPS = (pipe, endless, circle, secret, folder)


@pytest.mark.parametrize("trap", TRAPS)
def test_what_is_no_regular_file_is_refused(tmp_path, trap):
    """At once, and by name."""
    path = tmp_path / "file"
    trap(path)

    with pytest.raises(UnsafeFileError, match=f"{path} is a"):
        read_bytes(path)
    with pytest.raises(UnsafeFileError):
        read_part(path, 10)
    assert not is_regular(path)
    assert (text_or_empty(path), read_object(path)) == ("", {})


@pytest.mark.parametrize("trap", TRAPS)
def test_a_file_that_is_exchanged_meanwhile_is_refused(tmp_path, monkeypatch, trap):
    """The look before and the opening may meet two different files."""
    path, good = tmp_path / "file", tmp_path / "good"
    trap(path)
    good.write_text("text")
    look = os.lstat
    monkeypatch.setattr(safe_reader.os, "lstat", lambda _path: look(good))

    with pytest.raises(OSError, match=r"file"):
        read_bytes(path)


def test_ten_gigabytes_are_not_read(tmp_path):
    """A sparse file costs its writer nothing."""
    path = tmp_path / "file"
    with path.open("wb") as file:
        file.truncate(10 << 30)

    with pytest.raises(UnsafeFileError, match="larger than 1000 bytes"):
        read_bytes(path, 1000)
    assert read_object(path) == {}
    assert read_part(path, 3) == read_part(path, 10, -3) == b"\0\0\0"


def test_parts_of_a_file(tmp_path):
    """From its beginning, its middle and its end."""
    path = tmp_path / "file"
    path.write_bytes(b"0123456789")

    assert [read_part(path, 3), read_part(path, 3, 8), read_part(path, 9, -2), read_part(path, 3, -99)] == [
        b"012", b"89", b"89", b"012",
    ]  # fmt: skip
    assert (read_bytes(path, 10), read_text(path)) == (b"0123456789", "0123456789")


def test_a_limit_beyond_all_memory_reserves_none(tmp_path):
    """Only what is there is read."""
    (tmp_path / "file").write_text("text")

    assert read_part(tmp_path / "file", 1 << 50) == read_bytes(tmp_path / "file", 1 << 50) == b"text"
    assert read_part(tmp_path / "file", 9, 99) == b""


def test_a_folder_above_that_is_a_link_leads_outside(tmp_path):
    """Root is not led to a file that only root can read."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").write_text("secret")
    run = tmp_path / "run"
    (run / "logs").mkdir(parents=True)
    (run / "logs" / "file").write_text("log")
    (run / "events").symlink_to(tmp_path / "outside")

    assert read_text(run / "events" / "file") == "secret"
    assert read_text(run / "logs" / "file", inside=run) == "log"
    with pytest.raises(UnsafeFileError, match="lies outside"):
        read_text(run / "events" / "file", inside=run)


def test_the_run_itself_may_be_reached_over_a_link(tmp_path):
    """Shared folders often are."""
    (tmp_path / "disk").mkdir()
    (tmp_path / "disk" / "file").write_text("log")
    (tmp_path / "run").symlink_to("disk")

    assert read_text(tmp_path / "run" / "file", inside=tmp_path / "run") == "log"


@pytest.mark.parametrize("text", ["", "[]", "3", '{"a": ', "[" * 100_000, "\udcff"])
def test_what_is_no_object_is_an_empty_one(tmp_path, text):
    """Torn, another type, nested without end, no UTF-8."""
    (tmp_path / "file").write_text(text, errors="surrogateescape")

    assert read_object(tmp_path / "file") == {}


def test_a_folder_of_too_many_is_listed_up_to_the_limit(tmp_path):
    """And one that is not there has nothing."""
    for number in range(30):
        (tmp_path / f"{number:02}").touch()

    assert list_folder(tmp_path) == [f"{number:02}" for number in range(30)]
    assert len(list_folder(tmp_path, 10)) == 10
    assert list_folder(tmp_path / "none") == []


@pytest.mark.skipif(os.geteuid() != 0, reason="folders of two users need root")
def test_a_user_with_many_uids_has_one_share(tmp_path):
    """The uids of a user namespace have no account; of those that have one, each has a share."""
    for number in range(50):
        (tmp_path / str(number)).mkdir()
        os.chown(tmp_path / str(number), 7_000_000 + number, 7_000_000 + number)
    for uid in (1, 2):
        (tmp_path / f"user-{uid}").mkdir()
        os.chown(tmp_path / f"user-{uid}", uid, uid)
    paths = [str(path) for path in tmp_path.iterdir()]
    limits = {os.path.basename(path): budget for path, budget in by_owner.by_owner(paths, 60.0, 1 << 30)}

    assert limits["0"] is limits["49"]
    assert limits["user-1"] is not limits["user-2"]
    assert limits["user-1"].output >= safe_reader.OUTPUT_BYTES // 3


@pytest.mark.skipif(os.geteuid() != 0, reason="folders of two users need root")
def test_the_results_of_one_owner_leave_room_for_those_of_others(tmp_path):
    """The runner drops the output of a program that prints too much, with the results of all."""
    folders = {}
    for name, uid in (("bulk-1", 2), ("bulk-2", 2), ("small", 1)):
        folders[name] = tmp_path / name
        folders[name].mkdir()
        os.chown(folders[name], uid, uid)
    text = "x" * (safe_reader.OUTPUT_BYTES // 3)
    rows = by_owner.read_by_owner(
        map(str, folders.values()),
        10.0,
        1 << 30,
        lambda path: "7" if path.endswith("small") else [text, text],
    )
    found = {os.path.basename(path): (result is not None, type(error)) for path, result, error in rows}

    assert found == {
        "small": (True, type(None)),
        "bulk-1": (True, type(None)),
        "bulk-2": (False, safe_reader.OverBudgetError),
    }


@pytest.mark.parametrize(
    "text", ["[" * 65 + "]" * 65, '{"a":[' * 33 + "]}" * 33, '["[", ' * 65 + "1" + "]" * 65]
)
@pytest.mark.parametrize("frames", [0, 500])
def test_json_of_a_depth_is_refused_whoever_reads_it(text, frames):
    """What one Python or one caller takes, another one would refuse, with the data of all users in the document."""
    if frames:
        test_json_of_a_depth_is_refused_whoever_reads_it(text, frames - 1)
        return
    with pytest.raises(ValueError, match="nested too deeply"):
        parse_document(text)


@pytest.mark.parametrize(
    "text", ["[" * 64 + "]" * 64, "[" + "[], " * 99 + "1]", '["' + "[" * 99 + '\\"]"]', '["\\\\", [[]]]']
)
def test_brackets_beside_each_other_and_in_strings_are_no_depth(text):
    """Also behind quotation marks in a string."""
    assert parse_document(text) == json.loads(text)


def test_a_result_that_would_spoil_the_whole_document_is_refused():
    """With the results of others it is one document, of which nothing is read then."""
    budget = Budget(1, 1000)
    for result in ({"x": json.loads("[" * 40 + "]" * 40)}, {"x": 10**60}):
        with pytest.raises(ValueError, match=r"nested too deeply|an integer with"):
            budget.charge_output(result)


def test_a_file_of_proc_is_read_whole():
    """Its size is 0; the limit holds as for other files."""
    assert b"python" in read_bytes("/proc/self/cmdline")
    with pytest.raises(UnsafeFileError, match="larger than 3 bytes"):
        read_bytes("/proc/self/cmdline", 3)


def test_a_document_of_millions_of_values_is_refused_before_they_take_memory():
    """64 MiB of empty lists take 1.5 GB; commas and brackets in texts are no values."""
    with pytest.raises(ValueError, match="values"):
        safe_reader.parse_document("[" + ",".join(["[]"] * safe_reader.VALUES) + "]")
    endless = "," * (safe_reader.VALUES + 1) + '"' + '\\"' * 1_000_000 + "\\"  # in quadratic time, for hours
    with pytest.raises(ValueError, match="values"):
        safe_reader.parse_document(endless)
    text = json.dumps([",[{" * safe_reader.VALUES])

    assert safe_reader.parse_document(text) == [",[{" * safe_reader.VALUES]

"""Names of objects and the description of an upload, which whoever writes to the bucket chooses."""

import json

import pytest

from clusterwright.onhost.object_storage.layout import (
    InvalidUploadError,
    UploadedFile,
    UploadRecord,
    format_record,
    outdated,
    parse_record,
    parse_target,
    steps_of,
)

RECORD = UploadRecord(7, "step-00000007.0a1b2c3d/", [UploadedFile("part-0", 3, "a" * 64)], 0.5)


@pytest.mark.parametrize(
    ("url", "bucket", "prefix"),
    [("s3://models/gpt", "models", "gpt/"), ("s3://models", "models", ""), ("s3://m/a/b/", "m", "a/b/")],
)
def test_a_target_is_a_bucket_and_a_prefix(url, bucket, prefix):
    """The prefix is empty or ends with one slash."""
    target = parse_target(url)

    assert (target.bucket, target.prefix) == (bucket, prefix)


def test_an_upload_is_read_as_it_was_written():
    """All fields."""
    assert parse_record(format_record(RECORD), 7) == RECORD


@pytest.mark.parametrize(
    "change",
    [
        {"step": 8},
        {"schema": 2},
        {"folder": "../step-00000007.0a1b2c3d/"},
        {"folder": "step-00000008.0a1b2c3d/"},
        {"files": []},
        {"files": [{"name": "../../.bashrc", "bytes": 3, "sha256": "a" * 64}]},
        {"files": [{"name": ".partial", "bytes": 3, "sha256": "a" * 64}]},
        {"files": [{"name": "part-0", "bytes": -1, "sha256": "a" * 64}]},
        {"files": [{"name": "part-0", "bytes": 2**63, "sha256": "a" * 64}]},
        {"files": [{"name": "part-0", "bytes": 3, "sha256": "short"}]},
        {"files": [{"name": "part-0", "bytes": 3, "sha256": "a" * 64}] * 2},
        {"files": [{"name": "part-0"}]},
    ],
)
def test_a_description_of_other_values_is_refused(change):
    """No name leaves the folder of the checkpoint, and no field is missing."""
    document = {**json.loads(format_record(RECORD)), **change}
    with pytest.raises(InvalidUploadError):
        parse_record(json.dumps(document).encode(), 7)


def test_a_step_has_the_digits_of_a_file_name():
    """A crafted object with 900 digits would end the restore before an intact upload."""
    names = [f"complete/step-{digits}.json" for digits in ("9" * 900, "9" * 18, "00000007", "7")]

    assert steps_of(names) == [10**18 - 1, 7]


def test_what_is_not_json_is_refused():
    """Half an object as well."""
    for data in (b"", b"[]", format_record(RECORD)[:-9], b"[" * 100_000):
        with pytest.raises(InvalidUploadError):
            parse_record(data, 7)


def test_the_newest_and_the_best_are_retained():
    """As in the local folder: a value that is no number is no best one."""
    values = {1: 0.9, 2: 0.1, 3: None, 4: float("nan"), 5: 0.5, 6: 0.5}

    assert outdated(values, 2) == [4, 3, 1]
    assert outdated({1: None, 2: None, 3: None}, 2) == [1]
    assert outdated({}, 2) == []


def test_steps_are_read_from_the_names_of_complete_uploads():
    """Other names are no uploads."""
    names = ["complete/step-00000007.json", "complete/step-00000100.json", "complete/x", "step-00000001.json"]

    assert steps_of(names) == [100, 7]

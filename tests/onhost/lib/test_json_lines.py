"""Journals of JSON objects."""

import os

import pytest

from clusterwright.onhost.lib import json_lines
from clusterwright.onhost.lib.json_lines import read_lines
from clusterwright.onhost.lib.safe_reader import UnsafeFileError


def test_lines_are_read_in_order(tmp_path):
    """As they were appended."""
    (tmp_path / "journal").write_text("".join(f'{{"number": {number}}}\n' for number in range(3)))

    assert [line["number"] for line in read_lines(tmp_path / "journal")] == [0, 1, 2]


def test_lines_that_are_no_objects_are_passed_over(tmp_path, monkeypatch):
    """Torn, another type, no JSON, too long, cut at the end."""
    monkeypatch.setattr(json_lines, "LINE_BYTES", 100)
    long = b'{"a": "' + b"x" * 300 + b'"}'
    (tmp_path / "journal").write_bytes(b'{"a": 1}\n[2]\n{"a"\n' + long + b'\n\xff\n{"a": 3}\n{"a": 4')

    assert list(read_lines(tmp_path / "journal")) == [{"a": 1}, {"a": 3}]


def test_reading_ends_at_the_limit(tmp_path):
    """A file without end has one."""
    (tmp_path / "journal").write_text('{"a": 1}\n' * 100)

    assert len(list(read_lines(tmp_path / "journal", 45))) == 5


def test_a_pipe_is_refused(tmp_path):
    """And does not block."""
    os.mkfifo(tmp_path / "journal")

    with pytest.raises(UnsafeFileError):
        list(read_lines(tmp_path / "journal"))

"""Journals of JSON objects."""

import os

import pytest

from clusterwright.onhost.lib import json_lines
from clusterwright.onhost.lib.json_lines import JsonLines, read_lines
from clusterwright.onhost.lib.safe_reader import UnsafeFileError


def test_what_is_appended_is_read(tmp_path):
    """In order, by several writers."""
    for number in range(3):
        JsonLines(tmp_path / "journal").append({"number": number})

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


def test_after_a_torn_line_a_new_one_begins(tmp_path, monkeypatch):
    """A full disk takes half of one."""
    journal, write = JsonLines(tmp_path / "journal"), os.write
    monkeypatch.setattr(os, "write", lambda handle, data: write(handle, data[:4]))
    with pytest.raises(OSError, match="took 4 of"):
        journal.append({"number": 1})
    monkeypatch.undo()
    journal.append({"number": 2})

    assert list(read_lines(tmp_path / "journal")) == [{"number": 2}]

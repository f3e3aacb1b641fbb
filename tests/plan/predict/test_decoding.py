"""Bytes of a table as text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterwright.errors import WrightError
from clusterwright.plan.predict.decoding import decode


def test_utf8_with_and_without_a_mark():
    """The mark is no part of the first column's name."""
    assert decode(b"a,b\n1,2\n").lines == ("a,b", "1,2", "")
    assert decode(b"\xef\xbb\xbfa,b\r\n1,2").lines == ("a,b", "1,2")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf16_is_read_and_said(encoding):
    """Spreadsheets write it, with a mark or without."""
    text = decode("model,gpu_type\nGröße,H100\n".encode(encoding))

    assert text.lines[1] == "Größe,H100"
    assert "UTF-16" in text.remarks[1]


def test_a_line_that_is_not_utf8_is_said_with_its_byte():
    """The other lines stay what they are."""
    data = "a,b\nü,1\n".encode() + "é,2\n".encode("latin-1") + b"c,3\n"

    text = decode(data)

    assert text.lines == ("a,b", "ü,1", "é,2", "c,3", "")
    assert list(text.remarks) == [3]
    assert text.remarks[3].startswith(f"byte {data.index(0xE9)} is 0xe9")


def test_zeros_inside_a_line_are_taken_out():
    """A stretch of UTF-16 in a UTF-8 file is still readable, and said."""
    text = decode(b"a,b,some,more,columns\n" + "x".encode("utf-16-le") + b",1,2,3,4\n")

    assert text.lines[1] == "x,1,2,3,4"
    assert "byte 23 is 0" in text.remarks[2]


@pytest.mark.parametrize("data", [b"", b"\n\n", b"\xef\xbb\xbf", b"  \t\r\n"])
def test_nothing_is_refused(data):
    """An empty file is no table."""
    with pytest.raises(WrightError) as caught:
        decode(data)

    assert caught.value.findings[0].code == "predict-empty"


@given(st.binary(min_size=1, max_size=200))
def test_any_bytes_are_text_or_refused(data):
    """No bytes make it fail otherwise."""
    try:
        text = decode(data)
    except WrightError:
        return

    assert all(isinstance(line, str) for line in text.lines)

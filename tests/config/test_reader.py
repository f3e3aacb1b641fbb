"""What a YAML text may hold, and what is refused with its place."""

import gzip

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clusterwright.config.reader import MAX_BYTES, parse_scalar, read
from clusterwright.errors import SpecError

BITS = [
    "a",
    ":",
    " ",
    "\n",
    "- ",
    "[",
    "]",
    "{",
    "}",
    "&x",
    "*x",
    "!t",
    "|",
    "\t",
    "'",
    '"',
    "#",
    "no",
    "%",
    "?",
    "<<",
    "1",
    "\x00",
    "é",
]


def findings(text):
    """The codes and lines of what is refused, whether reading went on or not."""
    try:
        found = read(text, "f.yaml").findings
    except SpecError as error:
        found = error.findings
    return [(one.code, one.places[0].line) for one in found]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12:30:00", "12:30:00"),
        ("22.05", 22.05),
        ("8", 8),
        ("-1", -1),
        ("0x1F", 31),
        ("1e-3", 0.001),
        (".5", 0.5),
        ("true", True),
        ("False", False),
        ("no", "no"),
        (".nan", ".nan"),
        ("1e999999", "1e999999"),
        ("9" * 25, "9" * 25),
        ("1_000", "1_000"),
    ],
)
def test_scalars_are_read_as_yaml_1_2(text, value):
    """Times stay text, and only true and false are booleans."""
    assert parse_scalar(text) == value
    assert type(parse_scalar(text)) is type(value)


def test_values_and_places():
    """Each value and key has its line and column, and lists become tuples."""
    source = read("a: 1\nb:\n  c: [x, 'y z']\n", "f.yaml")

    assert source.values == {"a": 1, "b": {"c": ("x", "y z")}}
    assert str(source.location(("b", "c", 1))) == "f.yaml:3:10  b.c[1]: 'y z'"
    assert str(source.location(("b", "c"), key=True)) == "f.yaml:3:3  b.c"
    assert str(source.location(("b", "d"))) == "f.yaml:2:1  b.d: (not set)"
    assert str(source.location(("z", "d"))) == "f.yaml:1:1  z.d: (not set)"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", [("not-a-mapping", 1)]),
        ("# only a comment\n", [("not-a-mapping", 1)]),
        ("- a\n", [("not-a-mapping", 1)]),
        ("just text", [("not-a-mapping", 1)]),
        ("a: 1\na: 2\n", [("repeated-key", 1)]),
        ("a: {b: 1, c: 2, b: 3}\n", [("repeated-key", 1)]),
        ("a: no\nb: Off\nc: yes\nd: ON\n", [("ambiguous-yaml", line) for line in (1, 2, 3, 4)]),
        ("on: 1\n", [("ambiguous-yaml", 1)]),
        ("a: 0755\n", [("ambiguous-yaml", 1)]),
        ("a: 0o17\n", [("ambiguous-yaml", 1)]),
        ("a: -0755\n", [("ambiguous-yaml", 1)]),
        ('a: "\\ud83d"\n"\\ude00": 1\n', [("bad-text", 1), ("bad-text", 2)]),
        ("a: 'no'\nb: \"0755\"\nc: 0\n", []),
        ("a:\nb: ~\nc: null\n", [("empty-value", 1), ("empty-value", 2), ("empty-value", 3)]),
        ("a: &x 1\nb: *x\n", [("yaml-feature", 1), ("yaml-feature", 2)]),
        ("a: !!str 1\n", [("yaml-feature", 1)]),
        ("<<: {a: 1}\n", [("yaml-feature", 1)]),
        ("a: 1\n---\nb: 2\n", [("yaml-feature", 2)]),
        ("%YAML 1.1\n---\na: 1\n", [("yaml-feature", 2)]),
        ("? [a]\n: 1\n", [("yaml-feature", 1)]),
        ("a: [1, 2\n", [("yaml-syntax", 1)]),
        ("a: 'x\n", [("yaml-syntax", 1)]),
        ("a:\n\tb: 1\n", [("yaml-syntax", 2)]),
        ("nodes:\n  control:\n    role\n    hosts: x\n", [("yaml-syntax", 3)]),
        ("a: " + "[" * 3000, [("yaml-feature", 1)]),
        ("a: \x07", [("yaml-syntax", None)]),
    ],
)
def test_what_is_refused(text, expected):
    """Every part of YAML that readers disagree on, that hides a place, or that is not YAML."""
    assert findings(text) == expected


def test_an_alias_bomb_stays_small():
    """Nine levels of nine aliases are refused one by one, not expanded."""
    text = "a: &a [x]\n" + "".join(
        f"{c}: &{c} [{', '.join([f'*{chr(ord(c) - 1)}'] * 9)}]\n" for c in "bcdefghij"
    )

    assert {code for code, _ in findings(text)} == {"yaml-feature"}


@pytest.mark.parametrize(
    ("data", "fix"),
    [
        (gzip.compress(b"name: x", mtime=0), "gunzip c.yaml"),
        ("name: x".encode("utf-16"), "iconv -f UTF-16 -t UTF-8 c.yaml"),
        (b"\x7fELF\x00\xff", "the file is not text"),
        (b"name: caf\xe9", "iconv -f LATIN1 -t UTF-8 c.yaml"),
    ],
)
def test_the_fix_of_other_encodings_converts_the_file(data, fix):
    """Re-coding a compressed file from Latin-1 would only damage it."""
    with pytest.raises(SpecError) as caught:
        read(data, "c.yaml")

    assert fix in caught.value.findings[0].fix


def test_bytes_that_are_not_utf_8():
    """The first bad byte is named by line and column."""
    with pytest.raises(SpecError, match="byte 9 is 0xff, which is not UTF-8") as caught:
        read(b"a: 1\nb: \xff\n", "f.yaml")

    assert str(caught.value.findings[0].places[0]).startswith("f.yaml:2:4")


def test_characters_that_json_writes_as_pairs_are_one():
    """A file may be JSON, whose escapes have 16 bits."""
    assert read('{"a": "\\ud83d\\ude00"}', "f.yaml").values == {"a": "\U0001f600"}


def test_a_byte_order_mark_is_taken():
    """Editors of other systems put one."""
    assert read(b"\xef\xbb\xbfa: 1\n", "f.yaml").values == {"a": 1}


def test_a_huge_file_is_not_read():
    """A megabyte is refused before it is parsed."""
    assert findings("a: " + "x" * MAX_BYTES) == [("file-too-large", None)]


def test_control_characters_do_not_reach_the_terminal():
    """A name with an escape sequence is written out."""
    found = read('"\\e[31m": 1\n"\\e[31m": 2\n', "f.yaml").findings

    assert "\x1b" not in str(found[0])
    assert "\\x1b[31m" in str(found[0])


def refused(text):
    """True when it is refused as a whole; anything but a SpecError fails the test."""
    try:
        source = read(text, "f.yaml")
    except SpecError as error:
        return bool(error.findings)
    return not isinstance(source.values, dict)


@settings(max_examples=300)
@given(st.one_of(st.text(), st.lists(st.sampled_from(BITS), max_size=40).map("".join)))
def test_any_text_is_read_or_refused(text):
    """No text makes the reader fail in another way than by SpecError."""
    assert refused(text) in (True, False)


@given(st.binary())
def test_any_bytes_are_read_or_refused(data):
    """Nor do any bytes."""
    assert refused(data) in (True, False)

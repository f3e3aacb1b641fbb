"""Every fault of a text that is not YAML, at its own line."""

import random
import re
from pathlib import Path

import pytest

from clusterwright.config.reader import read
from clusterwright.config.yaml_faults import yaml_faults
from clusterwright.errors import SpecError

ROOT = Path(__file__).parents[2]
GOOD = sorted((ROOT / "examples").glob("*/*.yaml"))
_LINE = re.compile(r"(\s*)([a-z_][\w-]*): ([^\s\[{\"'|>#][^\[{\"'|>#]*)")
_BRACKETS = re.compile(r"(\s*)([a-z_][\w-]*): (\[[^\[\]]*\]|\{[^{}]*\})")


def damaged(line, kind):
    """The line with one mistake, None where it cannot have that one."""
    match = (_BRACKETS if kind == "bracket" else _LINE).fullmatch(line)
    if not match:
        return None
    indent, key, value = match.groups()
    return {
        "colon": f"{indent}{key} {value}",
        "space": f"{indent}{key}:{value}",
        "tab": f"\t{indent[2:]}{key}: {value}" if indent else None,
        "quote": f'{indent}{key}: "{value}',
        "bracket": line[:-1],
        "twice": f"{line}\n{line}",
    }[kind]


def findings(text):
    """All findings about a text."""
    try:
        return read(text, "f.yaml").findings
    except SpecError as error:
        return error.findings


@pytest.mark.parametrize("file", GOOD, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_a_good_file_has_no_fault(file):
    """The scan is no second parser: what YAML accepts, it accepts."""
    text = file.read_text()

    assert yaml_faults(text) == ([], text)


def test_up_to_four_faults_are_each_reported_at_their_line():
    """Mistakes of several kinds in good files: all in one run, none elsewhere."""
    chance = random.Random(3)
    counted = 0
    while counted < 60:
        lines = chance.choice(GOOD).read_text().splitlines()
        mistakes = {}
        for number in chance.sample(range(len(lines)), min(len(lines), chance.randint(4, 12))):
            kind = chance.choice(["colon", "space", "tab", "quote", "bracket", "twice"])
            if len(mistakes) < 4 and (wrong := damaged(lines[number], kind)):
                mistakes[number] = (kind, wrong)
        if {kind for kind, _wrong in mistakes.values()} <= {"twice"}:
            continue
        counted += 1
        text, expected = [], set()
        for number, line in enumerate(lines):
            kind, wrong = mistakes.get(number, ("", line))
            text += wrong.split("\n")
            expected |= {"twice": {len(text) - 1, len(text)}, "": set()}.get(kind, {len(text)})

        places = {place.line for finding in findings("\n".join(text) + "\n") for place in finding.places}

        assert places == expected, "\n".join(text)


@pytest.mark.parametrize(
    ("text", "line", "fix"),
    [
        ("os: debian-12\nname campus\ntime: {}\n", 2, "write the line as `name: campus`"),
        ("os:debian-12\nname: campus\n", 1, "write the line as `os: debian-12`"),
        ("a:\n\tb: 1\n", 2, "indent with spaces, here 2: `b: 1`"),
        ("a: 'x\nb: 2\n", 1, "write the line as `a: 'x'`"),
        ('a: ["x, y]\nb: 2\n', 1, 'write the line as `a: ["x, y"]`'),
        ("a: {b: [1, 2}\nc: 1\n", 1, "write the line as `a: {b: [1, 2]}`"),
        ("a: [1,\n  2\nb: 1\n", 1, "close it: write line 2 as `2]`"),
        ("a: b: c\nd: 1\n", 1, 'write the line as `a: "b: c"`'),
        ("a: 'it's'\nd: 1\n", 1, "write the line as `a: \"'it's'\"`"),
        ("a: 1\n   b: 2\nc: 3\n", 2, "indent with spaces, here 0: `b: 2`"),
        ("a:\n  b: 1\n c: 2\n", 3, "indent with spaces, here 2: `c: 2`"),
        ("nodes\n  control:\n    role: x\n", 1, "write the line as `nodes:`"),
        ("a: [1, 2", 1, "close the open bracket or quote; the file may be truncated"),
    ],
)
def test_the_fix_is_the_line_to_write(text, line, fix):
    """One finding, at the line of the mistake, with what to type."""
    (finding,) = findings(text)

    assert (finding.code, finding.places[0].line, finding.fix) == ("yaml-syntax", line, fix)


def test_text_that_is_no_yaml_has_one_error():
    """A page of prose is not a file with a hundred missing colons."""
    assert len(findings("Dear all,\nthis is: a: letter\nwith lines\n" * 20)) == 1


@pytest.mark.parametrize("file", ["job.yaml", "job.json"])
def test_the_markers_of_an_unfinished_merge_are_named_with_their_lines(file):
    """All markers of all conflicts, in YAML and JSON."""
    conflict = "<<<<<<< HEAD\nnodes: 2\n=======\nnodes: 3\n>>>>>>> other\n"

    with pytest.raises(SpecError) as refused:
        read(f"name: x\n{conflict}time: 1h\n{conflict}", file)

    (finding,) = refused.value.findings
    assert finding.message == "the file has the markers of an unfinished merge"
    assert [place.line for place in finding.places] == [2, 4, 6, 8, 10, 12]


@pytest.mark.parametrize(
    ("text", "line", "fix"),
    [
        ("{\n 'name': 'x', 'nodes' 2}", 2, "write each key in double quotes"),
        ('{"name": "x"\n "nodes": 2}', 2, "put a comma between"),
        ('{"name": "x",\n "nodes" 2 3: [}', 2, "put a colon between"),
        ('{"name": "x"}\n}', 2, "remove what follows"),
    ],
)
def test_a_json_file_has_errors_of_json(text, line, fix):
    """With the line, not in the words of YAML."""
    with pytest.raises(SpecError) as refused:
        read(text, "job.json")

    (finding,) = refused.value.findings
    assert finding.message.startswith("the file is not valid JSON: ")
    assert finding.places[0].line == line
    assert finding.fix.startswith(fix)

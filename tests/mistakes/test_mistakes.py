"""Mistakes that people make in a cluster file: each is refused, at its place, with a fix that works.

A row is one change of good.yaml. `follow` is what its fix asks, as a change of the bad text; without it the
fix is followed by what it says alone.
"""

import re
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from clusterwright.cli.validate import validate
from clusterwright.config.load import cluster_of
from clusterwright.config.reader import read
from clusterwright.errors import EXIT_USAGE, SpecError

HERE = Path(__file__).parent
GOOD = (HERE / "good.yaml").read_text()
TABLES = sorted(file for file in HERE.glob("*.yaml") if file.name != "good.yaml")
ROWS = [(file.stem, row) for file in TABLES for row in YAML(typ="safe").load(file)]
TOKEN = r'"[^"]*"|\[[^\]]*\]|[^\s,\]}]+'


def changed(text, change):
    """The text with each old part, which is there exactly once, as the new one."""
    for old, new in change.items():
        assert text.count(old) == 1, f"{old!r} is there {text.count(old)} times"
        text = text.replace(old, new)
    return text


def findings(text):
    """Everything that is said of a cluster file."""
    try:
        cluster_of(read(text, "cluster.yaml"))
    except SpecError as error:
        return error.findings
    return ()


def followed(text, finding):
    """The text after its fix, where the fix says what to write and where; None where it is for a person."""
    for pattern in (
        r"did you mean `([^`]+)`\?",
        r'write the \w+ in quotes: (?:\w+: )?(".+")$',
        r"write the value without quotes: \w+: (\S+)$",
        r"(?:lower|raise) (?:the value|`\w+`) to (\S+)$",
        r"^write (\S+|\[.+\])$",
        r"set (?P<field>[\w.]+) to ([^\s,]+)",
    ):
        if found := re.search(pattern, finding.fix):
            field = found.groupdict().get("field", "").rpartition(".")[2]
            place = next((one for one in finding.places if one.path.endswith(field)), None)
            is_key = finding.code == "unknown-key"
            if place is None or place.value == "(not set)":
                return None
            return written(text, place, found[found.re.groups], is_key=is_key)
    return None


def written(text, place, value, *, is_key):
    """The text with the value (or key) at a place as another; a list has its place at its key."""
    lines = text.splitlines(keepends=True)
    line, at = lines[place.line - 1], place.column - 1
    token = re.compile(TOKEN).match(line, at)[0]
    if line.startswith(place.value, at) and place.value:
        token = place.value
    if token.endswith(":") and not is_key:
        at += len(token) + 1
        token = re.compile(TOKEN).match(line, at)[0]
    lines[place.line - 1] = line[:at] + value + ":" * token.endswith(":") + line[at + len(token) :]
    return "".join(lines)


def test_the_good_file_is_good():
    """And has something in every section that a real cluster has."""
    cluster = cluster_of(read(GOOD, "cluster.yaml"))

    assert cluster.model_fields_set == set(type(cluster).model_fields) - {"lab", "manage"}


def test_there_are_many_and_each_is_another():
    """No two rows make the same change."""
    changes = [str(row["change"]) for _, row in ROWS]

    assert len(ROWS) >= 180
    assert len(set(changes)) == len(changes)


@pytest.mark.parametrize(("table", "row"), ROWS, ids=[f"{table}: {row['say']}" for table, row in ROWS])
def test_a_mistake_is_refused_at_its_place(table, row):
    """With its code, the line and column of what was written, and the fix."""
    bad = changed(GOOD, row["change"])
    found = findings(bad)
    mine = [one for one in found if one.code == row["code"]]
    others = {one.code for one in found} - {row["code"]}
    lines = [*bad.split("\n"), ""]

    assert mine, [str(one) for one in found]
    assert others <= set(row.get("also", ())) or row.get("also") == "any", others
    assert any(row["fix"] in one.fix for one in mine), mine[0].fix
    for one in mine:
        assert one.places
        for place in one.places:
            assert 1 <= place.line <= len(lines)
            assert 1 <= place.column <= len(lines[place.line - 1]) + 1
    if "place" in row:
        assert row["place"] in [place.path for one in mine for place in one.places]


@pytest.mark.parametrize(("table", "row"), ROWS, ids=[f"{table}: {row['say']}" for table, row in ROWS])
def test_a_mend_that_is_followed_makes_the_file_good(table, row):
    """By the row's own words, or by the fix's words alone."""
    bad = changed(GOOD, row["change"])
    if "follow" in row:
        assert findings(changed(bad, row["follow"])) == ()
        return
    fixed = bad
    for _ in range(4):  # a mistake may show in several places
        found = [one for one in findings(fixed) if one.code == row["code"]]
        after = followed(fixed, found[0]) if found else None
        fixed = after or fixed
        if after is None:
            break
    assert fixed != bad
    assert findings(fixed) == ()


def test_all_mistakes_of_a_file_are_said_at_once(tmp_path, capsys):
    """Twelve at a time, in the order of the file, by the command that a user types."""
    rows = [
        row
        for table, row in ROWS
        if row["say"]
        in {
            "two users with one id", "a default time over the longest", "one program for off and on",
            "a mount over home", "more free space than space", "shares that add to nothing",
            "qualities of service that preempt each other", "a reservation for nobody",
            "a host of the cluster as its time", "two ports for srun", "more for one than for all",
            "accounting on a compute host",
        }
    ]  # fmt: skip
    text = GOOD
    for row in rows:
        text = changed(text, row["change"])
    file = tmp_path / "cluster.yaml"
    file.write_text(text)
    code = validate(file)
    said = capsys.readouterr().err

    assert len(rows) == 12
    assert code == EXIT_USAGE
    assert "cluster.yaml: 12 errors" in said
    assert [one["code"] in said for one in rows] == [True] * 12
    lines = [int(line) for line in re.findall(r"error\[[^\n]*\n  \S+:(\d+):\d+", said)]
    assert lines == sorted(lines)

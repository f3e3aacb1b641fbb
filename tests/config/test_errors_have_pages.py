"""Each error code of the spec has its page, a bad file and what is said about it."""

import ast
from pathlib import Path

import pytest

import clusterwright
from clusterwright.cli._pages import pages
from clusterwright.config.load import check_job_against, cluster_of, job_of, kind_of
from clusterwright.config.reader import read
from clusterwright.errors import SpecError

SOURCE = Path(clusterwright.__file__).parent
ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden" / "errors"
RAISERS = {"Finding", "Clash", "refuse", "_finding", "of"}  # calls whose first argument is a code
MADE_BY_COMMANDS = {
    "file-exists",
    "file-unreadable",
    "not-writable",
    "unknown-topic",
}  # no bad file shows them
TOO_LONG_TO_KEEP = {"file-too-large"}


def codes_used(folder):
    """Every code that a call in the folder's files gives."""
    for file in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and node.args and _name(node.func) in RAISERS:
                first = node.args[0]
                if isinstance(first, ast.Constant) and isinstance(first.value, str) and "-" in first.value:
                    yield first.value


def _name(function):
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def shown(file):
    """What is said of a bad file; a job is held against its cluster or the common one."""
    source_name = "cluster.yaml"
    try:
        source = read(file.read_bytes(), source_name)
        if kind_of(source) == "cluster":
            cluster_of(source)
            return "nothing is wrong"
        own = file.with_suffix(".cluster.yaml")
        beside = own if own.exists() else GOLDEN / "common.cluster.yaml"
        cluster = read(beside.read_bytes(), "cluster.yaml")
        source = read(file.read_bytes(), "job.yaml")
        job, whole = job_of(source), cluster_of(cluster)
        found = check_job_against(job, whole, {"job": source, "cluster": cluster})
        if found:
            raise SpecError(*found)
    except SpecError as error:
        return f"{error}\n"
    return "nothing is wrong"


def bad_files():
    """The examples, one a code."""
    return sorted(file for file in GOLDEN.glob("*.yaml") if not file.name.endswith(".cluster.yaml"))


def test_every_code_of_the_spec_has_a_page_and_an_example():
    """A code without its page or its example fails here."""
    used = set(codes_used(SOURCE / "config"))
    examples = {file.stem for file in bad_files()}

    assert len(used) > 40
    assert used - examples - MADE_BY_COMMANDS - TOO_LONG_TO_KEEP == set()


def test_every_code_anywhere_has_a_page_and_every_page_its_code():
    """`wright explain CODE` answers for whatever any part says, and for nothing that nobody says."""
    words = "\n".join(file.read_text() for file in SOURCE.rglob("*.py"))

    assert set(codes_used(SOURCE)) - set(pages()) == set()
    assert {code for code in pages() if f'"{code}"' not in words} == set()


def test_every_page_names_its_code():
    """A page begins with its code and goes on with one sentence."""
    for code, page in pages().items():
        lines = page.splitlines()

        assert lines[0] == f"# {code}"
        assert lines[1] == ""
        assert lines[2].endswith("."), code


@pytest.mark.parametrize("file", bad_files(), ids=lambda file: file.stem)
def test_a_bad_file_is_told_as_its_golden_text(file, golden):
    """What is said of each bad file is its golden text, and it holds the file's own code."""
    text, said = file.with_suffix(".txt"), shown(file)
    if golden:
        text.write_text(said)

    assert f"error[{file.stem}]" in said
    assert said == text.read_text()

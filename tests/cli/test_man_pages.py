"""The man pages: one for each command, without a warning of groff, and with every option."""

import shutil
import subprocess
from pathlib import Path

import pytest

from clusterwright.cli import commands
from clusterwright.cli._command_tree import all_commands
from clusterwright.cli._man_pages import escape, man_pages

PAGES = man_pages()
MAN = Path(__file__).parents[2] / "docs" / "man"


def test_every_command_has_a_page():
    """And wright(1) refers to it."""
    assert sorted(PAGES) == sorted(["wright.1", *(f"wright-{name}.1" for name, _ in commands())])
    overview = PAGES["wright.1"].replace("\\-", "-")
    assert all(f"wright-{name}" in overview for name, _ in commands())


def test_the_pages_of_the_wheel_are_these():
    """`make docs` writes them; the wheel installs them in share/man/man1."""
    assert {path.name: path.read_text() for path in MAN.iterdir()} == PAGES


def test_every_option_of_every_command_is_in_its_page():
    """With its meaning."""
    for command in all_commands():
        page = PAGES[f"wright-{command.words[0]}.1"].replace("\\-", "-")
        for option in command.options:
            assert option.names[0] in page, (command.words, option)
            assert option.help, (command.words, option.names)


@pytest.mark.parametrize(
    ("text", "roff"),
    [
        ("-n --dry-run", "\\-n \\-\\-dry\\-run"),
        (".start of a request", "\\&.start of a request"),
        ("'no request'", "\\(aqno request\\(aq"),
        ("C:\\n is no escape", "C:\\en is no escape"),
        ("a^b~c`d", "a\\(hab\\(tic\\(gad"),
    ],
)
def test_no_text_becomes_an_escape_or_a_request(text, roff):
    """Help texts quote shell commands and paths."""
    assert escape(text) == roff


@pytest.mark.skipif(not shutil.which("groff"), reason="groff is not installed")
@pytest.mark.parametrize("name", sorted(PAGES))
def test_groff_has_no_warning(name, tmp_path):
    """Of any kind, also of man(1) where it is installed."""
    path = tmp_path / name
    path.write_text(PAGES[name])
    argvs = [["groff", "-man", "-ww", "-Kutf8", "-Tutf8"]]
    argvs += [["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z"]] if shutil.which("man") else []
    for argv in argvs:
        done = subprocess.run([*argv, path], capture_output=True, text=True, check=False, timeout=60)
        assert (done.returncode, done.stderr) == (0, ""), argv


@pytest.mark.skipif(not shutil.which("groff"), reason="groff is not installed")
def test_a_page_reads_as_written(tmp_path):
    """Hyphens of options can be copied; the name and the summary are what apropos indexes."""
    path = tmp_path / "page.1"
    path.write_text(PAGES["wright-apply.1"])
    argv = ["groff", "-man", "-Kutf8", "-Tutf8", "-P-cbou", path]
    text = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60).stdout

    assert "wright-apply - Apply the cluster file" in text
    assert "--dry-run, -n" in text
    assert "Parameters" not in text

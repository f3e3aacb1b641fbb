"""The lines of the pages on frameworks are jobs that fit a cluster."""

import re
import shlex
from pathlib import Path

import pytest

from clusterwright.cli import app
from clusterwright.onhost.adapters import registry

ROOT = Path(__file__).parents[3]
PAGES = ROOT / "docs" / "guides" / "frameworks"
CLUSTER = ROOT / "examples" / "lab" / "cluster.yaml"
TYPED = re.compile(r"^\$ (wright train .*)$", re.MULTILINE)
LINES = [(page.stem, line) for page in sorted(PAGES.glob("*.md")) for line in TYPED.findall(page.read_text())]


@pytest.mark.parametrize(("page", "line"), LINES)
def test_a_line_of_a_page_is_a_job(page, line, monkeypatch, capsys):
    """As it stands there, in the folder of the programs."""
    monkeypatch.chdir(ROOT / "examples" / "jobs" / "programs")
    monkeypatch.setenv("CLUSTERWRIGHT_CLUSTER", str(CLUSTER))
    code = app()([*shlex.split(line)[1:2], "--dry-run", *shlex.split(line)[2:]], result_action="return_value")
    said = capsys.readouterr().out

    assert code == 0
    assert "variable" in said.lower() if "--show" in line else said.startswith("#!/bin/bash\n")


@pytest.mark.parametrize("name", registry.framework_names())
def test_each_framework_has_a_page_and_an_example(name):
    """The page is named in the overview."""
    jobs = [file.read_text() for file in (ROOT / "examples" / "jobs").glob("*.yaml")]

    assert (PAGES / f"{name}.md").exists()
    assert f"[{name}]({name}.md)" in (PAGES / "README.md").read_text()
    assert name == "pytorch" or any(f"framework: {name}\n" in text for text in jobs)


def test_the_overview_lists_each_launcher_with_its_description():
    """The first line of its file, and whether the supervisor restarts its ranks."""
    page = (PAGES / "README.md").read_text()
    table = re.findall(r"^\| `(\w+)` \| (.*) \| (yes|no) \|$", page, re.MULTILINE)
    supervised = {name: registry.launcher(name).is_supervised for name in registry.launcher_names()}

    assert {name: text for name, text, _ in table} == registry.summaries()
    assert {name: answer == "yes" for name, _, answer in table} == supervised

"""The page on upgrades and the release notes say what the code does."""

import importlib.machinery
import importlib.util
import re
import sys
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from clusterwright.check.bench import store
from clusterwright.heal.journal import journal
from clusterwright.lab.state import LabState
from clusterwright.onhost.lib import checkpoint_manifest
from clusterwright.onhost.provision import state_files
from clusterwright.onhost.supervisor import job

ROOT = Path(__file__).parents[2]
CHANGELOG = (ROOT / "CHANGELOG.md").read_text()
PREPARED = (
    "## Unreleased\n\n- later\n\n## 1.3.0 - 2026-01-31\n\n### Added\n- one\n\n## 1.2.0 - 2025-01-31\n- two\n"
)


@pytest.fixture(scope="module")
def program():
    """The program tools/release_notes as a module."""
    path = ROOT / "tools" / "release_notes"
    sys.path.insert(0, str(path.parent))
    try:
        loader = importlib.machinery.SourceFileLoader("release_notes", str(path))
        module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
        loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    return module


def schemas(page):
    """The second column of the table of stored files."""
    return [int(number) for number in re.findall(r"^\| [^|]+ \| (\d+) \|", page.read_text(), re.MULTILINE)]


@pytest.mark.parametrize("name", ["upgrading.md", "upgrading.zh-CN.md"])
def test_the_page_has_the_schemas_of_the_code(name):
    """A new schema changes both pages; the files on a host have the same number."""
    kinds = (
        state_files.RECEIPT,
        state_files.JOURNAL,
        state_files.UNDO,
        state_files.RECORDS,
        state_files.REBOOT,
    )
    [on_host] = {kind.schema for kind in kinds}
    [lab] = get_args(get_type_hints(LabState)["schema"])

    assert schemas(ROOT / "docs" / name) == [
        *(on_host, journal.SCHEMA, store.SCHEMA, checkpoint_manifest.FORMAT, job.SCHEMA, lab)
    ]
    assert checkpoint_manifest.READABLE == (checkpoint_manifest.FORMAT,)


def test_the_changelog_has_the_form_of_keep_a_changelog():
    """Unreleased first, then versions with their date, newest first; known groups of changes."""
    headings = re.findall(r"^## (.*)$", CHANGELOG, re.MULTILINE)
    versions = [re.fullmatch(r"(\d+)\.(\d+)\.(\d+) - \d{4}-\d\d-\d\d", heading) for heading in headings[1:]]
    numbers = [tuple(map(int, version.groups())) for version in versions]

    assert headings[0] == "Unreleased"
    assert numbers == sorted(numbers, reverse=True)
    assert set(re.findall(r"^### (.*)$", CHANGELOG, re.MULTILINE)) <= {
        *("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")
    }


@pytest.mark.parametrize("version", ["1.3.0", "1.3.0.dev3+gabc"])
def test_release_notes_are_the_section_of_the_version(program, version):
    """Of a development version, the section of the release that it leads to; never that of another one."""
    notes = program.release_notes(PREPARED, version)

    assert notes.startswith(f"# Clusterwright {version}\n\n### Added\n- one\n\n## Install\n")
    assert f"clusterwright-{version}-py3-none-any.whl" in notes
    assert "- two" not in notes
    assert "- later" not in notes


def test_release_notes_of_commits_after_a_release(program):
    """A development version of the next patch release has no section yet: what is unreleased, if anything is."""
    assert "\n- later\n" in program.release_notes(PREPARED, "1.3.1.dev3+gabc")
    assert "lists nothing yet" in program.release_notes(PREPARED.replace("- later", ""), "1.3.1.dev3+gabc")


@pytest.mark.parametrize("version", ["1.4.0", "1.3.0rc1"])
def test_a_release_without_a_section_is_refused(program, version):
    """A tag before its changelog is a mistake; a release candidate has the section of its release."""
    if version == "1.3.0rc1":
        assert "- one" in program.release_notes(PREPARED, version)
        return
    with pytest.raises(ValueError, match=r"nothing under `## 1\.4\.0`"):
        program.release_notes(PREPARED, version)


def test_this_checkout_has_release_notes(program):
    """`make dist` writes them; they say how to install every file."""
    notes = program.release_notes(CHANGELOG, "0.2.0")

    assert len(notes) > 2_000
    assert {"wright.pyz", ".deb", ".rpm", "SHA256SUMS", ".cdx.json"} <= set(
        re.findall(r"wright\.pyz|\.deb|\.rpm|SHA256SUMS|\.cdx\.json", notes)
    )

"""The version of a checkout: that of the tag `vX.Y.Z` at this commit, or a development version of the next release.

Hatchling calls `version` when it builds in a checkout; a source archive has its version in PKG-INFO.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]
TAG = re.compile(r"v(\d+\.\d+\.\d+)-(\d+)-g([0-9a-f]+)(\.dirty)?")
GIT = ("git", "describe", "--abbrev=9", "--dirty=.dirty")


def version(root: Path = ROOT) -> str:
    """Return the version of a checkout by its tags; without tags, and without Git, by its changelog."""
    release = newest_release((root / "CHANGELOG.md").read_text(encoding="utf-8"))
    if not (root / ".git").exists():
        return f"{release}.dev0"
    described = TAG.fullmatch(_output(root, *GIT, "--tags", "--long", "--match", "v[0-9]*.[0-9]*.[0-9]*"))
    if described is None:  # no tag in this clone
        commit, count = (
            _output(root, *GIT, "--always", "--exclude", "*"),
            _output(root, "git", "rev-list", "--count", "HEAD"),
        )
        return f"{release}.dev{count}+g{commit}" if commit and count else f"{release}.dev0"
    tagged, count, commit, dirty = described.groups()
    if count == "0" and not dirty:
        return tagged
    return f"{_next_release(tagged, release)}.dev{count}+g{commit}{dirty or ''}"


def newest_release(changelog: str) -> str:
    """Return the first version that the changelog has a section of."""
    heading = re.search(r"^## (\d+\.\d+\.\d+)\b", changelog, re.MULTILINE)
    if heading is None:
        raise ValueError("CHANGELOG.md has no section of a version, such as `## 0.2.0 - 2026-11-27`")
    return heading[1]


def _next_release(tagged: str, newest: str) -> str:
    """Return the version in the changelog if it is later than the tag, or the tag's next patch release."""
    major, minor, patch = (int(number) for number in tagged.split("."))
    if tuple(int(number) for number in newest.split(".")) > (major, minor, patch):
        return newest
    return f"{major}.{minor}.{patch + 1}"


def _output(root: Path, *command: str) -> str:
    """Return a command's output; "" if Git is missing or refuses the folder."""
    try:
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=60, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""

"""Load the releases: one TOML file each in this folder, named like the `os` of a cluster file."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from clusterwright.platforms.platform import Platform

RELEASES = Path(__file__).parent
FAMILIES = RELEASES / "families"  # values that releases share

DEFAULT, EXAMPLE = "debian-12", "ubuntu-22.04"  # values of `os` in a cluster file


def platform_names() -> tuple[str, ...]:
    """Return the names of all supported distribution releases, sorted."""
    return tuple(sorted(file.stem for file in RELEASES.glob("*.toml")))


@cache
def platform(name: str) -> Platform:
    """Load a distribution release by its name, such as `rocky-9`.

    Raises:
        FileNotFoundError: no file has that name.
        TypeError: a field is missing, or unknown.
    """
    return Platform(name=name, **_frozen(_values(name)))


def platforms() -> tuple[Platform, ...]:
    """Load all supported distribution releases, in the order of their names."""
    return tuple(map(platform, platform_names()))


@cache
def names_by_os_release() -> dict[str, str]:
    """Release names by ID and VERSION_ID of os-release(5): `almalinux-9` is alma-9."""
    return {f"{release.os_release_id}-{release.os_release_version}": release.name for release in platforms()}


def _values(name: str) -> dict[str, Any]:
    """Read the file of a release, else of a family, and merge it over the file that its key `like` names.

    Tables merge key by key, not deeper.
    """
    file = f"{name}.toml"
    folder = RELEASES if (RELEASES / file).exists() else FAMILIES
    values = tomllib.loads((folder / file).read_text(encoding="utf-8"))
    base = _values(values.pop("like")) if "like" in values else {}
    joined = {
        key: base[key] | value for key, value in values.items() if isinstance(value, dict) and key in base
    }
    return base | values | joined


def _frozen(value: Any) -> Any:
    """Convert lists to tuples, also within tables; lists inside lists stay."""
    if isinstance(value, dict):
        return {key: _frozen(inner) for key, inner in value.items()}
    return tuple(value) if isinstance(value, list) else value

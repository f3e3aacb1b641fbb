"""Build and sign a flat repository of deb packages."""

from __future__ import annotations

import tempfile
import tomllib
from pathlib import Path

from clusterwright.edge import signed_repository
from clusterwright.edge.files import write_file_atomic
from clusterwright.edge.signed_repository import public_key, run_checked
from clusterwright.lab.packages.contents import StandIn

KEY = "key.asc"
_TABLE = Path(__file__).with_name("standins.toml")


def standins() -> tuple[StandIn, ...]:
    """Return every stand-in for one of NVIDIA's packages in every version."""
    rows = tomllib.loads(_TABLE.read_text(encoding="utf-8"))["packages"]
    keys = ("depends", "conflicts", "files", "daemon")
    return tuple(
        StandIn(
            name,
            full,
            programs=tuple(row.get("programs", ())),
            **{key: row[key] for key in keys if key in row},
        )
        for row in rows
        for name in row["names"]
        for full in row["versions"]
    )


def build(folder: Path, home: Path) -> None:
    """Build the repository of stand-ins in the folder, signed by a new key that is stored in `home`.

    Raises:
        WrightError: A program is missing or fails.
    """
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)
    for package in standins():
        _deb(package, folder / package.file_name)
    make_key(home)
    write_file_atomic(folder / KEY, public_key(home), mode=0o644)
    sign(folder, home)


def sign(folder: Path, home: Path) -> None:
    """Write the repository's list of packages in the folder, and sign it with the key in `home`."""
    entries = "\n".join(
        signed_repository.deb_entry(package.control(), folder / package.file_name) for package in standins()
    )
    signed_repository.sign_debs(folder, entries, home, origin="clusterwright-lab", label="lab")


def make_key(home: Path) -> None:
    """Create a signing key without a passphrase in the GnuPG folder `home`."""
    signed_repository.make_key(home, "clusterwright lab")


def _deb(package: StandIn, target: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name) / "root"
        for path, (text, mode) in {"DEBIAN/control": (package.control(), 0o644), **package.tree()}.items():
            file = root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
            file.chmod(mode)
        for folder in (root, *(entry for entry in root.rglob("*") if entry.is_dir())):
            folder.chmod(0o755)  # independent of the caller's umask
        run_checked("dpkg-deb", "--root-owner-group", "-Znone", "--build", str(root), str(target))

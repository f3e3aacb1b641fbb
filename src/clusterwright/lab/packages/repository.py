"""Build and sign a flat repository of deb packages."""

from __future__ import annotations

import hashlib
import tempfile
import tomllib
from email.utils import formatdate
from pathlib import Path

from clusterwright.edge.files import write_file_atomic
from clusterwright.edge.processes import run
from clusterwright.errors import WrightError
from clusterwright.i18n import _
from clusterwright.lab.packages.contents import StandIn

KEY, LIST = "key.asc", "Packages"
_TABLE = Path(__file__).with_name("standins.toml")


def standins() -> tuple[StandIn, ...]:
    """Return every stand-in package in every version."""
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
    """Build the repository in the folder, signed by a new key that is stored in `home`.

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
    """Write the list of packages in the folder, and sign it."""
    listed = "\n".join(_entry(package, folder / package.file_name) for package in standins())
    write_file_atomic(folder / LIST, listed, mode=0o644)
    data = listed.encode()
    release = (
        f"Origin: clusterwright-lab\nLabel: stand-ins\nSuite: lab\nDate: {formatdate(usegmt=True)}\n"
        f"SHA256:\n {hashlib.sha256(data).hexdigest()} {len(data)} {LIST}\n"
    )
    write_file_atomic(folder / "Release", release, mode=0o644)
    signed = _gpg(home, "--clearsign", "--output", "-", str(folder / "Release"))
    write_file_atomic(folder / "InRelease", signed, mode=0o644)


def public_key(home: Path) -> str:
    """Return the public key as text, as in a cluster file."""
    return _gpg(home, "--armor", "--export")


def make_key(home: Path) -> None:
    """Create a signing key without a passphrase."""
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    home.chmod(0o700)
    _gpg(home, "--passphrase", "", "--quick-gen-key", "clusterwright lab", "ed25519", "sign", "never")


def _gpg(home: Path, *arguments: str) -> str:
    try:
        return _run_checked("gpg", "--homedir", str(home), "--batch", "--quiet", "--yes", *arguments)
    finally:
        run(("gpgconf", "--homedir", str(home), "--kill", "all"))  # its agent would outlive this process


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
        _run_checked("dpkg-deb", "--root-owner-group", "-Znone", "--build", str(root), str(target))


def _entry(package: StandIn, path: Path) -> str:
    """Return the package's entry in apt's list of packages."""
    data = path.read_bytes()
    sums = f"Filename: ./{path.name}\nSize: {len(data)}\nSHA256: {hashlib.sha256(data).hexdigest()}\n"
    return package.control() + sums


def _run_checked(*argv: str) -> str:
    result = run(argv, timeout_s=60)
    if not result.ok:
        raise WrightError.from_code(
            "lab-packages",
            _("`{argv}` failed: {last_lines}", argv=" ".join(argv[:1]), last_lines=result.last_lines(3)),
            _("apt-get install dpkg gpg gpg-agent, then run `wright lab up` again"),
        )
    return result.out

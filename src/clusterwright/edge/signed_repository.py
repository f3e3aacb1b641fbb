"""Index and sign a folder of packages as a flat deb repository; sign the index of an rpm repository."""

from __future__ import annotations

import hashlib
from email.utils import formatdate
from pathlib import Path

from clusterwright.edge.files import write_file_atomic
from clusterwright.edge.processes import run
from clusterwright.errors import WrightError
from clusterwright.i18n import _

DEB_INDEX = "Packages"
RPM_INDEX = "repodata/repomd.xml"


def make_key(home: Path, owner: str) -> None:
    """Create a signing key without a passphrase in the folder `home`, which only this user can read."""
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    home.chmod(0o700)
    _gpg(home, "--passphrase", "", "--quick-gen-key", owner, "ed25519", "sign", "never")


def public_key(home: Path) -> str:
    """Return the public key as text, as in a cluster file."""
    return _gpg(home, "--armor", "--export")


def deb_entry(control: str, path: Path) -> str:
    """Return the entry of a deb package in the index: its control data, its file name, and its checksum."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return f"{control.rstrip()}\nFilename: ./{path.name}\nSize: {path.stat().st_size}\nSHA256: {digest}\n"


def sign_debs(folder: Path, entries: str, home: Path, *, origin: str, label: str) -> None:
    """Write the index of a deb repository with these entries, and its Release, unsigned and signed (InRelease)."""
    write_file_atomic(folder / DEB_INDEX, entries, mode=0o644)
    data = entries.encode()
    release = (
        f"Origin: {origin}\nLabel: {label}\nSuite: {label}\nDate: {formatdate(usegmt=True)}\n"
        f"SHA256:\n {hashlib.sha256(data).hexdigest()} {len(data)} {DEB_INDEX}\n"
    )
    write_file_atomic(folder / "Release", release, mode=0o644)
    signed = _gpg(home, "--clearsign", "--output", "-", str(folder / "Release"))
    write_file_atomic(folder / "InRelease", signed, mode=0o644)


def sign_rpms(folder: Path, home: Path) -> None:
    """Sign the index of an rpm repository, which has the checksum of every package."""
    index = folder / RPM_INDEX
    signature = _gpg(home, "--armor", "--detach-sign", "--output", "-", str(index))
    write_file_atomic(index.with_name(f"{index.name}.asc"), signature, mode=0o644)


def run_checked(*argv: str) -> str:
    """Run a program that builds or signs a repository, and return its output.

    Raises:
        WrightError: it is missing or fails.
    """
    result = run(argv, timeout_s=60)
    if not result.ok:
        raise WrightError.from_code(
            "package-repository",
            _("`{argv}` failed: {last_lines}", argv=" ".join(argv[:1]), last_lines=result.last_lines(3)),
            _(
                "apt-get install dpkg gpg gpg-agent (or dnf install gnupg2 createrepo_c), then run the command again"
            ),
        )
    return result.out


def _gpg(home: Path, *arguments: str) -> str:
    try:
        return run_checked("gpg", "--homedir", str(home), "--batch", "--quiet", "--yes", *arguments)
    finally:
        run(("gpgconf", "--homedir", str(home), "--kill", "all"))  # its agent would outlive this process

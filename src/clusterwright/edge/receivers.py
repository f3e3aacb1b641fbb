"""What receivers keep secret, read from the site's own files on this machine."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from clusterwright.errors import WrightError
from clusterwright.i18n import _

_MOST_BYTES = 8192
_ADDRESS = rb"https?://[!-~]+"


def receiver_secrets(files: Mapping[str, tuple[str, bool]]) -> dict[str, bytes]:
    """`receivers/NAME`, each without a last line break; given by name the file, and whether it holds an address.

    Raises:
        WrightError: a file cannot be read, or others can read it, or what it holds is no address.
    """
    return {
        f"receivers/{name}": _read(name, Path(path), address=address)
        for name, (path, address) in files.items()
    }


def _read(name: str, path: Path, *, address: bool) -> bytes:
    try:
        mode = path.stat().st_mode & 0o777
        text = path.read_bytes()[: _MOST_BYTES + 1]
    except OSError as error:
        fix = _(
            "write the secret of `{name}` to that file, readable by you alone: chmod 600 {path}",
            name=name,
            path=path,
        )
        raise _wrong(f"{path}: {error.strerror}", fix) from error
    if mode & 0o077:
        raise _wrong(
            _("{path} has mode {mode:04o}: other users can read it", path=path, mode=mode),
            f"chmod 600 {path}",
        )
    lines = [line.strip() for line in text.split(b"\n") if line.strip()]
    if not lines or len(text) > _MOST_BYTES:
        raise _wrong(
            _("{path} has {count} bytes", path=path, count=len(text)),
            _("write one line, or an address and a key on the line below it"),
        )
    if address and not re.fullmatch(_ADDRESS, lines[0]):
        raise _wrong(
            _("the first line of {path} is not an HTTP address", path=path),
            _("paste the complete address of the webhook"),
        )
    return b"\n".join(lines)


def _wrong(message: str, fix: str) -> WrightError:
    return WrightError.from_code("receiver-secret", message, fix)

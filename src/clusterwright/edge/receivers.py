"""Read the secrets of receivers from files of the site on this machine."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from clusterwright.errors import WrightError
from clusterwright.file_arguments import read_argument
from clusterwright.i18n import _

_MOST_BYTES = 8192
_ADDRESS = rb"https?://[!-~]+"


def receiver_secrets(files: Mapping[str, tuple[str, bool]]) -> dict[str, bytes]:
    """Return the content of each secret as `receivers/NAME`; `files` maps names to (path, contains a URL).

    Raises:
        WrightError: a file cannot be read, other users can read it, or its first line is not a URL.
    """
    return {
        f"receivers/{name}": _read(name, Path(path), address=address)
        for name, (path, address) in files.items()
    }


def _read(name: str, path: Path, *, address: bool) -> bytes:
    try:
        mode = path.stat().st_mode & 0o777
        text = read_argument(path, _MOST_BYTES + 1)
    except OSError as error:
        fix = _(
            "write the secret of receiver `{name}` to this file, and run chmod 600 {path}",
            name=name,
            path=path,
        )
        raise _wrong(f"{path}: {error.strerror}", fix) from error
    if mode & 0o077:
        message = _("{path} has mode {mode}, so other users can read it", path=path, mode=f"{mode:04o}")
        raise _wrong(message, _("run chmod 600 {path}", path=path))
    lines = [line.strip() for line in text.split(b"\n") if line.strip()]
    if not lines or len(text) > _MOST_BYTES:
        raise _wrong(
            _("{path} is empty or larger than {limit} bytes", path=path, limit=_MOST_BYTES),
            _("write one line, or a URL with a key on the second line"),
        )
    if address and not re.fullmatch(_ADDRESS, lines[0]):
        raise _wrong(
            _("the first line of {path} is not an HTTP URL", path=path),
            _("paste the full URL of the webhook into the file"),
        )
    return b"\n".join(lines)


def _wrong(message: str, fix: str) -> WrightError:
    return WrightError.from_code("receiver-secret", message, fix)

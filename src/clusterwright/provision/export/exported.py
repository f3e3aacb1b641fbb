"""One file of an export."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass

from clusterwright.provision.resources import encode_content

SECRET = 0o600


@dataclass(frozen=True, slots=True)
class Exported:
    """The content of a file and its mode in the export folder."""

    content: str | bytes
    mode: int = 0o644

    @property
    def data(self) -> bytes:
        """Return the exported file's content as bytes."""
        return encode_content(self.content)


def archive(files: Mapping[str, str | bytes]) -> bytes:
    """Return a reproducible tar archive of `{path: content}`, all with mode 0644 and owned by root."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for path, content in sorted(files.items()):
            data = encode_content(content)
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(data), 0o644
            entry.uname = entry.gname = "root"
            tar.addfile(entry, io.BytesIO(data))
    return stream.getvalue()

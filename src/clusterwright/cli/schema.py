"""`wright schema cluster|job`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from clusterwright.i18n import _


def schema(kind: Literal["cluster", "job"], /, *, out: Path | None = None) -> int:
    """Print the JSON Schema of the cluster or job file, for completion and validation in an editor.

    Save the schema beside the file and reference it in the file's first line, for editors with a YAML language server:
    `# yaml-language-server: $schema=cluster.schema.json`.

    Parameters
    ----------
    kind
        cluster or job.
    out
        Write the schema to this file instead.
    """
    from clusterwright.cli._show import show_message, show_verbatim, write_file
    from clusterwright.config.schema import schema_text

    if out:
        write_file(out, schema_text(kind))
        show_message(_("written: {files}", files=out))
    else:
        show_verbatim(schema_text(kind))
    return 0

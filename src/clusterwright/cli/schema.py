"""`wright schema cluster|job`."""

from __future__ import annotations

from typing import Literal


def schema(kind: Literal["cluster", "job"], /) -> int:
    """Print the JSON Schema of a file, for completion and checks in an editor.

    Save it beside the file and name it in the first line, which editors with a YAML language server read:
    `# yaml-language-server: $schema=cluster.schema.json`.

    Parameters
    ----------
    kind
        Which of the two files.
    """
    from clusterwright.cli._show import show_json
    from clusterwright.config.schema import schema_of

    show_json(schema_of(kind))
    return 0

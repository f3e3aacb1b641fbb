"""`wright schema cluster|job`."""

from __future__ import annotations

from typing import Literal


def schema(kind: Literal["cluster", "job"], /) -> int:
    """Print the JSON Schema of the cluster or job file, for completion and validation in an editor.

    Save the schema beside the file and reference it in the file's first line, for editors with a YAML language server:
    `# yaml-language-server: $schema=cluster.schema.json`.

    Parameters
    ----------
    kind
        cluster or job.
    """
    from clusterwright.cli._show import show_json
    from clusterwright.config.schema import schema_of

    show_json(schema_of(kind))
    return 0

"""`wright init --template NAME`."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from shlex import quote
from typing import Literal

from clusterwright.cli._show import cluster_option
from clusterwright.i18n import _

_SCHEMA = "cluster.schema.json"  # what the first line of each template references


def init(*, template: Literal["lab", "university", "hgx"] = "lab", out: Path = Path("cluster.yaml")) -> int:
    """Write a commented cluster file from a template; an existing file is never overwritten.

    The schema beside it, cluster.schema.json, is for completion and validation in an editor.

    Parameters
    ----------
    template
        lab: five virtual hosts on this machine; university: two hosts with four GPUs each;
        hgx: H100 hosts on a rail-optimized fabric.
    out
        Path of the new file.
    """
    from importlib.resources import files

    from clusterwright.cli._show import show_message, show_next, unwritten_fix
    from clusterwright.config.schema import schema_text
    from clusterwright.edge.files import new_folders
    from clusterwright.errors import WrightError
    from clusterwright.onhost.lib.files import FULL, write_atomic

    text = files("clusterwright.config").joinpath("templates", f"{template}.yaml").read_text(encoding="utf-8")
    if os.path.lexists(out):
        fix = _("choose another path with --out")
        if out.is_dir():
            fix = _("name a file in that folder, such as {file}", file=quote(str(out / "cluster.yaml")))
        raise WrightError.from_code("file-exists", _("{file} exists already", file=out), fix)
    schema = out.parent / _SCHEMA
    has_schema = schema.exists()
    try:
        with new_folders(out.parent):
            write_atomic(out, text)
            if not has_schema:
                write_atomic(schema, schema_text("cluster"))
    except OSError as error:
        with suppress(OSError):  # also if a folder of the path is a file
            out.unlink()
        if error.errno in FULL:
            raise
        raise WrightError.from_code(
            "not-writable", f"{error.strerror}: {out}", unwritten_fix(error, out)
        ) from error
    following = "wright lab up" if template == "lab" else "wright apply --dry-run"
    option = "" if out == Path("cluster.yaml") else f" {cluster_option(out)}"
    show_message(_("written: {files}", files=", ".join(map(str, [out] if has_schema else [out, schema]))))
    show_next(f"wright validate {quote(str(out))}; {following}{option}")
    return 0

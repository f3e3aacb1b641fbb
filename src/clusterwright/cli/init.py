"""`wright init --template NAME`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

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

    from clusterwright.cli._show import show_message, show_next, write_file
    from clusterwright.config.schema import schema_text
    from clusterwright.errors import WrightError

    text = files("clusterwright.config").joinpath("templates", f"{template}.yaml").read_text(encoding="utf-8")
    try:
        with out.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise WrightError.from_code(
            "file-exists", _("{file} exists already", file=out), _("choose another path with --out")
        ) from None
    except OSError as error:
        fix = _("choose a path in a writable folder with --out")
        raise WrightError.from_code("not-writable", f"{error.strerror}: {out}", fix) from error
    following = "wright lab up" if template == "lab" else "wright apply --dry-run"
    option = "" if out == Path("cluster.yaml") else f" --cluster {out}"
    written = [out]
    if not (schema := out.parent / _SCHEMA).exists():
        write_file(schema, schema_text("cluster"))
        written.append(schema)
    show_message(_("written: {files}", files=", ".join(map(str, written))))
    show_next(f"wright validate {out}; {following}{option}")
    return 0

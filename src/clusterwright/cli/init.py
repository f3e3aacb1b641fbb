"""`wright init --template NAME`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from clusterwright.i18n import _


def init(*, template: Literal["lab", "university", "hgx"] = "lab", out: Path = Path("cluster.yaml")) -> int:
    """Write a commented cluster file to start from; a file that is there is never overwritten.

    Parameters
    ----------
    template
        lab: five virtual hosts on this machine; university: two hosts with four GPUs each;
        hgx: H100 hosts on a rail-optimised fabric.
    out
        Where to write it.
    """
    from importlib.resources import files

    from clusterwright.cli._show import show_message
    from clusterwright.errors import WrightError

    text = files("clusterwright.config").joinpath("templates", f"{template}.yaml").read_text(encoding="utf-8")
    try:
        with out.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise WrightError.from_code(
            "file-exists", _("{out} is there already", out=out), _("give another path with --out")
        ) from None
    except OSError as error:
        fix = _("give a path in a folder that you may write to with --out")
        raise WrightError.from_code("not-writable", f"{error.strerror}: {out}", fix) from error
    following = "wright lab up" if template == "lab" else "wright apply --dry-run"
    show_message(
        _(
            "{out} written. Read it through, then: wright validate {out}; {following} {out}",
            out=out,
            following=following,
        )
    )
    return 0

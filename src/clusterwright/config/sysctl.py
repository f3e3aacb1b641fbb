"""Names and values of kernel settings, as sysctl.d(5) has them, that a site sets on compute hosts."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator

from clusterwright.config.field import refuse
from clusterwright.i18n import _

_NAME = re.compile(r"(?:abi|debug|dev|fs|kernel|net|user|vm)(?:\.[A-Za-z0-9_@:-]{1,64}){1,8}")
_VALUE = re.compile(r"[A-Za-z0-9+-][A-Za-z0-9 \t.,:/_+-]{0,200}")
# Written by the roles from other fields, which a second value would contradict.
_OWNED = {"kernel.hostname": "nodes", "net.ipv4.ip_local_reserved_ports": "slurm.ports"}


def _valid_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise refuse(
            "bad-name",
            _("`{name}` is not a kernel setting", name=name[:100]),
            _("write its name as sysctl(8) prints it, such as net.core.rmem_max"),
        )
    if field := _OWNED.get(name):
        raise refuse(
            "reserved-name",
            _("`{name}` is set from `{field}`", name=name, field=field),
            _("change {field} instead, and remove the line", field=field),
        )
    return name


def _as_text(value: Any) -> Any:
    """Return a whole number as text, as YAML reads `134217728`; other values unchanged."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _valid_value(value: str) -> str:
    if not _VALUE.fullmatch(value):
        message = _("`{value}` is not a value of a kernel setting", value=value[:100])
        fix = _('write numbers or words, such as 10 or "4096 87380 134217728"')
        raise refuse("bad-name", message, fix)
    return " ".join(value.split())


SysctlName = Annotated[str, AfterValidator(_valid_name)]
SysctlValue = Annotated[str, BeforeValidator(_as_text), AfterValidator(_valid_value)]

"""Where the BIOS of each vendor has a setting, and which hosts have no BIOS of their own (virtual machines, labs)."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from clusterwright.check.expectation import skip
from clusterwright.check.fact import HostSpec
from clusterwright.check.facts.board import Board
from clusterwright.check.verdict import Verdict
from clusterwright.i18n import _

Setting = Literal["above_4g", "resizable_bar", "sriov", "acs", "iommu", "numa", "slot"]


class BiosMenu(BaseModel):
    """One row of bios.toml, whose header documents each field."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    setting: Setting
    page: str
    source: str
    maker: str = ""
    processor: Literal["", "AuthenticAMD", "GenuineIntel"] = ""
    attribute: str = ""


@cache
def pages() -> tuple[BiosMenu, ...]:
    """Return the rows of bios.toml, which tell where in a maker's BIOS menus a setting is."""
    text = Path(__file__).with_name("bios.toml").read_text(encoding="utf-8")
    return tuple(BiosMenu.model_validate(row) for row in tomllib.loads(text)["page"])


def bios_menu(board: Board, setting: Setting) -> str:
    """Return the BIOS menu of the setting for this board's vendor; the usual name where bios.toml lacks the vendor."""
    rows = [row for row in pages() if row.setting == setting]
    vendor_row = next((row for row in rows if row.maker and _matches(row, board)), None)
    row = vendor_row or next(row for row in rows if not row.maker)
    attribute = _(" (attribute {attribute})", attribute=row.attribute) if row.attribute else ""
    return _("BIOS of {server}: {page}{attribute}", server=_name(board), page=row.page, attribute=attribute)


def _matches(row: BiosMenu, board: Board) -> bool:
    # The server vendor, else the board vendor, else the BIOS vendor (AMI's own menus).
    makers = f"{board.maker} / {board.board} / {board.bios}"
    return row.processor in ("", board.processor) and bool(re.search(row.maker, makers, re.IGNORECASE))


def _name(board: Board) -> str:
    return " ".join(filter(None, (board.maker, board.model))) or _("unknown vendor")


def in_lab(spec: HostSpec) -> str:
    """Return why the check is skipped in a lab; empty outside a lab."""
    return (
        _("not checked in a lab: its hosts show the PCI bus of the lab's machine") if spec.cluster.lab else ""
    )


def of_guest(board: Board) -> Verdict | None:
    """Return the skipped verdict of a virtual machine, whose PCI tree is its hypervisor's; None for a physical host."""
    if not board.hypervisor:
        return None
    return skip(_("virtual machine: its PCI tree is emulated by the hypervisor; check the physical host"))

"""Which page of a host's firmware has a setting, by who made the host; and which hosts have no firmware of theirs."""

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
    """One row of bios.toml, whose head says what each field means."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    setting: Setting
    page: str
    source: str
    maker: str = ""
    processor: Literal["", "AuthenticAMD", "GenuineIntel"] = ""
    attribute: str = ""


@cache
def pages() -> tuple[BiosMenu, ...]:
    """Every row of bios.toml."""
    text = Path(__file__).with_name("bios.toml").read_text(encoding="utf-8")
    return tuple(BiosMenu.model_validate(row) for row in tomllib.loads(text)["page"])


def bios_menu(board: Board, setting: Setting) -> str:
    """Where this host's maker has the setting; of a maker without a row, what it is called elsewhere."""
    rows = [row for row in pages() if row.setting == setting]
    vendor_row = next((row for row in rows if row.maker and _matches(row, board)), None)
    row = vendor_row or next(row for row in rows if not row.maker)
    attribute = _(" (attribute {attribute})", attribute=row.attribute) if row.attribute else ""
    return _("BIOS of {name}: {page}{attribute}", name=_name(board), page=row.page, attribute=attribute)


def _matches(row: BiosMenu, board: Board) -> bool:
    # A maker of servers on another's board, or AMI's own menus, where the maker is not known.
    makers = f"{board.maker} / {board.board} / {board.bios}"
    return row.processor in ("", board.processor) and bool(re.search(row.maker, makers, re.IGNORECASE))


def _name(board: Board) -> str:
    return " ".join(filter(None, (board.maker, board.model))) or _("an unnamed maker")


def in_lab(spec: HostSpec) -> str:
    """Why a lab's hosts are not asked."""
    return (
        _("a lab's hosts have no board: the PCI bus they see is the machine's own")
        if spec.cluster.lab
        else ""
    )


def of_guest(board: Board) -> Verdict | None:
    """The verdict on a virtual machine: its board is what its hypervisor shows it."""
    if not board.hypervisor:
        return None
    return skip(_("a virtual machine shows its hypervisor's board: look at the host beneath it"))

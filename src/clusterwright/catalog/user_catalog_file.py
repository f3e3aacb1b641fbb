"""Load a user's catalog file: `[gpus.NAME]`, `[models.NAME]`, `[prices.NAME.DEAL]` ...; all errors come at once."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from clusterwright.catalog import parts, quantities
from clusterwright.catalog.gpus import gpu, gpus
from clusterwright.catalog.records import Architecture, Deal, Gpu, Price
from clusterwright.catalog.user_catalog import UserCatalog
from clusterwright.catalog.user_catalog_keys import PRICE_KEYS, TABLES, Key, Table
from clusterwright.errors import EXIT_USAGE, Finding, Location, WrightError, closest_name, unreadable_fix
from clusterwright.file_arguments import read_argument
from clusterwright.i18n import _
from clusterwright.units import QuantityError


def load_user_catalog(catalog: str | Path | None = None) -> UserCatalog | None:
    """Load `catalog`; if none is named, ./catalog.toml, else ~/.config/clusterwright/catalog.toml, else return None.

    Raises:
        WrightError: with everything that is wrong with the file, also if `catalog` does not exist.
    """
    file = Path(catalog) if catalog else next((path for path in _places() if path.is_file()), None)
    return load(file) if file else None


def _places() -> tuple[Path, ...]:
    config = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return Path("catalog.toml"), config / "clusterwright" / "catalog.toml"


# ours: tomllib parses a dotted key of N parts in quadratic time
_MOST_BYTES, _MOST_LINE_BYTES = 1 << 20, 4096


def _read(path: Path) -> str:
    """Return the text of a file of bounded size.

    Raises:
        ValueError: the file, or a line of it, is too long for a catalog.
    """
    data = read_argument(path)
    if len(data) > _MOST_BYTES:
        raise ValueError(f"a catalog file has at most {_MOST_BYTES} bytes")
    for number, line in enumerate(data.split(b"\n"), 1):
        if len(line) > _MOST_LINE_BYTES:
            raise ValueError(
                f"a line of a catalog file has at most {_MOST_LINE_BYTES} bytes (at line {number})"
            )
    return data.decode()


def load(path: Path) -> UserCatalog:
    """Load the user's rows.

    Raises:
        WrightError: `file-unreadable`, `toml-syntax`; or `unknown-key`, `missing-key`, `bad-quantity`, `not-a-choice`,
            `out-of-range`, all of them at once with file and line.
    """
    try:
        written = _read(path)
        tables = tomllib.loads(written)
    except OSError as error:
        otherwise = _("name a file of your own hardware, in TOML, with --catalog FILE")
        fix = unreadable_fix(error, path, otherwise)
        message = f"{path}: {error.strerror or error}"
        raise WrightError.from_code("file-unreadable", message, fix, exit_code=EXIT_USAGE) from error
    except UnicodeDecodeError as error:
        fix = _("write the file as TOML in UTF-8")
        raise WrightError.from_code(
            "file-unreadable", f"{path}: {error}", fix, exit_code=EXIT_USAGE
        ) from error
    except (ValueError, RecursionError) as error:  # also of a number or a nesting that Python refuses
        fix = _("see docs/guides/own-hardware.md for an example")
        raise WrightError.from_code("toml-syntax", f"{path}: {error}", fix, exit_code=EXIT_USAGE) from error
    reader = _CatalogReader(str(path), written.splitlines())
    user_catalog = reader.read_catalog(tables)
    if reader.findings:
        raise WrightError(*reader.findings, exit_code=EXIT_USAGE)
    return user_catalog


@dataclass(slots=True)
class _CatalogReader:
    """Reads the sections and collects findings."""

    file: str
    lines: list[str]
    findings: list[Finding] = field(default_factory=list)

    def read_catalog(self, tables: Mapping[str, Any]) -> UserCatalog:
        """Read all tables of the file; errors and unknown tables become findings, and rows with errors are None.

        References between rows are checked only if there is no other finding.
        """
        section_names = [*TABLES, "prices"]
        for name in tables:
            if name not in section_names:
                self._unknown((name,), name, section_names)
        records: dict[str, Any] = {
            name: {
                row_name: self._read_row(table, (name, row_name), values)
                for row_name, values in self._sections(tables, name).items()
            }
            for name, table in TABLES.items()
        }
        user_catalog = UserCatalog(**records, prices=tuple(self._prices(self._sections(tables, "prices"))))
        if not self.findings:
            self._references(user_catalog)
        return user_catalog

    def _references(self, user_catalog: UserCatalog) -> None:
        """Add a finding for each server's part that no catalog has."""
        for name, server in user_catalog.servers.items():
            for key, find in (("gpu", gpu), ("nic", parts.nic), ("drive", parts.storage)):
                try:
                    find(getattr(server, key), user_catalog)
                except WrightError as error:
                    first_finding = error.findings[0]
                    self._add_finding(
                        first_finding.code, ("servers", name, key), first_finding.message, first_finding.fix
                    )

    def _sections(self, tables: Mapping[str, Any], name: str) -> Mapping[str, Any]:
        sections = tables.get(name, {})
        if not isinstance(sections, dict):
            self._add_finding(
                "wrong-type", (name,), _("`{name}` is not a section", name=name), f"write [{name}.NAME]"
            )
            return {}
        return sections

    def _read_row(self, table: Table, path: tuple[str, ...], raw_values: Any) -> Any:
        """Read one section of the user's file as a row, on top of the row that `like` names; None if it has errors."""
        if not isinstance(raw_values, dict):
            self._add_finding(
                "wrong-type",
                path,
                _("`{path}` is not a section", path=".".join(path)),
                f"write [{'.'.join(path)}]",
            )
            return None
        finding_count = len(self.findings)
        values = dict(raw_values)
        like = values.pop("like", None)
        base = None if like is None else self._base(table, path, like)
        read = self._keys(table.keys, path, values)
        if like is None:
            if table.make is Architecture:
                self._complete(read, path)
            self._missing(table.keys, read, path)
        if table.make is Gpu:
            self._check_generation(read.get("arch"), path)
        if len(self.findings) > finding_count:
            if table.make is Architecture:
                self._check_heads(read.get("heads"), read.get("kv_heads"), path)
            return None
        read.setdefault("source", self.file)
        row = _changed(base, path[-1], read) if base is not None else table.make(name=path[-1], **read)
        if isinstance(row, Architecture):
            self._check_consistency(row, path)
        return row

    def _base(self, table: Table, path: tuple[str, ...], like: Any) -> Any:
        try:
            return table.ours(quantities.text(like))
        except QuantityError as error:
            self._add_finding("bad-quantity", (*path, "like"), error.message, error.fix)
        except WrightError as error:
            first_finding = error.findings[0]
            self._add_finding(first_finding.code, (*path, "like"), first_finding.message, first_finding.fix)
        return None

    def _keys(
        self, keys: Mapping[str, Key], path: tuple[str, ...], values: Mapping[str, Any]
    ) -> dict[str, Any]:
        read: dict[str, Any] = {}
        for name, value in values.items():
            if name not in keys:
                self._unknown((*path, name), name, [*keys, "like"])
                continue
            try:
                read[keys[name].fills] = keys[name].read(value)
            except QuantityError as error:
                self._add_finding(
                    "bad-quantity", (*path, name), f"{'.'.join((*path, name))}: {error.message}", error.fix
                )
                read[keys[name].fills] = None
        return read

    def _missing(self, keys: Mapping[str, Key], read: Mapping[str, Any], path: tuple[str, ...]) -> None:
        for name, key in keys.items():
            if key.needed and key.fills not in read:
                fix = _("add `{name} = ...`, or `like = ...` with an entry of the catalog", name=name)
                self._add_finding(
                    "missing-key", path, _("`{path}` has no `{name}`", path=".".join(path), name=name), fix
                )

    def _complete(self, read: dict[str, Any], path: tuple[str, ...]) -> None:
        """Fill in a model's defaults: as many key heads as query heads, and heads that share the width.

        No effect without heads and hidden size; a width that heads do not divide adds a finding.
        """
        heads, hidden = read.get("heads"), read.get("hidden")
        if not heads or not hidden:
            return
        read.setdefault("kv_heads", heads)
        if "head_dim" not in read:
            if hidden % heads:
                message = _(
                    "hidden size {hidden} is not divisible by {heads} heads", hidden=hidden, heads=heads
                )
                self._add_finding(
                    "out-of-range",
                    (*path, "heads"),
                    message,
                    _("set `head_dim`, or correct the hidden size or the number of heads"),
                )
            read["head_dim"] = hidden // heads

    def _check_consistency(self, model: Architecture, path: tuple[str, ...]) -> None:
        for name in ("layers", "hidden", "heads", "kv_heads", "head_dim"):
            if getattr(model, name) < 1:
                self._add_finding(
                    "out-of-range",
                    (*path, name),
                    _("`{name}` is 0; it must be at least 1", name=name),
                    _("write the model's value"),
                )
                return
        self._check_heads(model.heads, model.kv_heads, path)
        for part, total in (("dense_layers", "layers"), ("experts_per_token", "experts")):
            if getattr(model, part) > getattr(model, total):
                message = _(
                    "{part} exceeds {total}, which is {limit}",
                    part=part,
                    total=total,
                    limit=getattr(model, total),
                )
                self._add_finding("out-of-range", (*path, part), message, _("correct one of the two fields"))

    def _check_heads(self, heads: int | None, kv_heads: int | None, path: tuple[str, ...]) -> None:
        if heads and kv_heads and heads % kv_heads:
            message = _(
                "{heads} attention heads are not divisible by {kv_heads} key-value heads",
                heads=heads,
                kv_heads=kv_heads,
            )
            fix = _("use a divisor of the number of heads")
            self._add_finding("out-of-range", (*path, "kv_heads"), message, fix)

    def _check_generation(self, arch: str | None, path: tuple[str, ...]) -> None:
        """Add a finding for a misspelled generation of GPUs, whose figures would be those of another one.

        One that no GPU of the catalog has is accepted.
        """
        generations = sorted({record.arch for record in gpus().values()})
        if not arch or arch.startswith(tuple(generations)):
            return
        if guess := closest_name(arch, generations):
            message = _("`{arch}` is no generation of GPUs in the catalog", arch=arch)
            fix = _("did you mean `{suggestion}`?", suggestion=guess)
            self._add_finding("not-a-choice", (*path, "arch"), message, fix)

    def _prices(self, items: Mapping[str, Any]) -> list[Price]:
        prices = []
        for item, deals in items.items():
            if not isinstance(deals, dict):
                self._add_finding(
                    "wrong-type",
                    ("prices", item),
                    _("`prices.{item}` is not a section", item=item),
                    f"write [prices.{item}.owned]",
                )
                continue
            for deal, raw_values in deals.items():
                path = ("prices", item, deal)
                if deal not in {choice.value for choice in Deal} or not isinstance(raw_values, dict):
                    fix = _(
                        "use one of {deal}, for example [prices.{item}.owned]",
                        deal=", ".join(Deal),
                        item=item,
                    )
                    self._add_finding(
                        "not-a-choice",
                        path,
                        _("`{deal}` in [prices.{item}] is not a kind of purchase", deal=deal, item=item),
                        fix,
                    )
                    continue
                price = self._price(path, item, Deal(deal), raw_values)
                prices += [price] if price else []
        return prices

    def _price(
        self, path: tuple[str, ...], item: str, deal: Deal, raw_values: Mapping[str, Any]
    ) -> Price | None:
        finding_count = len(self.findings)
        read = self._keys(PRICE_KEYS, path, raw_values)
        self._missing(PRICE_KEYS, read, path)
        if len(self.findings) > finding_count:
            return None
        amounts: list[tuple[float, str, str]] = [
            read.get(bound, read["likely"]) for bound in ("low", "likely", "high")
        ]
        (low, currency, per), (likely, *_ignored), (high, *_ignored) = amounts
        if len({amount[1:] for amount in amounts}) > 1:
            fix = _("write low, likely and high in one currency, each per the same unit")
            self._add_finding(
                "currency-mixed", path, _("`{path}` mixes currencies or units", path=".".join(path)), fix
            )
        if not low <= likely <= high:
            fix = _("write low <= likely <= high")
            self._add_finding("out-of-range", path, f"`{'.'.join(path)}`: {low:g}, {likely:g}, {high:g}", fix)
        source = read.get("source", self.file)
        return Price(item, deal, per, low, likely, high, currency, read["date"], "own", source)

    def _unknown(self, path: tuple[str, ...], name: str, valid_keys: list[str]) -> None:

        suggestion = closest_name(name, valid_keys)
        fix = (
            _("did you mean `{suggestion}`?", suggestion=suggestion)
            if suggestion
            else _("remove the key; valid keys: {valid_keys}", valid_keys=", ".join(valid_keys))
        )
        section_label = f"`{'.'.join(path[:-1])}`" if path[1:] else "a catalog file"
        self._add_finding(
            "unknown-key",
            path,
            _("{section_label} has no key `{name}`", section_label=section_label, name=name),
            fix,
        )

    def _add_finding(self, code: str, path: tuple[str, ...], message: str, fix: str) -> None:
        number = self._line(path)
        excerpt = self.lines[number - 1].strip() if number else ""
        self.findings.append(Finding(code, message, fix, (Location(self.file, number, value=excerpt),)))

    def _line(self, path: tuple[str, ...]) -> int | None:
        """Return the number of the line with the key that is last in `path`, else of its section's head.

        None if the file has neither.
        """
        head, section_line = "", None
        for number, line in enumerate(self.lines, 1):
            bare = line.strip().replace('"', "").replace("'", "")
            if bare.startswith("["):
                head = bare.strip("[] ")
                if head == ".".join(path):
                    return number
                if head == ".".join(path[:-1]) or f"{head}.".startswith(f"{'.'.join(path)}."):
                    section_line = section_line or number
            elif head == ".".join(path[:-1]) and bare.partition("=")[0].strip() == path[-1]:
                return number
        return section_line


def _changed(base: Any, name: str, read: dict[str, Any]) -> Any:
    """Return a copy of a built-in row with the user's values; a GPU's rates that are not given stay.

    New memory of a GPU is its usable memory too, unless that is given.
    """
    if isinstance(base, Gpu):
        for rates in ("peak", "achieved"):
            if rates in read:
                read[rates] = (getattr(base, rates) or {}) | read[rates]
        if "memory_bytes" in read:
            read.setdefault("usable_bytes", read["memory_bytes"])
    return replace(base, name=name, **read)

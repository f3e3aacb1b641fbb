"""A user's catalog file: `[gpus.NAME]`, `[models.NAME]`, `[prices.NAME.DEAL]` ...; everything wrong is said at once."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from clusterwright.catalog import parts, quantities
from clusterwright.catalog.gpus import gpu
from clusterwright.catalog.own import Own
from clusterwright.catalog.own_keys import PRICE_KEYS, TABLES, Key, Table
from clusterwright.catalog.records import Architecture, Deal, Gpu, Price
from clusterwright.errors import EXIT_USAGE, Finding, Place, WrightError, did_you_mean
from clusterwright.units import QuantityError


def load(path: Path) -> Own:
    """The user's rows.

    Raises:
        WrightError: `file-unreadable`, `toml-syntax`; or `unknown-key`, `missing-key`, `bad-quantity`, `not-a-choice`,
            `out-of-range`, all of them at once with file and line.
    """
    try:
        written = path.read_bytes().decode()
        tables = tomllib.loads(written)
    except (OSError, UnicodeDecodeError) as why:
        mend = "give a TOML file in UTF-8"
        raise WrightError.of("file-unreadable", f"{path}: {why}", mend, exit_code=EXIT_USAGE) from why
    except tomllib.TOMLDecodeError as why:
        mend = "see docs/guides/own-hardware.md for a file that works"
        raise WrightError.of("toml-syntax", f"{path}: {why}", mend, exit_code=EXIT_USAGE) from why
    reader = _Reader(str(path), written.splitlines())
    own = reader.whole(tables)
    if reader.findings:
        raise WrightError(*reader.findings, exit_code=EXIT_USAGE)
    return own


@dataclass(slots=True)
class _Reader:
    """Reads the sections and keeps what is wrong with them."""

    file: str
    lines: list[str]
    findings: list[Finding] = field(default_factory=list)

    def whole(self, tables: Mapping[str, Any]) -> Own:
        """Everything in the file."""
        known = [*TABLES, "prices"]
        for name in tables:
            if name not in known:
                self._unknown((name,), name, known)
        made: dict[str, Any] = {
            name: {
                each: self._thing(table, (name, each), values)
                for each, values in self._sections(tables, name).items()
            }
            for name, table in TABLES.items()
        }
        own = Own(**made, prices=tuple(self._prices(self._sections(tables, "prices"))))
        if not self.findings:
            self._references(own)
        return own

    def _references(self, own: Own) -> None:
        """What servers are made of is there."""
        for name, server in own.servers.items():
            for key, find in (("gpu", gpu), ("nic", parts.nic), ("drive", parts.storage)):
                try:
                    find(getattr(server, key), own)
                except WrightError as why:
                    first = why.findings[0]
                    self._say(first.code, ("servers", name, key), first.message, first.mend)

    def _sections(self, tables: Mapping[str, Any], name: str) -> Mapping[str, Any]:
        sections = tables.get(name, {})
        if not isinstance(sections, dict):
            self._say("wrong-type", (name,), f"`{name}` is no section", f"write [{name}.NAME]")
            return {}
        return sections

    def _thing(self, table: Table, path: tuple[str, ...], given: Any) -> Any:
        """One row; None where something is wrong with it."""
        if not isinstance(given, dict):
            self._say("wrong-type", path, f"`{'.'.join(path)}` is no section", f"write [{'.'.join(path)}]")
            return None
        said = len(self.findings)
        values = dict(given)
        like = values.pop("like", None)
        base = None if like is None else self._base(table, path, like)
        read = self._keys(table.keys, path, values)
        if like is None:
            if table.make is Architecture:
                self._complete(read, path)
            self._missing(table.keys, read, path)
        if len(self.findings) > said:
            return None
        read.setdefault("source", self.file)
        made = _changed(base, path[-1], read) if base is not None else table.make(name=path[-1], **read)
        if isinstance(made, Architecture):
            self._fits_together(made, path)
        return made

    def _base(self, table: Table, path: tuple[str, ...], like: Any) -> Any:
        try:
            return table.ours(quantities.text(like))
        except QuantityError as why:
            self._say("bad-quantity", (*path, "like"), why.message, why.mend)
        except WrightError as why:
            first = why.findings[0]
            self._say(first.code, (*path, "like"), first.message, first.mend)
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
            except QuantityError as why:
                self._say(
                    "bad-quantity", (*path, name), f"{'.'.join((*path, name))}: {why.message}", why.mend
                )
                read[keys[name].fills] = None
        return read

    def _missing(self, keys: Mapping[str, Key], read: Mapping[str, Any], path: tuple[str, ...]) -> None:
        for name, key in keys.items():
            if key.needed and key.fills not in read:
                mend = f"add `{name} = ...`, or `like = ...` with one of the catalog"
                self._say("missing-key", path, f"`{'.'.join(path)}` has no `{name}`", mend)

    def _complete(self, read: dict[str, Any], path: tuple[str, ...]) -> None:
        """What a model may leave out: as many heads of keys as of queries, and heads that share the width."""
        heads, hidden = read.get("heads"), read.get("hidden")
        if not heads or not hidden:
            return
        read.setdefault("kv_heads", heads)
        if "head_dim" not in read:
            if hidden % heads:
                message = f"a width of {hidden} does not divide among {heads} heads"
                self._say(
                    "out-of-range", (*path, "heads"), message, "give head_dim, or correct one of the two"
                )
            read["head_dim"] = hidden // heads

    def _fits_together(self, model: Architecture, path: tuple[str, ...]) -> None:
        for name in ("layers", "hidden", "heads", "kv_heads", "head_dim"):
            if getattr(model, name) < 1:
                self._say(
                    "out-of-range",
                    (*path, name),
                    f"`{name}` is 0, but must be at least 1",
                    "write the model's own",
                )
                return
        if model.heads % model.kv_heads:
            message = f"{model.heads} heads do not divide among {model.kv_heads} of keys and values"
            self._say("out-of-range", (*path, "kv_heads"), message, "take a divisor of the heads")
        for part, whole in (("dense_layers", "layers"), ("experts_per_token", "experts")):
            if getattr(model, part) > getattr(model, whole):
                message = f"{part} is more than {whole}, {getattr(model, whole)}"
                self._say("out-of-range", (*path, part), message, "correct one of the two")

    def _prices(self, items: Mapping[str, Any]) -> list[Price]:
        found = []
        for item, deals in items.items():
            if not isinstance(deals, dict):
                self._say(
                    "wrong-type",
                    ("prices", item),
                    f"`prices.{item}` is no section",
                    f"write [prices.{item}.owned]",
                )
                continue
            for deal, given in deals.items():
                path = ("prices", item, deal)
                if deal not in {each.value for each in Deal} or not isinstance(given, dict):
                    mend = f"take one of {', '.join(Deal)}, as in [prices.{item}.owned]"
                    self._say("not-a-choice", path, f"`{'.'.join(path)}` is no way to come by it", mend)
                    continue
                one = self._price(path, item, Deal(deal), given)
                found += [one] if one else []
        return found

    def _price(self, path: tuple[str, ...], item: str, deal: Deal, given: Mapping[str, Any]) -> Price | None:
        said = len(self.findings)
        read = self._keys(PRICE_KEYS, path, given)
        self._missing(PRICE_KEYS, read, path)
        if len(self.findings) > said:
            return None
        amounts: list[tuple[float, str, str]] = [
            read.get(each, read["likely"]) for each in ("low", "likely", "high")
        ]
        (low, currency, per), (likely, *_), (high, *_) = amounts
        if len({each[1:] for each in amounts}) > 1:
            mend = "give low, likely and high in one currency, per the same"
            self._say("currency-mixed", path, f"`{'.'.join(path)}` mixes currencies or units", mend)
        if not low <= likely <= high:
            mend = "low is at most likely, and likely at most high"
            self._say("out-of-range", path, f"`{'.'.join(path)}`: {low:g}, {likely:g}, {high:g}", mend)
        source = read.get("source", self.file)
        return Price(item, deal, per, low, likely, high, currency, read["date"], "own", source)

    def _unknown(self, path: tuple[str, ...], name: str, known: list[str]) -> None:

        meant = did_you_mean(name, known)
        mend = f"did you mean `{meant}`?" if meant else f"take it out; the keys are {', '.join(known)}"
        where = f"`{'.'.join(path[:-1])}`" if path[1:] else "a catalog file"
        self._say("unknown-key", path, f"{where} has no key `{name}`", mend)

    def _say(self, code: str, path: tuple[str, ...], message: str, mend: str) -> None:
        number = self._line(path)
        shown = self.lines[number - 1].strip() if number else ""
        self.findings.append(Finding(code, message, mend, (Place(self.file, number, shown=shown),)))

    def _line(self, path: tuple[str, ...]) -> int | None:
        """The line of a key in its section, else of the section's head; None where the file writes it otherwise."""
        head, found = "", None
        for number, line in enumerate(self.lines, 1):
            bare = line.strip().replace('"', "").replace("'", "")
            if bare.startswith("["):
                head = bare.strip("[] ")
                if head == ".".join(path[:-1]) or f"{head}.".startswith(f"{'.'.join(path)}."):
                    found = found or number
            elif head == ".".join(path[:-1]) and bare.partition("=")[0].strip() == path[-1]:
                return number
        return found


def _changed(base: Any, name: str, read: dict[str, Any]) -> Any:
    """A row of ours with the user's values in it; rates that are not given stay, memory takes its usable part along."""
    if isinstance(base, Gpu):
        for rates in ("peak", "achieved"):
            if rates in read:
                read[rates] = (getattr(base, rates) or {}) | read[rates]
        if "memory_bytes" in read:
            read.setdefault("usable_bytes", read["memory_bytes"])
    return replace(base, name=name, **read)

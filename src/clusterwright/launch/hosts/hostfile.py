"""Parse a hostfile as MPI and DeepSpeed read it: hosts with their slots, in the order of the file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from clusterwright.config.hostlists import MAX_NAME, ascending_ranges
from clusterwright.config.names import expand_valid
from clusterwright.errors import EXIT_USAGE, Finding, Location, WrightError, closest_name, unreadable_fix
from clusterwright.file_arguments import read_argument
from clusterwright.i18n import _

MOST_HOSTS = 64
_HOST = re.compile(
    r"(?:(?P<user>[A-Za-z_][\w.-]{0,63})@)?(?P<names>[A-Za-z0-9][\w.,\[\]-]*?)(?::(?P<slots>\d{1,4}))?"
)
_SLOTS = re.compile(r"(?:slots|cpu|count)=(\d{1,4})")
_COUNTS = ("slots", "cpu", "count")
_IGNORED = re.compile(r"(?:max[-_]slots|binding|ifhn|user|path|prefix)=\S*")  # of MPI's own process manager
_NAME = re.compile(  # never an option of ssh, nor the path of another folder
    rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{MAX_NAME - 1}}}"
)


@dataclass(frozen=True, slots=True)
class SlotHost:
    """A host of a hostfile; `slots` is the number of ranks that it has room for, None if the file does not say."""

    name: str
    slots: int | None = None
    user: str | None = None

    @property
    def is_valid(self) -> bool:
        """Return True if the name is that of a host, which one in an environment variable need not be."""
        return _NAME.fullmatch(self.name) is not None

    @property
    def target(self) -> str:
        """Return the host's argument of ssh: `host` or `user@host`."""
        return f"{self.user}@{self.name}" if self.user else self.name


def slot_host(target: str) -> SlotHost:
    """Return the host of an argument of ssh: `host` or `user@host`."""
    user, _sign, name = target.rpartition("@")
    return SlotHost(name, user=user or None)


def read_hostfile(file: Path) -> tuple[SlotHost, ...]:
    """Return the hosts of a file.

    Raises:
        WrightError: the file cannot be read, or a line is none of a hostfile.
    """
    try:
        text = read_argument(file).decode()
    except (OSError, UnicodeDecodeError) as error:
        otherwise = _("name a file with one host a line: --hostfile FILE")
        raise WrightError.from_code(
            "file-unreadable",
            _("cannot read {file}: {error}", file=file, error=getattr(error, "strerror", None) or error),
            unreadable_fix(error, file, otherwise),
            exit_code=EXIT_USAGE,
        ) from error
    return parse_hostfile(text, str(file))


def parse_hostfile(text: str, name: str) -> tuple[SlotHost, ...]:
    """Return the hosts of a hostfile's text; `name` is the file's name for errors.

    A line is `host`, `host:8`, `host slots=8`, `user@host` or `node[1-4] slots=8`. A host in several lines has their
    slots together if none of them has a number, as in the node files of schedulers.

    Raises:
        WrightError: with all lines that are none of these; there is no host, or more than 64.
    """
    hosts: list[SlotHost] = []
    invalid: list[Finding] = []
    lines_by_host: dict[str, tuple[Location, SlotHost]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        fields = line.partition("#")[0].split()
        if fields:
            parsed = _hosts_of(fields)
            if isinstance(parsed, _WrongLine):
                location = Location(name, number, len(line) - len(line.lstrip()) + 1, source=line)
                invalid.append(_invalid(parsed.message, location, fix=parsed.fix))
            else:
                location = Location(name, number, source=line)
                invalid += _repeated(parsed, location, lines_by_host)
                hosts += parsed
    if invalid:
        if _is_inventory(text):
            message = _("{file} is an Ansible inventory, not a hostfile", file=name)
            raise WrightError(_invalid(message, Location(name)), exit_code=EXIT_USAGE)
        raise WrightError(*invalid, exit_code=EXIT_USAGE)
    merged = merge(hosts)
    if not merged or len(merged) > MOST_HOSTS:
        message = _(
            "{file} lists {count} hosts, 1 to {most} are possible",
            file=name,
            count=len(merged),
            most=MOST_HOSTS,
        )
        raise WrightError(_invalid(message), exit_code=EXIT_USAGE)
    return merged


def merge(hosts: Iterable[SlotHost]) -> tuple[SlotHost, ...]:
    """Return each host once, in the order of its first line, with the slots of all its lines added up.

    Of several lines, one without slots counts as one slot.
    """
    lines: dict[str, list[SlotHost]] = {}
    for host in hosts:
        lines.setdefault(host.name, []).append(host)
    return tuple(
        duplicates[0]
        if len(duplicates) == 1
        else replace(duplicates[0], slots=sum(host.slots or 1 for host in duplicates))
        for duplicates in lines.values()
    )


def _repeated(
    hosts: list[SlotHost], location: Location, lines_by_host: dict[str, tuple[Location, SlotHost]]
) -> Iterator[Finding]:
    """Yield a finding for each host that an earlier line has too, if one of the two lines has a number of slots."""
    for host in hosts:
        earlier_location, earlier = lines_by_host.setdefault(host.name, (location, host))
        if earlier is host or earlier.slots is host.slots is None:
            continue
        message = _("{host} is listed twice", host=host.name)
        total = (earlier.slots or 1) + (host.slots or 1)
        fix = _(
            "remove one of the lines; for the slots of both, write one line: {line}",
            line=f"{host.target} slots={total}",
        )
        yield Finding("hostfile-line", message, fix, (earlier_location, location))


def _is_inventory(text: str) -> bool:
    """Return whether a text has a group or a variable of an Ansible inventory in INI form."""
    return re.search(r"(?m)^\s*\[[A-Za-z_][\w:-]*\]\s*$|\sansible_[a-z_]+=", text) is not None


@dataclass(frozen=True, slots=True)
class _WrongLine:
    """What is wrong with a line, and what to write; without a fix, the forms of a line are named."""

    message: str
    fix: str = ""


def _hosts_of(fields: list[str]) -> list[SlotHost] | _WrongLine:
    """Return the hosts of one line of a hostfile, or what is wrong with the line."""
    match = _HOST.fullmatch(fields[0])
    if match is None:
        return _WrongLine(_("`{text}` is not a host", text=fields[0]))
    slots = int(match["slots"]) if match["slots"] else None
    if wrong := _other_form(match["names"], fields, has_slots=slots is not None):
        return wrong
    for field in fields[1:]:
        key, equals, value = field.partition("=")
        if counted := _SLOTS.fullmatch(field):
            slots = int(counted[1])
        elif key in _COUNTS and equals:
            return _wrong_slots(value)
        elif not _IGNORED.fullmatch(field):
            guess = closest_name(key, ("slots", "max_slots")) if equals else None
            fix = _("did you mean `{suggestion}`?", suggestion=f"{guess}={value}") if guess else ""
            return _WrongLine(_("a hostfile has no `{field}`", field=key + equals), fix)
    text = match["names"]
    names = expand_valid(text) if "[" in text else (text,)
    if slots == 0:
        return _wrong_slots("0")
    if not names and (ascending := ascending_ranges(text)) != text:
        return _WrongLine(
            _("`{text}` has a descending range; it is {ascending}", text=text, ascending=ascending)
        )
    if not names or not all(_NAME.fullmatch(name) for name in names):
        return _WrongLine(_("`{text}` is not a host", text=text))
    return [SlotHost(name, slots, match["user"]) for name in names]


def _other_form(name: str, fields: list[str], *, has_slots: bool) -> _WrongLine | None:
    """Return what is wrong with a line of /etc/hosts, and with one that has its slots twice; None for another line."""
    if len(fields) > 1 and _NAME.fullmatch(fields[1]) and _is_address(fields[0]):
        message = _("`{line}` is a line of /etc/hosts, with an address and names", line=" ".join(fields))
        return _WrongLine(message, _("write one of them: {line}", line=fields[1]))
    counts = [field for field in fields[1:] if field.partition("=")[0] in _COUNTS]
    if len(counts) + has_slots > 1:
        message = _("{host} has its slots twice", host=name)
        return _WrongLine(message, _("write {line}", line=f"{name} {counts[0]}"))
    return None


def _is_address(text: str) -> bool:
    """Return True for an IP address, also for one with a number above 255."""
    return re.fullmatch(r"\d{1,3}(\.\d{1,3}){3}", text) is not None


def _wrong_slots(value: str) -> _WrongLine:
    message = _("the number of slots is `{value}`, which is not a number from 1 to 9999", value=value)
    return _WrongLine(message, _("write the number of GPUs of the host: slots=8"))


def _invalid(message: str, *places: Location, fix: str = "") -> Finding:
    fix = fix or _(
        "write one host a line: `host`, `host slots=8`, `host:8` or `user@host`; # starts a comment"
    )
    return Finding("hostfile-line", message, fix, places)

"""Certificates of the cluster's own authority, kept on this machine: made by openssl, renewed long before they end."""

from __future__ import annotations

import fcntl
import json
import secrets
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from clusterwright.edge.clock import Clock
from clusterwright.edge.files import write_whole
from clusterwright.edge.processes import run
from clusterwright.errors import WrightError
from clusterwright.onhost.lib.files import rename

DAY_S = 86400
AUTHORITY_DAYS = (
    7300  # longer than a cluster stands: another authority means new certificates on all hosts at once
)
DAYS = 730
RENEW_S = DAYS * DAY_S // 2  # who applies once a year never sees one end
_AT_ONCE = 8  # two runs of openssl each, 15 ms on one core
_CURVE = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
_EXTENSIONS = (
    "[req]\ndistinguished_name=name\nprompt=no\n[name]\nCN={name}\n"
    "[own]\nsubjectAltName={names}\nextendedKeyUsage=serverAuth,clientAuth\nbasicConstraints=critical,CA:FALSE\n"
)


@dataclass(frozen=True, slots=True)
class _Given:
    """What a certificate was made for, as kept beside it: openssl is not asked at each apply."""

    names: str
    until: float


def certificates(folder: Path, subjects: Mapping[str, str], clock: Clock) -> dict[str, bytes]:
    """`tls/ca.crt`, and `tls/NAME.crt` and `tls/NAME.key` for every subject; what is missing or ends soon is made.

    `subjects` are the names and addresses of each, as `DNS:node1,IP:10.0.0.1`. A certificate that is good as it is
    stays as it is, so that a second apply changes nothing.

    Raises:
        WrightError: openssl is not there, or makes none; others can read a private key.
    """
    place = folder / "tls"
    place.mkdir(mode=0o700, exist_ok=True)
    with (place / ".lock").open("w") as lock:
        fcntl.flock(
            lock, fcntl.LOCK_EX
        )  # another apply at the same time would pair its keys with our certificates
        _authority(place, clock.now())
        _renew(place, subjects, clock.now())
    files = ["ca.crt", *(f"{name}.{end}" for name in subjects for end in ("crt", "key"))]
    return {f"tls/{name}": _read(place / name) for name in files}


def _renew(place: Path, subjects: Mapping[str, str], now: float) -> None:
    known = _known(place)
    due = {name: names for name, names in subjects.items() if not _good(place, name, names, known, now)}
    if not due:
        return
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(lambda item: _issue(place, *item), due.items()))
    known |= {name: _Given(names, now + DAYS * DAY_S) for name, names in due.items()}
    write_whole(place / "given.json", json.dumps({name: asdict(one) for name, one in sorted(known.items())}))


def _good(place: Path, name: str, names: str, known: Mapping[str, _Given], now: float) -> bool:
    one = known.get(name)
    there = all((place / f"{name}.{end}").exists() for end in ("crt", "key"))
    return there and one is not None and one.names == names and one.until - now > RENEW_S


def _known(place: Path) -> dict[str, _Given]:
    """Nothing, where it cannot be read: all are made anew then."""
    try:
        rows = json.loads((place / "given.json").read_text())
        return {name: _Given(**row) for name, row in rows.items()}
    except (OSError, ValueError, TypeError):
        return {}


def _authority(place: Path, now: float) -> None:
    """Made once; with another one everything that it signed is made anew."""
    certificate, key = place / "ca.crt", place / "ca.key"
    if (
        certificate.exists()
        and key.exists()
        and certificate.stat().st_mtime + AUTHORITY_DAYS * DAY_S / 2 > now
    ):
        return
    (place / "given.json").unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(dir=place) as scratch:
        made = [Path(scratch) / "key", Path(scratch) / "crt"]
        _openssl(
            "req",
            "-x509",
            *_CURVE,
            "-keyout",
            str(made[0]),
            "-out",
            str(made[1]),
            "-days",
            str(AUTHORITY_DAYS),
            "-subj",
            f"/CN=clusterwright {secrets.token_hex(4)}",
        )
        rename(made[0], key, durable=True)
        rename(made[1], certificate, durable=True)


def _issue(place: Path, name: str, names: str) -> None:
    """A new key and its certificate; the old pair is there until both are made."""
    with tempfile.TemporaryDirectory(dir=place) as scratch:
        wish, config = f"{scratch}/csr", Path(scratch) / "config"
        config.write_text(_EXTENSIONS.format(name=name, names=names))
        _openssl("req", "-new", *_CURVE, "-config", str(config), "-keyout", f"{scratch}/key", "-out", wish)
        _openssl(
            "x509",
            "-req",
            "-in",
            wish,
            "-CA",
            str(place / "ca.crt"),
            "-CAkey",
            str(place / "ca.key"),
            "-set_serial",
            str(secrets.randbits(127) + 1),
            "-days",
            str(DAYS),
            "-sha256",
            "-extfile",
            str(config),
            "-extensions",
            "own",
            "-out",
            f"{scratch}/crt",
        )
        for end in ("key", "crt"):
            Path(scratch, end).chmod(0o600)
            rename(Path(scratch, end), place / f"{name}.{end}", durable=False)


def _read(path: Path) -> bytes:
    mode = path.stat().st_mode & 0o777
    if path.suffix == ".key" and mode & 0o077:
        raise WrightError.of(
            "certificates",
            f"{path} has mode {mode:04o}, so others can read it",
            f"if nobody has read it: chmod 600 {path}; else remove it, and the next apply makes a new one",
        )
    return path.read_bytes()


def _openssl(*arguments: str) -> None:
    try:
        done = run(("openssl", *arguments))
    except OSError as why:
        raise WrightError.of("certificates", f"openssl: {why}", "install openssl on this machine") from why
    if not done.ok:
        raise WrightError.of(
            "certificates", f"openssl: {done.last_lines()}", "mend what it says, and run again"
        )

"""TLS certificates of the cluster's own CA on this machine: created with openssl, renewed before they expire."""

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
from clusterwright.edge.files import write_file_atomic
from clusterwright.edge.processes import run
from clusterwright.errors import WrightError
from clusterwright.i18n import _
from clusterwright.onhost.lib.files import rename

DAY_S = 86400
AUTHORITY_DAYS = 7300  # longer than a cluster lives: a new CA replaces the certificates of all hosts
DAYS = 730
RENEW_S = DAYS * DAY_S // 2  # with one apply a year no certificate expires
_AT_ONCE = 8  # certificates issued in parallel: two runs of openssl each, 15 ms on one core
_CURVE = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
_EXTENSIONS = (
    "[req]\ndistinguished_name=name\nprompt=no\n[name]\nCN={name}\n"
    "[own]\nsubjectAltName={names}\nextendedKeyUsage=serverAuth,clientAuth\nbasicConstraints=critical,CA:FALSE\n"
)


@dataclass(frozen=True, slots=True)
class _Given:
    """The subject names and expiry of a certificate, stored beside it so that apply need not call openssl."""

    names: str
    until: float


def certificates(folder: Path, subjects: Mapping[str, str], clock: Clock) -> dict[str, bytes]:
    """Return `tls/ca.crt`, and `tls/NAME.crt` and `tls/NAME.key` of each subject; create missing or expiring ones.

    `subjects` maps names to subjectAltName values such as `DNS:node1,IP:10.0.0.1`. Valid certificates do not change,
    so that a second apply changes nothing.

    Raises:
        WrightError: openssl is missing or fails, or other users can read a private key.
    """
    tls_folder = folder / "tls"
    tls_folder.mkdir(mode=0o700, exist_ok=True)
    with (tls_folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # a concurrent apply would mix its keys with our certificates
        _authority(tls_folder, clock.now())
        _renew(tls_folder, subjects, clock.now())
    files = ["ca.crt", *(f"{name}.{end}" for name in subjects for end in ("crt", "key"))]
    return {f"tls/{name}": _read(tls_folder / name) for name in files}


def _renew(tls_folder: Path, subjects: Mapping[str, str], now: float) -> None:
    records = _read_records(tls_folder)
    due = {
        name: names
        for name, names in subjects.items()
        if not _is_valid(tls_folder, name, names, records, now)
    }
    if not due:
        return
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(lambda item: _issue(tls_folder, *item), due.items()))
    records |= {name: _Given(names, now + DAYS * DAY_S) for name, names in due.items()}
    write_file_atomic(
        tls_folder / "given.json",
        json.dumps({name: asdict(record) for name, record in sorted(records.items())}),
    )


def _is_valid(tls_folder: Path, name: str, names: str, records: Mapping[str, _Given], now: float) -> bool:
    record = records.get(name)
    files_exist = all((tls_folder / f"{name}.{end}").exists() for end in ("crt", "key"))
    return files_exist and record is not None and record.names == names and record.until - now > RENEW_S


def _read_records(tls_folder: Path) -> dict[str, _Given]:
    """Read the records of issued certificates by name; empty if the file cannot be read, so that all are reissued."""
    try:
        rows = json.loads((tls_folder / "given.json").read_text())
        return {name: _Given(**row) for name, row in rows.items()}
    except (OSError, ValueError, TypeError):
        return {}


def _authority(tls_folder: Path, now: float) -> None:
    """Create the certificate authority if it is missing or past half its lifetime (`now` is epoch seconds).

    All certificates are then reissued.
    """
    certificate, key = tls_folder / "ca.crt", tls_folder / "ca.key"
    if (
        certificate.exists()
        and key.exists()
        and certificate.stat().st_mtime + AUTHORITY_DAYS * DAY_S / 2 > now
    ):
        return
    (tls_folder / "given.json").unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(dir=tls_folder) as scratch:
        new_files = [Path(scratch) / "key", Path(scratch) / "crt"]
        _openssl(
            "req",
            "-x509",
            *_CURVE,
            "-keyout",
            str(new_files[0]),
            "-out",
            str(new_files[1]),
            "-days",
            str(AUTHORITY_DAYS),
            "-subj",
            f"/CN=clusterwright {secrets.token_hex(4)}",
        )
        rename(new_files[0], key, durable=True)
        rename(new_files[1], certificate, durable=True)


def _issue(tls_folder: Path, name: str, names: str) -> None:
    """Create a private key and its certificate, signed by the cluster's CA, for `name` with subject names `names`.

    They replace the old pair once both exist.
    """
    with tempfile.TemporaryDirectory(dir=tls_folder) as scratch:
        csr, config = f"{scratch}/csr", Path(scratch) / "config"
        config.write_text(_EXTENSIONS.format(name=name, names=names))
        _openssl("req", "-new", *_CURVE, "-config", str(config), "-keyout", f"{scratch}/key", "-out", csr)
        _openssl(
            "x509",
            "-req",
            "-in",
            csr,
            "-CA",
            str(tls_folder / "ca.crt"),
            "-CAkey",
            str(tls_folder / "ca.key"),
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
            rename(Path(scratch, end), tls_folder / f"{name}.{end}", durable=False)


def _read(path: Path) -> bytes:
    mode = path.stat().st_mode & 0o777
    if path.suffix == ".key" and mode & 0o077:
        message = _("{path} has mode {mode}, so other users can read it", path=path, mode=f"{mode:04o}")
        fix = _(
            "run `chmod 600 {path}`; if another user may have read the key, remove the key file: "
            "`wright apply` creates a new key",
            path=path,
        )
        raise WrightError.from_code("certificates", message, fix)
    return path.read_bytes()


def _openssl(*arguments: str) -> None:
    try:
        result = run(("openssl", *arguments))
    except OSError as error:
        raise WrightError.from_code(
            "certificates", f"openssl: {error.strerror}", _("install openssl on this machine")
        ) from error
    if not result.ok:
        raise WrightError.from_code(
            "certificates", f"openssl: {result.last_lines()}", _("fix the error of openssl, and run again")
        )

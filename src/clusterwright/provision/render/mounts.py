"""A mount as a systemd unit: what is mounted where, and each option with its reason."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from clusterwright.config.field import Cost
from clusterwright.provision.resources import File, MountPoint, Unit, mount_unit_name

# A server that does not respond delays a boot or an apply by at most this; the timer retries.
MOUNT_TIMEOUT_S = 90  # systemd's own DefaultTimeoutStartSec


@dataclass(frozen=True, slots=True)
class Option:
    """A mount option and its reason; the site's options have none."""

    text: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mounted:
    """A mount; `required_units` start before it, and `remote` is true for network file systems."""

    source: str
    mount_path: str
    kind: str
    options: tuple[Option, ...]
    required_units: tuple[str, ...] = ()
    remote: bool = True
    kernels: Mapping[str, str] | None = None

    def resources(self, header: str) -> tuple[MountPoint, File, Unit]:
        """Return the mount point, the unit file and the unit; a failed mount does not block the rest of the host."""
        name = mount_unit_name(self.mount_path)
        path = f"/etc/systemd/system/{name}"
        file = File(path=path, content=header + self._text(), cost=Cost.DRAIN)
        point = MountPoint(
            path=self.mount_path, source=self.source, type=self.kind, unit=path, kernels=self.kernels or {}
        )
        return point, file, Unit(name=name, restart_on=(file.id,), independent=True)

    def _text(self) -> str:
        units = " ".join((*(("network-online.target",) if self.remote else ()), *self.required_units))
        dependencies = f"After={units}\nWants={units}\n" if units else ""
        return f"""[Unit]
Description={self.mount_path} ({self.kind})
{dependencies}
[Mount]
What={self.source}
Where={self.mount_path}
Type={self.kind}
{reasons(self.options)}Options={",".join(option.text for option in self.options)}
TimeoutSec={MOUNT_TIMEOUT_S}

[Install]
WantedBy={"remote" if self.remote else "local"}-fs.target
"""


def reasons(options: Iterable[Option]) -> str:
    """Return a comment line for each mount option that has a reason, as one text."""
    return "".join(f"# {option.text}: {option.reason}\n" for option in options if option.reason)

"""Judge a cluster file that was found and not named: it may be another user's, or a stranger's repository has it."""

from __future__ import annotations

import stat
from pathlib import Path

from clusterwright.cli._show import cluster_option
from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _


def require_trusted(path: Path) -> None:
    """Raise WrightError if another user could write a cluster file that was found, or if it names programs.

    An ssh_config file names programs that ssh starts. Which files came with the cluster file, nothing tells, so only
    one that the user or root placed for SSH is used: below ~/.ssh or /etc.

    Raises:
        WrightError: `cluster-file-untrusted`.
    """
    from clusterwright.edge.own_folders import exchangeable_step

    if not stat.S_ISREG(path.stat().st_mode):
        raise _untrusted(path, _("{file} is a pipe, a device or a folder, not a cluster file", file=path))
    if step := exchangeable_step(path):
        message = _("{file} was found, not named, and another user can change {path}", file=path, path=step)
        raise _untrusted(path, message)
    config = _ssh_config_of(path)
    if config is None:
        return
    if step := exchangeable_step(config):
        message = _(
            "`ssh.config` of {file} is {config}, and another user can change {path}",
            file=path,
            config=config,
            path=step,
        )
        raise _untrusted(path, message)
    if not _is_placed_for_ssh(config):
        message = _(
            "`ssh.config` of {file}, {config}, may come with the cluster file, and can start programs:"
            " of a file that was found, not named, only files below {folders} are used",
            file=path,
            config=config,
            folders=", ".join(map(str, _ssh_folders())),
        )
        raise _untrusted(path, message)


def _untrusted(path: Path, message: str) -> WrightError:
    fix = _("if you trust the file, name it: {option}", option=cluster_option(path))
    return WrightError.from_code("cluster-file-untrusted", message, fix, exit_code=EXIT_USAGE)


def _ssh_config_of(path: Path) -> Path | None:
    """Return the path `ssh.config` of a cluster file; None without one, or if the file is invalid.

    Its reader reports that.
    """
    from clusterwright.config.load import source_of
    from clusterwright.errors import SpecError

    try:
        text = path.read_bytes()
        # Parsing takes a while; only an escape could hide the word.
        access = source_of(path).values.get("ssh") if b"config" in text or b"\\" in text else None
    except (OSError, SpecError):
        return None
    config = access.get("config") if isinstance(access, dict) else None
    return Path(config) if isinstance(config, str) and config else None


def _ssh_folders() -> tuple[Path, ...]:
    return Path.home() / ".ssh", Path("/etc")


def _is_placed_for_ssh(config: Path) -> bool:
    """Return True if a path is below ~/.ssh or /etc; where a link there leads, who made it decides."""
    return ".." not in config.parts and any(config.is_relative_to(folder) for folder in _ssh_folders())

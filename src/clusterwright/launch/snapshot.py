"""Archive the code of a run at submission, identified by a digest of its content."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from clusterwright.config.job import Code
from clusterwright.edge.processes import output
from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import _
from clusterwright.onhost.lib.safe_reader import open_regular
from clusterwright.units import human_size

# Names of generated files and others that are not code; used only outside of a git repository.
USUAL = (
    "__pycache__",
    "*.pyc",
    ".venv",
    "venv",
    "node_modules",
    ".mypy_cache",
    ".pytest_cache",
    "runs",
)
# Usual names of keys and passwords: never copied, because a run is readable by other users. The settings of a git
# repository can have a password in a URL.
PRIVATE = (
    ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", "gcloud", ".netrc", ".git-credentials", ".pgpass",
    "secrets.env", ".env", ".git", ".pypirc", ".npmrc", ".vault-token", ".my.cnf", ".*history",
    "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*",
)  # fmt: skip
# No list of names is complete: outside of a git repository nothing hidden is copied, nor what is named as a key.
HIDDEN = (".*", "*.pem", "*.key", "*.p12", "*.pfx")
# The repository's own settings name programs: for fsmonitor, and to fetch objects that a partial clone lacks.
GIT = ("git", "-c", "core.fsmonitor=false", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
WITHOUT_NETWORK = {"GIT_ALLOW_PROTOCOL": "", "GIT_TERMINAL_PROMPT": "0"}
MAX_LISTED = 5  # of the largest files, in the error about too much code


@dataclass(frozen=True, slots=True)
class CodeSnapshot:
    """A tar.gz archive; its digest depends only on the files."""

    digest: str
    data: bytes
    names: frozenset[str]

    def unpack(self, folder: Path, umask: int = 0o022) -> None:
        """Extract the archive's files into a new folder, without the permissions that `umask` removes."""
        folder.mkdir()
        with tarfile.open(fileobj=io.BytesIO(self.data), mode="r:gz") as tar:
            # 3.11.2, the Python of Debian 12, has no argument `filter`.
            tar.extraction_filter = getattr(tarfile, "data_filter", lambda entry, _folder: entry)
            for entry in tar:
                entry.mode &= ~umask
            tar.extractall(folder)  # nosec B202 # noqa: S202 (made by this process)


def snapshot(code: Code, base_folder: Path) -> CodeSnapshot:
    """Return an archive of the files of the code folder; in a git repository, without ignored files.

    Raises:
        WrightError: the folder does not exist, has no files or exceeds the limit, git cannot list its repository, or
            a link leads to a file that is not copied.
    """
    top = (base_folder / code.folder).resolve()
    if not top.is_dir():
        raise _refused(
            "code-folder",
            _("the code folder {folder} does not exist", folder=top),
            _("set an existing folder: `code: {folder: .}`, or --code ."),
        )
    names = [name for name in _listed(top) if not _left_out(name, (*code.exclude, *PRIVATE))]
    if not names:
        message = _("the code folder {folder} has no files to copy", folder=top)
        raise _refused("code-folder", message, _("set the folder of the code"))
    _check_links(top, names)
    _check_size(top, names, code.limit)
    archive = _archive(top, names)
    packed = gzip.compress(archive, compresslevel=3, mtime=0)
    return CodeSnapshot(hashlib.sha256(archive).hexdigest(), packed, frozenset(names))


def check_folder(code: Code, base_folder: Path) -> None:
    """Refuse a code folder that has nothing to do with the job file's, `base_folder`.

    A job file from somebody else could otherwise publish private files of the user who submits it. Allowed are the
    folder of the job file, its git repository, and all folders below these; a repository of the user's home is none. A
    job file in the home, above it, or in its hidden folders (.config) has no folder: nobody knows what else is there.

    Raises:
        WrightError: the folder is another one.
    """
    base, top, home = base_folder.resolve(), (base_folder / code.folder).resolve(), Path.home().resolve()
    above = [folder for folder in base.parents if not home.is_relative_to(folder)]
    repository = next((folder for folder in (base, *above) if (folder / ".git").exists()), base)
    is_git = (repository / ".git").exists()
    if home.is_relative_to(base) or (not is_git and _is_hidden(top, home)):
        raise _refused(
            "code-folder-outside",
            _("the job file in {base} copies code from {folder}, in your home", base=base, folder=top),
            _(
                "move the job file into the folder of its code; or name the folder yourself: wright train --code"
                " {folder} ...",
                folder=top,
            ),
        )
    if top.is_relative_to(repository):
        return
    raise _refused(
        "code-folder-outside",
        _("the job file in {base} copies code from another folder, {folder}", base=base, folder=top),
        _(
            "if you trust the job file, name the folder yourself: wright train --code {folder} ...",
            folder=top,
        ),
    )


def _is_hidden(folder: Path, home: Path) -> bool:
    """Return whether a folder is in a hidden folder of the home, where programs store settings with tokens."""
    return folder.is_relative_to(home) and any(
        part.startswith(".") for part in folder.relative_to(home).parts
    )


def _listed(top: Path) -> list[str]:
    """Return paths below the folder: tracked or not ignored by git; outside a repository all but usual private ones.

    Raises:
        WrightError: the folder is in a repository, and git cannot list its files.
    """
    tracked = output((*GIT, "."), cwd=top, env={**os.environ, **WITHOUT_NETWORK})
    if tracked is not None:
        names = os.fsdecode(tracked).split("\0")
        return sorted({name for name in names if name and (top / name).is_file()})
    if any((folder / ".git").exists() for folder in (top, *top.parents)):
        message = _("git cannot list the files of the code folder {folder}", folder=top)
        raise _refused(
            "code-folder", message, _("run `git -C {folder} ls-files` and fix its error", folder=top)
        )
    paths, omitted = [], (*USUAL, *PRIVATE, *HIDDEN)
    for folder, inner, files in os.walk(top):
        inner[:] = [
            name
            for name in inner
            if not _left_out(name, omitted) and not Path(folder, name, "pyvenv.cfg").exists()
        ]
        paths += [os.path.relpath(Path(folder, name), top) for name in files if not _left_out(name, omitted)]
    return sorted(name for name in paths if (top / name).is_file())


def _left_out(name: str, patterns: Sequence[str]) -> bool:
    """Return whether a pattern matches the path, a folder above it, or one of its parts."""
    parts = name.split("/")
    above = ["/".join(parts[: depth + 1]) for depth in range(len(parts))]
    return any(fnmatch(part, pattern.rstrip("/")) for pattern in patterns for part in (*above, *parts))


def _check_links(top: Path, names: Sequence[str]) -> None:
    """Refuse links to files that are not copied themselves: a repository could publish private files of the user."""
    files = {top / name for name in names}
    link = next((name for name in names if (top / name).resolve() not in files), None)
    if link is not None:
        raise _refused(
            "code-link-outside",
            _(
                "{file} is a link to {target}, which is not among the files that are copied from {folder}",
                file=link,
                target=(top / link).resolve(),
                folder=top,
            ),
            _("replace the link with a copy, or exclude it: `code: {{exclude: [{file}]}}`", file=link),
        )


def _check_size(top: Path, names: Sequence[str], limit: int) -> None:
    sizes = {name: (top / name).stat().st_size for name in names}
    if (total := sum(sizes.values())) <= limit:
        return
    largest = sorted(sizes, key=lambda name: -sizes[name])[:MAX_LISTED]
    message = _(
        "the code in {folder} has {size}, but code.limit is {limit}; largest files: {files}",
        folder=top,
        size=human_size(total),
        limit=human_size(limit),
        files=", ".join(f"{name} ({human_size(sizes[name])})" for name in largest),
    )
    fix = _(
        "store data on shared storage; exclude files with .gitignore or `code: {exclude: [data]}`, or raise `limit`"
    )
    raise _refused("code-too-large", message, fix)


def _archive(top: Path, names: Sequence[str]) -> bytes:
    """Return a tar archive without times and owners, so that the digest depends on paths and contents only.

    Raises:
        UnsafeFileError: a file was exchanged since the links were checked.
    """
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name in names:
            with open_regular((top / name).resolve(), inside=top) as file:
                data, mode = file.read(), os.fstat(file.fileno()).st_mode
            entry = tarfile.TarInfo(name)
            entry.mode = 0o755 if mode & 0o100 else 0o644
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return out.getvalue()


def _refused(code: str, message: str, fix: str) -> WrightError:
    return WrightError.from_code(code, message, fix, exit_code=EXIT_USAGE)

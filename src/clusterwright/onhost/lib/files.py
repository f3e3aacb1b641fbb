"""Files that appear whole: written beside the target, renamed over it; a reader sees the old one or the new one.

Standard library only, Python 3.6 or later.
"""

import os
from contextlib import contextmanager
from typing import Any, Iterator, Optional, Tuple, Union

SCRATCH = ".wright-"  # in the name of a file that is being written: `.NAME.wright-RANDOM`
Path = Union[str, "os.PathLike[str]"]


def write_atomic(
    path: Path,
    data: Union[bytes, str],
    *,
    mode: Optional[int] = None,
    owner: Optional[Tuple[int, int]] = None,
    durable: bool = True,
) -> None:
    """Replace a file; with `durable` it outlasts a crash of the host, once this returns.

    Without `durable` nothing waits for the disk: for a file that the next minute writes anew, and for network storage
    in a loop that must not stop. A `mode` that is not set is 0666 less the umask.

    Raises:
        OSError: the disk does not take it; what was there before stays.
    """
    with replacing(path, mode=mode, owner=owner, durable=durable) as file:
        file.write(data.encode() if isinstance(data, str) else data)


@contextmanager
def replacing(
    path: Path, *, mode: Optional[int] = None, owner: Optional[Tuple[int, int]] = None, durable: bool = True
) -> Iterator[Any]:
    """A binary file to write, which takes the place of `path` when the block ends well, and vanishes otherwise.

    `file.name` is where it lies until then, for a program that checks it; flush it first.
    """
    scratch = scratch_path(path)
    initial_mode = 0o666 if mode is None else 0o600  # nobody reads a secret before it has its owner
    try:
        with open(
            scratch, "xb", opener=lambda name, flags: os.open(name, flags | os.O_NOFOLLOW, initial_mode)
        ) as file:
            yield file
            file.flush()
            if owner is not None:
                os.fchown(file.fileno(), *owner)
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            if durable:
                os.fsync(file.fileno())
        rename(scratch, path, durable=durable)
    except BaseException:
        remove(scratch)
        raise


def replace_link(path: Path, target: Path) -> None:
    """Point a symbolic link elsewhere, in one step."""
    scratch = scratch_path(path)
    try:
        os.symlink(target, scratch)
        rename(scratch, path, durable=False)
    except BaseException:
        remove(scratch)
        raise


def rename(source: Path, target: Path, *, durable: bool) -> None:
    """Give a file or folder its final name, in place of a file that has it; with `durable` the name lasts."""
    os.replace(source, target)
    if durable:
        sync_folder(os.path.dirname(target))


def remove(path: Path) -> None:
    """Remove a file; one that is not there is no error."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass


def sync_folder(folder: Path) -> None:
    """A name lasts only when its folder is on disk."""
    handle = os.open(folder or ".", os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def scratch_path(path: Path) -> str:
    """A name that nobody else has, in the same folder."""
    folder, name = os.path.split(os.fspath(path))
    return os.path.join(folder, ".%s%s%s" % (name, SCRATCH, os.urandom(4).hex()))

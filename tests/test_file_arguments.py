"""Files that a user names: a pipe, a device or a socket is an error at once, in every reader."""

import os
import socket
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from clusterwright.catalog.hf import model_of
from clusterwright.catalog.user_catalog_file import load_user_catalog
from clusterwright.cli.plan._inputs import read_table
from clusterwright.cli.simulate import _lines
from clusterwright.config.load import load_cluster, load_job, text_of
from clusterwright.edge.receivers import receiver_secrets
from clusterwright.errors import SpecError, WrightError
from clusterwright.file_arguments import open_argument, read_argument
from clusterwright.launch.hosts.hostfile import read_hostfile
from clusterwright.monitor.web.serve import _load
from clusterwright.monitor.web.users import Users

READERS = {
    "cluster file": load_cluster,
    "job file": load_job,
    "file of Slurm, requirements": text_of,
    "config.json": lambda path: model_of(str(path)),
    "catalog": load_user_catalog,
    "table": read_table,
    "trace": lambda path: list(_lines(path)),
    "hostfile": read_hostfile,
    "secret": lambda path: receiver_secrets({"a": (path, True)}),
    "users": lambda path: Users(path).all(),
    "certificate": lambda path: _load(path, path),
}


@pytest.fixture(params=["pipe", "link", "socket", "device"])
def special(request, tmp_path):
    """A file that is none."""
    path = tmp_path / "config.json"
    if request.param == "socket":
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(path))
            yield path
    elif request.param == "device":
        yield Path("/dev/zero")
    else:
        os.mkfifo(path, 0o600)
        if request.param == "link":
            (tmp_path / "link.json").symlink_to(path)
            path = tmp_path / "link.json"
        yield path


@pytest.mark.parametrize("reader", READERS)
def test_what_could_block_is_an_error(special, reader):
    """Each command would wait without end, or read without end."""
    errors = []

    def act():
        try:
            READERS[reader](special)
        except (WrightError, SpecError) as error:
            errors.append(str(error))

    thread = threading.Thread(target=act, daemon=True)
    thread.start()
    thread.join(10)
    is_blocked = thread.is_alive()
    while thread.is_alive() and special.is_fifo():  # so that no thread remains
        with suppress(OSError):
            os.close(os.open(special, os.O_WRONLY | os.O_NONBLOCK))
        thread.join(0.1)
    assert not is_blocked
    assert errors


def test_a_descriptor_of_the_caller_is_read():
    """As that of `<(command)` in a shell."""
    reading, writing = os.pipe()
    os.write(writing, b"gpu1\n")
    os.close(writing)
    assert [host.name for host in read_hostfile(Path(f"/dev/fd/{reading}"))] == ["gpu1"]
    os.close(reading)


def test_a_folder_and_a_missing_file_have_their_own_errors(tmp_path):
    """Their fixes differ."""
    with pytest.raises(IsADirectoryError):
        open_argument(tmp_path)
    with pytest.raises(FileNotFoundError):
        open_argument(tmp_path / "none")
    (tmp_path / "some").write_text("four")
    assert read_argument(tmp_path / "some", 3) == b"fou"

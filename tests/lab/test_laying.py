"""Many small files at once."""

import os
import stat

from clusterwright.lab.laying import write_files


def test_everybody_may_read_what_is_laid(tmp_path):
    """Whatever the umask of whoever makes the lab."""
    before = os.umask(0o077)
    try:
        write_files(tmp_path / "tree", {"a/b/text": "one\n", "bytes": b"\0"})
    finally:
        os.umask(before)
    modes = {
        str(path.relative_to(tmp_path)): stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")
    }

    assert (tmp_path / "tree/a/b/text").read_text() == "one\n"
    assert modes == {
        "tree": 0o755, "tree/a": 0o755, "tree/a/b": 0o755, "tree/a/b/text": 0o644, "tree/bytes": 0o644,
    }  # fmt: skip

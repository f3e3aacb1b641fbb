import os

from clusterwright.onhost.supervisor.host.ranks import truncate_log


def test_a_log_that_is_too_long_keeps_its_beginning_and_its_end(tmp_path):
    """And says how much is missing in between."""
    log = tmp_path / "0.out"
    log.write_bytes(b"begin" + b"x" * 1000 + b"end")

    assert truncate_log(str(log), most=100, edge_bytes=5)
    assert log.read_bytes().startswith(b"begin\n[clusterwright: 998 bytes omitted")
    assert log.read_bytes().endswith(b"]\nxxend")


def test_whoever_appends_goes_on_behind_what_is_left(tmp_path):
    """The writer has the file open, and need not know."""
    log = tmp_path / "0.out"
    writer = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(writer, b"x" * 1000)
    truncate_log(str(log), most=100, edge_bytes=5)
    os.write(writer, b"more\n")
    os.close(writer)

    assert log.read_bytes().endswith(b"xxxxxmore\n")
    assert log.stat().st_size < 100


def test_a_short_log_and_none_at_all_are_left_alone(tmp_path):
    """Nothing is written."""
    log = tmp_path / "0.out"
    log.write_text("short\n")

    assert (truncate_log(str(log)), truncate_log(str(tmp_path / "none"))) == (False, False)
    assert log.read_text() == "short\n"

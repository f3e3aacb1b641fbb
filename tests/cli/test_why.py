"""`wright why` answers from any log, on a terminal and for programs."""

import gzip
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from clusterwright.cli import app
from clusterwright.errors import EXIT_USAGE, WrightError
from clusterwright.i18n import in_language

OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. "
    "GPU 0 has a total capacity of 79.15 GiB of which 1.10 GiB is free."
)
KEYS = {
    "class",
    "mode",
    "role",
    "cause",
    "subject",
    "confidence",
    "evidence",
    "fix",
    "retry",
    "exclude",
    "verify",
}


@pytest.fixture
def why(capsys, monkeypatch):
    """Run the command; exit code and what it wrote."""
    monkeypatch.setenv("LC_ALL", "C.UTF-8")

    def run(*words, language="en"):
        with in_language(language):
            code = app()(["why", *map(str, words)], result_action="return_value")
        return code, capsys.readouterr().out

    return run


@pytest.fixture
def log(tmp_path):
    """A log with one failure at its fourth line."""
    path = tmp_path / "slurm-12.out"
    path.write_text(f"step 1\nstep 2\nstep 3\n[rank0]: {OOM}\n")
    return path


def test_the_cause_is_named_with_its_line(why, log):
    """Class, cause, file and line, what to do, and whether to try again."""
    code, out = why(log)

    assert code == 0
    assert out.startswith("gpu-oom")
    assert f"{log}:4 ┃ [rank0]: torch.OutOfMemoryError" in out
    assert all(f"\n  {name}" in out for name in ("cause", "evidence", "fix", "retry"))
    assert "\x1b" not in out


def test_json_has_the_schema(why, log):
    """For programs: the keys, and nothing else on stdout."""
    code, out = why("--json", log)

    document = json.loads(out)
    (first, *_) = document["diagnoses"]
    assert (code, document["schema"]) == (0, 1)
    assert all(set(each) == KEYS for each in document["diagnoses"])
    assert first["class"] == "gpu-oom"
    assert first["mode"].startswith("gpu-oom/")
    assert first["evidence"][0] | {"text": ""} == {"source": str(log), "line": 4, "text": ""}
    assert first["retry"] in {"no", "yes", "elsewhere", "fixed"}
    assert 0 < first["confidence"] <= 1


def test_it_speaks_chinese(why, log):
    """In the language of the process."""
    assert any("一" <= sign <= "鿿" for sign in why(log, language="zh")[1])


def test_a_folder_is_read_whole(why, tmp_path):
    """Packed and rotated logs in it too, and nothing that is no log."""
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "rank0.log.1.gz").write_bytes(gzip.compress(f"{OOM}\n".encode()))
    (tmp_path / "logs" / "rank1.log").write_text("step 1\n")
    (tmp_path / "model.pt").write_bytes(b"PK\x03\x04" + os.urandom(100))

    _, out = why("--json", tmp_path)

    assert json.loads(out)["diagnoses"][0]["evidence"][0]["source"].endswith("rank0.log.1.gz")


def test_what_is_piped_in_is_read(why, monkeypatch):
    """As `-`, and where nothing is named."""
    answers = []
    for words in ((), ("-",)):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(f"{OOM}\n".encode())))
        answers.append(why("--json", *words)[1])

    assert answers[0] == answers[1]
    assert json.loads(answers[0])["diagnoses"][0]["evidence"][0]["source"] == "-"


def test_a_failure_that_is_not_known_is_said_not_to_be(why, tmp_path):
    """Exit code 1, so that a script sees it."""
    path = tmp_path / "a.log"
    path.write_text('Traceback (most recent call last):\n  File "a", line 1\nmarvin.Depressed life\n')

    code, out = why(path)

    assert code == 1
    assert out.startswith("unknown")
    assert ":3 ┃ marvin.Depressed life" in out


def test_a_healthy_log_has_no_answer(why, tmp_path):
    """And that is said."""
    path = tmp_path / "a.log"
    path.write_text("step 1 loss 2.3\n")

    assert why(path) == (0, "These logs show no failure.\n")
    assert json.loads(why("--json", path)[1]) == {"schema": 1, "diagnoses": []}


SSTAT = "JobID            MaxRSS  MaxVMSize\n------------ ---------- ----------\n812.0         42991616K  98123456K\n"


@pytest.mark.parametrize("limit", ["64G", "64GiB", "65536M"])
def test_a_paste_of_a_command_is_judged_by_the_limit(why, monkeypatch, limit):
    """What is normal is said to be, with its line; no failure is found."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(SSTAT.encode())))

    code, out = why("--mem", limit, "-")

    assert code == 0
    assert out.startswith("These logs show no failure.\n")
    assert "-:3 ┃ MaxRSS of 812.0 is 41 GiB of the memory limit of 64 GiB (64%): normal." in out


def test_a_paste_near_the_limit_is_a_failure_to_come(why, monkeypatch):
    """In Chinese, too, with the values of the line."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(SSTAT.encode())))

    code, out = why("--mem", "44G", "-", language="zh")

    assert code == 0
    assert out.startswith("host-oom  near-limit")
    assert "作业步 812.0 使用了内存上限 44 GiB 中的 41 GiB" in out


def test_a_limit_that_is_no_size_is_refused(why):
    """With the option's name."""
    with pytest.raises(WrightError) as raised:
        why("--mem", "lots", "-")

    assert raised.value.findings[0].code == "bad-quantity"
    assert "--mem" in raised.value.findings[0].message


def test_a_binary_file_is_named(why, capsys, tmp_path):
    """On stderr; the other files are read, and without another one there is no diagnosis."""
    path, log = tmp_path / "core.log", tmp_path / "a.log"
    path.write_bytes(b"\x7fELF" + bytes(range(256)))
    log.write_text("step 1 loss 2.3\n")

    app()(["why", str(path), str(log)], result_action="return_value")
    assert f"cannot read {path}: not a text file" in capsys.readouterr().err

    with pytest.raises(WrightError, match="file-unreadable"):
        why(path)


def test_an_empty_log_is_no_healthy_log(why, tmp_path):
    """Also a folder of such logs; one log with lines is enough."""
    for name in ("0.out", "0.err"):
        (tmp_path / name).write_bytes(b"")
    for path in (tmp_path, tmp_path / "0.out"):
        with pytest.raises(WrightError, match=r"the log has no line") as caught:
            why(path)
        assert caught.value.exit_code == EXIT_USAGE
    (tmp_path / "0.out").write_text("step 1 loss 2.3\n")

    assert why(tmp_path) == (0, "These logs show no failure.\n")


@pytest.mark.skipif(os.getuid() != 0, reason="needs root, to become a user without the permission")
def test_a_log_without_permission_is_named_by_its_own_path(why, capsys, tmp_path, monkeypatch):
    """Not by the descriptor behind which it was opened."""
    Path(tmp_path, "l.out").write_text("step 1 loss 2.3\n")
    Path(tmp_path, "l.out").chmod(0)
    tmp_path.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    os.seteuid(12345)
    try:
        with pytest.raises(WrightError, match="file-unreadable"):
            why("l.out")
    finally:
        os.seteuid(0)

    assert capsys.readouterr().err == "cannot read l.out: Permission denied\n"


def test_a_name_of_a_log_file_is_no_job(why):
    """Nobody without a cluster file is asked for one."""
    with pytest.raises(WrightError, match=r"`nofile\.out` does not exist"):
        why("nofile.out")


def test_a_hostile_log_cannot_write_on_the_terminal(why, tmp_path):
    """Neither its lines nor its name, in text or JSON; and HTML stays text."""
    path = tmp_path / "a\x1b[31m.log"
    path.write_text(f"\x1b]0;owned\x07{OOM}\x1b[2J\x9b1m\u202e<img src=x onerror=alert(1)>\n")

    text, document = why(path)[1], why("--json", path)[1]

    for out in (text, document):
        assert not set(out) & {"\x1b", "\x07", "\x9b", "\u202e"}
        assert "owned" not in out
    assert "<img" not in document


def test_its_own_answer_is_no_evidence(why, log, tmp_path):
    """Piped into a log and read again, in any of its forms, it says nothing."""
    again = tmp_path / "again.log"
    for words, language in (
        ((), "en"),
        (("--json",), "en"),
        ((), "zh"),
        (("--all",), "en"),
        (("--json",), "zh"),
    ):
        again.write_text("step 1\n" + why(*words, log, language=language)[1])

        assert json.loads(why("--json", again)[1])["diagnoses"] == [], words


def test_all_shows_what_only_followed(why, tmp_path):
    """Which is left out otherwise."""
    path = tmp_path / "a.log"
    path.write_text(
        f"{OOM}\n" + "step\n" * 99 + "NCCL WARN socketProgress: Connection closed by remote peer node2<4>\n"
    )

    assert "closed by remote peer" not in why(path)[1]
    assert "closed by remote peer" in why("--all", path)[1]


def test_a_missing_file_is_named(tmp_path):
    """With what may be given."""
    with pytest.raises(WrightError, match=r"gone\.log` does not exist"):
        app()(["why", f"{tmp_path}/gone.log"], result_action="return_value")


def test_an_option_that_is_none_is_no_log():
    """It is said."""
    with pytest.raises(WrightError, match="this command has no option --jsn"):
        app()(["why", "--jsn", "-"], result_action="return_value")


def test_a_reader_that_stops_is_no_error(log):
    """`wright why --all LOG | head -1`."""
    command = f"{sys.executable} -c 'from clusterwright.cli import main; main()' why --all {log} | head -1"

    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)

    assert done.stderr == ""
    assert done.stdout.startswith("gpu-oom")

"""`wright plan claims`."""

import io
import json
import sys

import pytest

from clusterwright.cli.plan.claims import claims
from clusterwright.errors import WrightError


def test_the_claims_of_the_guides_have_the_right_line(capsys):
    """Whoever follows a guide reads what to type instead."""
    assert claims() == 0

    out = capsys.readouterr().out
    assert "srun --gpus-per-node=8 --mpi=pmix_v3 -N4 -n32" in out
    assert "ib_read_bw" in out


def test_a_text_of_ones_own_is_judged(capsys):
    """Exit code 1 where a line is wrong, 0 where all hold."""
    assert claims(text="HDR100: ib_send_bw 96 Gbit/s", json=True) == 0
    assert [claim["verdict"] for claim in json.loads(capsys.readouterr().out)["claims"]] == ["agree"]

    assert claims(text="EPYC 7543: 32 cores, 128 threads", json=True) == 1
    assert json.loads(capsys.readouterr().out)["claims"][0]["right"].startswith("CPUs=64 ")


def test_a_file_and_stdin_are_judged(capsys, tmp_path, monkeypatch):
    """A guide as it is; what no judge knows is no claim."""
    guide = tmp_path / "guide.md"
    guide.write_text("# Setup\n\n1. setenforce 0\n2. Read on.\n")
    assert claims(guide) == 1
    assert capsys.readouterr().out.count("disagree") == 1

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"nothing to judge\xff\n")))
    assert claims("-") == 0
    assert capsys.readouterr().out == ""


def test_a_missing_file_is_an_error(tmp_path):
    """With its path."""
    with pytest.raises(WrightError, match="file-unreadable"):
        claims(tmp_path / "none.md")

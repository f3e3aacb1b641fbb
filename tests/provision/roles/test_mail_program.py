"""What users write in `sbatch --mail-user` never becomes an option, a command or a file of mail on the controller."""

import os
import shutil
import subprocess

import pytest

from clusterwright.provision.render.slurm_conf import slurm_conf
from clusterwright.provision.render.slurm_settings import MAIL_PROGRAM
from clusterwright.provision.resources import File
from clusterwright.provision.roles.slurm import slurm

HOSTILE = (
    "--exec=!touch {mark}",
    "-E!touch {mark}",
    "-Ssendmail={mark}",
    "|touch {mark}",
    "ann@example.com,|touch {mark}",
    "ann@example.com,-E!touch {mark}",
    "{mark}",
    "+folder",
    "$(touch {mark})",
    "a b",
    "a\nb",
    "",
)


@pytest.fixture
def program(altered, given, tmp_path):
    """The program on the control host, as an executable file."""
    cluster = altered({"lab": None})
    resources = slurm(cluster, cluster.control, given)
    (file,) = [one for one in resources if isinstance(one, File) and one.path == MAIL_PROGRAM]
    path = tmp_path / "program"
    path.write_text(file.content)
    path.chmod(file.mode)
    assert f"\nMailProg={MAIL_PROGRAM}\n" in slurm_conf(cluster, "")
    return path


def _send(program, address, programs):
    return subprocess.run(
        [program, "-s", "Slurm Job_id=5 Name=x Began", address],
        env={"PATH": f"{programs}:{os.environ['PATH']}"}, stdin=subprocess.DEVNULL, capture_output=True, timeout=20,
        check=False,
    )  # fmt: skip


def test_only_addresses_reach_mail(program, tmp_path):
    """Names, addresses and lists of them are sent as they are."""
    out = tmp_path / "out"
    (tmp_path / "mail").write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >>{out}\n')
    (tmp_path / "mail").chmod(0o755)
    for address in HOSTILE:
        _send(program, address.format(mark=tmp_path / "mark"), tmp_path)
    assert not out.exists()
    for address in ("bob", "ann.b+jobs@example.com,carl_1@a-b.org"):
        _send(program, address, tmp_path)

    subject = "Slurm Job_id=5 Name=x Began"
    assert out.read_text().splitlines() == [
        *("-s", subject, "bob"),
        *("-s", subject, "ann.b+jobs@example.com,carl_1@a-b.org"),
    ]


@pytest.mark.skipif(not shutil.which("mail"), reason="needs a program `mail`")
def test_no_option_of_a_real_mail_executes_anything(program, tmp_path):
    """GNU mailutils executed the first one."""
    for address in HOSTILE:
        _send(program, address.format(mark=tmp_path / "mark"), tmp_path)

    assert not (tmp_path / "mark").exists()


def test_a_lab_has_no_mail(altered, given):
    """Its jobs send none."""
    cluster = altered({})
    assert MAIL_PROGRAM not in [getattr(one, "path", "") for one in slurm(cluster, cluster.control, given)]

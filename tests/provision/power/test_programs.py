"""The site's own programs, ipmitool, the lab's socket, and what Slurm calls."""

import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from clusterwright.onhost.power.providers import Refusal, ipmi, lab, program, provider_of

SOURCE = Path(program.__file__).parents[4]


def script(path, text):
    """An executable shell script."""
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def site(tmp_path):
    """A provider of the site's programs; what they were called with is in `calls`."""

    def make(on="", off="", state=None):
        note = f'echo "$0 $*" | sed "s,.*/,," >>{tmp_path}/calls\n'
        told = {
            "kind": "program",
            "on": script(tmp_path / "on", note + on),
            "off": script(tmp_path / "off", note + off),
        }
        if state is not None:
            told["state"] = script(tmp_path / "state", state)
        return provider_of(SimpleNamespace(provider=told))

    return make


def test_each_program_is_called_once_for_all_hosts(site, tmp_path):
    """Names as words; without a program for it, the state is what was asked last."""
    switch = site()
    before = switch.state(["n1"])
    said = switch.on(["n1", "n2"]), switch.off(["n2"], hard=True), switch.state(["n1", "n2"])

    assert before == {"n1": "? no program for the state"}
    assert said == ({"n1": "", "n2": ""}, {"n2": ""}, {"n1": "on", "n2": "off"})
    assert (tmp_path / "calls").read_text() == "on n1 n2\noff n2\n"


def test_a_program_that_fails_is_quoted(site):
    """Its last line; one that is not there is named."""
    switch = site(on="echo first; echo 'quota of 8 is reached' >&2; exit 3")
    gone = provider_of(
        SimpleNamespace(provider={"kind": "program", "on": "/nowhere/on", "off": "/nowhere/off"})
    )

    assert switch.on(["n1"]) == {"n1": "quota of 8 is reached"}
    assert gone.on(["n1"]) == {"n1": "/nowhere/on: No such file or directory"}


def test_a_program_that_never_ends_is_ended(site, monkeypatch):
    """And named."""
    monkeypatch.setattr(program, "LIMIT_S", 0.2)

    assert "did not end within 0.2 s" in site(on="exec sleep 30").on(["n1"])["n1"]


def test_the_state_program_is_read_line_by_line(site):
    """What it does not say is not known."""
    switch = site(state="echo n1 on; echo n2 off; echo n3 perhaps")

    assert switch.state(["n1", "n2", "n3"]) == {
        "n1": "on",
        "n2": "off",
        "n3": "? not in the program's output",
    }


IPMI = """
case "$*" in
  *'-H 10.0.9.11 '*status) echo 'Chassis Power is on' ;;
  *'-H 10.0.9.11 '*) echo "Chassis Power Control: Up/On" ;;
  *'-H 10.0.9.12 '*) echo 'Error: RAKP 2 HMAC is invalid'; exit 1 ;;
  *) echo 'Error: Unable to establish IPMI v2 / RMCP+ session'; exit 1 ;;
esac
"""


def test_ipmitool_is_called_with_a_file_for_the_password(tmp_path, monkeypatch):
    """Ipmitool's words of each outcome; the password is on no command line."""
    (tmp_path / "bin").mkdir()
    script(tmp_path / "bin" / "ipmitool", f'echo "$*" >>{tmp_path}/calls\n{IPMI}')
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    (tmp_path / "password").write_text("secret\n")
    (tmp_path / "password").chmod(0o600)
    told = {"kind": "ipmi", "user": "slurm", "password_file": str(tmp_path / "password")}
    hosts = {f"n{last}": {"bmc": f"10.0.9.1{last}"} for last in (1, 2, 3)}
    switch = ipmi.Switch(SimpleNamespace(provider=told, hosts=hosts))
    said = switch.state(["n1"]), switch.on(["n1", "n2", "n3"]), switch.on(["n2"])
    calls = (tmp_path / "calls").read_text()

    assert said[0] == {"n1": "on"}
    assert said[1]["n1"] == ""
    assert isinstance(said[1]["n2"], Refusal)
    assert said[1]["n3"] == "10.0.9.13: Error: Unable to establish IPMI v2 / RMCP+ session"
    assert calls.count("10.0.9.12") == 1
    assert "secret" not in calls


def test_the_labs_socket(tmp_path):
    """A line each way; nobody there is an answer too."""
    path = tmp_path / "socket"
    switch = lab.Switch(SimpleNamespace(provider={"kind": "lab", "socket": str(path)}))
    before = switch.on(["n1"])["n1"]
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as door:
        door.bind(str(path))
        door.listen(1)

        def answer():
            line, _ = door.accept()
            with line, line.makefile("rwb") as both:
                asked = json.loads(both.readline())
                both.write(json.dumps({asked["hosts"][0]: asked["verb"]}).encode() + b"\n")

        one = threading.Thread(target=answer)
        one.start()
        said = switch.off(["n1", "n2"], hard=True)
        one.join()

    assert before.startswith("the lab's power control: ")
    assert said == {"n1": "kill", "n2": "the lab does not report it"}


def test_what_slurm_calls_passes_on_its_words_and_ends_well_where_nobody_listens(tmp_path):
    """With the jobs that wait, where Slurm says so."""
    (tmp_path / "resume.json").write_text(
        '{"jobs": [{"job_id": 7}, {"job_id": 9}], "all_nodes_resume": "n[1-2]"}'
    )
    kick = str(tmp_path / "kick")
    code = f"import sys; from clusterwright.onhost.power import slurm_hook as hook; hook.KICK = {kick!r}"
    code += "; sys.exit(hook.main())"
    argv = (sys.executable, "-c", code, "resume", "n[1-2]")
    environment = {"PYTHONPATH": str(SOURCE), "SLURM_RESUME_FILE": str(tmp_path / "resume.json")}
    alone = subprocess.run(argv, env=environment, timeout=30, check=False)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as line:
        line.bind(str(tmp_path / "kick"))
        line.settimeout(10)
        heard = subprocess.run(argv, env=environment, timeout=30, check=False)
        words = line.recv(4096).decode()

    assert alone.returncode == heard.returncode == 0
    assert words == "Slurm: resume n[1-2] for jobs 7, 9"

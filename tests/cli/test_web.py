"""`wright web` as it is typed: who may sign in, where it listens, and what it refuses."""

import os
import re
import shutil
import signal
import ssl
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

WRIGHT = Path(sys.executable).with_name("wright")
EXAMPLE = Path(__file__).parents[2] / "examples" / "lab" / "cluster.yaml"
PASSWORD = "correct horse battery"


@pytest.fixture
def wright(tmp_path):
    """`wright("--port", "0", stdin=...)` with a state folder of its own."""
    environment = os.environ | {"XDG_STATE_HOME": str(tmp_path)}

    def run(*words, stdin=""):
        return subprocess.run(
            [WRIGHT, "web", "--cluster", EXAMPLE, *words], input=stdin, capture_output=True, text=True, env=environment,
            timeout=60, check=False,
        )  # fmt: skip

    run.environment, run.folder = environment, tmp_path
    return run


@pytest.fixture
def certificate(tmp_path):
    """A certificate for 127.0.0.1 and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed (apt-get install openssl)")
    cert, key = tmp_path / "web.crt", tmp_path / "web.key"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=web", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", cert],
        check=True, capture_output=True,
    )  # fmt: skip
    return cert, key


@contextmanager
def listening(wright, *words):
    """The page as a process; its address."""
    process = subprocess.Popen(
        [WRIGHT, "web", "--cluster", EXAMPLE, "--port", "0", *words],
        stderr=subprocess.PIPE,
        text=True,
        env=wright.environment,
    )
    try:
        line = process.stderr.readline()
        assert "Ctrl-C" in line, line + process.stderr.read()
        yield re.search(r"https?://\S+", line)[0], process
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)
        process.stderr.close()


def refused(done, code):
    """Exit code 2, with the error's code and a fix."""
    assert done.returncode == 2, done.stderr
    assert f"error[{code}]" in done.stderr
    assert "fix: " in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "cluster.example"])
def test_it_does_not_listen_in_the_clear_off_loopback(wright, host):
    """Whatever way the address is written."""
    refused(wright("--host", host, "--port", "0"), "web-in-the-clear")


def test_off_loopback_it_needs_users(wright, certificate):
    """With TLS and nobody to sign in, it would show nothing to anyone."""
    cert, key = certificate

    refused(wright("--host", "0.0.0.0", "--port", "0", "--tls-cert", cert, "--tls-key", key), "web-no-users")


def test_a_certificate_without_its_key_is_refused(wright, certificate, tmp_path):
    """And one that does not belong to the key, or is none."""
    cert, key = certificate
    (tmp_path / "other.key").write_text("no key")

    refused(wright("--tls-cert", cert), "web-tls")
    refused(wright("--tls-key", key), "web-tls")
    refused(wright("--tls-cert", cert, "--tls-key", tmp_path / "other.key"), "web-tls")
    refused(wright("--tls-cert", tmp_path / "none", "--tls-key", key), "web-tls")


@pytest.mark.parametrize("words", [("--port", "70000"), ("--port", "-1"), ("--host", "127.9.9.999")])
def test_a_port_or_address_that_is_none_is_refused(wright, words):
    """Before anything is asked of a cluster."""
    assert wright(*words).returncode == 2


def test_a_port_that_is_taken_is_said(wright):
    """Not a traceback."""
    with listening(wright) as (url, _):
        port = re.search(r":(\d+)/", url)[1]
        done = wright("--port", port)

        assert done.returncode == 1
        assert "error[web-port]" in done.stderr


def test_it_serves_on_loopback_and_ends_on_interrupt(wright):
    """The page is there though no cluster answers, and says so; Ctrl-C is no error."""
    with listening(wright) as (url, process):
        with httpx.Client(timeout=30) as client:
            assert "lab" in client.get(url).text
            assert client.get(f"{url}api/picture").json()["cluster"] == "lab"
        process.send_signal(signal.SIGINT)

        assert process.wait(30) == 0


def test_the_guides_say_what_can_be_typed():
    """Every option of theirs is one of the command's, and both languages show the same commands."""
    guides = [EXAMPLE.parents[2] / "docs" / "guides" / name for name in ("web.md", "web.zh-CN.md")]
    commands = [re.findall(r"(?m)^\$ (wright web .*)$", guide.read_text()) for guide in guides]
    help_text = subprocess.run([WRIGHT, "web", "--help"], capture_output=True, text=True, check=True).stdout

    assert len(commands[0]) > 3
    assert commands[0] == commands[1]
    assert all(option in help_text for line in commands[0] for option in re.findall(r"--[a-z-]+", line))


def test_users_are_made_without_a_password_on_the_command_line(wright):
    """Piped in here, asked for on a terminal; the file is its owner's alone."""
    assert wright("--add-user", "ann", "--role", "operator", stdin=f"{PASSWORD}\n").returncode == 0
    file = wright.folder / "clusterwright" / "lab" / "web-users.json"

    assert file.stat().st_mode & 0o777 == 0o600
    assert '"operator"' in file.read_text()
    refused(wright("--add-user", "bob", stdin="short\n"), "web-user")
    refused(wright("--add-user", "b b", stdin=f"{PASSWORD}\n"), "web-user")
    assert wright("--remove-user", "nobody").returncode == 1
    assert wright("--remove-user", "ann").returncode == 0
    assert "ann" not in file.read_text()


def test_with_tls_and_users_it_listens_and_asks_everyone_to_sign_in(wright, certificate):
    """Over TLS with the certificate that was given; not in the clear; nothing older than TLS 1.2."""
    cert, key = certificate
    wright("--add-user", "ann", stdin=f"{PASSWORD}\n")
    with listening(wright, "--host", "0.0.0.0", "--tls-cert", cert, "--tls-key", key) as (said, _):
        url = said.replace("0.0.0.0", "127.0.0.1")
        with httpx.Client(timeout=30, verify=ssl.create_default_context(cafile=cert)) as client:
            assert url.startswith("https://")
            assert client.get(f"{url}api/picture").status_code == 401
            form = client.get(url, follow_redirects=True)
            token = re.search(r'name="token" value="([^"]+)"', form.text)[1]
            signed = client.post(f"{url}sign-in", data={"token": token, "name": "ann", "password": PASSWORD})
            session = signed.headers["location"].partition("#token=")[2]
            assert client.get(f"{url}api/me").status_code == 401
            assert client.get(f"{url}api/me", headers={"x-wright-token": session}).json()["role"] == "viewer"
        with pytest.raises(httpx.HTTPError):
            httpx.get(url.replace("https", "http"), timeout=10)
        old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
        old.set_ciphers("ALL:@SECLEVEL=0")
        with pytest.warns(DeprecationWarning, match="TLSv1_1"):
            old.maximum_version = ssl.TLSVersion.TLSv1_1
        with pytest.raises(httpx.HTTPError), httpx.Client(verify=old, timeout=10) as client:
            client.get(url)

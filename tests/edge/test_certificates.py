"""The authority of a cluster on the machine that applies."""

import ssl
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import pytest

from clusterwright.edge.certificates import DAY_S, DAYS, certificates
from clusterwright.edge.clock import SystemClock
from clusterwright.errors import WrightError

NODE = {"node1": "DNS:node1,IP:127.0.0.1"}


def at(days):
    """The clock so many days from now."""
    return SimpleNamespace(now=lambda: SystemClock().now() + days * DAY_S)


def serve(folder):
    """A server of node1 that lets in only who has a certificate."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=folder / "tls" / "ca.crt")
    context.load_cert_chain(folder / "tls" / "node1.crt", folder / "tls" / "node1.key")
    context.verify_mode = ssl.CERT_REQUIRED
    server = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def test_a_second_call_makes_nothing_new(tmp_path):
    """Else each apply would restart what reads them."""
    first = certificates(tmp_path, NODE, at(0))

    assert certificates(tmp_path, NODE, at(300)) == first
    assert sorted(first) == ["tls/ca.crt", "tls/node1.crt", "tls/node1.key"]
    assert {path.stat().st_mode & 0o077 for path in (tmp_path / "tls").glob("*.key")} == {0}


def test_a_certificate_is_of_its_authority_and_for_its_address(tmp_path):
    """By openssl's word."""
    certificates(tmp_path, NODE, at(0))
    tls = tmp_path / "tls"
    verify = ["openssl", "verify", "-verify_ip", "127.0.0.1", "-CAfile", tls / "ca.crt", tls / "node1.crt"]
    other = [word if word != "127.0.0.1" else "127.0.0.2" for word in verify]

    assert subprocess.run(verify, capture_output=True, check=False).returncode == 0
    assert subprocess.run(other, capture_output=True, check=False).returncode != 0


def test_who_has_a_certificate_is_let_in_and_nobody_else(tmp_path):
    """Both sides verify: a real handshake with Python's OpenSSL."""
    certificates(tmp_path, NODE | {"scrape": "DNS:scrape"}, at(0))
    server = serve(tmp_path)
    address = ["-connect", f"127.0.0.1:{server.server_port}", "-verify_return_error", "-CAfile"]
    ask = ["openssl", "s_client", "-quiet", *address, str(tmp_path / "tls" / "ca.crt")]
    own = ["-cert", str(tmp_path / "tls" / "scrape.crt"), "-key", str(tmp_path / "tls" / "scrape.key")]
    said = [
        subprocess.run(
            [*ask, *more], input=b"GET / HTTP/1.0\r\n\r\n", capture_output=True, timeout=20, check=False
        ).stdout
        for more in (own, [])
    ]
    server.shutdown()
    server.server_close()

    assert b"501" in said[0]
    assert b"501" not in said[1]


def test_one_that_ends_within_a_year_is_renewed(tmp_path):
    """Its key too; the authority stays."""
    first = certificates(tmp_path, NODE, at(0))
    later = certificates(tmp_path, NODE, at(DAYS / 2 + 1))

    assert later["tls/node1.crt"] != first["tls/node1.crt"]
    assert later["tls/node1.key"] != first["tls/node1.key"]
    assert later["tls/ca.crt"] == first["tls/ca.crt"]


def test_another_address_is_another_certificate(tmp_path):
    """And only that host's."""
    both = NODE | {"node2": "DNS:node2,IP:10.0.0.2"}
    first = certificates(tmp_path, both, at(0))
    later = certificates(tmp_path, both | {"node2": "DNS:node2,IP:10.0.0.3"}, at(0))

    assert [name for name in first if first[name] != later[name]] == ["tls/node2.crt", "tls/node2.key"]


def test_what_was_kept_is_damaged_and_all_is_made_anew(tmp_path):
    """The record beside the certificates cut short by a full disk."""
    first = certificates(tmp_path, NODE, at(0))
    (tmp_path / "tls" / "given.json").write_text('{"node1": {"na')

    assert certificates(tmp_path, NODE, at(0))["tls/node1.crt"] != first["tls/node1.crt"]


def test_a_lost_authority_means_new_certificates(tmp_path):
    """What the old one signed nobody would believe."""
    first = certificates(tmp_path, NODE, at(0))
    (tmp_path / "tls" / "ca.key").unlink()
    later = certificates(tmp_path, NODE, at(0))

    assert later["tls/ca.crt"] != first["tls/ca.crt"]
    assert later["tls/node1.crt"] != first["tls/node1.crt"]


def test_a_key_that_others_can_read_is_not_used(tmp_path):
    """It is named, with the fix."""
    certificates(tmp_path, NODE, at(0))
    (tmp_path / "tls" / "node1.key").chmod(0o644)

    with pytest.raises(WrightError, match=r"node1\.key has mode 0644"):
        certificates(tmp_path, NODE, at(0))


def test_without_openssl_it_is_said(tmp_path, monkeypatch):
    """The package is named."""
    monkeypatch.setenv("PATH", str(tmp_path))  # the one seam: where a command is looked for

    with pytest.raises(WrightError, match="openssl") as caught:
        certificates(tmp_path, NODE, at(0))

    assert "install openssl" in str(caught.value.__dict__)

"""An S3 server on loopback (moto), and a proxy before it that delays, refuses and damages requests."""

import contextlib
import gc
import http.client
import http.server
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import pytest

from clusterwright.lab import able, image

SOURCE = Path(__file__).parents[3] / "src"
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "AKIATESTTESTTEST", "AWS_SECRET_ACCESS_KEY": "secret-of-a-test"}
BUCKET = "models"


def free_port():
    """A port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Storage:
    """The server and its one bucket, seen as another program sees them."""

    def __init__(self, endpoint, secret="x"):
        import boto3

        self.endpoint = endpoint
        self.client = boto3.client(
            "s3",
            endpoint_url=endpoint,
            region_name="us-east-1",
            aws_access_key_id="AKIATESTTESTTEST",
            aws_secret_access_key=secret,
        )
        self.client.create_bucket(Bucket=BUCKET)

    def names(self, prefix=""):
        """The names of all objects."""
        answer = self.client.list_objects_v2(Bucket=BUCKET, Prefix=prefix)
        return [row["Key"] for row in answer.get("Contents", ())]

    def uploads(self):
        """The names of objects with an unfinished upload."""
        return [row["Key"] for row in self.client.list_multipart_uploads(Bucket=BUCKET).get("Uploads", ())]

    def read(self, name):
        """The content of an object."""
        return self.client.get_object(Bucket=BUCKET, Key=name)["Body"].read()

    def write(self, name, data):
        """Replace an object behind the program's back."""
        self.client.put_object(Bucket=BUCKET, Key=name, Body=data)


class Proxy:
    """Passes requests on; `meddle(method, path, body)` may return another body, or a status to answer with."""

    def __init__(self, port):
        self.meddle = lambda _method, _path, body: body
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def pass_on(self):
                """One request to the server, one answer back."""
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                changed = outer.meddle(self.command, self.path, body)
                if isinstance(changed, int):
                    self.send_response(changed)
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
                headers = {name: text for name, text in self.headers.items() if name.lower() != "expect"}
                if changed != body:
                    headers.pop("Content-MD5", None)  # damage behind the check of the server's own front
                connection.request(self.command, self.path, changed, headers)
                answer = connection.getresponse()
                data = answer.read()
                self.send_response(answer.status)
                for name, text in answer.getheaders():
                    if name.lower() not in ("transfer-encoding", "connection", "content-length"):
                        self.send_header(name, text)
                length = answer.getheader("Content-Length") if self.command == "HEAD" else len(data)
                self.send_header("Content-Length", str(length))
                self.end_headers()
                self.wfile.write(data if self.command != "HEAD" else b"")
                connection.close()

            def log_message(self, *_):
                """Be quiet."""

        for verb in ("GET", "PUT", "POST", "DELETE", "HEAD"):
            setattr(Handler, f"do_{verb}", Handler.pass_on)
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self):
        """End the proxy."""
        self._server.shutdown()
        self._server.server_close()


@contextlib.contextmanager
def s3_server(address="127.0.0.1"):
    """Moto's server on an address of this machine; yields its port."""
    for module in ("boto3", "moto.server"):
        pytest.importorskip(module, reason=f"{module} is not installed (pip install 'clusterwright[dev]')")
    port = free_port()
    program = "from moto.server import main; main()"
    argv = [sys.executable, "-W", "ignore", "-c", program, "-H", address, "-p", str(port)]
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            end = time.monotonic() + 60
            while time.monotonic() < end:
                with socket.socket() as probe:
                    if probe.connect_ex((address, port)) == 0:
                        break
                time.sleep(0.1)
            yield port
        finally:
            server.terminate()


@pytest.fixture(scope="session")
def server_port():
    """Moto's server for all tests of the folder."""
    with s3_server() as port:
        yield port


@pytest.fixture(scope="session")
def start_server():
    """Return `s3_server`, and the storage that another program sees at an endpoint."""
    return s3_server, Storage


@pytest.fixture(scope="session")
def ceph_root(tmp_path_factory):
    """A root folder with Ceph of Debian 12, from the mirrors of this machine's apt."""
    if reasons := able():
        pytest.skip("; ".join(str(reason) for reason in reasons))
    root, settings = tmp_path_factory.mktemp("ceph") / "root", tmp_path_factory.mktemp("apt") / "settings"
    settings.write_text(image._apt_settings())
    sources = image.sources(image._source_files(), "bookworm")
    packages = "ceph-mon,ceph-osd,radosgw,ceph-common"
    options = ("--variant=minbase", f"--include={packages}", f"--aptopt={settings}")
    argv = ("mmdebstrap", *options, '--aptopt=APT::Install-Recommends "false"', "bookworm", root, *sources)
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 0, done.stderr[-2000:]
    yield root
    shutil.rmtree(root)


@pytest.fixture(scope="session")
def ceph_endpoint(ceph_root):
    """The address of the gateway of a Ceph cluster of one monitor and one OSD; all of it ends with the fixture."""
    port = free_port()
    shutil.copy(Path(__file__).with_name("ceph.sh"), ceph_root / "ceph.sh")
    mounts = f"mount --bind /dev {ceph_root}/dev && mount -t proc proc {ceph_root}/proc"
    steps = f'{mounts} && exec chroot {ceph_root} bash "$@"'
    isolated = ("unshare", "--mount", "--pid", "--fork", "--kill-child")
    argv = (
        *isolated,
        "sh",
        "-c",
        steps,
        "sh",
        "/ceph.sh",
        str(free_port()),
        str(port),
        *CREDENTIALS.values(),
    )
    log = ceph_root / "ceph.log"
    with log.open("w") as output, subprocess.Popen(argv, stdout=output, stderr=output) as cluster:
        try:
            end = time.monotonic() + 300
            while "\nready\n" not in log.read_text(errors="replace"):
                assert cluster.poll() is None, log.read_text(errors="replace")[-3000:]
                assert time.monotonic() < end, log.read_text(errors="replace")[-3000:]
                time.sleep(0.5)
            yield f"http://127.0.0.1:{port}"
        finally:
            cluster.kill()


@pytest.fixture
def storage(server_port, monkeypatch, tmp_path):
    """An empty bucket; boto3 finds credentials in the environment and no files of this machine."""
    request = http.client.HTTPConnection("127.0.0.1", server_port, timeout=60)
    request.request("POST", "/moto-api/reset")
    request.getresponse().read()
    request.close()
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return Storage(f"http://127.0.0.1:{server_port}")


@pytest.fixture
def proxy(server_port, storage):
    """A proxy before the server, which passes everything on until a test sets `meddle`."""
    proxy = Proxy(server_port)
    yield proxy
    proxy.close()


@pytest.fixture(autouse=True)
def pooled_connections():
    """Collect the pooled connections of boto3 clients here, so that no later test is blamed for them."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()

"""A bundle that cannot be used is refused with its name, and before a host is contacted."""

import io
import json
import os
import tarfile
import time
import tracemalloc

import pytest

from clusterwright.edge.fakes import FakeRemote
from clusterwright.errors import WrightError
from clusterwright.provision.apply import apply
from clusterwright.provision.package_bundle.archive import file_rows, open_bundle, write_bundle
from clusterwright.provision.package_bundle.manifest import BundledPackage, BundleManifest
from clusterwright.provision.resources import Package


@pytest.fixture
def bundle(tmp_path):
    """Writes a bundle of two packages and returns its path and SHA-256."""
    content = tmp_path / "content"
    (content / "repository").mkdir(parents=True)
    for name in ("munge_1.deb", "slurmd_22.05.8-1.deb"):
        (content / "repository" / name).write_bytes(name.encode() * 1000)
    (content / "key.asc").write_text("a key\n")
    packages = (
        BundledPackage("munge", "0.5.15-1", "repository/munge_1.deb"),
        BundledPackage("slurmd", "22.05.8-1", "repository/slurmd_22.05.8-1.deb"),
    )

    def write(os="debian-12"):
        path = tmp_path / "bundle.tar"
        return path, write_bundle(path, content, BundleManifest(os, "amd64", packages, file_rows(content)))

    return write


@pytest.fixture
def refusal(altered, tmp_path, monkeypatch):
    """Returns the error of an apply of a file with that bundle; no host may be contacted."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    def refuse(path, sha256):
        cluster = altered({"software.bundle": {"path": str(path), "sha256": sha256}})
        remote = FakeRemote(lambda _host, _command, _stdin: "")
        with pytest.raises(WrightError) as caught:
            apply(cluster, str(tmp_path / "cluster.yaml"), remote)
        changing = [command for _host, command in remote.calls if "python" in command or "tar" in command]
        assert changing == []
        return caught.value.findings[0]

    return refuse


def test_the_same_files_make_the_same_archive(bundle):
    """Without times, owners and the order of the folder."""
    path, digest = bundle()
    first = path.read_bytes()

    assert bundle() == (path, digest)
    assert path.read_bytes() == first


def test_missing_packages_are_named(bundle, refusal):
    """The bundle has no chrony and no slurmctld."""
    finding = refusal(*bundle())

    assert finding.code == "bundle-incomplete"
    assert "chrony" in finding.message
    assert "slurmctld 22.05" in finding.message
    assert "munge" not in finding.message


def test_a_package_of_another_release_is_missing(bundle, altered):
    """22.05.8 is of 22.05 and not of 23.11."""
    path, sha256 = bundle()
    cluster = altered({"software.bundle": {"path": str(path), "sha256": sha256}})

    assert open_bundle(cluster, [Package(name="slurmd", version="22.05")]).digest
    with pytest.raises(WrightError, match=r"slurmd 23\.11"):
        open_bundle(cluster, [Package(name="slurmd", version="23.11")])


def test_a_bundle_of_another_distribution_is_refused(bundle, refusal):
    """Both are named."""
    finding = refusal(*bundle("debian-13"))

    assert finding.code == "bundle-platform"
    assert "debian-13" in finding.message
    assert "debian-12" in finding.message


@pytest.mark.parametrize("damage", ["flip", "truncate"])
def test_a_damaged_bundle_names_its_damaged_files(bundle, refusal, damage):
    """One changed byte of a package, or a copy that was interrupted."""
    path, sha256 = bundle()
    data = path.read_bytes()
    at = data.rindex(b"slurmd_22.05.8-1.debslurmd")
    path.write_bytes(data[:at] + b"X" + data[at + 1 :] if damage == "flip" else data[:at])
    finding = refusal(path, sha256)

    assert finding.code == "bundle-damaged"
    assert "repository/slurmd_22.05.8-1.deb" in finding.message
    assert "munge" not in finding.message


@pytest.mark.timeout(60)
def test_a_crafted_bundle_is_damaged(bundle, refusal):
    """Headers one after the other by the thousand, and a pipe for which the command would wait."""
    path, sha256 = bundle()
    header = tarfile.TarInfo("./PaxHeaders/a")
    header.type, header.size = tarfile.XHDTYPE, 12
    path.write_bytes((header.tobuf(tarfile.USTAR_FORMAT) + b"12 path=abc\n".ljust(512, b"\0")) * 20_000)
    assert refusal(path, sha256).code == "bundle-damaged"

    path.unlink()
    os.mkfifo(path)
    assert "a pipe" in refusal(path, sha256).message


@pytest.mark.parametrize(
    "kind",
    [
        tarfile.XHDTYPE,
        tarfile.XGLTYPE,
        tarfile.GNUTYPE_LONGNAME,
        tarfile.GNUTYPE_LONGLINK,
        tarfile.GNUTYPE_SPARSE,
    ],
)
@pytest.mark.parametrize("place", [0, 1])
def test_a_header_costs_no_memory_that_it_claims(bundle, refusal, kind, place):
    """300 MiB in a file with a hole, before the manifest and behind it."""
    path, sha256 = bundle()
    header = tarfile.TarInfo("./x")
    header.type, header.size = kind, 300 << 20
    data = path.read_bytes()
    manifest = 512 + -(-int(data[124:136].strip(b"\0 "), 8) // 512) * 512
    start = b"" if place == 0 else data[:manifest]
    with path.open("wb") as file:
        file.write(start + header.tobuf(tarfile.GNU_FORMAT))
        file.truncate(len(start) + 512 + (300 << 20))
    tracemalloc.start()
    assert refusal(path, sha256).code in ("bundle-damaged", "bundle-other")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100 << 20


def extended(record, *content):
    """Return an extended header with one record, and blocks behind it."""
    header = tarfile.TarInfo("./PaxHeaders/a")
    header.type, header.size = tarfile.XHDTYPE, len(record)
    blocks = (header.tobuf(tarfile.USTAR_FORMAT), record, *content)
    return b"".join(block.ljust(-(-len(block) // 512) * 512, b"\0") for block in blocks)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize(
    "header",
    [
        extended(b"0" * 60_000) * 20,
        extended(b"60000 size=" + b"9" * 60_000) * 20,
        extended(b"0" * 500) * 200,
        *(
            extended(
                b"22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n",
                tarfile.TarInfo("x").tobuf(tarfile.USTAR_FORMAT),
                data,
            )
            for data in (b"9999999\n9", b"9" * (4 << 20), b"x\n")
        ),
        extended(b"20 GNU.sparse.map=x\n", tarfile.TarInfo("x").tobuf(tarfile.USTAR_FORMAT)),
    ],
    ids=["digits", "size", "many", "sparse", "endless", "text", "map"],
)
def test_an_extended_header_costs_no_time_and_is_no_bug(bundle, refusal, header, place):
    """Python parses it in quadratic time, and raises ValueError for a wrong map of holes."""
    path, sha256 = bundle()
    data = path.read_bytes()
    manifest = 512 + -(-int(data[124:136].strip(b"\0 "), 8) // 512) * 512
    at = manifest if place else 0
    path.write_bytes(data[:at] + header + data[at:])
    start = time.process_time()

    assert refusal(path, sha256).code in ("bundle-damaged", "bundle-other")
    assert time.process_time() - start < 2


@pytest.mark.parametrize("content", [b"", b"no archive", None])
def test_a_file_that_is_no_bundle_is_refused(bundle, refusal, content):
    """Empty, of another kind, or missing."""
    path, sha256 = bundle()
    path.unlink() if content is None else path.write_bytes(content)

    assert refusal(path, sha256).code == "bundle-damaged"


def test_another_intact_bundle_is_refused(bundle, refusal):
    """The cluster file names one bundle by its SHA-256, whoever exchanged the file."""
    path, sha256 = bundle()
    finding = refusal(path, "0" * 64)

    assert finding.code == "bundle-other"
    assert sha256 in finding.message


def rewritten(path, manifest):
    """The bundle with another manifest; returns its SHA-256."""
    import hashlib

    with tarfile.open(path, "w") as archive:
        member = tarfile.TarInfo("manifest.json")
        member.size = len(manifest)
        archive.addfile(member, io.BytesIO(manifest))
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_newer_format_is_refused(bundle, refusal):
    """The error has both numbers."""
    path, _sha256 = bundle()
    with tarfile.open(path) as archive:
        document = json.load(archive.extractfile("manifest.json")) | {"schema": 2}
    finding = refusal(path, rewritten(path, json.dumps(document).encode()))

    assert finding.code == "bundle-newer"
    assert "schema 2" in finding.message


@pytest.mark.parametrize(
    "name", ["/etc/shadow", "repository/../../etc/shadow", "repository/.hidden", "other", "repository/a\nb"]
)
def test_a_manifest_cannot_name_files_elsewhere(bundle, refusal, name):
    """Files are written on hosts by root, below the bundle's folder only."""
    path, _sha256 = bundle()
    with tarfile.open(path) as archive:
        document = json.load(archive.extractfile("manifest.json"))
    document["files"][name] = {"size_bytes": 1, "sha256": "0" * 64}

    assert refusal(path, rewritten(path, json.dumps(document).encode())).code == "bundle-damaged"

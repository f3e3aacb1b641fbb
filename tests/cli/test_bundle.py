"""`wright bundle`."""

from pathlib import Path

import pytest

from clusterwright.cli.bundle import bundle
from clusterwright.config.load import load_cluster
from clusterwright.errors import WrightError
from clusterwright.provision.package_bundle import gather
from clusterwright.provision.package_bundle.gather import WrittenBundle

LAB = Path(__file__).parents[2] / "examples" / "lab" / "cluster.yaml"
A100 = Path(__file__).parents[2] / "examples" / "a100" / "cluster.yaml"


@pytest.fixture(autouse=True)
def debian(tmp_path, monkeypatch):
    """This machine has Debian 12."""
    (tmp_path / "os-release").write_text('ID=debian\nVERSION_ID="12"\n')
    monkeypatch.setattr(gather, "OS_RELEASE", tmp_path / "os-release")


def test_the_printed_lines_belong_into_the_cluster_file(tmp_path, monkeypatch, capsys):
    """Path and SHA-256, as a section that the file accepts."""
    written = WrittenBundle(tmp_path / "bundle.tar", "ab" * 32, 142, 63_641_600)
    monkeypatch.setattr(gather, "gather", lambda *_arguments, **_options: written)
    bundle(cluster=LAB, out=tmp_path / "bundle.tar")
    printed = capsys.readouterr()
    (tmp_path / "cluster.yaml").write_text(f"{LAB.read_text()}\n{printed.out}")
    setting = load_cluster(tmp_path / "cluster.yaml").software.bundle

    assert "142 packages, 60.7 MiB" in printed.err
    assert (setting.path, setting.sha256) == (str(tmp_path / "bundle.tar"), "ab" * 32)


@pytest.mark.parametrize(("file", "os"), [(A100, None), (A100, "alma-9")])
def test_another_distribution_is_gathered_elsewhere(tmp_path, file, os):
    """That of the file or of `--os`; the error names a container image, and nothing is written."""
    with pytest.raises(WrightError) as caught:
        bundle(cluster=file, out=tmp_path / "out" / "bundle.tar", os=os)

    finding = caught.value.findings[0]
    assert finding.code == "bundle-machine"
    assert (os or "rocky-9") in finding.message
    assert ("almalinux:9" if os else "rockylinux:9") in finding.fix
    assert not (tmp_path / "out").exists()


def test_an_unknown_distribution_is_an_error_of_the_file(tmp_path):
    """With the known ones."""
    with pytest.raises(WrightError, match="rocky-9"):
        bundle(cluster=A100, out=tmp_path / "bundle.tar", os="rocky9")

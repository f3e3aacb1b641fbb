"""Sets of packages that come all or none: what is said where they do not, and what is left of a plan."""

import json
from pathlib import Path

import pytest

from clusterwright.config.field import Cost
from clusterwright.onhost.lib.processes import Result
from clusterwright.onhost.provision import apt, packages, reboots, sets
from clusterwright.onhost.provision.host import ChangeError, LocalHost, refuse_failed
from clusterwright.onhost.provision.sets import MissingError
from clusterwright.provision.bundle import Order, bundle
from clusterwright.provision.resources import Hold, Package, Unit

DRIVER = Package(name="driver", version="2.0", set_name="driver")
NCCL = Package(name="libnccl2", version="2.27.3", built_for="+cuda12", set_name="nccl")
PLAIN = Package(name="less")
UNIT = Unit(name="manager.service", needs=("package:driver",))


@pytest.fixture
def host(tmp_path):
    """A host below a folder that has these packages, and wants those."""
    import zlib

    def make(*wanted, installed=None, receipt=None):
        state = tmp_path / "var/lib/clusterwright"
        state.mkdir(parents=True, exist_ok=True)
        if receipt is not None:
            (state / "receipt.json").write_text(json.dumps({"files": {}, "units": []} | receipt))
        data = json.loads(zlib.decompress(bundle(Order("check", "c", "1", root=str(tmp_path)), wanted)))
        data["installed"] = {name: tuple(row) for name, row in (installed or {}).items()}
        return LocalHost(data)

    return make


# As apt of Debian 12 says it (2.6.1), recorded in a lab on 2026-11-22.
UNREACHABLE = """Reading package lists...
Err:1 http://10.221.0.254:8580 ./ cuda-toolkit-12-8 12.8.1-1
  Could not connect to 10.221.0.254:8580 (10.221.0.254). - connect (111: Connection refused)
E: Failed to fetch http://10.221.0.254:8580/./cuda-toolkit-12-8_12.8.1-1_all.deb  Could not connect to 10.221.0.254
E: Unable to fetch some archives, maybe run apt-get update or try with --fix-missing?
"""
UNMET = """The following packages have unmet dependencies:
 nvidia-driver-cuda : Depends: libcuda1 (= 580.95.05-1) but 580.65.06-1 is to be installed
E: Unable to correct problems, you have held broken packages.
"""
OTHER_KEY = """Err:1 http://10.221.0.254:8580 ./ InRelease
  The following signatures couldn't be verified because the public key is not available: NO_PUBKEY D7F3C54F62A4B9C2
W: GPG error: http://10.221.0.254:8580 ./ InRelease: The following signatures couldn't be verified because the public
E: The repository 'http://10.221.0.254:8580 ./ InRelease' is not signed.
"""
NO_VERSION = "no repository has version 2.0 of driver (available: none)"


@pytest.mark.parametrize(
    ("reason", "said", "line", "fix"),
    [
        (ChangeError(UNREACHABLE), "", "E: Failed to fetch http://10.221.0.254:8580/", sets.FETCH_FIX),
        (ChangeError(UNMET), "", "nvidia-driver-cuda : Depends: libcuda1 (= 580.95.05-1)", sets.VERSION_FIX),
        (MissingError(NO_VERSION), "", NO_VERSION, sets.VERSION_FIX),
        (MissingError(NO_VERSION), OTHER_KEY, NO_VERSION, sets.SIGNATURE_FIX),
        (MissingError(NO_VERSION), UNREACHABLE, NO_VERSION, sets.FETCH_FIX),
        (MissingError(NO_VERSION, ["http://10.221.0.254:8580"]), UNREACHABLE, NO_VERSION, sets.FETCH_FIX),
        (MissingError(NO_VERSION, ["http://elsewhere"]), UNREACHABLE, NO_VERSION, sets.VERSION_FIX),
    ],
)
def test_each_trouble_has_its_own_mend(reason, said, line, fix):
    """A version that is not known may be one that could not be learnt of, where it would come from; not elsewhere."""
    told = sets.explain_error(reason, said)

    assert line in told
    assert told.endswith(fix)
    assert "Reading package lists" not in told


class Interrupted:
    """A host whose dpkg was killed in a script: apt refuses even to download until dpkg has configured the package."""

    def __init__(self, *, fixed_by_dpkg):
        self.calls, self.fixed_by_dpkg, self.is_interrupted = [], fixed_by_dpkg, True

    def run(self, argv, limit=60):
        """Record the call and answer as the host does."""
        self.calls.append(argv[0] if "--download-only" not in argv else "download")
        if argv[0] == "dpkg":
            self.is_interrupted = not self.fixed_by_dpkg
            return Result(0 if self.fixed_by_dpkg else 1, "", "")
        if argv[0] == "dpkg-query":
            return Result(0, "iF  1 driver\n" if self.is_interrupted else "ii  1 driver\n", "")
        if argv[0] == "apt-cache":
            return Result(0, " driver | 2.0-1 | http://repository ./ Packages\n", "")
        refused = self.is_interrupted and "install" in argv
        return Result(100 if refused else 0, "E: dpkg was interrupted" if refused else "", "")

    def must(self, argv, limit=60):
        """Raise ChangeError if the command fails."""
        refuse_failed(argv, self.run(argv, limit))


@pytest.mark.parametrize(
    ("mode", "fixed_by_dpkg", "reasons", "last"),
    [
        ("apply", True, [], "download"),
        ("apply", False, ["remains, of driver"], "dpkg-query"),
        ("fetch", True, [], "dpkg-query"),
    ],
)
def test_an_interrupted_set_is_completed_before_it_is_fetched(
    host, monkeypatch, mode, fixed_by_dpkg, reasons, last
):
    """By an apply; what only fetches neither changes the host nor leaves the set out of the apply that follows."""
    here, interrupted = host(DRIVER), Interrupted(fixed_by_dpkg=fixed_by_dpkg)
    here.bundle["mode"] = mode
    for module in (apt, packages, sets):
        monkeypatch.setattr(module, "run", interrupted.run)
        monkeypatch.setattr(module, "must", interrupted.must)
    troubles = sets.fetch(here)

    assert list(troubles) == ["driver"] * len(reasons)
    assert all(reason in troubles["driver"] for reason in reasons)
    assert interrupted.calls[-1] == last
    assert ("dpkg" in interrupted.calls) == (mode == "apply")


def test_a_set_is_what_of_it_is_not_as_wanted(host):
    """A package that is there in its version is no part of it; one of another CUDA is."""
    here = host(
        DRIVER, NCCL, PLAIN, installed={"driver": ("2.0-1", False), "libnccl2": ("2.27.3-1+cuda13.0", False)}
    )

    assert {name: [one["name"] for one in todo] for name, todo in sets.pending_sets(here).items()} == {
        "nccl": ["libnccl2"]
    }


@pytest.mark.parametrize(
    ("there", "what", "cost"),
    [
        ({}, "install", "live"),
        ({"nvidia-dkms-580": ("580.95.05-1", True)}, "install in place of nvidia-dkms-580", "reboot"),
        ({"nvidia-dkms-590-open": ("590.44.01-1", True)}, "590.44.01-1 -> 590.48", "reboot"),
    ],
)
def test_modules_of_another_branch_are_no_first_install(host, there, what, cost):
    """Their names differ, and jobs run on what is loaded: a host without any gets them at once."""
    package = Package(
        name="nvidia-dkms-590-open",
        version="590.48",
        cost=Cost.REBOOT,
        set_name="driver",
        place_of=("nvidia-dkms*",),
    )
    here = host(package, installed=there)

    [change] = packages.plan_packages(here)
    assert (change["summary"], change["cost"]) == (what, cost)
    assert packages.hold_siblings(here, packages.desired_packages(here)) == list(there)


def test_without_a_set_its_packages_and_the_units_that_need_them_wait(host):
    """Where the packages are there in an older version, their daemons still run."""
    changes = [{"id": name} for name in ("package:driver", "unit:manager.service", "package:less")]
    bare = host(DRIVER, PLAIN, UNIT)
    older = host(DRIVER, PLAIN, UNIT, installed={"driver": ("1.0-1", True)})

    assert sets.exclude_sets(bare, changes, {"driver": "no"}) == [{"id": "package:less"}]
    assert sets.exclude_sets(older, changes, {"driver": "no"}) == changes[1:]
    assert sets.exclude_sets(bare, changes, {}) == changes


def test_holds_of_ours_are_known_from_those_of_others(host):
    """By the list that we keep; before there was one, by our patterns, once an apply of ours had held."""
    held = {"driver": ("1.0-1", True), "site-tool": ("1", True)}
    hold = Hold(name="packages", patterns=("driver",))

    assert packages.managed_hold(host(hold, installed=held)) == set()
    assert packages.managed_hold(host(hold, installed=held, receipt={"wanted": {"hold:packages": "x"}})) == {
        "driver"
    }
    packages.record_hold(host(hold, installed=held), ["other"])
    assert packages.managed_hold(host(hold, installed=held)) == {"driver", "other"}


def test_what_somebody_else_holds_is_refused_by_name(host):
    """Also where only a part of the set is held, at the version that the rest has."""
    here = host(DRIVER, installed={"driver": ("1.0-1", True), "libdriver": ("1.0-1", True)})

    with pytest.raises(
        sets.ChangeError, match=r"driver is held at 1\.0-1, libdriver is held at 1\.0-1 by hand"
    ):
        sets.refuse_foreign_hold(here, sets.pending_sets(here)["driver"])


def test_a_reboot_is_owed_until_the_host_is_booted(host):
    """By whomever; changes that cost less owe none."""
    here = host()
    reboots.owe(here, {"id": "file:/etc/x", "cost": "drain"})
    before = reboots.owed(here)
    reboots.owe(here, {"id": "package:driver", "cost": "reboot"})
    reboots.owe(here, {"id": "package:driver", "cost": "reboot"})
    after = reboots.owed(here)
    note = Path(here.resolve_path(reboots.OWED))
    note.write_text(note.read_text().replace(reboots.boot_id(), "another"))

    assert (before, after, reboots.owed(here)) == ([], ["package:driver"], [])

"""Which Slurm each operating system brings, and where packages of other releases come from."""

from __future__ import annotations

# Rocky's and Alma's is EPEL's. Sources: packages.debian.org, packages.ubuntu.com, src.fedoraproject.org (epel8, epel9).
OWN_SLURM = {
    "debian-12": "22.05", "debian-13": "24.11",
    "ubuntu-20.04": "19.05", "ubuntu-22.04": "21.08", "ubuntu-24.04": "23.11",
    "rocky-8": "20.11", "rocky-9": "22.05", "alma-8": "20.11", "alma-9": "22.05",
}  # fmt: skip

# Slurm's own tree makes rpm packages in every release; deb packages since this one (its folder debian/).
FIRST_DEB = (23, 11)
OLDEST = (21, 8)  # the oldest release that we render for


def release(version: str) -> tuple[int, int]:
    """Year and month: 22.05.8 is of 22.05."""
    year, month, *_ = (*version.split("."), "0")
    return (int(year), int(month)) if year.isdecimal() and month.isdecimal() else (0, 0)


def is_rhel_kind(os: str) -> bool:
    """Rocky and Alma: rpm, dnf, SELinux."""
    return os.split("-", maxsplit=1)[0] in {"rocky", "alma"}


def has_own(os: str, version: str) -> bool:
    """True when the distribution itself has that release."""
    return release(OWN_SLURM[os]) == release(version)


def can_be_built(os: str, version: str) -> bool:
    """True when Slurm's own packaging makes packages of that release for that kind of system."""
    return is_rhel_kind(os) or release(version) >= FIRST_DEB

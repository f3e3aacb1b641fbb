"""What a host's firmware is set to, where a site decides it; checks look whether it is so."""

from __future__ import annotations

from clusterwright.config.field import Section, setting


class Firmware(Section):
    """Firmware settings that training leaves open. Nothing here is written to a host: checks hold hosts against it."""

    virtual_functions: bool = setting(
        "True where adapters are to have functions for virtual machines or containers (SR-IOV).",
        default=False, example="true",
    )  # fmt: skip
    # Bounds: AMD's NPS and Intel's SNC know 1, 2, 3 and 4; NPS and last-level caches as nodes come to 16 at most.
    numa_per_socket: int | None = setting(
        "NUMA nodes of one socket (AMD's NPS, Intel's SNC); left out: as it is, but equal within the group.",
        default=None, example="1", least=1, most=16,
    )  # fmt: skip

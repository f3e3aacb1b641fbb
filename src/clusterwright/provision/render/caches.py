"""Environment variables that set the cache folders of programs (pip, Hugging Face, Triton and others)."""

from __future__ import annotations

from clusterwright.config.cluster import Cluster

# Large, downloaded once, then only read: one copy for all hosts.
SHARED = {"HF_HOME": "huggingface", "TORCH_HOME": "torch"}
# Many small files and locks: in a shared folder, ranks would wait for each other.
LOCAL = {
    "PIP_CACHE_DIR": "pip", "UV_CACHE_DIR": "uv", "TRITON_CACHE_DIR": "triton",
    "TORCHINDUCTOR_CACHE_DIR": "inductor", "CUDA_CACHE_PATH": "cuda", "APPTAINER_CACHEDIR": "apptainer",
}  # fmt: skip


def caches(cluster: Cluster) -> dict[str, str]:
    """Return each cache variable and its per-user folder; caches without a folder keep their program's default."""
    section = cluster.environments.caches
    shared = {name: f"{section.shared}/$USER/{folder}" for name, folder in SHARED.items() if section.shared}
    local = {name: f"{section.local}/$USER/{folder}" for name, folder in LOCAL.items() if section.local}
    # uv links from its cache into environments, which needs one file system
    return shared | local | ({"UV_LINK_MODE": "copy"} if section.local else {})

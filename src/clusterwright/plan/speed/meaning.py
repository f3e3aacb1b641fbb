"""Explanation of each field of `Rates`, for explained predictions."""

from __future__ import annotations

from clusterwright.i18n import N_

MEANING = {
    "peak": N_("peak FLOP/s of the precision, datasheet"),
    "matmul": N_("FLOP/s of a large matrix product in the run's precision"),
    "matmul_16": N_("FLOP/s of a large matrix product in 16 bits: attention, head"),
    "flash": N_("FLOP/s of fused attention, forward"),
    "flash_backward": N_("FLOP/s of fused attention, backward"),
    "bytes_per_s": N_("bytes/s of streaming GPU memory"),
    "processors": N_("streaming multiprocessors that share the tiles of a product"),
    "depth": N_("inner length at which a product has half its rate: k0 of k / (k + k0)"),
    "wave": N_("effective share of tile and wave quantization"),
    "misaligned": N_("slowdown of a product whose inner length is not a multiple of 8"),
    "unaligned": N_("slowdown of a product whose rows are not a multiple of 128 bytes"),
    "launch": N_("seconds to launch one kernel"),
    "accumulate": N_("traffic of accumulating a weight gradient over reading and writing the sum"),
    "elementwise": N_("traffic of norms, activation functions and residuals over the least possible"),
    "quantize": N_("traffic of casts to 8 or 4 bits over the least possible; 0: no casts"),
    "bits": N_("bits per element of the products"),
    "expert_traffic": N_("traffic of permuting tokens over the least possible"),
    "imbalance": N_("tokens of the busiest expert over the mean"),
    "tensor_exposed": N_("exposed share of tensor-parallel communication"),
    "context_exposed": N_("exposed share of context-parallel communication"),
    "expert_exposed": N_("exposed share of expert-parallel communication"),
    "pipeline_exposed": N_("exposed share of pipeline communication"),
    "data_exposed": N_("exposed share of data-parallel communication"),
    "gathers": N_("messages per gather of a sharded layer's weights"),
    "deduplicated": N_("whether a token is sent to a node only once"),
    "sharded": N_("bandwidth of gathering sharded weights over that of one large collective"),
    "interference": N_("slowdown of compute by overlapping communication"),
    "host_step": N_("seconds per parameter of an optimizer on the host's CPUs"),
    "fixed": N_("seconds per iteration for input, logging, synchronization"),
    "jitter": N_("share of an iteration added per doubling of GPUs beyond eight"),
    "trained": N_("share of parameters that are trained"),
}

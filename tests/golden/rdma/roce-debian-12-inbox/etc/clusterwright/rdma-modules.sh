# made by clusterwright; edit the cluster file instead
# GPUs are reached by dma-buf.
# NVIDIA GPU Operator, GPUDirect RDMA: DMA-BUF needs the open kernel modules (515), CUDA 11.7 and Linux 5.12; RHEL 9 has 5.14, Debian 12 has 6.1, Ubuntu 22.04 has 5.15.
# A missing module is logged and the others are loaded; `wright check` reports it.

for module in ib_uverbs rdma_ucm; do
  [ -d "/sys/module/$(echo $module | tr - _)" ] || modprobe "$module" || echo "$module is not loaded"
done
exit 0

# made by clusterwright; edit the cluster file instead
# GPUs are reached by peermem.
# NVIDIA driver README, GPUDirect RDMA peer memory client: nvidia-peermem comes with the driver since 470 and needs MLNX_OFED 5.1 or later.
# A missing module is logged and the others are loaded; `wright check` reports it.

for module in ib_uverbs rdma_ucm ib_umad ib_ipoib nvidia-peermem; do
  [ -d "/sys/module/$(echo $module | tr - _)" ] || modprobe "$module" || echo "$module is not loaded"
done
exit 0

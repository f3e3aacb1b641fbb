# made by clusterwright from cluster.yaml, do not edit
# Every line does nothing where the host has no such thing: a virtual machine, a container.

set_all() { # VALUE FILES...
  value=$1
  shift
  for file; do
    if [ -w "$file" ]; then echo "$value" >"$file"; fi
  done
}

# Memory in large pages only for those who ask for it: `always` lets a fork of a data loader hold more than it
# touches (kernel: admin-guide/mm/transhuge), and AMD's guide for language models has madvise (ZenDNN user guide).
set_all madvise /sys/kernel/mm/transparent_hugepage/enabled

# Clocks that rise only under load delay the CPU's share of every step.
set_all performance /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor

# One rank that is swapped out holds up all the others. swap.target is masked, for the next boot.
if [ "$(wc -l </proc/swaps)" -gt 1 ]; then swapoff -a; fi

exit 0

"""The bench's training with the heartbeats of nvidia-resiliency-ext."""

from __future__ import annotations

import marks
import plain
from nvidia_resiliency_ext.fault_tolerance import RankMonitorClient

monitor = RankMonitorClient()
monitor.init_workload_monitoring()
marks.mark("monitored")
plain.train(monitor.send_heartbeat)

"""Readers of the output of tools, one file for each; a reader is imported where a text has one of its keywords."""

# In lower case.
KEYWORDS: dict[str, tuple[bytes, ...]] = {
    "cuda_versions": (
        b"cuda version:",
        b"cuda compilation tools",
        b"cuda used to build pytorch",
        b"+cu1",
        b"cuda driver version",
    ),
    "ib_ports": (
        b"physical state:",
        b"phys state:",
        b"phys_state:",
        b"port_active",
        b"port_down",
        b"port_init",
        b"port_armed",
        b"physical_state",
    ),
    "ibping": (b"ibping statistics",),
    "iostat": (b"%util",),
    "ipmi": (b"degrees c", b" rpm", b"going high", b"going low", b"throttled", b"thermal trip"),
    "nvidia_smi": (b"nvidia-smi ",),
    "rates": tuple(
        (
            b"/s,/sec,it/,per_second,per second,per_sec,per sec,s/step,step time,step_time,sec/,iter_time,per iteration"
            b",batch time,batch_time,throughput,time/,time ,s/it,s/batch,persec,tps,wps,ips,sps,data_time,timing,epoch"
        ).split(b",")
    ),
    "sinfo": (b"nodelist", b"hostnames"),
    "sstat": (b"maxrss", b"avevmsize", b"maxvmsize"),
}

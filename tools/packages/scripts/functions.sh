# Runs as root when a package is installed or removed. A unit in /etc is that of `wright apply`, which owns it.
home=/usr/lib/clusterwright
units="clusterwright-exporter.service clusterwright-heal.service clusterwright-notify.service"

has_systemd() { [ -d /run/systemd/system ] && command -v systemctl >/dev/null; }

runs_packaged_modules() { # UNIT: the unit of `wright apply` may run the packaged `wright` too (heal.program)
  [ ! -e "/etc/systemd/system/$1" ] || grep -q '^ExecStart=/usr/bin/wright ' "/etc/systemd/system/$1"
}

choose_python() { # for the package whose distributions have an older python3
  for name in python3 python3.14 python3.13 python3.12 python3.11; do
    if "/usr/bin/$name" -IS -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' 2>/dev/null; then
      ln -sfn "../../../bin/$name" "$home/bin/python3"
      return
    fi
  done
  echo "clusterwright: no Python of 3.11 to 3.14 in /usr/bin" >&2
}

compile_modules() { # without this, each command would compile them anew
  "$home/bin/python3" -I -m compileall -q "$home/lib/python3.11/site-packages" >/dev/null 2>&1 || true
}

remove_compiled_modules() {
  [ ! -d "$home" ] || find "$home" -depth -type d -name __pycache__ -exec rm -rf {} +
}

restart_units() { # those that run the old modules
  has_systemd || return 0
  systemctl daemon-reload
  for unit in $units; do
    ! runs_packaged_modules "$unit" || systemctl try-restart "$unit" || true
  done
}

stop_packaged_units() {
  has_systemd || return 0
  for unit in $units; do
    [ -e "/etc/systemd/system/$unit" ] || systemctl --quiet disable --now "$unit" || true
  done
}

reload_units() { ! has_systemd || systemctl daemon-reload || true; }

remove_state() { # of the packaged units; a host that `wright apply` has configured keeps everything
  [ ! -e /opt/clusterwright/lib ] || return 0
  for unit in $units; do
    [ ! -e "/etc/systemd/system/$unit" ] || return 0
  done
  rm -rf /etc/clusterwright/exporter.json /etc/clusterwright/notify.json /etc/clusterwright/heal
  rm -rf /var/lib/clusterwright/exporter /var/lib/clusterwright/notify /var/lib/clusterwright/heal
  rmdir /etc/clusterwright /var/lib/clusterwright 2>/dev/null || true
}

# made by clusterwright; edit the cluster file instead
# Evaluates the Xids of a kernel log by the rules of `wright check` (gpu_xids) and the rows of the file `xids`. Reads
# lines that begin with `[SECONDS]`; prints `NUMBER MEANING: ACTION (PCI ADDRESS)` for each Xid that takes the host out
# of service. Variables: known=FILE, now=SECONDS, since=SECONDS (older Xids are ignored).
# Runs with any awk: mawk has no {n} and no gensub.

BEGIN {
  BURST_S = 180; HOUR_S = 3600; WINDOW_HOURS = 24
  FS = "\t"
  while ((getline line < known) > 0)
    if (line ~ /^[0-9]/) {
      split(line, cell, "\t")
      listed[cell[1]] = 1
      base[cell[1]] = cell[2]; hours[cell[1]] = cell[3]; repeat[cell[1]] = cell[4]
      after[cell[1]] = cell[5]; words[cell[1]] = cell[6]; text[cell[1]] = cell[7]
    }
}

# A message counts from its first character on: the kernel also logs texts that users choose, such as the name of a
# control group. Where the journal prints it, the host and `kernel:` come before it. A line without a time is none: it
# continues a message in which a user chose a newline.
/^\[ *[0-9]+\.[0-9]+\] .*(NVRM:|Xid \(|clusterwright)/ {
  at = $0; sub(/^\[ */, "", at); sub(/\].*/, "", at); at += 0
  sub(/^\[ *[0-9.]+\] */, ""); sub(/^[^ ]+ kernel: /, ""); sub(/^[^ ]+ clusterwright\[[0-9]+\]: /, "clusterwright: ")
  if (match($0, /^NVRM: (The NVIDIA )?GPU (at )?(PCI:)?[0-9a-fA-F]+:[0-9a-fA-F][0-9a-fA-F]:[0-9a-fA-F][0-9a-fA-F]/)) {
    named = substr($0, RSTART, RLENGTH); sub(/.* /, "", named); named = pci(named)
  }
  if (match($0, /^clusterwright:? repaired [^ ]+/)) {
    address = substr($0, RSTART, RLENGTH); sub(/.* /, "", address); fixed(pci(address))
  } else if ($0 ~ /^NVRM: Xid \((PCI:)?[0-9a-fA-F:.]+\): 154, .* to 0x0 \(None\)/)
    fixed(address_of($0))
  else if (match($0, /^NVRM: Xid \((PCI:)?[0-9a-fA-F:.]+\): [0-9]+/))
    met(number_at_end(substr($0, RSTART, RLENGTH)), address_of(substr($0, RSTART)), 0, substr($0, RSTART + RLENGTH))
  else if (match($0, /^[A-Za-z0-9_-]+: SXid \((PCI:)?[0-9a-fA-F:.]+\): [0-9]+, /))
    met(number_at_end(substr($0, RSTART, RLENGTH - 2)), address_of(substr($0, RSTART)), 1, substr($0, RSTART + RLENGTH))
  else if ($0 ~ /^NVRM: ([Aa] GPU has |GPU ((at )?(PCI:)?[0-9a-fA-F:.]+ )?(GPU )?has |The NVIDIA GPU .*)?fallen off the bus/)
    met(79, named, 0, "fallen off the bus")
}

function number_at_end(said) {
  sub(/.* /, "", said)
  return said + 0
}

function address_of(said) {
  sub(/^.*Xid \(/, "", said); sub(/\).*/, "", said)
  return pci(said)
}

function pci(said,    part, count) { # one form: 0000:3b:00; nothing if it is none
  said = tolower(said); sub(/^pci:/, "", said); sub(/\.[0-7]$/, "", said)
  count = split(said, part, ":")
  if (count == 2) return "0000:" said
  if (count != 3) return ""
  sub(/^0+/, "", part[1])
  while (length(part[1]) < 4) part[1] = "0" part[1]
  return part[1] ":" part[2] ":" part[3]
}

function fixed(address,    i) {
  for (i = 1; i <= events; i++) if (device[i] == address) gone[i] = 1
}

function met(number, address, switch, said,    key, i) { # what comes within three minutes is one burst
  key = number SUBSEP address SUBSEP switch
  i = latest[key]
  if (!i || gone[i] || at - last[i] > BURST_S) {
    i = latest[key] = ++events
    xid[i] = number; device[i] = address; of_switch[i] = switch; first[i] = at; whole[i] = key
  }
  last[i] = at
  if (is_bad(number, switch, said)) bad[i] = 1
  if (said !~ /caused by previous Xid [0-9]+/) own[i] = 1
}

function is_bad(number, switch, said,    choice, count, i, severity) { # by the line's own words where they decide
  if (switch) return said ~ /^(Fatal|Severity [1-9])/
  if (!(number in listed)) return 0
  count = words[number] == "-" ? 0 : split(words[number], choice, ";")
  for (i = 1; i <= count; i++) {
    severity = choice[i]; sub(/ .*/, "", severity); sub(/^[a-z]+ /, "", choice[i])
    if (index(said, choice[i])) return severity == "fail"
  }
  return base[number] == "fail"
}

function counts(i,    span) {
  span = xid[i] in listed && !of_switch[i] ? hours[xid[i]] : WINDOW_HOURS
  return !gone[i] && (span == "boot" || now - last[i] <= span * HOUR_S)
}

function follows(i,    other) { # it is only what comes after another one
  if (of_switch[i]) return 0
  if (!own[i]) return 1
  for (other = 1; other <= events; other++)
    if (xid[other] != xid[i] && !of_switch[other] && counts(other) &&
        index("," after[xid[i]] ",", "," xid[other] ",") &&
        first[i] >= first[other] && first[i] - last[other] <= BURST_S) return 1
  return 0
}

function often(i,    rule, other, count) { # again and again on one GPU, up to this one
  if (split(repeat[xid[i]], rule, "/") != 2) return 0
  for (other = 1; other <= events; other++)
    if (whole[other] == whole[i] && counts(other) && !follows(other) && last[i] - first[other] <= rule[2] * HOUR_S)
      count++
  return count >= rule[1]
}

END {
  for (i = events; i >= 1; i--) # the latest of its kind speaks for them
    if (counts(i) && !follows(i)) {
      if (!(whole[i] in newest)) { newest[whole[i]] = i; if (often(i)) bad[i] = 1 }
      if (bad[i]) fatal[whole[i]] = 1
    }
  for (i = 1; i <= events; i++)
    if (newest[whole[i]] == i && fatal[whole[i]] && last[i] >= since + 0)
      printf "%d %s (%s)\n", xid[i], of_switch[i] ? "fatal error of an NVSwitch: drain and reboot the host" : text[xid[i]], device[i]
}

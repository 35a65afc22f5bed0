# shellcheck shell=bash
# What the tests of mounting share, after lib.sh: one mount point, and that nothing is left of a mount that failed or
# ended.

mnt=$SCRATCH/mnt
mkdir "$mnt"
chmod 711 "$SCRATCH"
# As if it were installed: mount.fuse3 looks in the system's directories only.
ln -sf "$LOCALIOFS_BIN/localiofs" /sbin/localiofs

mounted() { awk -v mnt="${1:-$mnt}" '$2 == mnt && $3 == "fuse.localiofs" { n++ } END { exit !n }' /proc/self/mounts; }
mounts() { awk '$3 == "fuse.localiofs" { n++ } END { print n + 0 }' /proc/self/mounts; }
daemon() { pgrep -x "localiofs|mount.localiofs" &>/dev/null; }
nothing_left() { [ "$(mounts)" = 0 ] && ! daemon; }
nothing() { eventually 10 "$1: nothing is left" nothing_left; }

# One option of a mount as the kernel shows it: has ro, has nosuid /elsewhere
has() { findmnt -n -o OPTIONS --mountpoint "${2:-$mnt}" | tail -n 1 | tr , '\n' | grep -qx "$1"; }
has_not() { ! has "$@"; }

# The command fails with this status and one line on stderr that matches, and leaves nothing new behind.
wrong() { # SENTENCE STATUS PATTERN COMMAND...
  local output status before
  before=$(mounts)
  output=$(timeout 20 "${@:4}" 2>&1 </dev/null)
  status=$?
  if [ "$status" != "$2" ]; then
    fail "$1: exit status $2" "status $status: $output"
  elif [ "$(wc -l <<<"$output")" != 1 ] || ! grep -Eq -- "$3" <<<"$output"; then
    fail "$1: one line that says so" "expected one line with: $3
got: $output"
  else
    ok "$1: exit status $2 and one line: ${output:0:150}"
  fi
  if [ "$before" = 0 ]; then
    nothing "$1"
  else
    equal "$1: nothing more is mounted" "$before" "$(mounts)"
  fi
}

# A port of 127.0.0.1 that takes connections and never answers, until the test ends.
silent() { # PORT
  python3 -c 'import signal, socket, sys
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=99)
signal.pause()' "$1" &
  eventually 5 "port $1 is there, and silent" sh -c "ss -Hltn 'sport = :$1' | grep -q ."
}

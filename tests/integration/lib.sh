# shellcheck shell=bash
# What the integration tests share; each starts with
#
#   . "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
#   in_testenv --export=root_squash       # or none, and it calls "$TESTENV" itself
#
# A test is one program with one purpose. It prints a line for each check ("ok - SENTENCE", "not ok - SENTENCE",
# "skip - SENTENCE"), which tools/test counts, and goes on after a failure. Run alone, it is its own command.
# Marks in its first lines: "# build: plain" (not the sanitizer build), "# needs: passthrough server" (what
# LOCALIOFS_REQUIRE may forbid to skip), "# timeout: SECONDS", "# alone: WHY" (with no other test beside it), and
# "# on: ext4 xfs btrfs overlay knfsd io_uring", the filesystems, servers and transport that tools/test runs it on.
# LOCALIOFS_FS, LOCALIOFS_SERVER and LOCALIOFS_TRANSPORT=uring choose:
# LOCALIOFS_SERVER=knfsd tests/integration/test-mount-helper.
set -uo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
TESTENV=$ROOT/tools/testenv
SERVERS=${LOCALIOFS_CACHE:-$ROOT/.cache}/server
GUEST=$("$ROOT/tools/guest-kernel" --where)
# In the knfsd guest /tmp is the machine's, seen through a filesystem that fusermount3 does not mount on.
scratch_folder=${TMPDIR:-/tmp}
if [ "${LOCALIOFS_IN_TESTENV:-}${LOCALIOFS_SERVER:-}" = 1knfsd ]; then scratch_folder=/run/testenv; fi
SCRATCH=$(mktemp -d "$scratch_folder/localiofs-test.XXXXXX")
LOCALIOFS_SEED=${LOCALIOFS_SEED:-$((RANDOM * 32768 + RANDOM))}
export LOCALIOFS_SEED
# shellcheck disable=SC2034 # for the tests: the ordinary user that tools/testenv's /etc/passwd has a name for
TEST_UID=12345
SERVER=${LOCALIOFS_SERVER:-ganesha}
FS=${LOCALIOFS_FS:-ext4}
# For filesystem_checks.py, in MiB. On a small btrfs the data's chunk takes all the room, and fsync fails for want of
# metadata's; the guest has little memory.
# shellcheck disable=SC2034 # for the tests
if [ "$SERVER" = knfsd ]; then CHECKS_SIZE=1024; else CHECKS_SIZE=6144; fi
failures=0

finish() {
  local status=$?
  rm -rf "$SCRATCH"
  if [ "$status" = 0 ] && [ "$failures" -gt 0 ]; then exit 1; fi
  exit "$status"
}
trap finish EXIT

# Go on inside tools/testenv with these options, on the chosen server and filesystem.
in_testenv() {
  [ -z "${LOCALIOFS_IN_TESTENV:-}" ] || return 0
  rm -rf "$SCRATCH"
  LOCALIOFS_IN_TESTENV=1 exec "$TESTENV" --server="$SERVER" --fs="$FS" "$@" -- "${BASH_SOURCE[1]}"
}

ok() { echo "ok - $1"; }
fail() { # SENTENCE [DETAIL]
  failures=$((failures + 1))
  echo "not ok - $1"
  [ -z "${2:-}" ] || echo "$2" | sed 's/^/  # /'
}
skip() { echo "skip - $1"; }
skip_all() { skip "$1"; exit 77; }

# check SENTENCE COMMAND...: the command succeeds. refused SENTENCE COMMAND...: it fails.
check() {
  local output
  if output=$("${@:2}" 2>&1); then ok "$1"; else fail "$1" "status $?: $output"; fi
}
refused() {
  local output
  if output=$("${@:2}" 2>&1); then fail "$1" "it succeeded: $output"; else ok "$1"; fi
}

equal() { # SENTENCE EXPECTED ACTUAL
  if [ "$2" = "$3" ]; then ok "$1"; else fail "$1" "expected: $2
got:      $3"; fi
}

# Wait until a command succeeds: eventually SECONDS SENTENCE COMMAND...
eventually() {
  local end=$((SECONDS + $1)) over
  until [ "$SECONDS" -lt "$end" ] || over=1; "${@:3}" >/dev/null 2>&1; do
    [ ! "${over-}" ] || { fail "$2" "not within $1 s: ${*:3}"; return; }
    sleep 0.02
  done
  ok "$2"
}

# SIGSTOP, and wait until it holds: kill returns before that, and the process's threads run on for a moment.
stop_process() { # PID
  kill -STOP "$1"
  until ! cat /proc/"$1"/task/*/stat | sed 's/.*) //' | grep -qv '^T'; do sleep 0.01; done
}

# One value of `localioctl status --json`, by dotted key: status_json opens.passthrough [MNT]
status_json() {
  localioctl status --json "${2:-$LOCALIOFS_MNT}" | python3 -c '
import functools, json, sys
value = functools.reduce(lambda node, key: node[key], sys.argv[1].split("."), json.load(sys.stdin))
print(json.dumps(value) if isinstance(value, (dict, list, bool)) else value)' "$1"
}

# Run a command as someone else: as UID:GID[,GROUP...] COMMAND...
as() {
  local who=$1 uid gids
  uid=${who%%:*}
  gids=${who#*:}
  local groups=--clear-groups
  [ "$gids" = "${gids%%,*}" ] || groups=--groups=${gids#*,}
  setpriv --reuid="$uid" --regid="${gids%%,*}" "$groups" --inh-caps=-all -- "${@:2}"
}

# Skip the whole test where the machine lacks something: need passthrough server
need() {
  local what kernel
  [ -z "${LOCALIOFS_IN_TESTENV:-}" ] || return 0
  for what; do
    [ "$what" != server ] || what=$SERVER
    case $what in
      passthrough)
        kernel=$(uname -r)
        [ "$SERVER" != knfsd ] || continue  # the guest's kernel has it
        [ -c /dev/fuse ] || skip_all "needs /dev/fuse"
        printf '6.9\n%s\n' "$kernel" | sort -CV || skip_all "needs Linux 6.9 for FUSE passthrough, this is $kernel"
        ;;
      ganesha)
        [ "${LOCALIOFS_TRANSPORT:-}" != uring ] || [ -e /sys/module/fuse/parameters/enable_uring ] ||
          skip_all "needs a kernel with FUSE over io_uring"
        [ -x "$SERVERS/usr/bin/ganesha.nfsd" ] || skip_all "needs NFS-Ganesha: run tools/deps"
        case $FS in
          dir) ;;
          *) grep -qw "$FS" /proc/filesystems || modprobe -q "$FS" || skip_all "needs a kernel with $FS" ;;
        esac
        ;;
      knfsd)
        [ -x "$SERVERS/usr/sbin/exportfs" ] || [ -x /usr/sbin/exportfs ] || skip_all "needs the tools of the kernel's NFS server: run tools/deps"
        [ -f "$GUEST/linux.zst" ] || skip_all "needs the knfsd guest: no $GUEST/linux.zst (tools/guest-kernel makes it)"
        ;;
      *) skip_all "needs $what, which lib.sh does not know how to look for" ;;
    esac
  done
}

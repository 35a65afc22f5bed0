# shellcheck shell=bash
# For tools/deps, tools/guest-kernel and tools/roots: installs missing packages, and asks apt for packages that the
# machine's own suites do not have. The script that sources this file sets its name (tool) and an array of packages, and
# has made the directory cache.

die() { echo "$tool: $*" >&2; exit 1; }
say() { echo "$tool: $*" >&2; }

# again COMMAND...: three tries, for a mirror that fails for a moment.
again() {
  local try
  for try in 1 2 3; do
    "$@" && return
    [ $try = 3 ] || sleep $((try * 5))
  done
  return 1
}

# Installed packages and indexes belong to the machine: they change only when a package is missing.
missing_packages() {
  local installed name
  installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' 2>/dev/null | sed -n 's/^installed //p')
  for name in "${packages[@]}"; do
    grep -qxF "$name" <<<"$installed" || echo "$name"
  done
}

update_once() {
  [ -z "${updated:-}" ] || return 0
  updated=1
  again apt-get -q update >&2 || say "apt-get update failed in part; going on with what it has"
}

install_packages() {
  local missing
  missing=$(missing_packages | xargs)
  [ -n "$missing" ] || return 0
  [ "$(id -u)" = 0 ] || die "not installed: $missing (run it as root, or: apt-get install $missing)"
  say "installing $missing"
  update_once
  # shellcheck disable=SC2086 # a list of names
  DEBIAN_FRONTEND=noninteractive again apt-get -q -y --no-install-recommends install $missing >&2 ||
    die "apt-get could not install: $missing"
}

# A private apt state with the packages (deb) or sources (deb-src) of stable and later suites, at the machine's own
# Debian mirror.
make_private_apt() { # DIRECTORY TYPE
  local dir=$1 type=$2 keyring=/usr/share/keyrings/debian-archive-keyring.gpg mirror suite
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' |
    head -n 1)
  if [ -z "$mirror" ]; then
    update_once
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' |
      head -n 1)
  fi
  [ -n "$mirror" ] || return 1
  mkdir -p "$dir/state/lists/partial" "$dir/cache/archives/partial" "$dir/empty"
  for suite in stable stable-backports testing unstable; do
    echo "$type $([ ! -f $keyring ] || echo "[signed-by=$keyring]") $mirror $suite main"
  done >"$dir/sources.list"
  # Dir::Etc::main is read last, so that the machine's own hooks stay out of it.
  echo "Dir::Etc::main \"$dir/main.conf\";" >"$dir/apt.conf"
  [ ! -f /etc/apt/apt.conf ] || cat /etc/apt/apt.conf >"$dir/main.conf"
  cat >>"$dir/main.conf" <<END
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear DPkg::Post-Invoke;
APT::Sandbox::User "root";
Acquire::Check-Valid-Until "false";
Acquire::Languages "none";
Dir::State "$dir/state";
Dir::State::status "/var/lib/dpkg/status";
Dir::Cache "$dir/cache";
Dir::Etc::sourcelist "$dir/sources.list";
Dir::Etc::sourceparts "$dir/empty";
END
  APT_CONFIG=$dir/apt.conf again apt-get -q update >"$dir/log" 2>&1 ||
    say "not every suite answered at $mirror; going on with those that did"
}

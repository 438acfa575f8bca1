# SPDX-License-Identifier: MIT
#: usage: ./dev setup [SET...] [--quiet] [--list]
#:
#: Installs the Debian 12 packages that are missing; quiet and quick when none is. Sets, each with the ones before it:
#:   core   compile the library and the examples (./dev build, ./dev run)
#:   test   what ./dev test needs: test libraries, clang, formatter, linter
#:   full   what ./dev test --full needs: sanitizer runtimes, valgrind, qemu, cross compiler, gdb
#:   bench  what ./dev bench --peers needs
#: Without a set: core and test. --list prints the package names and installs nothing.
#: WEFT_NO_SETUP=1 makes the other words skip this step.

packages_core=(g++ cmake ninja-build libssl-dev)
packages_test=(python3 curl doctest-dev librapidcheck-dev clang-19 clang-format-19 clang-tidy-19 ccache pkg-config spin openssl libasio-dev)
packages_full=(wrk libclang-rt-19-dev valgrind qemu-user g++-aarch64-linux-gnu libc6-dev-arm64-cross gdb gcovr
  libboost-context1.81-dev libboost1.81-dev)
packages_bench=(libboost-context1.81-dev libboost-coroutine1.81-dev libtbb-dev golang-go)

setup_main() {
  local quiet='' list='' sets=() set wanted=() missing=() package
  for set in "$@"; do
    case $set in
      --quiet) quiet=1 ;;
      --list) list=1 ;;
      -h | --help) help_of setup; return 0 ;;
      core | test | full | bench) sets+=("$set") ;;
      *) refuse "it does not know '$set'" ;;
    esac
  done
  [ ${#sets[@]} -gt 0 ] || sets=(test)

  wanted=("${packages_core[@]}")
  for set in "${sets[@]}"; do
    case $set in
      test) wanted+=("${packages_test[@]}") ;;
      full) wanted+=("${packages_test[@]}" "${packages_full[@]}") ;;
      bench) wanted+=("${packages_bench[@]}") ;;
    esac
  done
  if [ -n "$list" ]; then printf '%s\n' "${wanted[@]}" | sort -u; return 0; fi

  if ! command -v dpkg-query >/dev/null; then
    say "no dpkg here: make sure that this machine has what these Debian packages hold: ${wanted[*]}"
    return 0
  fi
  local have
  have=" $(dpkg-query -W -f '${Package}:${db:Status-Status} ' "${wanted[@]}" 2>/dev/null || true)"
  for package in "${wanted[@]}"; do
    case $have in *" $package:installed "*) ;; *) missing+=("$package") ;; esac
  done
  if [ ${#missing[@]} -eq 0 ]; then
    [ -n "$quiet" ] || say "setup: nothing is missing"
    return 0
  fi
  install_packages "${missing[@]}"
}

install_packages() {
  local advice="run as root: apt-get update && apt-get install --no-install-recommends $*"
  [ "$(id -u)" = 0 ] || die "these packages are missing and only root can install them: $*
$advice"
  local log
  log=$(mktemp)
  say "installing: $*"
  # A fresh machine has no package lists yet; a stale one has lists that name files long gone. Both want an update.
  if ! compgen -G '/var/lib/apt/lists/*Packages*' >/dev/null || ! apt_install "$log" "$@"; then
    say "apt-get update"
    apt-get -qq update >"$log" 2>&1 || true
    apt_install "$log" "$@" || {
      tail -n 15 "$log" >&2
      rm -f "$log"
      die "apt-get could not install them (its last lines are above). Is there a network? $advice"
    }
  fi
  rm -f "$log"
}

apt_install() {
  local log=$1
  shift
  DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends install "$@" >"$log" 2>&1 </dev/null
}

setup_main "$@"

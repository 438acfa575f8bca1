# SPDX-License-Identifier: MIT
#: usage: ./dev conformance [--json]
#:
#: Reads requirements.tsv (rows marked rt and both are owed), runs every test case and counts an id as done when at
#: least one case naming it ran and all of them passed. Prints done and owed for each family and the ids still open.
#: --json prints only {"families": {"J": {"done": n, "owed": m, "open": [ids]}, ...}} on standard output.

json=
for argument in "$@"; do
  case $argument in
    -h | --help) help_of conformance; exit 0 ;;
    --json) json=--json ;;
    *) refuse "it does not know '$argument'" ;;
  esac
done
setup_for test
configure dev
build dev
exec python3 "$ROOT/tools/conformance.py" --build "$ROOT/build/dev" --jobs "$(jobs_wanted)" $json

# SPDX-License-Identifier: MIT
# x86-64 and aarch64 must print the same bytes [N-090]: how each test case ended, and what each example writes.
say "compare aarch64 with x86-64 [N-090]"
emulator=(qemu-aarch64 -L /usr/aarch64-linux-gnu)
logs=$ROOT/build/same_bytes
rm -rf "$logs"
mkdir -p "$logs/x86-64" "$logs/aarch64" "$logs/output"  # output: seeds and counts of random tests, not compared
for program in "$ROOT"/build/aarch64/weft_*_tests; do
  name=$(basename "$program")
  # Only the files that were built for both machines: property tests need a library that is not there for aarch64.
  files=$(ctest --test-dir "$ROOT/build/aarch64" --show-only=json-v1 |
    python3 -c 'import json, sys
for test in json.load(sys.stdin)["tests"]:
    for word in test.get("command", []):
        if word.startswith("--source-file=") and any(part.endswith("/" + sys.argv[1]) for part in test["command"]):
            print(word.split("=", 1)[1])' "$name" | paste -sd,)
  flags=(--no-intro --no-time-in-output --order-by=file --source-file="$files")
  WEFT_CASE_LOG=$logs/x86-64/$name "$ROOT/build/dev/$name" "${flags[@]}" >"$logs/output/$name.x86-64" 2>&1 ||
    die "$name failed on x86-64 (build/same_bytes/output)"
  WEFT_CASE_LOG=$logs/aarch64/$name "${emulator[@]}" "$program" "${flags[@]}" >"$logs/output/$name.aarch64" 2>&1 ||
    die "$name failed on aarch64 (build/same_bytes/output)"
done
for program in "$ROOT"/build/aarch64/examples/*; do
  [ -x "$program" ] || continue
  name=$(basename "$program")
  "$ROOT/build/dev/examples/$name" >"$logs/x86-64/$name.example" 2>&1
  "${emulator[@]}" "$program" >"$logs/aarch64/$name.example" 2>&1
done
diff -r "$logs/x86-64" "$logs/aarch64" || die "the two machines differ (above: < x86-64, > aarch64)"
say "same bytes: $(find "$logs/aarch64" -type f | wc -l) files"

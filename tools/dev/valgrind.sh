# SPDX-License-Identifier: MIT
# The unit tests of the plain build under memcheck, file by file: leaks that are certain and errors fail. Cases whose names
# say [slow] or [stress] count operations by the million and are left to the sanitizers. The explorer's tests of itself
# plant crashes and abandon the stacks they happened on, which is a leak by intent: not here.
# By file, because the search for leaks looks at all stacks that the program has ever had, in forked children too.
# --max-stackframe: a larger change of the stack pointer is a switch (src/fiber/tool_hooks.hpp).
say "test dev under valgrind (output: build/valgrind)"
export logs=$ROOT/build/valgrind
rm -rf "$logs"
mkdir -p "$logs"

# valgrind_file NAME PROGRAM SOURCE: 1 if it was red.
valgrind_file() {
  local cases=("$2" --no-intro "$3" '--test-case-exclude=*[slow]*,*[stress]*') began=$SECONDS
  case $("${cases[@]}" --count) in *' 0') return 0 ;; esac
  if valgrind --quiet --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite --fair-sched=yes \
    --max-stackframe=65536 "${cases[@]}" >"$logs/$1.log" 2>&1; then
    printf '%-32s  green  %4s s\n' "$1" $((SECONDS - began))
  else
    printf '%-32s  RED    %4s s\n' "$1" $((SECONDS - began))
    return 1
  fi
}
export -f valgrind_file

ctest --test-dir "$ROOT/build/dev" -L '^unit$' --show-only=json-v1 |
  python3 -c 'import json, sys
for test in json.load(sys.stdin)["tests"]:
    program, *words = test.get("command", [""])
    if words and words[0].startswith("--source-file=") and not test["name"].startswith("full."):
        print(test["name"], program, words[0], sep="\0", end="\0")' |
  xargs -0 -P "$(jobs_wanted)" -n 3 bash -c 'valgrind_file "$@"' valgrind_file || die "red under valgrind (build/valgrind)"

# SPDX-License-Identifier: MIT
# What the bounds of ./dev test leave out: schedules with any number of preemptions, drawn at random. A failure prints
# the schedule; `./dev verify --replay` runs it again.
seed=$(date +%s)
for mode in random "pct --bound 5"; do
  say "every scenario: --mode $mode --seed $seed"
  # shellcheck disable=SC2086  # a mode and its flags
  "$ROOT/build/verify/weft_verify" --mode $mode --seed "$seed" --runs 100000
done

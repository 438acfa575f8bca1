// SPDX-License-Identifier: MIT
// What: how many workers make sense here: the processors that this thread may use, but no more than its control groups
// pay for (rounded up, at least one).
// Threads: any.
#pragma once

namespace weft::inline v0::detail {

unsigned usable_cpus();

// The same with everything given: how many processors the affinity mask names, where the control group tree is mounted
// (/sys/fs/cgroup), and the file that tells our place in it (/proc/self/cgroup). What is missing there, or cannot be
// understood, limits nothing.
unsigned usable_cpus_from(unsigned affinity_count, const char* cgroup_root, const char* proc_self_cgroup);

}  // namespace weft::inline v0::detail

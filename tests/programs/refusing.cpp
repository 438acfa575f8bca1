// SPDX-License-Identifier: MIT
// Refuses one call of the system to itself by a seccomp filter, as containers do, and becomes the program that it is
// told to run, which finds the call's name in WEFT_TEST_REFUSED.
//   refusing io_uring|membarrier EPERM|ENOSYS|EACCES program arguments...
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string_view>

namespace {

bool refuse(unsigned call, unsigned error) {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{static_cast<unsigned short>(std::size(filter)), filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const std::string_view call = argv[1];
  const std::string_view name = argv[2];
  const unsigned error = name == "EPERM" ? EPERM : name == "ENOSYS" ? ENOSYS : EACCES;
  if (!refuse(call == "membarrier" ? SYS_membarrier : SYS_io_uring_setup, error)) {
    std::perror("refusing: seccomp");
    return 77;
  }
  setenv("WEFT_TEST_REFUSED", argv[1], 1);
  execv(argv[3], argv + 3);
  std::perror(argv[3]);
  return 1;
}

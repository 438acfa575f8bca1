// SPDX-License-Identifier: MIT
// Refuses io_uring to itself by a seccomp filter, as containers do, and becomes the program that it is told to run.
//   no_uring EPERM|ENOSYS|EACCES program arguments...
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

bool refuse_uring(unsigned error) {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{static_cast<unsigned short>(std::size(filter)), filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string_view name = argv[1];
  const unsigned error = name == "EPERM" ? EPERM : name == "ENOSYS" ? ENOSYS : EACCES;
  if (!refuse_uring(error)) {
    std::perror("no_uring: seccomp");
    return 77;
  }
  setenv("WEFT_TEST_NO_URING", "1", 1);
  execv(argv[2], argv + 2);
  std::perror(argv[2]);
  return 1;
}

// SPDX-License-Identifier: MIT
// What a supervisor channel does not take goes to stderr.
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "weft/weft.hpp"

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  return weft::run([what] {
    weft::Supervision watch;
    weft::SuperviseOptions options;
    options.id = 5;
    if (std::strcmp(what, "unnamed") == 0) options.mask = weft::Mask("y");
    if (std::strcmp(what, "closed") == 0) watch.close();
    const char* text = std::strcmp(what, "closed") == 0 ? "too late" : "not for you";
    weft::with_nursery(
        [&](weft::Nursery& n) { weft::supervise(n, watch, [text] { throw std::runtime_error(text); }, options); });
    int events = 0;
    while (watch.try_recv()) ++events;
    std::printf("events: %d\n", events);
  });
}

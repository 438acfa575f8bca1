// SPDX-License-Identifier: MIT
#include "signal/modules/foreign.hpp"

#include <dlfcn.h>

#include <cstdint>
#include <cstring>
#include <string>

#include "doctest/doctest.h"
#include "weft/payload.hpp"

using namespace weft;

namespace {

class Module {
 public:
  Module() : handle_(dlopen(WEFT_MODULE_DIR "/foreign.so", RTLD_NOW | RTLD_LOCAL)) {
    const char* fault = handle_ ? nullptr : dlerror();
    REQUIRE_MESSAGE(handle_, fault);
  }
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  ~Module() { dlclose(handle_); }

  template <class F>
  F* function(const char* name) const {
    return reinterpret_cast<F*>(dlsym(handle_, name));
  }

 private:
  void* handle_;
};

// The word that tells the type apart quickly [PAY-1].
std::uintptr_t head_of(const Payload& p) {
  std::uintptr_t head;
  std::memcpy(&head, reinterpret_cast<const unsigned char*>(&p) + Payload::room, sizeof head);
  return head;
}

}  // namespace

TEST_CASE("payload: a type is itself across shared objects, although each has its own table for it") {
  Module module;
  Payload number;
  module.function<void(Payload&)>("foreign_int")(number);
  CHECK(head_of(number) != head_of(Payload(42)));
  CHECK(number.is<int>());
  CHECK(!number.is<unsigned>());
  CHECK(number.as<int>() == 42);
  CHECK_THROWS_WITH_AS(number.as<Shared>(), "payload holds int, asked for Shared", PayloadTypeError);

  Payload shared;
  module.function<void(Payload&)>("foreign_shared")(shared);
  CHECK(head_of(shared) != head_of(Payload(Shared{})));
  CHECK(shared.as<Shared>().text.starts_with("made in a module"));
  Shared taken = std::move(shared).as<Shared>();
  CHECK(taken.number == 7);
  CHECK(shared.empty());

  CHECK(module.function<int(const Payload&)>("foreign_read")(Payload(Shared{9, "ours"})) == 9);
}

// SPDX-License-Identifier: MIT
// What: dynamic bindings. A Dyn<T> object is a key; each fiber sees the value that was set in it, in the fiber whose
// bindings it shares (mask letter i), or in the one it was layered over (p). Without either it sees nothing.
//
//   weft::Dyn<int> depth("depth");
//   depth.set(1);
//   weft::with_dyns([] { depth.get(); }, depth.bind(2));       // 2 inside, 1 again after
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "weft/payload.hpp"

namespace weft::inline v0 {

namespace detail {
const Payload* find_binding(const void* key);
void set_binding(const void* key, Payload value);
}  // namespace detail

// A key with a value, to be set together by with_dyns.
struct DynBinding {
  const void* key;
  Payload value;
};

class UnboundDyn : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

template <class T>
class Dyn {
 public:
  explicit constexpr Dyn(const char* name) : name_(name) {}
  Dyn(const Dyn&) = delete;
  Dyn& operator=(const Dyn&) = delete;

  // Null where nothing is bound. Valid until the current fiber, or one it shares with, sets this key again.
  const T* find() const {
    const Payload* value = detail::find_binding(this);
    return value != nullptr ? value->get_if<T>() : nullptr;
  }
  const T& get() const {
    const T* value = find();
    if (value == nullptr) throw UnboundDyn(std::string("dynamic binding \"") + name_ + "\" is not set in this fiber");
    return *value;
  }
  T get_or(T fallback) const {
    const T* value = find();
    return value != nullptr ? *value : std::move(fallback);
  }
  bool bound() const { return find() != nullptr; }

  void set(T value) const { detail::set_binding(this, Payload::make<T>(std::move(value))); }
  void unset() const { detail::set_binding(this, Payload()); }
  DynBinding bind(T value) const { return {this, Payload::make<T>(std::move(value))}; }

  const char* name() const { return name_; }

 private:
  const char* name_;
};

}  // namespace weft::inline v0

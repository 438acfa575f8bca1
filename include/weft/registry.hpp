// SPDX-License-Identifier: MIT
// What: names of signals. The library's names are fixed; programs register up to 32 of their own, which get the bits
// 32 to 63 in order.
//
// Invariants
// [REG-1] A name, once registered, keeps its bit until the process ends; there is no way to take it back.
// [REG-2] Slot i is written before taken_ becomes i+1 (release) and never again, so readers (acquire) need no lock and
//         a name's text lives as long as the registry.
//
// Threads: all functions, from any thread. Only registering takes the lock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "weft/detail/seam.hpp"
#include "weft/result.hpp"
#include "weft/signal.hpp"

namespace weft::inline v0 {

struct RegistryError : std::runtime_error {
  explicit RegistryError(const Error& error) : std::runtime_error(error.what), code(error.code) {}
  Errc code;
};

class SignalRegistry {
 public:
  static constexpr unsigned first_bit = 32;
  static constexpr unsigned capacity = 32;
  static constexpr std::size_t longest_name = 63;

  // The one that the functions below speak of. Others are for tests and for tools.
  static SignalRegistry& process() noexcept;

  SignalRegistry() = default;
  SignalRegistry(const SignalRegistry&) = delete;
  SignalRegistry& operator=(const SignalRegistry&) = delete;

  Result<SignalSet> add(std::string_view name);
  Result<SignalSet> find(std::string_view name) const;
  Result<SignalSet> find_emittable(std::string_view name) const;
  // Names between blanks, with or without bars around them: "yield io", "|yield io|". The inverse of show().
  Result<SignalSet> find_all(std::string_view names) const;

  std::string_view name_of(SignalSet set) const noexcept;  // empty if this set has no name of its own
  std::string show(SignalSet set) const;                   // see to_string(SignalSet)
  std::string dump() const;                                // the table of all 64 bits
  unsigned registered() const noexcept { return taken_.load(std::memory_order_acquire); }

 private:
  struct Name {
    std::uint8_t length = 0;
    std::array<char, longest_name> text{};
    std::string_view view() const noexcept { return {text.data(), length}; }
  };

  std::array<Name, capacity> names_{};    // [REG-2]
  seam::Atomic<std::uint32_t> taken_{0};  // written under lock_, read by everybody [REG-2]
  seam::Mutex lock_;
};

Result<SignalSet> register_signal(std::string_view name);
Result<SignalSet> signal_named(std::string_view name);
Result<SignalSet> signals_named(std::string_view names);
Result<SignalSet> emittable_signal(std::string_view name);
std::string_view signal_name(SignalSet set) noexcept;
std::string dump_signals();

// register_signal() for initialisers: const SignalSet heartbeat = weft::signal("heartbeat"); throws RegistryError.
SignalSet signal(std::string_view name);

// Whether user code may emit these bits; the error says which bit is refused, and why.
Result<void> check_emittable(SignalSet bits);

}  // namespace weft::inline v0

// SPDX-License-Identifier: MIT
#include "weft/registry.hpp"

#include <algorithm>
#include <mutex>
#include <optional>

#include "signal/builtin.hpp"
#include "signal/quoted.hpp"

namespace weft::inline v0 {

namespace {

using detail::quoted;

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool all_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_digit);
}

// "bit40", as unnamed bits are shown.
std::optional<SignalSet> numbered_bit(std::string_view name) {
  if (!name.starts_with("bit") || name.size() > 5 || !all_digits(name.substr(3))) return std::nullopt;
  unsigned n = 0;
  for (char digit : name.substr(3)) n = n * 10 + static_cast<unsigned>(digit - '0');
  if (n >= 64 || name != "bit" + std::to_string(n)) return std::nullopt;
  return SignalSet::bit(n);
}

const char* fault_of(std::string_view name) {
  if (name.empty()) return "a name must not be empty";
  if (name.size() > SignalRegistry::longest_name) return "a name has at most 63 characters";
  if (all_digits(name)) return "a name must not be a number";
  if (name.starts_with("bit") && all_digits(name.substr(3))) return "bitN stands for a bit without a name";
  for (char c : name) {
    if (c <= ' ' || c > '~' || c == '|' || c == '"') {
      return "a name is made of visible ASCII characters other than | and \"";
    }
  }
  return nullptr;
}

const char* refusal_of(SignalSet bits) {
  if (bits.empty()) return "the empty set is a normal return; return a value instead";
  if (bits.overlaps(sig::internal)) return "only the library raises it";
  if (bits.overlaps(sig::runtime_only)) return "only the runtime raises it; masks may name it";
  if (bits.overlaps(sig::reserved)) return "the bit is reserved; register_signal() gives out free ones";
  return nullptr;
}

std::string range_of(unsigned first, unsigned last) {
  return first == last ? std::to_string(first) : std::to_string(first) + "-" + std::to_string(last);
}

// One line of the dump: columns of 7 and 12.
void add_line(std::string& out, std::string bits, std::string name, std::string_view kind) {
  bits.resize(std::max<std::size_t>(bits.size() + 1, 7), ' ');
  name.resize(std::max<std::size_t>(name.size() + 1, 12), ' ');
  out += bits + name;
  out += kind;
  out += '\n';
}

std::string_view kind_of(SignalSet bit) {
  if (bit.overlaps(sig::internal)) return "internal";
  if (bit.overlaps(sig::runtime_only)) return "runtime only";
  if (bit.overlaps(sig::reserved)) return "reserved";
  if (bit == sig::interrupt) return "built-in, also user8";
  if (bit == sig::await) return "built-in, also user9";
  return "built-in";
}

constinit SignalRegistry process_registry;

}  // namespace

SignalRegistry& SignalRegistry::process() noexcept {
  return process_registry;
}

Result<SignalSet> SignalRegistry::add(std::string_view name) {
  std::string what = "cannot register signal " + quoted(name) + ": ";
  if (const char* fault = fault_of(name)) return fail(Errc::invalid_name, what + fault);
  for (const detail::BuiltinName& entry : detail::builtin_names) {
    if (entry.name == name) {
      return fail(Errc::builtin_name, what + "the name belongs to the library; choose another one");
    }
  }

  std::lock_guard guard(lock_);
  std::uint32_t taken = taken_.load(std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < taken; ++i) {
    if (names_[i].view() == name) {
      return fail(Errc::duplicate_name, what + "it has been registered before, as bit " +
                                            std::to_string(first_bit + i) +
                                            "; look it up with signal_named(), or choose another name");
    }
  }
  if (taken == capacity) {
    return fail(Errc::full, what + "all 32 bits for programs (32-63) are taken, the last by " +
                                quoted(names_[capacity - 1].view()) +
                                "; share a signal and tell the cases apart by its payload");
  }
  Name& slot = names_[taken];
  slot.length = static_cast<std::uint8_t>(name.size());
  std::ranges::copy(name, slot.text.begin());
  taken_.store(taken + 1, std::memory_order_release);
  return SignalSet::bit(first_bit + taken);
}

Result<SignalSet> SignalRegistry::find(std::string_view name) const {
  for (const detail::BuiltinName& entry : detail::builtin_names) {
    if (entry.name == name) return entry.bits;
  }
  unsigned taken = registered();
  for (unsigned i = 0; i < taken; ++i) {
    if (names_[i].view() == name) return SignalSet::bit(first_bit + i);
  }
  if (const char* fault = fault_of(name)) {
    return fail(Errc::unknown_name, "no signal is named " + quoted(name) + ": " + fault);
  }
  return fail(Errc::unknown_name, "no signal is named " + quoted(name) + "; register_signal() makes one");
}

Result<SignalSet> SignalRegistry::find_emittable(std::string_view name) const {
  Result<SignalSet> found = find(name);
  if (!found) return found;
  if (const char* refusal = refusal_of(*found)) {
    return fail(Errc::not_emittable, "signal " + quoted(name) + " cannot be emitted: " + refusal);
  }
  return found;
}

Result<SignalSet> SignalRegistry::find_all(std::string_view names) const {
  constexpr std::string_view blanks = " \t\n";
  std::string_view rest = names;
  if (rest.size() >= 2 && rest.front() == '|' && rest.back() == '|') rest = rest.substr(1, rest.size() - 2);
  SignalSet all;
  for (;;) {
    std::size_t begin = rest.find_first_not_of(blanks);
    if (begin == std::string_view::npos) return all;
    rest.remove_prefix(begin);
    std::string_view name = rest.substr(0, rest.find_first_of(blanks));
    rest.remove_prefix(name.size());
    if (std::optional<SignalSet> bit = numbered_bit(name)) {
      all |= *bit;
      continue;
    }
    Result<SignalSet> found = find(name);
    if (!found) return found;
    all |= *found;
  }
}

std::string_view SignalRegistry::name_of(SignalSet set) const noexcept {
  if (set.count() == 1 && set.overlaps(sig::user_range)) {
    auto slot = static_cast<unsigned>(std::countr_zero(set.bits())) - first_bit;
    return slot < registered() ? names_[slot].view() : std::string_view();
  }
  return detail::builtin_name(set);
}

std::string SignalRegistry::show(SignalSet set) const {
  if (set.empty()) return "ok";
  std::string text = "|";
  for (unsigned n = 0; n < 64; ++n) {
    SignalSet bit = SignalSet::bit(n);
    if (!set.contains(bit)) continue;
    if (text.size() > 1) text += ' ';
    std::string_view name = name_of(bit);
    text += name.empty() ? "bit" + std::to_string(n) : std::string(name);
  }
  return text + "|";
}

std::string SignalRegistry::dump() const {
  std::string out;
  for (unsigned n = 0; n < 64; ++n) {
    SignalSet bit = SignalSet::bit(n);
    std::string_view name = name_of(bit);
    if (!name.empty()) {
      add_line(out, std::to_string(n), std::string(name), n < first_bit ? kind_of(bit) : "registered");
      continue;
    }
    unsigned last = n;
    while (last + 1 < 64 && last + 1 != first_bit && name_of(SignalSet::bit(last + 1)).empty()) ++last;
    add_line(out, range_of(n, last), "-", n < first_bit ? "reserved" : "free");
    n = last;
  }
  return out;
}

Result<SignalSet> register_signal(std::string_view name) {
  return SignalRegistry::process().add(name);
}

Result<SignalSet> signal_named(std::string_view name) {
  return SignalRegistry::process().find(name);
}

Result<SignalSet> signals_named(std::string_view names) {
  return SignalRegistry::process().find_all(names);
}

Result<SignalSet> emittable_signal(std::string_view name) {
  return SignalRegistry::process().find_emittable(name);
}

std::string_view signal_name(SignalSet set) noexcept {
  return SignalRegistry::process().name_of(set);
}

std::string dump_signals() {
  return SignalRegistry::process().dump();
}

std::string to_string(SignalSet set) {
  return SignalRegistry::process().show(set);
}

SignalSet signal(std::string_view name) {
  Result<SignalSet> made = register_signal(name);
  if (!made) throw RegistryError(made.error());
  return *made;
}

Result<void> check_emittable(SignalSet bits) {
  if (bits.empty()) return fail(Errc::not_emittable, std::string("cannot emit ok: ") + refusal_of(bits));
  SignalSet refused = bits & sig::not_emittable;
  if (refused.empty()) return {};
  SignalSet first = SignalSet::from_bits(refused.bits() & (~refused.bits() + 1));
  std::string text = "cannot emit " + to_string(bits) + ": ";
  if (bits != first) text += to_string(first) + ": ";
  return fail(Errc::not_emittable, text + refusal_of(first));
}

}  // namespace weft::inline v0

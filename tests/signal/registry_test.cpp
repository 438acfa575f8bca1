// SPDX-License-Identifier: MIT
#include "weft/registry.hpp"

#include <set>
#include <string>
#include <thread>
#include <vector>

#include "doctest/doctest.h"

using namespace weft;

namespace {

std::string message_of(const Result<SignalSet>& result) {
  return result ? "no error" : result.error().what;
}

}  // namespace

TEST_CASE("registry: built-in names have their bits [E-004] [E-005] [E-006] [E-090]") {
  const std::pair<const char*, unsigned> rows[] = {
      {"error", 0},  {"yield", 1},  {"debug", 2},     {"ffi", 4},    {"halt", 8},       {"io", 9},      {"exec", 11},
      {"fuel", 12},  {"wait", 14},  {"user0", 16},    {"user7", 23}, {"interrupt", 24}, {"user8", 24},  {"await", 25},
      {"user9", 25}, {"resume", 3}, {"propagate", 5}, {"query", 7},  {"terminal", 10},  {"switch", 13},
  };
  SignalRegistry registry;
  for (auto [name, bit] : rows) {
    CAPTURE(name);
    CHECK(registry.find(name).value() == SignalSet::bit(bit));
    CHECK(signal_named(name).value() == SignalSet::bit(bit));
  }
  CHECK(registry.find("ok").value().empty());
  CHECK(registry.find("abort").value() == sig::abort);
}

TEST_CASE("registry: programs get the bits 32 to 63 in order, never one below 32 [E-002] [E-016] [E-017]") {
  SignalRegistry registry;
  for (unsigned i = 0; i < 32; ++i) {
    SignalSet made = registry.add("signal-" + std::to_string(i)).value();
    CHECK(made == SignalSet::bit(32 + i));
    CHECK(made.subset_of(sig::user_range));
    CHECK(registry.registered() == i + 1);
  }
  CHECK(registry.find("signal-0").value() == SignalSet::bit(32));
  CHECK(registry.find("signal-31").value() == SignalSet::bit(63));
}

TEST_CASE("registry: a 33rd registration is an error that says what to do [E-017]") {
  SignalRegistry registry;
  for (unsigned i = 0; i < 32; ++i) REQUIRE(registry.add("signal-" + std::to_string(i)));
  Result<SignalSet> more = registry.add("one-more");
  REQUIRE(!more);
  CHECK(more.error().code == Errc::full);
  CHECK(more.error().what ==
        "cannot register signal \"one-more\": all 32 bits for programs (32-63) are taken, the last by \"signal-31\"; "
        "share a signal and tell the cases apart by its payload");
  CHECK(registry.registered() == 32);
  CHECK(!registry.find("one-more"));
  CHECK(registry.add("signal-7").error().code == Errc::duplicate_name);
}

TEST_CASE("registry: a duplicate is an error that names the bit it has") {
  SignalRegistry registry;
  REQUIRE(registry.add("heartbeat"));
  Result<SignalSet> again = registry.add("heartbeat");
  REQUIRE(!again);
  CHECK(again.error().code == Errc::duplicate_name);
  CHECK(again.error().what ==
        "cannot register signal \"heartbeat\": it has been registered before, as bit 32; look it up with "
        "signal_named(), or choose another name");
  CHECK(registry.registered() == 1);
}

TEST_CASE("registry: the names of the library cannot be registered, internal and reserved ones neither [E-091]") {
  SignalRegistry registry;
  for (const char* name :
       {"error",    "yield", "debug", "ffi",    "halt", "io", "resume", "propagate", "abort",     "query",
        "terminal", "exec",  "fuel",  "switch", "wait", "ok", "user3",  "user8",     "interrupt", "await"}) {
    Result<SignalSet> made = registry.add(name);
    REQUIRE(!made);
    CHECK(made.error().code == Errc::builtin_name);
    CHECK(made.error().what ==
          "cannot register signal \"" + std::string(name) + "\": the name belongs to the library; choose another one");
  }
  CHECK(registry.registered() == 0);
}

TEST_CASE("registry: a name must be visible, short and no number") {
  SignalRegistry registry;
  struct Row {
    std::string name;
    const char* message;
  };
  const Row rows[] = {
      {"", "cannot register signal \"\": a name must not be empty"},
      {"42", "cannot register signal \"42\": a name must not be a number"},
      {"two words",
       "cannot register signal \"two words\": a name is made of visible ASCII characters other than | and \""},
      {"tab\t", "cannot register signal \"tab\\x09\": a name is made of visible ASCII characters other than | and \""},
      {"a|b", "cannot register signal \"a|b\": a name is made of visible ASCII characters other than | and \""},
      {"caf\xc3\xa9",
       "cannot register signal \"caf\\xc3\\xa9\": a name is made of visible ASCII characters other than | and \""},
      {"bit40", "cannot register signal \"bit40\": bitN stands for a bit without a name"},
      {std::string(64, 'x'),
       "cannot register signal \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...\": a name has at most "
       "63 "
       "characters"},
  };
  for (const Row& row : rows) {
    Result<SignalSet> made = registry.add(row.name);
    CHECK(message_of(made) == row.message);
    if (!made) CHECK(made.error().code == Errc::invalid_name);
  }
  CHECK(registry.registered() == 0);
  for (const char* good : {"a", "rate-limit", "x2", "2x", "bits", "bit", "bitx1", "Error", ":audit", "weft.io/read?"}) {
    CHECK(registry.add(good));
  }
  std::string longest(63, 'y');
  CHECK(registry.find(longest).error().code == Errc::unknown_name);
  SignalSet made = registry.add(longest).value();
  CHECK(registry.name_of(made) == longest);
}

TEST_CASE("registry: an unknown name is an error that names it") {
  SignalRegistry registry;
  Result<SignalSet> found = registry.find("nope");
  REQUIRE(!found);
  CHECK(found.error().code == Errc::unknown_name);
  CHECK(found.error().what == "no signal is named \"nope\"; register_signal() makes one");
  CHECK(message_of(registry.find("")) == "no signal is named \"\": a name must not be empty");
}

TEST_CASE("registry: internal and runtime-only names can be looked up but not emitted [E-020] [E-091] [HC1]") {
  SignalRegistry registry;
  for (const char* name : {"resume", "propagate", "query", "terminal", "switch", "abort"}) {
    Result<SignalSet> made = registry.find_emittable(name);
    REQUIRE(!made);
    CHECK(made.error().code == Errc::not_emittable);
    CHECK(made.error().what == "signal \"" + std::string(name) + "\" cannot be emitted: only the library raises it");
  }
  for (const char* name : {"exec", "fuel", "wait"}) {
    CHECK(message_of(registry.find_emittable(name)) ==
          "signal \"" + std::string(name) + "\" cannot be emitted: only the runtime raises it; masks may name it");
  }
  CHECK(message_of(registry.find_emittable("ok")) ==
        "signal \"ok\" cannot be emitted: the empty set is a normal return; return a value instead");
  CHECK(registry.find_emittable("nope").error().code == Errc::unknown_name);
  for (const char* name : {"error", "yield", "debug", "ffi", "halt", "io", "user0", "user9", "interrupt", "await"}) {
    CHECK(registry.find_emittable(name).value() == registry.find(name).value());
  }
  REQUIRE(registry.add("mine"));
  CHECK(registry.find_emittable("mine").value() == SignalSet::bit(32));
}

TEST_CASE("registry: whether bits may be emitted, and which of them is refused [E-020]") {
  CHECK(check_emittable(sig::yield | sig::io | SignalSet::bit(63)));
  CHECK(check_emittable(sig::abort).error().what ==
        "cannot emit |error terminal|: |terminal|: only the library raises it");
  CHECK(check_emittable(sig::query).error().what == "cannot emit |query|: only the library raises it");
  CHECK(check_emittable(sig::fuel).error().what == "cannot emit |fuel|: only the runtime raises it; masks may name it");
  CHECK(check_emittable(SignalSet::bit(15)).error().what ==
        "cannot emit |bit15|: the bit is reserved; register_signal() gives out free ones");
  CHECK(check_emittable(sig::ok).error().what ==
        "cannot emit ok: the empty set is a normal return; return a value instead");
  for (unsigned n = 0; n < 64; ++n) {
    CHECK(check_emittable(SignalSet::bit(n)).has_value() == !sig::not_emittable.contains(SignalSet::bit(n)));
  }
}

TEST_CASE("registry: names of bits, and bits of several names") {
  SignalRegistry registry;
  SignalSet mine = registry.add("mine").value();
  CHECK(registry.name_of(mine) == "mine");
  CHECK(registry.name_of(sig::interrupt) == "interrupt");
  CHECK(registry.name_of(sig::terminal) == "terminal");
  CHECK(registry.name_of(SignalSet::bit(33)).empty());
  CHECK(registry.name_of(sig::yield | sig::io).empty());
  CHECK(registry.show(mine | sig::yield) == "|yield mine|");
  CHECK(registry.find_all("|yield mine|").value() == (mine | sig::yield));
  CHECK(registry.find_all("  mine\tbit40 ").value() == (mine | SignalSet::bit(40)));
  CHECK(registry.find_all("ok").value().empty());
  CHECK(registry.find_all("").value().empty());
  CHECK(message_of(registry.find_all("yield nope io")) == "no signal is named \"nope\"; register_signal() makes one");
  CHECK(message_of(registry.find_all("bit64")) == "no signal is named \"bit64\": bitN stands for a bit without a name");
  CHECK(!registry.find_all("|yield"));
  CHECK(!registry.find_all("bit05"));
}

TEST_CASE("registry: the dump shows all 64 bits, built-in, runtime and program ranges apart [E-016] [E-089]") {
  SignalRegistry registry;
  REQUIRE(registry.add("heartbeat"));
  REQUIRE(registry.add("rate-limit"));
  CHECK(registry.dump() ==
        "0      error       built-in\n"
        "1      yield       built-in\n"
        "2      debug       built-in\n"
        "3      resume      internal\n"
        "4      ffi         built-in\n"
        "5      propagate   internal\n"
        "6      -           reserved\n"
        "7      query       internal\n"
        "8      halt        built-in\n"
        "9      io          built-in\n"
        "10     terminal    internal\n"
        "11     exec        runtime only\n"
        "12     fuel        runtime only\n"
        "13     switch      internal\n"
        "14     wait        runtime only\n"
        "15     -           reserved\n"
        "16     user0       built-in\n"
        "17     user1       built-in\n"
        "18     user2       built-in\n"
        "19     user3       built-in\n"
        "20     user4       built-in\n"
        "21     user5       built-in\n"
        "22     user6       built-in\n"
        "23     user7       built-in\n"
        "24     interrupt   built-in, also user8\n"
        "25     await       built-in, also user9\n"
        "26-31  -           reserved\n"
        "32     heartbeat   registered\n"
        "33     rate-limit  registered\n"
        "34-63  -           free\n");
  for (unsigned i = 2; i < 31; ++i) REQUIRE(registry.add("s" + std::to_string(i)));
  CHECK(registry.dump().ends_with("62     s30         registered\n63     -           free\n"));
  REQUIRE(registry.add("a-name-wider-than-its-column"));
  CHECK(registry.dump().ends_with("63     a-name-wider-than-its-column registered\n"));
}

TEST_CASE("registry: the process-wide functions speak of one registry") {
  unsigned before = SignalRegistry::process().registered();
  SignalSet mine = signal("registry-test-mine");
  CHECK(mine == SignalSet::bit(32 + before));
  CHECK(signal_named("registry-test-mine").value() == mine);
  CHECK(emittable_signal("registry-test-mine").value() == mine);
  CHECK(signals_named("io registry-test-mine").value() == (mine | sig::io));
  CHECK(signal_name(mine) == "registry-test-mine");
  CHECK(to_string(mine) == "|registry-test-mine|");
  CHECK(dump_signals().find("registry-test-mine registered\n") != std::string::npos);
  CHECK(register_signal("registry-test-mine").error().code == Errc::duplicate_name);
  CHECK_THROWS_WITH_AS(signal("yield"),
                       "cannot register signal \"yield\": the name belongs to the library; choose another one",
                       RegistryError);
  try {
    signal("registry-test-mine");
  } catch (const RegistryError& error) {
    CHECK(error.code == Errc::duplicate_name);
  }
}

TEST_CASE("registry: eight threads race for names, each name gets one bit and each bit one name") {
  SignalRegistry registry;
  std::vector<std::vector<SignalSet>> made(8);
  {
    std::vector<std::jthread> threads;
    for (unsigned t = 0; t < 8; ++t) {
      threads.emplace_back([&registry, &mine = made[t], t] {
        for (unsigned i = 0; i < 8; ++i) {  // every name is wanted by two threads, 32 names in all
          if (Result<SignalSet> bit = registry.add("n" + std::to_string(t / 2) + "-" + std::to_string(i))) {
            mine.push_back(*bit);
            CHECK(registry.find(registry.name_of(*bit)).value() == *bit);
          } else {
            CHECK(bit.error().code == Errc::duplicate_name);
          }
        }
      });
    }
  }
  std::set<std::uint64_t> bits;
  std::size_t total = 0;
  for (const auto& mine : made) {
    for (SignalSet bit : mine) bits.insert(bit.bits());
    total += mine.size();
  }
  CHECK(total == 32);
  CHECK(bits.size() == 32);
  CHECK(registry.registered() == 32);
}

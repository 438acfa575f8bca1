// SPDX-License-Identifier: MIT
// The signal registry: names given out under a lock, looked up without one.
#include "weft/registry.hpp"

#include "explorer/registry.hpp"

namespace weft::inline v0::verify {
namespace {

using Made = weft::Result<SignalSet>;

const Register same_name{
    {.name = "registry: two threads register one name, one of them gets it", .run = [](World& world) {
       auto& registry = world.make<SignalRegistry>("registry");
       auto& won = world.make<int>("won");
       for (const char* thread : {"a", "b"}) {
         world.thread(thread, [&] {
           Made made = registry.add("beat");
           if (made) ++won;
           check(made || made.error().code == Errc::duplicate_name, "refused for another reason");
         });
       }
       world.finally([&] {
         check(won == 1, "the name was given out twice, or not at all");
         check(registry.registered() == 1, "one name, but not one slot");
       });
     }}};

const Register two_names{{.name = "registry: two threads register two names and get two bits",
                          .run =
                              [](World& world) {
                                auto& registry = world.make<SignalRegistry>("registry");
                                auto& bits = world.make<SignalSet>("bits");
                                for (const char* name : {"tick", "tock"}) {
                                  world.thread(name, [&registry, &bits, name] {
                                    SignalSet made = registry.add(name).value();
                                    check(registry.name_of(made) == name, "the bit has another thread's name");
                                    bits |= made;
                                  });
                                }
                                world.finally([&] { check(bits.count() == 2, "one bit has two names"); });
                              },
                          .preemptions = 3}};

const Register reader{{.name = "registry: a reader finds a name whole or not at all, and never loses it again [REG-2]",
                       .run =
                           [](World& world) {
                             auto& registry = world.make<SignalRegistry>("registry");
                             world.thread("writer", [&] {
                               check(registry.add("one").value() == SignalSet::bit(32), "not the first bit");
                               check(registry.add("two").value() == SignalSet::bit(33), "not the second bit");
                             });
                             world.thread("reader", [&] {
                               std::string_view early = registry.name_of(SignalSet::bit(33));
                               check(early.empty() || early == "two", "half a name");
                               if (!early.empty())
                                 check(registry.find("one").has_value(), "the second without the first");
                               if (registry.find("one"))
                                 check(registry.find("one").has_value(), "found and lost again");
                             });
                           },
                       .preemptions = 3}};

}  // namespace
}  // namespace weft::inline v0::verify

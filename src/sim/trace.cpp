// SPDX-License-Identifier: MIT
#include "sim/trace.hpp"

#include <cstddef>
#include <optional>

#include "sim/choices.hpp"
#include "weft/sim.hpp"

namespace weft::inline v0::detail {
namespace {

void put(std::string& bytes, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) bytes.push_back(static_cast<char>((number & 0x7f) | 0x80));
  bytes.push_back(static_cast<char>(number));
}

struct Event {
  char kind = 0;
  std::uint64_t a = 0;
  std::uint64_t b = 0;
  std::uint64_t c = 0;
  std::string_view text;
  friend bool operator==(const Event&, const Event&) = default;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : left_(bytes) {}
  std::optional<Event> next() {
    if (left_.empty()) return std::nullopt;
    Event event;
    event.kind = left_.front();
    left_.remove_prefix(1);
    event.a = number();
    event.b = number();
    event.c = number();
    const auto size = static_cast<std::size_t>(number());
    event.text = left_.substr(0, size);
    left_.remove_prefix(event.text.size());
    return event;
  }

 private:
  std::uint64_t number() {
    std::uint64_t result = 0;
    for (unsigned shift = 0; !left_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(left_.front());
      left_.remove_prefix(1);
      result |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) break;
    }
    return result;
  }
  std::string_view left_;
};

std::string say(const std::optional<Event>& event) {
  if (!event) return "the run ends";
  const std::string a = std::to_string(event->a);
  const std::string text(event->text);
  switch (event->kind) {
    case SimTrace::begins:
      return "task " + a + (text.empty() ? "" : " \"" + text + "\"") + " is seen first";
    case SimTrace::goes_on:
      return "task " + a + " goes on";
    case SimTrace::chooses:
      return std::string(to_string(static_cast<ChoiceStream>(event->a))) + " choice " + std::to_string(event->b) +
             " of " + std::to_string(event->c);
    case SimTrace::waits:
      return "task " + a + " comes to " + text;
    case SimTrace::time:
      return "the time is " + a + " ns";
    case SimTrace::answer:
      return text + " of descriptor " + std::to_string(static_cast<std::int64_t>(event->a)) + " is answered " +
             std::to_string(static_cast<std::int64_t>(event->b));
    case SimTrace::note:
      return "note: " + text;
    case SimTrace::fails:
      return std::string("failure: ") + sim::to_string(static_cast<sim::Failure>(event->a));
    default:
      return "?";
  }
}

}  // namespace

void SimTrace::add(Kind kind, std::uint64_t a, std::uint64_t b, std::uint64_t c, std::string_view text) {
  bytes_.push_back(kind);
  put(bytes_, a);
  put(bytes_, b);
  put(bytes_, c);
  put(bytes_, text.size());
  bytes_.append(text);
}

std::uint64_t SimTrace::hash() const {
  std::uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a
  for (const char byte : bytes_) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3U;
  return hash;
}

std::string SimTrace::difference(const SimTrace& first, const SimTrace& second) {
  if (first.bytes_ == second.bytes_) return {};
  Reader one(first.bytes_);
  Reader two(second.bytes_);
  std::string before = "the run begins";
  for (std::uint64_t number = 1;; ++number) {
    const std::optional<Event> a = one.next();
    const std::optional<Event> b = two.next();
    if (a == b && a) {
      before = say(a);
      continue;
    }
    return "event " + std::to_string(number) + ", after \"" + before + "\": the first time \"" + say(a) +
           "\", the second time \"" + say(b) + "\"";
  }
}

std::string SimTrace::text() const {
  std::string lines;
  Reader reader(bytes_);
  while (const std::optional<Event> event = reader.next()) lines += say(event) + "\n";
  return lines;
}

}  // namespace weft::inline v0::detail

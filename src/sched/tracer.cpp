// SPDX-License-Identifier: MIT
#include "sched/tracer.hpp"

#include <fcntl.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <source_location>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/sys.hpp"
#include "weft/runtime_error.hpp"

namespace weft::inline v0::detail {
namespace {

static_assert(sizeof(std::source_location) == sizeof(std::uint64_t), "a spawn site is noted as one word");

std::uint64_t eight_letters(const char* text) {
  char letters[8] = {};
  for (std::size_t i = 0; i < sizeof letters && text[i] != '\0'; ++i) letters[i] = text[i];
  return std::bit_cast<std::uint64_t>(letters);
}

struct Noted {
  std::int64_t time;
  std::uint64_t number;
  std::uint64_t a;
  std::uint64_t b;
  unsigned ring;
  TraceNote what;
};

// A string of JSON.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      (out += '\\') += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char code[8];
      (void)std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(c));
      out += code;
    } else {
      out += c;
    }
  }
  return out += '"';
}

// Goes through the events of all workers in the order of time, and says what they mean.
class Story {
 public:
  Story(unsigned rings, std::int64_t first) : open_(rings), first_(first) {}

  void header(unsigned dropped) {
    text_ =
        "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"dropped\":" + std::to_string(dropped) + "},\"traceEvents\":[\n";
    text_ += R"({"ph":"M","pid":1,"name":"process_name","args":{"name":"weft"}})";
    for (unsigned i = 0; i < open_.size(); ++i) {
      const std::string name = i + 1 == open_.size() ? "outside" : "worker " + std::to_string(i);
      text_ += ",\n{\"ph\":\"M\",\"pid\":1,\"tid\":" + std::to_string(i) +
               ",\"name\":\"thread_name\",\"args\":{\"name\":" + quoted(name) + "}}";
    }
  }

  void tell(const Noted& event) {
    last_ = event.time;
    switch (event.what) {
      case TraceNote::born: {
        Life& life = lives_[event.a];
        life.born = true;
        async("b", event, event.a, label(event.a));
        life.arrow = flow("s", event, ++arrows_, "spawn");
        runnable(event, 1);
        return;
      }
      case TraceNote::named:
        lives_[event.a].site = event.b;
        return;
      case TraceNote::begins:
        return begins(event);
      case TraceNote::waits: {
        Life& life = lives_[event.a];
        char letters[9] = {};
        std::memcpy(letters, &event.b, sizeof event.b);
        life.waits_for = letters;
        close(event);
        async("b", event, event.a, "wait " + life.waits_for);
        return;
      }
      case TraceNote::yields:
        close(event);
        return runnable(event, 1);
      case TraceNote::ends:
        close(event);
        if (lives_[event.a].born) async("e", event, event.a, label(event.a));
        lives_.erase(event.a);
        return;
      case TraceNote::woken: {
        Life& life = lives_[event.a];
        life.arrow = flow("s", event, ++arrows_, "wake");
        return runnable(event, 1);
      }
      case TraceNote::sleeps:
        open(event, "asleep", "idle");
        return;
      case TraceNote::rises:
        close(event);
        return;
    }
  }

  // What is still open ends with the trace.
  std::string end() {
    for (unsigned ring = 0; ring < open_.size(); ++ring)
      while (open_[ring] > 0) close({last_, 0, 0, 0, ring, TraceNote::rises});
    return std::move(text_) + "\n]}\n";
  }

 private:
  struct Life {
    bool born = false;
    std::uint64_t site = 0;
    std::uint64_t arrow = 0;  // that points at its next slice
    std::string waits_for;
  };

  std::string label(std::uint64_t task) {
    const auto found = lives_.find(task);
    std::string text = "task " + std::to_string(task);
    if (found == lives_.end() || found->second.site == 0) return text;
    const auto site = std::bit_cast<std::source_location>(found->second.site);
    std::string_view file = site.file_name();
    if (const std::size_t slash = file.rfind('/'); slash != std::string_view::npos) file.remove_prefix(slash + 1);
    return text + " " + std::string(file) + ":" + std::to_string(site.line());
  }

  void begins(const Noted& event) {
    Life& life = lives_[event.a];
    if (!life.waits_for.empty()) async("e", event, event.a, "wait " + std::exchange(life.waits_for, {}));
    open(event, label(event.a), "task");
    if (life.arrow != 0) (void)flow("f", event, std::exchange(life.arrow, 0), "");
    runnable(event, -1);
  }

  // Everything but what is special to a phase.
  void line(const char* phase, const Noted& event, std::string_view name, std::string_view kind) {
    char head[128];
    const std::int64_t ns = event.time - first_;
    (void)std::snprintf(head, sizeof head, ",\n{\"ph\":\"%s\",\"pid\":1,\"tid\":%u,\"ts\":%lld.%03d", phase, event.ring,
                        static_cast<long long>(ns / 1000), static_cast<int>(ns % 1000));
    text_ += head;
    if (!name.empty()) text_ += ",\"name\":" + quoted(name);
    if (!kind.empty()) text_ += ",\"cat\":" + quoted(kind);
  }

  void open(const Noted& event, std::string_view name, std::string_view kind) {
    ++open_[event.ring];
    line("B", event, name, kind);
    text_ += '}';
  }
  // A slice whose beginning was overwritten has no end either.
  void close(const Noted& event) {
    if (open_[event.ring] == 0) return;
    --open_[event.ring];
    line("E", event, "", "");
    text_ += '}';
  }
  void async(const char* phase, const Noted& event, std::uint64_t task, std::string_view name) {
    line(phase, event, name, "task");
    text_ += ",\"id\":" + std::to_string(task) + "}";
  }
  // Arrows begin and end at slices: one from a place without a slice is left out.
  std::uint64_t flow(const char* phase, const Noted& event, std::uint64_t number, const char* name) {
    if (*phase == 's' && open_[event.ring] == 0) return 0;
    if (*phase == 's') names_[number] = name;
    line(phase, event, names_[number], "flow");
    text_ += ",\"id\":" + std::to_string(number) + (*phase == 'f' ? ",\"bp\":\"e\"}" : "}");
    if (*phase == 'f') names_.erase(number);
    return number;
  }
  void runnable(const Noted& event, int change) {
    runnable_ = std::max<std::int64_t>(runnable_ + change, 0);
    if (event.time - counted_at_ < 10'000) return;  // a point each 10 us is enough to see
    counted_at_ = event.time;
    line("C", event, "runnable tasks", "");
    text_ += ",\"args\":{\"tasks\":" + std::to_string(runnable_) + "}}";
  }

  std::vector<unsigned> open_;  // slices of each row
  std::unordered_map<std::uint64_t, Life> lives_;
  std::unordered_map<std::uint64_t, const char*> names_;  // of arrows under way
  std::uint64_t arrows_ = 0;
  std::int64_t runnable_ = 0;
  std::int64_t counted_at_ = 0;
  std::int64_t first_;
  std::int64_t last_ = 0;
  std::string text_;
};

void complain(const std::string& text) {
  sys::write_all(2, "weft: " + text + "\n");
}

}  // namespace

Tracer::Tracer(std::string path, std::size_t events, unsigned workers) : path_(std::move(path)) {
  rings_.reserve(workers + 1);
  for (unsigned i = 0; i <= workers; ++i) {
    rings_.push_back(std::make_unique<TraceRing>(events));
    rings_.back()->switch_on(true);
  }
}

void Tracer::outside(TraceNote what, std::uint64_t task) {
  const std::lock_guard guard(outside_lock_);
  note(*rings_.back(), what, task);
}

bool Tracer::write() {
  std::vector<Noted> events;
  unsigned dropped = 0;
  for (unsigned ring = 0; ring < rings_.size(); ++ring) {
    std::vector<TraceRecord> records(rings_[ring]->capacity());
    const TraceRing::Copied copied = rings_[ring]->snapshot(records);
    dropped += static_cast<unsigned>(copied.dropped + copied.skipped);
    for (std::size_t i = 0; i < copied.records; ++i) {
      const TraceRecord& each = records[i];
      events.push_back({each.time, each.number, each.a, each.b, ring, static_cast<TraceNote>(each.kind)});
    }
  }
  // Of two at the same time: a birth or a wake before what it leads to.
  std::sort(events.begin(), events.end(), [](const Noted& x, const Noted& y) {
    if (x.time != y.time) return x.time < y.time;
    return x.ring != y.ring ? x.ring < y.ring : x.number < y.number;
  });
  Story story(static_cast<unsigned>(rings_.size()), events.empty() ? 0 : events.front().time);
  story.header(dropped);
  for (const Noted& event : events) story.tell(event);
  const std::string text = story.end();

  std::FILE* file = std::fopen(path_.c_str(), "we");
  const bool written = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool closed = file != nullptr && std::fclose(file) == 0;
  if (!written || !closed) {
    complain("the trace could not be written to " + path_);
    return false;
  }
  if (dropped != 0)
    complain("the trace in " + path_ + " lacks its first " + std::to_string(dropped) +
             " events; WEFT_TRACE_EVENTS sets how many a worker keeps");
  return true;
}

std::unique_ptr<Tracer> tracer_from_environment(unsigned workers) {
  const char* path = std::getenv("WEFT_TRACE");  // NOLINT(concurrency-mt-unsafe): as safe as the program's own setenv
  if (path == nullptr || *path == '\0') return nullptr;
  std::size_t events = Tracer::usual_events;
  if (const char* text = std::getenv("WEFT_TRACE_EVENTS")) {  // NOLINT(concurrency-mt-unsafe)
    const char* const end = text + std::strlen(text);
    const auto [rest, error] = std::from_chars(text, end, events);
    if (error != std::errc{} || rest != end || events < 16 || events > (std::size_t{1} << 26))
      throw RuntimeError(RuntimeErrc::bad_options,
                         std::string("WEFT_TRACE_EVENTS is '") + text + "': expected a number from 16 to 67108864");
  }
  // One file for each runtime of the process.
  static seam::Atomic<unsigned> count{0};
  const unsigned number = count.fetch_add(1, std::memory_order_relaxed);  // relaxed: only to be different
  return std::make_unique<Tracer>(number == 0 ? path : path + ("." + std::to_string(number + 1)), events, workers);
}

void note_begin(TraceRing& ring, const TaskCore& task, bool first) {
  if (first) note(ring, TraceNote::named, task.id, std::bit_cast<std::uint64_t>(task.site));
  note(ring, TraceNote::begins, task.id, first);
}

void note_left(TraceRing& ring, const TaskCore& task, bool yields) {
  if (yields) return note(ring, TraceNote::yields, task.id);
  note(ring, TraceNote::waits, task.id, eight_letters(task.wait != nullptr ? task.wait->kind : "something"));
}

}  // namespace weft::inline v0::detail

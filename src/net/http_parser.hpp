// SPDX-License-Identifier: MIT
// What: the head of a request or an answer, line by line as the bytes come. Pure: no wire, no clock.
//
//   parser.begin();
//   while (parser.feed(all_so_far) == Parse::more) all_so_far += more();
//
// Invariants:
//   [HEAD-1] What comes out does not depend on how the bytes were cut.
//   [HEAD-2] No byte is looked at twice but those of the line that is incomplete; nothing behind the head is looked at.
//   [HEAD-3] The text may lie elsewhere at each call: places are kept, not pointers.
// Threads: one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "weft/http.hpp"

namespace weft::inline v0::detail {

struct HeadLimits {
  std::size_t bytes = 16384;  // of the whole head
  std::size_t fields = 100;
};

struct HttpFault {
  int status = 0;  // how a server answers it
  const char* why = "";
};

enum class Parse : std::uint8_t { more, done, bad };

// How long the body is.
enum class BodyKind : std::uint8_t { none, length, chunked, until_close };
struct Framing {
  BodyKind kind = BodyKind::none;
  std::uint64_t length = 0;
};

class HeadParser {
 public:
  enum class Side : std::uint8_t { request, answer };

  HeadParser(Side side, const HeadLimits& limits) : limits_(limits), side_(side) {}

  void begin();
  // `text`: all that has come since begin(), from its first byte on.
  Parse feed(std::string_view text);
  // Done: how many bytes the head has.
  std::size_t size() const { return at_; }
  const HttpFault& fault() const { return fault_; }

  // Once done; `text`: as it was given to feed(), wherever it lies now.
  const HttpFields& fields(const char* text) {
    fields_.set_text(text);
    return fields_;
  }
  std::string_view method(const char* text) const { return {text + start_, first_size_}; }
  std::string_view target(const char* text) const { return {text + second_, second_size_}; }
  int status() const { return status_; }
  std::string_view reason(const char* text) const { return {text + second_, second_size_}; }
  HttpVersion version() const { return version_; }
  bool says_close() const { return close_; }
  bool says_keep_alive() const { return keep_alive_; }
  bool expects_continue() const { return expects_continue_; }
  // Of a request: false, with fault(), if it has two lengths or another reason to be read in two ways.
  bool frame_request(const char* text, Framing& into);
  // Of an answer to such a request.
  bool frame_answer(const char* text, bool to_head, Framing& into);

 private:
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

  bool fail(int status, const char* why) {
    fault_ = {status, why};
    return false;
  }
  bool take_request_line(const char* text, std::size_t size);
  bool take_status_line(const char* text, std::size_t size);
  bool take_version(std::string_view word);
  bool take_field(std::string_view text, std::size_t size);
  bool note_field(std::string_view name, std::string_view value);
  bool take_encoding(const char* text, Framing& into);
  bool take_length(const char* text, Framing& into);

  HeadLimits limits_;
  Side side_;
  bool begun_ = false;  // the first line is complete
  bool skipped_ = false;
  bool close_ = false;
  bool keep_alive_ = false;
  bool expects_continue_ = false;
  bool expects_more_ = false;  // something that nobody knows
  HttpVersion version_ = HttpVersion::http_1_1;
  int status_ = 0;
  std::uint32_t hosts_ = 0;
  std::uint32_t lengths_ = 0;
  std::uint32_t encodings_ = 0;
  std::uint32_t length_at_ = none;    // which field
  std::uint32_t encoding_at_ = none;  // which field
  std::size_t at_ = 0;                // of the line that is incomplete
  std::size_t searched_ = 0;
  std::size_t start_ = 0;  // of the first line
  std::size_t first_size_ = 0;
  std::size_t second_ = 0;
  std::size_t second_size_ = 0;
  HttpFields fields_;
  HttpFault fault_;
};

// Digits only, no sign, no blank; false: it is not, or too large for 63 bits.
bool parse_length(std::string_view text, std::uint64_t& into);

}  // namespace weft::inline v0::detail

// SPDX-License-Identifier: MIT
#include "net/http_parser.hpp"

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.hpp"
#include "doctest/doctest.h"
#include "net/http_chunks.hpp"
#include "net/http_date.hpp"
#include "net/http_text.hpp"

using namespace weft;
using namespace weft::detail;
using namespace std::string_view_literals;

namespace {

const std::string get = "GET / HTTP/1.1\r\nHost: a\r\n";
const std::string post = "POST / HTTP/1.1\r\nHost: a\r\n";

// What a reader of requests makes of a text that comes in these pieces: the requests, and how it ends.
std::string understood(std::string_view text, const std::vector<std::size_t>& cuts, const HeadLimits& limits = {}) {
  std::string all;
  std::string told;
  HeadParser parser(HeadParser::Side::request, limits);
  Chunks chunks;
  Framing framing;
  enum { head, body } stage = head;
  std::size_t begin = 0;
  std::uint64_t left = 0;
  parser.begin();
  const auto finish = [&] {
    told += "|";
    stage = head;
    parser.begin();
  };
  std::size_t from = 0;
  for (std::size_t i = 0; i <= cuts.size(); ++i) {
    const std::size_t to = i < cuts.size() ? cuts[i] : text.size();
    all.append(text.substr(from, to - from));
    from = to;
    for (bool again = true; again && begin < all.size();) {
      const std::string_view unread = std::string_view(all).substr(begin);
      if (stage == head) {
        const Parse parse = parser.feed(unread);
        if (parse == Parse::bad) return told + "bad " + std::to_string(parser.fault().status);
        if (parse == Parse::more) break;
        if (!parser.frame_request(unread.data(), framing)) return told + "bad " + std::to_string(parser.fault().status);
        told += std::string(parser.method(unread.data())) + " " + std::string(parser.target(unread.data()));
        const HttpFields& fields = parser.fields(unread.data());
        for (std::size_t f = 0; f < fields.size(); ++f)
          told += " " + std::string(fields[f].name) + "=" + std::string(fields[f].value);
        told += ": ";
        begin += parser.size();
        chunks.begin();
        left = framing.length;
        stage = body;
        if (framing.kind == BodyKind::none) finish();
      } else if (framing.kind == BodyKind::length) {
        const std::size_t count = static_cast<std::size_t>(std::min<std::uint64_t>(left, unread.size()));
        told += unread.substr(0, count);
        begin += count;
        left -= count;
        if (left == 0) finish();
      } else {
        begin += chunks.skip(unread);
        if (chunks.state() == Chunks::State::bad) return told + "bad " + std::to_string(chunks.fault().status);
        const std::string_view rest = std::string_view(all).substr(begin);
        if (chunks.at_data()) {
          const std::size_t count = static_cast<std::size_t>(std::min<std::uint64_t>(chunks.left(), rest.size()));
          told += rest.substr(0, count);
          begin += count;
          if (count != 0) chunks.took(count);
          again = count != 0;
        }
        if (chunks.at_end()) finish();
      }
    }
  }
  return told;
}

std::string understood(std::string_view text) {
  return understood(text, {});
}

// However it is cut.
std::string understood_in_pieces(std::string_view text) {
  const std::string whole = understood(text, {});
  std::vector<std::size_t> each;
  for (std::size_t i = 1; i < text.size(); ++i) {
    CHECK(understood(text, {i}) == whole);
    each.push_back(i);
  }
  CHECK(understood(text, each) == whole);
  return whole;
}

}  // namespace

TEST_CASE("http: proper requests are understood alike however they are cut") {
  CHECK(understood_in_pieces(get + "\r\n") == "GET / Host=a: |");
  CHECK(understood_in_pieces(get + "\r\n" + get + "A:b\r\n\r\n") == "GET / Host=a: |GET / Host=a A=b: |");
  CHECK(understood_in_pieces("\r\n" + get + "\r\n") == "GET / Host=a: |");
  CHECK(understood_in_pieces("GET /x?y=z HTTP/1.0\r\n\r\n") == "GET /x?y=z: |");
  CHECK(understood_in_pieces("OPTIONS * HTTP/1.1\r\nHost:\r\n\r\n") == "OPTIONS * Host=: |");
  CHECK(understood_in_pieces("GET http://a/b HTTP/1.1\r\nHost: a\r\n\r\n") == "GET http://a/b Host=a: |");
  CHECK(understood_in_pieces("CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n") == "CONNECT a:443 Host=a:443: |");
  CHECK(understood_in_pieces(post + "content-LENGTH: \t 5 \r\n\r\nhello" + get + "\r\n") ==
        "POST / Host=a content-LENGTH=5: hello|GET / Host=a: |");
  CHECK(understood_in_pieces(post + "Content-Length: 0\r\n\r\n" + get + "\r\n") ==
        "POST / Host=a Content-Length=0: |GET / Host=a: |");
  const std::string chunked = post + "Transfer-Encoding: Chunked\r\n\r\n";
  CHECK(understood_in_pieces(chunked + "5\r\nhello\r\n00B;a=\"b\"\r\n, my friend\r\n0\r\n\r\n" + get + "\r\n") ==
        "POST / Host=a Transfer-Encoding=Chunked: hello, my friend|GET / Host=a: |");
  CHECK(understood_in_pieces(chunked + "1\r\n\n\r\n0\r\nTrailer: x\r\nAnother:\r\n\r\n" + get + "\r\n") ==
        "POST / Host=a Transfer-Encoding=Chunked: \n|GET / Host=a: |");
  CHECK(understood_in_pieces(get + "X: a\tb \xc3\xa9 \r\n\r\n") == "GET / Host=a X=a\tb \xc3\xa9: |");
}

TEST_CASE("http: what two readers could understand in two ways is refused, however it is cut") {
  const std::string chunked = post + "Transfer-Encoding: chunked\r\n\r\n";
  const struct {
    std::string text;
    std::string end;
  } table[] = {
      // Two lengths, and lengths that are none.
      {post + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", "bad 400"},
      {post + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n", "bad 400"},
      {post + "Content-Length: 5\r\nContent-Length: 6\r\n\r\n", "bad 400"},
      {post + "Content-Length: 5\r\nContent-Length: 5\r\n\r\n", "bad 400"},
      {post + "Content-Length: 5, 5\r\n\r\n", "bad 400"},
      {post + "Content-Length: +5\r\n\r\n", "bad 400"},
      {post + "Content-Length: -5\r\n\r\n", "bad 400"},
      {post + "Content-Length: 0x5\r\n\r\n", "bad 400"},
      {post + "Content-Length: 5 5\r\n\r\n", "bad 400"},
      {post + "Content-Length: 5;\r\n\r\n", "bad 400"},
      {post + "Content-Length:\r\n\r\n", "bad 400"},
      {post + "Content-Length: 18446744073709551621\r\n\r\n", "bad 400"},
      {post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", "bad 400"},
      {post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n", "bad 400"},
      {post + "Transfer-Encoding: gzip, chunked\r\n\r\n", "bad 501"},
      {post + "Transfer-Encoding: chunked, chunked\r\n\r\n", "bad 501"},
      {post + "Transfer-Encoding: xchunked\r\n\r\n", "bad 501"},
      {post + "Transfer-Encoding: \"chunked\"\r\n\r\n", "bad 501"},
      {post + "Transfer-Encoding: identity\r\n\r\n", "bad 501"},
      {post + "Transfer-Encoding:\r\n\r\n", "bad 501"},
      {"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", "bad 400"},
      // Names that one reader takes for another.
      {post + "Transfer-Encoding : chunked\r\n\r\n", "bad 400"},
      {post + "Transfer-Encoding\t: chunked\r\n\r\n", "bad 400"},
      {post + " Transfer-Encoding: chunked\r\n\r\n", "bad 400"},
      {post + "X: y\r\n Transfer-Encoding: chunked\r\n\r\n", "bad 400"},
      {post + "X: y\r\n\tfolded\r\n\r\n", "bad 400"},
      {post + "Transfer-Encoding: \x0b"
              "chunked\r\n\r\n",
       "bad 400"},
      {post + "Transfer-Encoding:\x0c"
              "chunked\r\n\r\n",
       "bad 400"},
      {post + std::string("Content-Length: 5\0\r\n\r\n", 22), "bad 400"},
      {post + std::string("Content\0Length: 5\r\n\r\n", 21), "bad 400"},
      {post + "Cont\xc3\xa9nt: 5\r\n\r\n", "bad 400"},
      {post + "X\r\n\r\n", "bad 400"},
      {post + ": x\r\n\r\n", "bad 400"},
      {post + "X[]: x\r\n\r\n", "bad 400"},
      // Line ends.
      {"GET / HTTP/1.1\nHost: a\n\n", "bad 400"},
      {"GET / HTTP/1.1\r\nHost: a\n\r\n", "bad 400"},
      {"GET / HTTP/1.1\r\nHost: a\r\n\n", "bad 400"},
      {get + "X: a\rb\r\n\r\n", "bad 400"},
      {get + "X: a\r\r\n\r\n", "bad 400"},
      {get + "X: a\rTransfer-Encoding: chunked\r\n\r\n", "bad 400"},
      {get + "\r\r\n", "bad 400"},
      {"\r\n\r\n" + get + "\r\n", "bad 400"},
      {"\n" + get + "\r\n", "bad 400"},
      // First lines.
      {"GET  / HTTP/1.1\r\nHost: a\r\n\r\n", "bad 400"},
      {"GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", "bad 400"},
      {"GET /\tHTTP/1.1\r\nHost: a\r\n\r\n", "bad 400"},
      {"GET / HTTP/1.1 \r\nHost: a\r\n\r\n", "bad 400"},
      {" GET / HTTP/1.1\r\nHost: a\r\n\r\n", "bad 400"},
      {"GET /\r\n\r\n", "bad 400"},
      {"GET\r\n\r\n", "bad 400"},
      {"G(T / HTTP/1.1\r\nHost: a\r\n\r\n", "bad 400"},
      {"GET a HTTP/1.1\r\nHost: a\r\n\r\n", "bad 400"},
      {"GET * HTTP/1.1\r\nHost: a\r\n\r\n", "bad 400"},
      {"GET x?u=http://b/c HTTP/1.1\r\nHost: a\r\n\r\n", "bad 400"},
      {"GET ://b/c HTTP/1.1\r\nHost: a\r\n\r\n", "bad 400"},
      {"GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n", "bad 400"},
      {"GET /\x7f HTTP/1.1\r\nHost: a\r\n\r\n", "bad 400"},
      {"GET /\xc3\xa9 HTTP/1.1\r\nHost: a\r\n\r\n", "bad 400"},
      {"GET / http/1.1\r\nHost: a\r\n\r\n", "bad 400"},
      {"GET / HTTP/1.10\r\nHost: a\r\n\r\n", "bad 400"},
      {"GET / HTTP/1\r\nHost: a\r\n\r\n", "bad 400"},
      {"GET / HTTP/2.0\r\nHost: a\r\n\r\n", "bad 505"},
      {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "bad 505"},
      {"\x16\x03\x01\x02", "bad 400"},
      // Host.
      {"GET / HTTP/1.1\r\n\r\n", "bad 400"},
      {"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", "bad 400"},
      {"GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", "bad 400"},
      {"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", "bad 400"},
      {"GET / HTTP/1.1\r\nHost: a@b\r\n\r\n", "bad 400"},
      {get + "Expect: 200-ok\r\n\r\n", "bad 417"},
      // Chunks.
      {chunked + "5 \r\nhello\r\n0\r\n\r\n", "bad 400"},
      {chunked + " 5\r\nhello\r\n0\r\n\r\n", "bad 400"},
      {chunked + "0x5\r\nhello\r\n0\r\n\r\n", "bad 400"},
      {chunked + "+5\r\nhello\r\n0\r\n\r\n", "bad 400"},
      {chunked + "-5\r\nhello\r\n0\r\n\r\n", "bad 400"},
      {chunked + "\r\nhello\r\n0\r\n\r\n", "bad 400"},
      {chunked + "5\nhello\r\n0\r\n\r\n", "bad 400"},
      {chunked + "5\rhello\r\n0\r\n\r\n", "bad 400"},
      {chunked + "5;a\nb\r\nhello\r\n0\r\n\r\n", "bad 400"},
      {chunked + "5;a\rb\r\nhello\r\n0\r\n\r\n", "bad 400"},
      {chunked + ";a\r\nhello\r\n0\r\n\r\n", "bad 400"},
      {chunked + "4\r\nhello\r\n0\r\n\r\n", "bad 400"},
      {chunked + "6\r\nhello\r\n0\r\n\r\n", "bad 400"},
      {chunked + "5\r\nhello\n0\r\n\r\n", "bad 400"},
      {chunked + "5\r\nhello\n\n0\r\n\r\n", "bad 400"},
      {chunked + "\r\n\r\n", "bad 400"},
      {chunked + ";\r\n\r\n", "bad 400"},
      {chunked + "5\r\nhello0\r\n\r\n", "bad 400"},
      {chunked + "10000000000000005\r\nhello\r\n0\r\n\r\n", "bad 400"},
      {chunked + "0000000000000005\r\nhello\r\n0\r\n\r\n", "bad 400"},
      {chunked + "0\r\n Trailer: x\r\n\r\n", "bad 400"},
      {chunked + "0\r\nTrailer : x\r\n\r\n", "bad 400"},
      {chunked + "0\r\nTrailer\r\n\r\n", "bad 400"},
      {chunked + "0\r\nTrailer: a\rb\r\n\r\n", "bad 400"},
      {chunked + "0\r\nTrailer: a\nb\r\n\r\n", "bad 400"},
      {chunked + "0\r\n\n", "bad 400"},
      {chunked + "0;" + std::string(20000, 'x') + "\r\n\r\n", "bad 400"},
      {chunked + "0\r\nT: " + std::string(20000, 'x') + "\r\n\r\n", "bad 431"},
  };
  for (const auto& row : table) {
    CAPTURE(row.text);
    if (row.text.size() < 1000) {
      CHECK(understood_in_pieces(row.text).ends_with(row.end));
    } else {
      CHECK(understood(row.text).ends_with(row.end));
    }
  }
}

TEST_CASE("http: heads have limits, in bytes and in fields, at the same byte however they are cut") {
  const HeadLimits limits{64, 3};
  const auto end_of = [&](const std::string& text) {
    const std::string whole = understood(text, {}, limits);
    std::vector<std::size_t> each;
    for (std::size_t i = 1; i < text.size(); ++i) each.push_back(i);
    CHECK(understood(text, each, limits) == whole);
    return whole.substr(whole.size() - std::min<std::size_t>(7, whole.size()));
  };
  // "GET / HTTP/1.1\r\nHost: a\r\n" has 25 bytes.
  CHECK(end_of(get + "X: " + std::string(32, 'x') + "\r\n\r\n").ends_with("|"));
  CHECK(end_of(get + "X: " + std::string(33, 'x') + "\r\n\r\n") == "bad 431");
  CHECK(end_of(get + "X: " + std::string(500, 'x')) == "bad 431");
  CHECK(end_of("GET /" + std::string(60, 'x') + " HTTP/1.1\r\nHost: a\r\n\r\n") == "bad 414");
  CHECK(end_of("GET /" + std::string(600, 'x')) == "bad 414");
  CHECK(end_of(get + "a:b\r\nc:d\r\n\r\n").ends_with("|"));
  CHECK(end_of(get + "a:b\r\nc:d\r\ne:f\r\n\r\n") == "bad 431");
}

TEST_CASE("http: answers are understood, and their bodies have the length that was told") {
  const auto framing = [](const std::string& text, bool to_head = false) {
    HeadParser parser(HeadParser::Side::answer, {});
    Framing found;
    parser.begin();
    if (parser.feed(text) != Parse::done || !parser.frame_answer(text.data(), to_head, found))
      return std::string("bad");
    const char* const names[] = {"none", "length", "chunked", "until close"};
    return std::to_string(parser.status()) + " " + std::string(parser.reason(text.data())) + ", " +
           names[static_cast<int>(found.kind)] + " " + std::to_string(found.length);
  };
  CHECK(framing("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n") == "200 OK, length 7");
  CHECK(framing("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n", true) == "200 OK, none 0");
  CHECK(framing("HTTP/1.0 404 Not Found\r\n\r\n") == "404 Not Found, until close 0");
  CHECK(framing("HTTP/1.1 204 \r\n\r\n") == "204 , none 0");
  CHECK(framing("HTTP/1.1 304\r\nContent-Length: 7\r\n\r\n") == "304 , none 0");
  CHECK(framing("HTTP/1.1 100 Continue\r\n\r\n") == "100 Continue, none 0");
  CHECK(framing("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n") == "200 OK, chunked 0");
  for (const char* text :
       {"HTTP/1.1 20 OK\r\n\r\n", "HTTP/1.1 2000 OK\r\n\r\n", "HTTP/1.1  200 OK\r\n\r\n", "HTTP/2.0 200 OK\r\n\r\n",
        "HTTP/1.1 099 OK\r\n\r\n", "ICY 200 OK\r\n\r\n", "\r\nHTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 O\rK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 7\r\nContent-Length: 8\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 7\r\nTransfer-Encoding: chunked\r\n\r\n"}) {
    CAPTURE(text);
    CHECK(framing(text) == "bad");
  }
}

TEST_CASE("http: random bytes and damaged requests never confuse the parser, and cuts change nothing") {
  const std::uint64_t seed = std::random_device()() | std::uint64_t{std::random_device()()} << 32;
  CAPTURE(seed);
  Random random(seed);
  const std::vector<std::string> seeds{
      get + "\r\n", post + "Content-Length: 5\r\n\r\nhello",
      post + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n3;x=y\r\nabc\r\n0\r\nA: b\r\n\r\n",
      "GET /path?query HTTP/1.0\r\nConnection: keep-alive\r\nExpect: 100-continue\r\n\r\n"};
  const std::string_view special = "\r\n\t \0:;,0123456789abcdefxX\x7f\x80\xff"sv;
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    for (std::uint64_t parts = 1 + random.below(3); parts > 0; --parts) text += seeds[random.below(seeds.size())];
    for (std::uint64_t changes = random.below(4); changes > 0; --changes) {
      const auto at = static_cast<std::size_t>(random.below(text.size()));
      const char with =
          random.below(4) == 0 ? static_cast<char>(random.below(256)) : special[random.below(special.size())];
      switch (random.below(4)) {
        case 0:
          text[at] = with;
          break;
        case 1:
          text.insert(at, 1, with);
          break;
        case 2:
          text.erase(at, 1 + random.below(4));
          break;
        default:
          text.insert(at, text.substr(random.below(text.size()), random.below(30)));
          break;
      }
      if (text.empty()) text = "\r";
    }
    std::vector<std::size_t> cuts;
    for (std::size_t at = 0; (at += 1 + random.below(40)) < text.size();) cuts.push_back(at);
    const std::string whole = understood(text);
    CAPTURE(text);
    REQUIRE(understood(text, cuts) == whole);
  }
  for (int round = 0; round < 5'000; ++round) {
    std::string text(1 + random.below(300), ' ');
    for (char& c : text)
      c = random.below(3) == 0 ? special[random.below(special.size())] : static_cast<char>(random.below(256));
    std::vector<std::size_t> cuts;
    for (std::size_t at = 0; (at += 1 + random.below(20)) < text.size();) cuts.push_back(at);
    CAPTURE(text);
    REQUIRE(understood(text, cuts) == understood(text));
  }
}

TEST_CASE("http: the date is written as RFC 9110 wants it") {
  HttpDate date;
  CHECK(date.at(784111777) == "Sun, 06 Nov 1994 08:49:37 GMT");
  CHECK(date.at(0) == "Thu, 01 Jan 1970 00:00:00 GMT");
  CHECK(date.at(951782399) == "Mon, 28 Feb 2000 23:59:59 GMT");
  CHECK(date.at(951782400) == "Tue, 29 Feb 2000 00:00:00 GMT");
}

TEST_CASE("http: the date is kept as a whole field") {
  HttpDate date;
  CHECK(date.field_at(784111777) == "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n");
}

TEST_CASE("http: a word is the same in whatever case, and every other character differs, wherever it stands") {
  for (std::size_t size = 1; size < 18; ++size) {
    for (const std::size_t at : {std::size_t{0}, size / 2, size - 1}) {
      for (unsigned one = 0; one < 256; ++one) {
        std::string a(size, 'x');
        std::string b(size, 'X');
        a[at] = static_cast<char>(one);
        for (unsigned other = 0; other < 256; ++other) {
          b[at] = static_cast<char>(other);
          if (same_word(a, b) != (lower(a[at]) == lower(b[at]))) FAIL_CHECK(one << " and " << other << " of " << size);
        }
      }
    }
  }
  CHECK_FALSE(same_word("ab", "abc"));
}

TEST_CASE("http: a value is looked at eight by eight as it is one by one") {
  for (std::size_t size = 1; size < 26; ++size) {
    for (std::size_t at = 0; at < size; ++at) {
      for (unsigned one = 0; one < 256; ++one) {
        std::string text(size, 'v');
        text[at] = static_cast<char>(one);
        if (all_value(text) != all_http(text, http_value)) FAIL_CHECK(one << " at " << at << " of " << size);
      }
    }
  }
}

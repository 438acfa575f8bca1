// SPDX-License-Identifier: MIT
// The other side of a TLS connection as a network would have it at its worst: it takes little, asks for much, says no
// more, or brings half a message.
#include <openssl/ssl.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "doctest/doctest.h"
#include "io/engines.hpp"
#include "tls/pair.hpp"
#include "weft/nursery.hpp"
#include "weft/sync_event.hpp"
#include "weft/time.hpp"
#include "weft/tls.hpp"

using namespace weft;
using namespace weft_test;

namespace {

// The other side by OpenSSL's own hand, and the wire to it, which takes and gives as much as the test lets it. It
// stands in for two sides and a network: nothing waits, but a read that may go on later.
class HandPeer final : public Wire {
 public:
  HandPeer() : context_(SSL_CTX_new(TLS_client_method())) {
    begin();
    SSL_set_connect_state(ssl_.get());
  }
  // A server whose tickets do not fit into one record.
  static std::unique_ptr<HandPeer> server() {
    auto made = std::unique_ptr<HandPeer>(new HandPeer(SSL_CTX_new(TLS_server_method())));
    SSL_CTX* context = made->context_.get();
    CHECK(SSL_CTX_use_certificate_chain_file(context, certificates().certificate("good").c_str()) == 1);
    CHECK(SSL_CTX_use_PrivateKey_file(context, certificates().key("good").c_str(), SSL_FILETYPE_PEM) == 1);
    CHECK(SSL_CTX_set_max_send_fragment(context, 512) == 1);
    const auto widen = [](SSL* ssl, void*) {
      const std::string much(700, 'x');
      return SSL_SESSION_set1_ticket_appdata(SSL_get_session(ssl), much.data(), much.size());
    };
    CHECK(SSL_CTX_set_session_ticket_cb(context, widen, nullptr, nullptr) == 1);
    made->begin();
    SSL_set_accept_state(made->ssl_.get());
    return made;
  }
  IoResult read(weft::Room room, Deadline deadline) override {
    if (!SSL_is_init_finished(ssl_.get())) (void)SSL_do_handshake(ssl_.get());
    for (;;) {
      if (records != 0) {
        const int got = BIO_read(SSL_get_wbio(ssl_.get()), room.data, static_cast<int>(next_size(room.size)));
        if (got > 0) return IoResult(got);
      }
      if (!waits) return IoResult::failed(ETIMEDOUT);
      more.reset();
      if (more.wait_result(deadline) != WaitResult::done) return IoResult::failed(ETIMEDOUT);
    }
  }
  IoResult write_all(std::span<const Bytes> pieces, std::size_t& written, Deadline deadline) override {
    written = 0;
    if (error != 0) return IoResult::failed(error);
    for (const Bytes& piece : pieces) {
      const std::size_t some = std::min(piece.size, takes - written);
      written += some;
      (void)BIO_write(SSL_get_rbio(ssl_.get()), piece.data, static_cast<int>(some));
      if (some == piece.size) continue;
      CHECK_MESSAGE(deadline <= now(), "it would wait here");
      takes = 0;
      return IoResult::failed(ETIMEDOUT);
    }
    if (takes != all) takes -= written;
    return IoResult(static_cast<long>(written));
  }
  IoResult shutdown_write(Deadline /*deadline*/) override { return IoResult(); }
  IoResult close() noexcept override { return IoResult(); }
  Address peer() const override { return {}; }

  void say(std::string_view text) {
    CHECK(SSL_write(ssl_.get(), text.data(), static_cast<int>(text.size())) == static_cast<int>(text.size()));
  }
  std::string hear() {
    char room[256];
    const int got = SSL_read(ssl_.get(), room, sizeof room);
    return got > 0 ? std::string(room, static_cast<std::size_t>(got)) : std::string();
  }
  bool is_told_the_end() const { return (SSL_get_shutdown(ssl_.get()) & SSL_RECEIVED_SHUTDOWN) != 0; }
  void ask_for_new_keys() {
    CHECK(SSL_key_update(ssl_.get(), SSL_KEY_UPDATE_REQUESTED) == 1);
    CHECK(SSL_do_handshake(ssl_.get()) == 1);
  }

  static constexpr std::size_t all = SIZE_MAX;
  std::size_t takes = all;
  std::size_t records = all;  // that it gives, one by one
  bool waits = false;         // for more to be given, which is told by:
  SyncEvent more;
  int error = 0;

 private:
  explicit HandPeer(SSL_CTX* context) : context_(context) {}
  void begin() {
    ssl_.reset(SSL_new(context_.get()));
    SSL_set_bio(ssl_.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
  }
  // Of the next record, if it counts them.
  std::size_t next_size(std::size_t room) {
    if (records == all) return room;
    --records;
    const char* bytes = nullptr;
    const long size = BIO_get_mem_data(SSL_get_wbio(ssl_.get()), &bytes);
    if (size < 5) return 0;
    const auto length = [&](int at) { return static_cast<std::size_t>(static_cast<unsigned char>(bytes[at])); };
    return 5 + length(3) * 256 + length(4);
  }
  struct Free {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  };
  std::unique_ptr<SSL_CTX, Free> context_;
  std::unique_ptr<SSL, Free> ssl_;
};

std::string read_some(TlsStream& stream) {
  char room[64];
  return {room, stream.read(room)};
}

}  // namespace

TEST_CASE("tls: a reader does not wait to answer a change of keys; the answer goes before the next text [TLS-4]") {
  run([] {
    HandPeer peer;
    TlsStream stream = TlsStream::accept(server_context(), peer);
    CHECK(peer.hear().empty());  // tickets
    peer.takes = 0;
    peer.ask_for_new_keys();
    peer.say("first");
    CHECK(read_some(stream) == "first");
    peer.takes = 7;
    peer.say("second");
    CHECK(read_some(stream) == "second");  // with a part of the answer
    peer.takes = HandPeer::all;
    peer.say("third");
    CHECK(read_some(stream) == "third");  // with the rest
    CHECK(peer.hear().empty());
    stream.write_all("by the new key");
    CHECK(peer.hear() == "by the new key");
    // A writer sends what a reader has left.
    peer.takes = 7;
    peer.ask_for_new_keys();
    peer.say("fourth");
    CHECK(read_some(stream) == "fourth");
    peer.takes = HandPeer::all;
    stream.write_all("by the newest");
    CHECK(peer.hear() == "by the newest");
    // Who asks without end and reads nothing is not served for ever.
    peer.takes = 0;
    char room[16];
    IoResult result;
    std::size_t asked = 0;
    do {
      for (int i = 0; i < 100; ++i) peer.ask_for_new_keys();
      asked += 100;
      result = stream.read_result(room);
    } while (result.os_error() == ETIMEDOUT && asked < 100'000);
    CHECK(result.os_error() == EPROTO);
    CHECK(stream.failure().fault == TlsFault::protocol);
    CHECK_FALSE(stream.is_open());
  });
}

TEST_CASE("tls: who takes no more may still be read [TLS-2]") {
  for (const int error : {EPIPE, ECONNRESET}) {
    run([&] {
      HandPeer peer;
      TlsStream stream = TlsStream::accept(server_context(), peer);
      peer.say("enough");
      peer.error = error;
      std::size_t written = 0;
      CHECK(stream.write_all_result("more", written).os_error() == error);
      peer.error = 0;
      CHECK(stream.write_all_result("and more", written).os_error() == error);  // part of a record is missing
      CHECK(stream.shutdown_write_result().os_error() == error);
      CHECK(stream.is_open());
      CHECK(read_some(stream) == "enough");
      CHECK(peer.hear().empty());
    });
  }
}

TEST_CASE("tls: a write that meets the middle of a message gets its rest, itself or by who reads [TLS-5]") {
  run([] {
    const auto half_come = [](HandPeer& peer) {
      peer.records = HandPeer::all;
      TlsStream stream = TlsStream::connect(client_context(), peer, "localhost");
      peer.records = 1;
      char room[16];
      CHECK(stream.read_result(room).os_error() == ETIMEDOUT);
      return stream;
    };
    {
      const std::unique_ptr<HandPeer> peer = HandPeer::server();
      TlsStream stream = half_come(*peer);
      peer->records = HandPeer::all;
      stream.write_all("nobody reads");
      CHECK(peer->hear() == "nobody reads");
    }
    {
      const std::unique_ptr<HandPeer> peer = HandPeer::server();
      TlsStream stream = half_come(*peer);
      peer->records = HandPeer::all;
      stream.shutdown_write();
      CHECK(peer->hear().empty());
      CHECK(peer->is_told_the_end());
    }
    {
      const std::unique_ptr<HandPeer> peer = HandPeer::server();
      TlsStream stream = half_come(*peer);
      std::size_t written = 0;
      CHECK(stream.write_all_result("in vain", written).os_error() == ETIMEDOUT);
      CHECK_FALSE(stream.is_open());
    }
    const std::unique_ptr<HandPeer> peer = HandPeer::server();
    TlsStream stream = half_come(*peer);
    peer->waits = true;
    with_nursery([&](Nursery& nursery) {
      auto reader = nursery.spawn([&] { return read_some(stream); });
      until_parked(reader);
      auto writer = nursery.spawn([&] { stream.write_all("while one reads"); });
      until_parked(writer);
      peer->records = HandPeer::all;
      peer->more.set();
      writer.join();  // and the reader waits on
      CHECK(peer->hear() == "while one reads");
      peer->say("text");
      peer->more.set();
      CHECK(reader.join() == "text");
    });
  });
}

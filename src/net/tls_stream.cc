// SPDX-License-Identifier: Apache-2.0
// TLS over another stream: OpenSSL works on memory, this moves the bytes.
#include <algorithm>

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include "base/check.h"
#include "net/openssl_ptr.h"
#include "net/stream.h"

namespace berth::net {
namespace {

constexpr std::size_t kPiece = 256 << 10;
constexpr std::size_t kRecord = 16 << 10;

class TlsStream final : public Stream {
 public:
  TlsStream(Executor& loop, std::unique_ptr<Stream> below, const TlsContext& context, bool server,
            std::string name, bool verify)
      : loop_(loop),
        below_(std::move(below)),
        ssl_(SSL_new(context.get())),
        name_(std::move(name)) {
    in_ = BIO_new(BIO_s_mem());
    out_ = BIO_new(BIO_s_mem());
    BERTH_CHECK(ssl_ && in_ != nullptr && out_ != nullptr, "OpenSSL has no memory");
    SSL_set_bio(ssl_.get(), in_, out_);
    if (server) {
      SSL_set_accept_state(ssl_.get());
    } else {
      SSL_set_connect_state(ssl_.get());
      if (auto set = expect_peer(ssl_.get(), name_, verify); !set) broken_ = set.error();
    }
  }

  void handshake(Fn<void(Result<Ok>)> report) override {
    on_handshake_ = std::move(report);
    later([this] { step_handshake(); });
  }

  void read(Fn<void(Bytes)> report) override {
    BERTH_CHECK(!on_read_, "two reads at a time");
    on_read_ = std::move(report);
    const bool ended = (SSL_get_shutdown(ssl_.get()) & SSL_RECEIVED_SHUTDOWN) != 0;
    if (SSL_has_pending(ssl_.get()) == 1 || BIO_ctrl_pending(in_) > 0 || ended || broken_)
      later([this] { decrypt(); });
    else
      fill();
  }

  void write(std::vector<std::string_view> pieces, std::shared_ptr<const void> keep,
             Fn<void(Result<Ok>)> report) override {
    BERTH_CHECK(!on_write_, "two writes at a time");
    on_write_ = std::move(report);
    keep_ = std::move(keep);
    pieces_ = std::move(pieces);
    piece_ = 0;
    partly_sent_ = false;
    if (broken_)
      later([this] { finish_write(tl::unexpected(*broken_)); });
    else
      flush();
  }

  void end_writing() override {
    ERR_clear_error();
    SSL_shutdown(ssl_.get());
    ending_ = true;
    flush();
  }

  std::string peer_address() const override { return below_->peer_address(); }
  std::optional<PeerIdentity> peer_identity() const override { return identity_of(ssl_.get()); }
  std::string peer_certificates() const override { return chain_of(ssl_.get()); }

 private:
  // Not inline, and not once this stream is gone.
  template <class F>
  void later(F f) {
    loop_.post([alive = std::weak_ptr<int>(alive_), f = std::move(f)]() mutable {
      if (!alive.expired()) f();
    });
  }

  Error failure(std::string message) {
    return Error{.reason = Reason::kUnreachable,
                 .message = fmt::format("TLS with {}: {}",
                                        name_.empty() ? below_->peer_address() : name_, message),
                 .outcome = Outcome::kUnknown};
  }

  void fill() {
    below_->read([this](Bytes bytes) {
      if (!bytes) {
        broken_ = std::move(bytes.error());
      } else if (bytes->empty()) {
        // Without a close_notify the end may have been forged.
        broken_ = failure("the connection ended unexpectedly");
      } else {
        BIO_write(in_, bytes->data(), static_cast<int>(bytes->size()));
      }
      if (on_handshake_)
        step_handshake();
      else if (on_read_)
        decrypt();
    });
  }

  void step_handshake() {
    if (broken_) return finish_handshake(tl::unexpected(*broken_));
    ERR_clear_error();
    const int result = SSL_do_handshake(ssl_.get());
    const int why = SSL_get_error(ssl_.get(), result);
    if (result == 1) {
      flush();
      return finish_handshake(Ok{});
    }
    if (why != SSL_ERROR_WANT_READ) {
      broken_ = failure(tls_error(ssl_.get()));
      if (SSL_get_verify_result(ssl_.get()) != X509_V_OK) broken_->reason = Reason::kUntrusted;
      broken_->outcome = Outcome::kNotSent;
      flush();  // the alert tells the peer why
      return finish_handshake(tl::unexpected(*broken_));
    }
    flush();
    fill();
  }

  void finish_handshake(Result<Ok> result) {
    auto report = std::move(on_handshake_);
    if (report) report(std::move(result));
  }

  void decrypt() {
    if (!on_read_) return;
    ERR_clear_error();
    std::size_t size = 0;
    int result = 1;
    while (size < kPiece) {
      if (plain_.size() < size + kRecord) plain_.resize(size + kRecord);
      std::size_t more = 0;
      result = SSL_read_ex(ssl_.get(), plain_.data() + size, plain_.size() - size, &more);
      if (result != 1) break;
      size += more;
    }
    const int why = result == 1 ? SSL_ERROR_NONE : SSL_get_error(ssl_.get(), result);
    if (size == 0 && why == SSL_ERROR_WANT_READ && !broken_) return fill();
    if (why != SSL_ERROR_NONE && why != SSL_ERROR_WANT_READ && why != SSL_ERROR_ZERO_RETURN)
      broken_ = failure(tls_error());
    flush();  // answers to key updates, alerts
    auto report = std::move(on_read_);
    if (size > 0) return report(std::string_view(plain_.data(), size));
    if (why == SSL_ERROR_ZERO_RETURN) return report(std::string_view{});
    report(tl::unexpected(*broken_));
  }

  // Moves waiting plain text into the engine, a bounded piece at a time. Records are filled: a head
  // of its own, or the two ends of a chunk, would cost as much as what they enclose.
  void encrypt() {
    while (BIO_ctrl_pending(out_) < kPiece) {
      while (piece_ < pieces_.size() && pieces_[piece_].empty()) ++piece_;
      if (piece_ == pieces_.size()) return;
      std::string_view record = pieces_[piece_].substr(0, kRecord);
      if (record.size() < kRecord && piece_ + 1 < pieces_.size()) {
        plain_record_.clear();
        for (std::size_t i = piece_; i < pieces_.size() && plain_record_.size() < kRecord; ++i)
          plain_record_.append(pieces_[i].substr(0, kRecord - plain_record_.size()));
        record = plain_record_;
      }
      std::size_t taken = 0;
      ERR_clear_error();
      if (SSL_write_ex(ssl_.get(), record.data(), record.size(), &taken) != 1) {
        broken_ = failure(tls_error());
        return;
      }
      for (; taken > 0; ++piece_) {
        std::string_view& rest = pieces_[piece_];
        const std::size_t part = std::min(taken, rest.size());
        rest.remove_prefix(part);
        taken -= part;
        if (!rest.empty()) break;
      }
    }
  }

  void flush() {
    if (sending_) return;
    if (on_write_ && !broken_) encrypt();
    cipher_.resize(BIO_ctrl_pending(out_));
    if (cipher_.empty()) {
      if (on_write_ && broken_) later([this] { finish_write(tl::unexpected(*broken_)); });
      if (ending_) below_->end_writing();
      return;
    }
    BIO_read(out_, cipher_.data(), static_cast<int>(cipher_.size()));
    sending_ = true;
    below_->write({cipher_}, nullptr, [this](Result<Ok> sent) { did_send(std::move(sent)); });
  }

  void did_send(Result<Ok> sent) {
    sending_ = false;
    if (!sent) {
      if (partly_sent_) sent.error().outcome = Outcome::kUnknown;
      if (!broken_) broken_ = sent.error();
    }
    if (on_write_) {
      partly_sent_ = true;
      if (broken_) return finish_write(tl::unexpected(*broken_));
      if (piece_ == pieces_.size() && BIO_ctrl_pending(out_) == 0) return finish_write(Ok{});
    }
    if (!broken_) flush();
  }

  void finish_write(Result<Ok> result) {
    keep_.reset();
    auto report = std::move(on_write_);
    if (report) report(std::move(result));
  }

  Executor& loop_;
  std::unique_ptr<Stream> below_;
  std::unique_ptr<SSL, Freed<SSL_free>> ssl_;
  BIO* in_ = nullptr;   // of ssl_
  BIO* out_ = nullptr;  // of ssl_
  std::string name_;
  std::optional<Error> broken_;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);

  Fn<void(Result<Ok>)> on_handshake_;
  Fn<void(Bytes)> on_read_;
  Fn<void(Result<Ok>)> on_write_;
  std::shared_ptr<const void> keep_;
  std::vector<std::string_view> pieces_;
  std::size_t piece_ = 0;
  bool partly_sent_ = false;
  bool sending_ = false;
  bool ending_ = false;
  std::string plain_;
  std::string plain_record_;  // put together of several pieces
  std::string cipher_;
};

}  // namespace

std::unique_ptr<Stream> tls_client(Executor& loop, std::unique_ptr<Stream> below,
                                   const TlsContext& context, std::string name, bool verify) {
  return std::make_unique<TlsStream>(loop, std::move(below), context, false, std::move(name),
                                     verify);
}

std::unique_ptr<Stream> tls_server(Executor& loop, std::unique_ptr<Stream> below,
                                   const TlsContext& context) {
  return std::make_unique<TlsStream>(loop, std::move(below), context, true, "", false);
}

}  // namespace berth::net

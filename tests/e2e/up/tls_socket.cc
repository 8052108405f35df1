// SPDX-License-Identifier: Apache-2.0
#include "tls_socket.h"

#include <algorithm>
#include <csignal>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/check.h"

namespace berth::e2e {
namespace {

constexpr int kPatienceSeconds = 120;

}  // namespace

TlsSocket::TlsSocket(std::uint16_t port, ssl_ctx_st* context)
    : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
  const timeval patience{.tv_sec = kPatienceSeconds, .tv_usec = 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0) return;
  ssl_ = SSL_new(context);
  SSL_set_fd(ssl_, fd_);
  if (SSL_connect(ssl_) == 1) return;
  SSL_free(ssl_);
  ssl_ = nullptr;
}

TlsSocket::~TlsSocket() {
  if (ssl_ != nullptr) SSL_free(ssl_);
  ::close(fd_);
}

bool TlsSocket::say(std::string_view text) const {
  while (connected() && !text.empty()) {
    const int sent = SSL_write(ssl_, text.data(), static_cast<int>(text.size()));
    if (sent <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
  return connected();
}

std::string TlsSocket::hear() const {
  if (!connected()) return "";
  std::string out(1 << 16, '\0');
  const int got = SSL_read(ssl_, out.data(), static_cast<int>(out.size()));
  out.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return out;
}

std::string TlsSocket::hear_until(std::string_view end) const {
  std::string all;
  while (all.find(end) == std::string::npos) {
    const std::string more = hear();
    if (more.empty()) break;
    all += more;
  }
  return all;
}

std::string TlsSocket::hear_all() const {
  std::string all;
  for (std::string more = hear(); !more.empty(); more = hear()) all += more;
  return all;
}

// On one thread: OpenSSL lets no two of them use one connection, not even one for each direction.
std::string TlsSocket::say_and_hear_all(std::string_view text) const {
  if (!connected()) return "";
  ::fcntl(fd_, F_SETFL, ::fcntl(fd_, F_GETFL) | O_NONBLOCK);
  const auto waits = [&](int result) {
    const int why = SSL_get_error(ssl_, result);
    return why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE;
  };
  std::string all, piece(1 << 16, '\0');
  for (;;) {
    if (!text.empty()) {
      // What could not be sent is tried again with the same bytes, as OpenSSL wants it.
      const std::size_t size = std::min<std::size_t>(text.size(), 16 << 10);
      const int sent = SSL_write(ssl_, text.data(), static_cast<int>(size));
      if (sent > 0)
        text.remove_prefix(static_cast<std::size_t>(sent));
      else if (!waits(sent))
        text = {};
    }
    int got = 0;
    while ((got = SSL_read(ssl_, piece.data(), static_cast<int>(piece.size()))) > 0)
      all.append(piece, 0, static_cast<std::size_t>(got));
    if (!waits(got)) return all;
    pollfd state{.fd = fd_, .events = POLLIN, .revents = 0};
    if (!text.empty()) state.events |= POLLOUT;
    if (::poll(&state, 1, kPatienceSeconds * 1000) <= 0) return all;
  }
}

bool TlsSocket::left() const {
  // Whatever it said before stays unread.
  pollfd state{.fd = fd_, .events = POLLRDHUP, .revents = 0};
  return ::poll(&state, 1, 0) > 0;
}

TlsCaller::TlsCaller(const net::Origin& origin, const net::KeyPair* shows)
    : port_(origin.port), context_(SSL_CTX_new(TLS_client_method())) {
  std::signal(SIGPIPE, SIG_IGN);  // the other side may leave at any time
  // It does not matter who answers: the server is the one that is to be careful.
  SSL_CTX_set_verify(context_, SSL_VERIFY_NONE, nullptr);
  if (shows == nullptr) return;
  const auto source = [](const std::string& pem) {
    return BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
  };
  BIO* const certificate_bytes = source(shows->certificate_pem);
  BIO* const key_bytes = source(shows->key_pem);
  X509* const certificate = PEM_read_bio_X509(certificate_bytes, nullptr, nullptr, nullptr);
  EVP_PKEY* const key = PEM_read_bio_PrivateKey(key_bytes, nullptr, nullptr, nullptr);
  BERTH_CHECK(SSL_CTX_use_certificate(context_, certificate) == 1 &&
                  SSL_CTX_use_PrivateKey(context_, key) == 1,
              "a certificate for a test can be used");
  X509_free(certificate);
  EVP_PKEY_free(key);
  BIO_free(certificate_bytes);
  BIO_free(key_bytes);
}

TlsCaller::~TlsCaller() { SSL_CTX_free(context_); }

std::unique_ptr<TlsSocket> TlsCaller::connect() const {
  return std::make_unique<TlsSocket>(port_, context_);
}

std::string TlsCaller::ask(std::string_view bytes) const {
  const auto socket = connect();
  socket->say(bytes);
  return socket->hear_all();
}

}  // namespace berth::e2e

// SPDX-License-Identifier: Apache-2.0
// HTTP/1.1 messages from bytes and to bytes. Pure: no socket, no clock; what comes out does not
// depend on how the bytes were cut. Stricter than the RFC's advice to be liberal: whatever two
// parsers could read in two ways (both kinds of length, two lengths, bare line feeds, folded
// headers) is refused.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "base/result.h"
#include "net/gzip.h"
#include "net/http.h"

namespace berth::net {

// Why a message cannot be used.
struct HttpFault {
  int status = 400;  // what a server answers
  std::string message = {};
};
template <class T>
using Decoded = tl::expected<T, HttpFault>;

struct HttpHead {
  std::string method = {};  // of a request
  std::string target = {};
  int status = 0;  // of a response
  int version = 11;
  Headers headers = {};
  bool keep_alive = false;                   // may another message follow on this connection?
  bool has_body = false;                     // bytes follow (a response: may follow)
  std::optional<std::uint64_t> length = {};  // none: chunked, or until the connection ends
};

enum class HttpSide : unsigned char { kRequest, kResponse };

// One message. Thread-compatible.
class HttpDecoder {
 public:
  enum class Step : unsigned char {
    kMore,  // the input is used up
    kHead,  // head() is complete; once, unless the message ends with it
    kEnd,   // so is the body; what is left of the input belongs to the next message
  };

  HttpDecoder(HttpSide, const HttpLimits&, std::size_t body_limit);
  ~HttpDecoder();
  HttpDecoder(HttpDecoder&&) noexcept;
  HttpDecoder& operator=(HttpDecoder&&) noexcept;

  // The answer to a HEAD request has no body, whatever its head says.
  void expect_no_body();
  // Takes from the front of `in`, appends to `body`.
  Decoded<Step> step(std::string_view& in, std::string& body);
  Decoded<Step> end_of_input();  // kEnd, or a fault: the message is cut short
  bool started() const;          // has any byte of the message been seen?
  HttpHead& head();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// A response as a client wants it: informational ones skipped, the body decompressed.
// Thread-compatible.
class ResponseDecoder {
 public:
  using Step = HttpDecoder::Step;
  // `body_limit` bounds the body before and after decompression.
  ResponseDecoder(const HttpLimits&, std::size_t body_limit, bool head_request);

  // As HttpDecoder::step; may stop early with kMore and input left when much has come out.
  Decoded<Step> step(std::string_view& in, std::string& body);
  Decoded<Step> end_of_input();
  bool started() const { return seen_ || decoder_.started(); }
  HttpHead& head() { return decoder_.head(); }

 private:
  Decoded<Step> finish();

  HttpLimits limits_;
  std::size_t body_limit_;
  bool head_request_;
  bool seen_ = false;
  int informational_ = 0;
  HttpDecoder decoder_;
  std::unique_ptr<Decompressor> decompressor_;
  std::string raw_;
};

// The text before the body. A request with characters that would end the line is refused.
Result<std::string> encode_head(const HttpRequest&, std::string_view host, bool accept_gzip);
// Such characters become spaces in a response; framing and connection headers are the caller's.
std::string encode_head(int status, const Headers&);
std::string chunk_head(std::size_t size);  // "1f4\r\n"
inline constexpr std::string_view kChunkEnd = "\r\n";
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

}  // namespace berth::net

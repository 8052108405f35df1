// SPDX-License-Identifier: Apache-2.0
// Beast 1.81 asserts that a last chunk comes in five bytes or more; "0\r\n" and one more byte from
// a peer must not end the process. The code behind the assertion is right.
#define BOOST_DISABLE_ASSERTS

#include "net/http_codec.h"

#include <algorithm>
#include <cctype>
#include <limits>

#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/status.hpp>
#include <fmt/format.h>

#include "base/check.h"

namespace berth::net {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;
using Text = beast::string_view;
using ErrorCode = beast::error_code;

std::string copy(Text text) { return {text.data(), text.size()}; }

tl::unexpected<HttpFault> fault(int status, std::string message) {
  return tl::unexpected(HttpFault{status, std::move(message)});
}

// Fills a HttpHead and hands body bytes on.
template <bool kIsRequest>
class Parser final : public http::basic_parser<kIsRequest> {
 public:
  HttpHead head;
  std::string* body = nullptr;
  int lengths = 0;
  std::vector<std::string> codings;
  int hosts = 0;

 private:
  void on_request_impl(http::verb, Text method, Text target, int version, ErrorCode&) override {
    head.method = copy(method);
    head.target = copy(target);
    head.version = version;
  }
  void on_response_impl(int status, Text, int version, ErrorCode&) override {
    head.status = status;
    head.version = version;
  }
  void on_field_impl(http::field name, Text text, Text value, ErrorCode&) override {
    if (in_trailer_) return;
    if (name == http::field::content_length) ++lengths;
    if (name == http::field::transfer_encoding) codings.push_back(copy(value));
    if (name == http::field::host) ++hosts;
    head.headers.add(copy(text), copy(value));
  }
  void on_header_impl(ErrorCode&) override { in_trailer_ = true; }
  void on_body_init_impl(const boost::optional<std::uint64_t>&, ErrorCode&) override {}
  std::size_t on_body_impl(Text bytes, ErrorCode&) override {
    body->append(bytes.data(), bytes.size());
    return bytes.size();
  }
  void on_chunk_header_impl(std::uint64_t, Text, ErrorCode&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, Text bytes, ErrorCode&) override {
    body->append(bytes.data(), bytes.size());
    return bytes.size();
  }
  void on_finish_impl(ErrorCode&) override {}

  bool in_trailer_ = false;
};

// Looks at the bytes of a head before the parser does: it refuses what the parser would let pass,
// and because it goes byte by byte, the verdict comes early and does not depend on cuts.
class HeadScanner {
 public:
  // How many bytes belong to the head; with `complete`, the blank line was among them.
  Decoded<std::size_t> scan(std::string_view in, const HttpLimits& limits, bool is_request) {
    for (std::size_t i = 0; i < in.size(); ++i) {
      const char c = in[i];
      if (++size_ > limits.header_bytes)
        return fault(431, fmt::format("the header is larger than {} bytes", limits.header_bytes));
      if (c == '\n') {
        if (!after_cr_) return fault(400, "a line ends without a carriage return");
        after_cr_ = false;
        if (line_ == 0 && lines_ > 0) {
          complete = true;
          return i + 1;
        }
        if (line_ > 0 && ++lines_ > limits.header_count + 1)
          return fault(431, fmt::format("there are more than {} headers", limits.header_count));
        line_ = 0;
        continue;
      }
      if (after_cr_) return fault(400, "a carriage return stands inside a line");
      if (c == '\r') {
        after_cr_ = true;
        continue;
      }
      const auto byte = static_cast<unsigned char>(c);
      if ((byte < 0x20 && c != '\t') || byte == 0x7f)
        return fault(400, "the header has a control character");
      if (line_ == 0 && lines_ > 0 && (c == ' ' || c == '\t'))
        return fault(400, "a header is folded over several lines");
      // A method and a version fit into the 64 bytes beside the target.
      if (++line_ > limits.target_bytes + 64 && lines_ == 0 && is_request)
        return fault(414, fmt::format("the target is longer than {} bytes", limits.target_bytes));
    }
    return in.size();
  }
  bool complete = false;

 private:
  std::size_t size_ = 0;
  std::size_t line_ = 0;   // bytes on the current line
  std::size_t lines_ = 0;  // complete lines, leading blank ones not counted
  bool after_cr_ = false;
};

// The same for the lines between chunks. Beast reads a quoted line break in a chunk extension one
// way or another, depending on how much has arrived; whoever sends one wants two readers to
// disagree.
class ChunkScanner {
 public:
  bool accepts(std::string_view in) {
    while (!in.empty() && at_ != At::kTrailer) {
      if (at_ == At::kData) {
        const std::size_t here =
            static_cast<std::size_t>(std::min<std::uint64_t>(left_, in.size()));
        in.remove_prefix(here);
        left_ -= here;
        if (left_ == 0) at_ = At::kDataEnd;
        continue;
      }
      if (!accepts(in.front())) return false;
      in.remove_prefix(1);
    }
    return true;
  }

 private:
  enum class At : unsigned char {
    kSize,
    kExtension,
    kSizeEnd,
    kData,
    kDataEnd,
    kDataNewline,
    kTrailer
  };

  bool accepts(char c) {
    switch (at_) {
      case At::kSize:
        if (std::isxdigit(static_cast<unsigned char>(c)) != 0) {
          if (left_ >> 60 != 0) return false;
          const int digit = c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
          left_ = left_ * 16 + static_cast<std::uint64_t>(digit);
          any_ = true;
          return true;
        }
        at_ = c == '\r' ? At::kSizeEnd : At::kExtension;
        return any_ && (c == '\r' || c == ';' || c == ' ' || c == '\t');
      case At::kExtension:
        if (c == '\r') at_ = At::kSizeEnd;
        return c == '\r' || c == '\t' || (static_cast<unsigned char>(c) >= 0x20 && c != '"');
      case At::kSizeEnd:
        at_ = left_ == 0 ? At::kTrailer : At::kData;
        return c == '\n';
      case At::kDataEnd:
        at_ = At::kDataNewline;
        return c == '\r';
      case At::kDataNewline:
        at_ = At::kSize;
        any_ = false;
        return c == '\n';
      default:
        return true;
    }
  }

  At at_ = At::kSize;
  bool any_ = false;        // a digit of the size was seen
  std::uint64_t left_ = 0;  // bytes of the chunk still to come
};

}  // namespace

struct HttpDecoder::Impl {
  Impl(const HttpLimits& l, std::size_t body_bytes) : limits(l), body_limit(body_bytes) {}
  virtual ~Impl() = default;
  virtual Decoded<Step> step(std::string_view& in, std::string& body) = 0;
  virtual Decoded<Step> end_of_input() = 0;
  virtual void expect_no_body() = 0;
  virtual HttpHead& head() = 0;

  HttpLimits limits;
  std::size_t body_limit;
  HeadScanner scanner;
  ChunkScanner chunks;
  std::string pending;  // the head so far; later a chunk's header that is not complete
  bool any = false;

  template <bool kIsRequest>
  struct Of;
};

template <bool kIsRequest>
struct HttpDecoder::Impl::Of final : Impl {
  Of(const HttpLimits& l, std::size_t body_bytes) : Impl(l, body_bytes) {
    parser.header_limit(static_cast<std::uint32_t>(
        std::min<std::size_t>(limits.header_bytes + 1, std::numeric_limits<std::uint32_t>::max())));
    parser.body_limit(body_limit);
  }

  Decoded<Step> step(std::string_view& in, std::string& body) override {
    if (!in.empty()) any = true;
    if (parser.is_done()) return Step::kEnd;
    if (!parser.is_header_done()) {
      auto taken = scanner.scan(in, limits, kIsRequest);
      if (!taken) return tl::unexpected(std::move(taken.error()));
      pending.append(in.substr(0, *taken));
      in.remove_prefix(*taken);
      if (!scanner.complete) return Step::kMore;
      return parse_head();
    }
    parser.body = &body;
    return parse_body(in);
  }

  Decoded<Step> parse_head() {
    // Blank lines before a message are left over from the one before.
    std::string_view text = pending;
    while (text.starts_with("\r\n")) text.remove_prefix(2);
    ErrorCode error;
    parser.put(boost::asio::const_buffer(text.data(), text.size()), error);
    if (error == http::error::body_limit) return too_large();
    if (error == http::error::bad_version && names_other_version(text))
      return fault(505, "only HTTP/1.0 and HTTP/1.1 are known");
    if (error) return fault(400, fmt::format("the header is malformed: {}", error.message()));
    BERTH_CHECK(parser.is_header_done());
    pending.clear();
    parser.eager(true);

    HttpHead& h = parser.head;
    h.keep_alive = parser.keep_alive();
    h.has_body = !parser.is_done();
    if (const auto length = parser.content_length()) h.length = *length;
    if (parser.lengths == 1 &&
        h.headers.get("Content-Length").find_first_not_of("0123456789") != std::string_view::npos)
      return fault(400, "the Content-Length is not a number");
    if (parser.lengths > 1) return fault(400, "there are several Content-Length headers");
    for (const std::string& coding : parser.codings)
      if (!same_token(coding, "chunked") || h.version < 11)
        return fault(501, fmt::format("the transfer coding '{}' is not known", coding));
    if constexpr (kIsRequest) {
      if (h.target.size() > limits.target_bytes)
        return fault(414, fmt::format("the target is longer than {} bytes", limits.target_bytes));
      if (!h.target.starts_with('/') && h.target != "*")
        return fault(400, "the target must be a path");
      if (parser.hosts > 1 || (parser.hosts == 0 && h.version >= 11))
        return fault(400, "there must be one Host header");
    }
    return parser.is_done() ? Step::kEnd : Step::kHead;
  }

  Decoded<Step> parse_body(std::string_view& in) {
    if (parser.chunked() && !chunks.accepts(in))
      return fault(400, "the body is malformed: a chunk's header is not valid");
    while (!in.empty() && !parser.is_done()) {
      ErrorCode error;
      if (pending.empty()) {
        in.remove_prefix(parser.put(boost::asio::const_buffer(in.data(), in.size()), error));
        if (error == http::error::need_more) {
          pending = in;
          in = {};
        }
      } else {
        // The rest of a chunk's header is short: the bytes after it are parsed in place.
        const std::size_t before = pending.size();
        const std::size_t added = std::min<std::size_t>(in.size(), 256);
        pending.append(in.substr(0, added));
        const std::size_t used =
            parser.put(boost::asio::const_buffer(pending.data(), pending.size()), error);
        if (used >= before) {
          in.remove_prefix(used - before);
          pending.clear();
          if (error == http::error::need_more) error = {};  // found again in place
        } else {
          in.remove_prefix(added);
          pending.erase(0, used);
        }
      }
      if (error == http::error::body_limit) return too_large();
      if (error && error != http::error::need_more)
        return fault(400, fmt::format("the body is malformed: {}", error.message()));
      if (pending.size() > limits.header_bytes)
        return fault(431, "a chunk's header or the trailer is too large");
    }
    return parser.is_done() ? Step::kEnd : Step::kMore;
  }

  Decoded<Step> end_of_input() override {
    if (parser.is_done()) return Step::kEnd;
    if (!parser.is_header_done()) return fault(400, "the header is cut short");
    ErrorCode error;
    parser.put_eof(error);
    if (error) return fault(400, "the body is cut short");
    return Step::kEnd;
  }

  static bool names_other_version(std::string_view text) {
    const std::string_view line = text.substr(0, text.find("\r\n"));
    const std::string_view version = kIsRequest ? line.substr(line.rfind(' ') + 1) : line;
    return version.starts_with("HTTP/") && !version.starts_with("HTTP/1.0") &&
           !version.starts_with("HTTP/1.1");
  }

  tl::unexpected<HttpFault> too_large() const {
    return fault(413, fmt::format("the body is larger than {} bytes", body_limit));
  }

  void expect_no_body() override { parser.skip(true); }
  HttpHead& head() override { return parser.head; }

  Parser<kIsRequest> parser;
};

HttpDecoder::HttpDecoder(HttpSide side, const HttpLimits& limits, std::size_t body_limit) {
  if (side == HttpSide::kRequest)
    impl_ = std::make_unique<Impl::Of<true>>(limits, body_limit);
  else
    impl_ = std::make_unique<Impl::Of<false>>(limits, body_limit);
}
HttpDecoder::~HttpDecoder() = default;
HttpDecoder::HttpDecoder(HttpDecoder&&) noexcept = default;
HttpDecoder& HttpDecoder::operator=(HttpDecoder&&) noexcept = default;

void HttpDecoder::expect_no_body() { impl_->expect_no_body(); }
Decoded<HttpDecoder::Step> HttpDecoder::step(std::string_view& in, std::string& body) {
  return impl_->step(in, body);
}
Decoded<HttpDecoder::Step> HttpDecoder::end_of_input() { return impl_->end_of_input(); }
bool HttpDecoder::started() const { return impl_->any; }
HttpHead& HttpDecoder::head() { return impl_->head(); }

ResponseDecoder::ResponseDecoder(const HttpLimits& limits, std::size_t body_limit,
                                 bool head_request)
    : limits_(limits),
      body_limit_(body_limit),
      head_request_(head_request),
      decoder_(HttpSide::kResponse, limits, body_limit) {
  if (head_request_) decoder_.expect_no_body();
}

Decoded<ResponseDecoder::Step> ResponseDecoder::step(std::string_view& in, std::string& body) {
  // A small piece may unpack to a thousand times its size.
  constexpr std::size_t kPackedPiece = 16 << 10;
  if (!decompressor_) {
    auto step = decoder_.step(in, body);
    if (!step || *step == Step::kMore) return step;
    HttpHead& h = head();
    if (h.status / 100 == 1) {
      if (h.status == 101 || ++informational_ > 16)
        return fault(502, fmt::format("unexpected status {}", h.status));
      seen_ = true;
      decoder_ = HttpDecoder(HttpSide::kResponse, limits_, body_limit_);
      if (head_request_) decoder_.expect_no_body();
      return Step::kMore;
    }
    if (*step == Step::kHead) {
      const std::string_view coding = h.headers.get("Content-Encoding");
      if (same_token(coding, "gzip") || same_token(coding, "x-gzip") ||
          same_token(coding, "deflate")) {
        decompressor_ = std::make_unique<Decompressor>(body_limit_);
        h.headers.remove("Content-Encoding");
        h.headers.remove("Content-Length");
        h.length.reset();
      }
    }
    return step;
  }
  raw_.clear();
  std::string_view piece = in.substr(0, kPackedPiece);
  const std::size_t before = piece.size();
  auto step = decoder_.step(piece, raw_);
  in.remove_prefix(before - piece.size());
  if (!step) return step;
  if (auto added = decompressor_->add(raw_, body); !added)
    return fault(added.error().reason == Reason::kRequestEntityTooLarge ? 413 : 400,
                 std::move(added.error().message));
  return *step == Step::kEnd ? finish() : step;
}

Decoded<ResponseDecoder::Step> ResponseDecoder::end_of_input() {
  auto step = decoder_.end_of_input();
  if (!step || !decompressor_) return step;
  return finish();
}

Decoded<ResponseDecoder::Step> ResponseDecoder::finish() {
  if (auto finished = decompressor_->finish(); !finished)
    return fault(400, std::move(finished.error().message));
  return Step::kEnd;
}

namespace {

bool is_line_text(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\t') || byte == 0x7f;
  });
}

bool is_token(std::string_view text) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           kMarks.find(c) != std::string_view::npos;
  });
}

tl::unexpected<Error> not_sendable(std::string message) {
  return tl::unexpected(Error{
      .reason = Reason::kInvalid, .message = std::move(message), .outcome = Outcome::kNotSent});
}

}  // namespace

Result<std::string> encode_head(const HttpRequest& request, std::string_view host,
                                bool accept_gzip) {
  if (!is_token(request.method))
    return not_sendable(fmt::format("'{}' is not an HTTP method", request.method));
  if (!request.target.starts_with('/') || !is_line_text(request.target) ||
      request.target.find_first_of(" \t") != std::string::npos)
    return not_sendable("the target of a request must be an encoded path");
  std::string out;
  out.reserve(256 + request.target.size());
  out.append(request.method).append(" ").append(request.target).append(" HTTP/1.1\r\n");
  if (!request.headers.has("Host")) out.append("Host: ").append(host).append("\r\n");
  for (const auto& [name, value] : request.headers.items()) {
    if (!is_token(name) || !is_line_text(value))
      return not_sendable(fmt::format("the header '{}' has a character that no header may have",
                                      is_line_text(name) ? name : "?"));
    if (same_token(name, "Content-Length") || same_token(name, "Transfer-Encoding"))
      return not_sendable(fmt::format("the header '{}' is set by the client itself", name));
    out.append(name).append(": ").append(value).append("\r\n");
  }
  if (accept_gzip && !request.headers.has("Accept-Encoding"))
    out.append("Accept-Encoding: gzip\r\n");
  const bool usually_empty = request.method == "GET" || request.method == "HEAD";
  if (!request.body.empty() || !usually_empty)
    out.append(fmt::format("Content-Length: {}\r\n", request.body.size()));
  out.append("\r\n");
  return out;
}

std::string encode_head(int status, const Headers& headers) {
  const auto reason = http::obsolete_reason(static_cast<http::status>(status));
  std::string out =
      fmt::format("HTTP/1.1 {} {}\r\n", status, std::string_view(reason.data(), reason.size()));
  for (const auto& [name, value] : headers.items()) {
    if (!is_token(name)) continue;
    out.append(name).append(": ");
    for (const char c : value) out += is_line_text({&c, 1}) ? c : ' ';
    out.append("\r\n");
  }
  out.append("\r\n");
  return out;
}

std::string chunk_head(std::size_t size) { return fmt::format("{:x}\r\n", size); }

}  // namespace berth::net

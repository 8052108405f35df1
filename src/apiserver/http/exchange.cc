// SPDX-License-Identifier: Apache-2.0
#include "apiserver/http/exchange.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "apiserver/http/headers.h"
#include "apiserver/http/sorted_keys.h"
#include "base/check.h"
#include "json/yaml.h"
#include "kube/status.h"

namespace berth::apiserver {
namespace {

class StreamThrough final : public kube::WatchStream {
 public:
  StreamThrough(Executor& api, std::unique_ptr<kube::WatchStream> inner)
      : api_(api), inner_(std::move(inner)) {}
  ~StreamThrough() override {
    api_.post([inner = std::move(inner_)]() mutable { inner.reset(); });
  }
  void read(Done<Batch> done) override {
    api_.post([inner = inner_, done = std::move(done)]() mutable { inner->read(std::move(done)); });
  }

 private:
  Executor& api_;
  std::shared_ptr<kube::WatchStream> inner_;
};

constexpr std::string_view kJson = "application/json", kYaml = "application/yaml";
constexpr std::size_t kCompressFrom = 128 << 10;  // as the real server does
constexpr std::size_t kMostItems = 500;           // made in one go, however short they are

// Sending one event costs as much as sending ten. An event that follows others closely waits for
// more, but never long; where much is to be read, nobody waits.
constexpr Duration kGather = std::chrono::milliseconds(1);
constexpr std::size_t kMuch = 100;

std::string indented(std::string_view json) {
  std::string out;
  Indenter().add(json, out);
  return out;
}

// k8s 1.36: what is not an API at all is told as Go's file server tells it.
bool is_no_page(const Incoming& in, const Error& error) {
  return in.row == nullptr && error.reason == Reason::kNotFound && !in.below_group;
}

}  // namespace

std::string DoorState::audit_id() {
  const std::uint64_t high = random.next(), low = random.next();
  return fmt::format("{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}", high >> 32, high >> 16 & 0xffff,
                     high & 0xfff, (low >> 48 & 0x3fff) | 0x8000, low & 0xffff'ffff'ffff);
}

Exchange::Exchange(std::shared_ptr<DoorState> door, const net::HttpPeer& peer, net::HttpReply reply)
    : door_(std::move(door)),
      reply_(std::move(reply)),
      client_(address_of(peer.address)),
      near_(is_loopback(client_)) {}

Exchange::~Exchange() { end_watch(); }

void Exchange::begin(net::HttpRequest http, const net::HttpPeer& peer) {
  if (door_->bodies) door_->bodies->count(http);
  takes_gzip_ = net::accepts_gzip(http.headers);
  audit_id_ = chosen_audit_id(http.headers).value_or("");
  if (audit_id_.empty()) audit_id_ = door_->audit_id();
  if (door_->scope.closing())
    return refuse({.reason = Reason::kServiceUnavailable, .message = "apiserver is shutting down"});
  Result<Incoming> in =
      read_request(std::move(http), peer, door_->kinds.now(), door_->options.limits);
  if (!in) return refuse(in.error());
  in_ = std::move(*in);
  if (in_.request.verb == kube::Verb::kWatch) {
    std::size_t& open = door_->watches_of[client_];
    if (open >= door_->options.limits.watches_per_client)
      return refuse({.reason = Reason::kTooManyRequests,
                     .message = fmt::format("there are {} watches from {}, which is all that are "
                                            "allowed; please try again later",
                                            open, client_),
                     .retry_after = std::chrono::seconds(1)});
    ++open;
    ++door_->watches;
    counted_ = true;
  }
  const auto& body = in_.request.body.bytes;
  if (!body || body->size() < door_->options.limits.large_body) return hand_over();
  if (door_->large.size() >= door_->options.limits.large_bodies)
    return refuse({.reason = Reason::kTooManyRequests,
                   .message = "too many large requests, please try again later",
                   .retry_after = std::chrono::seconds(1)});
  door_->large.push_back(shared_from_this());
  if (door_->large.size() == 1) take_turn();
}

// The server does one thing at a time. Small requests get in between any two large ones, so that
// nobody waits for more than one of these, however many a client sends at once.
void Exchange::take_turn() {
  hand_over();
  auto next = door_->scope.done<Ok>(kNoLimit, [door = door_](const Result<Ok>& open) {
    door->large.pop_front();
    if (open) {
      if (!door->large.empty()) door->large.front()->take_turn();
      return;
    }
    for (const auto& waiting : std::exchange(door->large, {}))
      waiting->refuse(
          {.reason = Reason::kServiceUnavailable, .message = "apiserver is shutting down"});
  });
  door_->api.post([next = std::move(next)]() mutable { next(Ok{}); });
}

void Exchange::hand_over() {
  auto done = door_->scope.done<kube::ApiReply>(
      kNoLimit, [self = shared_from_this()](Result<kube::ApiReply> reply) {
        self->answered(std::move(reply));
      });
  door_->api.post([handle = door_->handle, who = std::move(in_.credentials),
                   what = std::move(in_.request), done = std::move(done)]() mutable {
    (*handle)(std::move(who), std::move(what), std::move(done));
  });
}

void Exchange::answered(Result<kube::ApiReply> result) {
  if (!result) return refuse(result.error());
  kube::ApiReply& reply = *result;
  code_ = reply.code;
  warnings_ = std::move(reply.warnings);
  if (auto* text = std::get_if<std::string>(&reply.body)) {
    if (in_.row != nullptr && reply.content_type == kJson)
      return send_json(code_, std::move(*text));
    if (in_.wanted.pretty && reply.content_type.starts_with(kJson)) *text = indented(*text);
    if (in_.row == nullptr) return send_page(std::move(*text), reply.content_type);
    return send_text(code_, std::move(*text), reply.content_type);
  }
  if (std::holds_alternative<std::monostate>(reply.body)) return send_text(code_, "", kJson);
  BERTH_CHECK(in_.row != nullptr, "a page has no objects");
  renderer_.emplace(in_.kinds, *in_.row, in_.wanted);
  if (auto* stream = std::get_if<std::unique_ptr<kube::WatchStream>>(&reply.body))
    return start_watch(std::move(*stream));
  auto* list = std::get_if<kube::ObjectList>(&reply.body);
  if (const auto possible = renderer_->possible(list != nullptr); !possible)
    return refuse(possible.error());
  if (list != nullptr) return start_list(std::move(*list));
  std::string json;
  is_one_ = true;
  renderer_->object(std::get<kube::Object>(reply.body), door_->now(), json);
  send_json(code_, std::move(json));
}

void Exchange::refuse(const Error& error) {
  Error told = error;
  if (told.reason == Reason::kCancelled || told.reason == Reason::kUnreachable) {
    told.reason = Reason::kServiceUnavailable;
    told.message = "apiserver is shutting down";
  }
  if (is_no_page(in_, told))
    return send_text(404, "404 page not found\n", "text/plain; charset=utf-8");
  if (in_.row == nullptr && told.reason == Reason::kNotFound) {
    told.message = "the server could not find the requested resource";
    told.about = std::make_shared<const About>();
  }
  code_ = told.code != 0 ? told.code : http_code_of(told.reason);
  if (code_ < 400) code_ = 500;
  net::HttpResponse response{.status = code_, .headers = headers(kJson)};
  if (told.retry_after && *told.retry_after > Duration{})
    response.headers.set(
        "Retry-After",
        std::to_string(std::chrono::ceil<std::chrono::seconds>(*told.retry_after).count()));
  response.body = kube::status_json(told);
  if (in_.wanted.pretty)
    response.body = indented(response.body);
  else
    response.body += '\n';
  reply_.send(std::move(response));
}

net::Headers Exchange::headers(std::string_view content_type) const {
  net::Headers out;
  out.add("Audit-Id", audit_id_);
  out.add("Cache-Control", "no-cache, private");
  out.add("Content-Type", std::string(content_type));
  // k8s 1.36: whatever comes of it, once the request may be made.
  if (in_.row != nullptr && !in_.row->warning.empty() && code_ != 401 && code_ != 403)
    add_warnings({in_.row->warning}, out);
  add_warnings(warnings_, out);
  return out;
}

bool Exchange::compresses(std::size_t bytes) const {
  const bool worth_it = !near_ || is_one_ || door_->options.gzip_on_loopback;
  return takes_gzip_ && bytes >= kCompressFrom && worth_it;
}

void Exchange::send_text(int code, std::string text, std::string_view content_type) {
  net::HttpResponse response{
      .status = code, .headers = headers(content_type), .body = std::move(text)};
  const bool compress = compresses(response.body.size());
  if (compress) response.headers.add("Vary", "Accept-Encoding");
  reply_.send(std::move(response), compress ? net::Gzip::kIfLarge : net::Gzip::kNever);
}

// What describes the API is long and seldom changes: who has it already is told only that.
void Exchange::send_page(std::string text, std::string_view content_type) {
  const bool discovery = content_type.find("as=APIGroupDiscoveryList") != std::string_view::npos;
  if (code_ != 200 || !(in_.tagged || discovery))
    return send_text(code_, std::move(text), content_type);
  net::HttpResponse response{.status = code_, .headers = headers(content_type)};
  const std::string tag = tag_of(text);
  response.headers.add("Etag", tag);
  response.headers.add("Vary", "Accept");
  if (discovery) response.headers.set("Cache-Control", "public");
  if (names_tag(in_.known_tags, tag)) {
    response.status = 304;
    response.headers.remove("Content-Type");
    return reply_.send(std::move(response));
  }
  const bool compress = compresses(text.size());
  if (compress) response.headers.add("Vary", "Accept-Encoding");
  response.body = std::move(text);
  reply_.send(std::move(response), compress ? net::Gzip::kIfLarge : net::Gzip::kNever);
}

void Exchange::send_json(int code, std::string json) {
  if (in_.wanted.yaml) return send_text(code, json::json_to_yaml(with_sorted_keys(json)), kYaml);
  if (in_.wanted.pretty)
    json = indented(json);
  else
    json += '\n';
  send_text(code, std::move(json), kJson);
}

void Exchange::start_list(kube::ObjectList list) {
  list_ = std::move(list);
  more_of_list();
}

// Makes the next piece of the list; it goes on when that has left.
void Exchange::more_of_list() {
  const DoorLimits& limits = door_->options.limits;
  const std::size_t most = in_.wanted.yaml ? limits.yaml_bytes : limits.piece_bytes;
  const WallTime now = door_->now();
  std::string piece;
  if (next_ == 0) renderer_->list_begin(list_, piece);
  const std::size_t stop =
      in_.wanted.yaml ? list_.items.size() : std::min(next_ + kMostItems, list_.items.size());
  while (next_ < stop && piece.size() < most) {
    renderer_->item(list_.items[next_], next_ == 0, now, piece);
    list_.items[next_++] = {};  // what has been said need not be kept
  }
  const bool last = next_ == list_.items.size();
  if (last) renderer_->list_end(piece);
  if (!streaming_ && in_.wanted.yaml && !last)
    return refuse(
        {.reason = Reason::kNotAcceptable,
         .message = fmt::format("the list has more than {} bytes; ask for it in pages, or "
                                "as application/json",
                                most)});
  if (!streaming_ && last) return send_json(code_, std::move(piece));
  write_piece(std::move(piece), last);
}

void Exchange::write_piece(std::string piece, bool last) {
  if (in_.wanted.pretty) {
    std::string pretty;
    indenter_.add(piece, pretty);
    piece = std::move(pretty);
  } else if (last) {
    piece += '\n';
  }
  if (!std::exchange(streaming_, true)) {
    net::Headers all = headers(kJson);
    if (compresses(kCompressFrom)) {  // more is to come
      compressor_ = std::make_unique<net::Compressor>();
      all.add("Content-Encoding", "gzip");
      all.add("Vary", "Accept-Encoding");
    }
    reply_.begin(code_, std::move(all));
  }
  if (compressor_) {
    std::string packed;
    compressor_->add(piece, last, packed);
    piece = std::move(packed);
  }
  reply_.write(std::move(piece),
               door_->scope.done<Ok>(kNoLimit, [self = shared_from_this(), last](Result<Ok> taken) {
                 if (!taken) return;
                 if (last) return self->reply_.end();
                 self->more_of_list();
               }));
}

void Exchange::start_watch(std::unique_ptr<kube::WatchStream> stream) {
  watch_ = door_->options.streams_through_api
               ? std::make_unique<StreamThrough>(door_->api, std::move(stream))
               : std::move(stream);
  reply_.begin(code_, headers(kJson));
  // A client that leaves ends its watch at once, also while nothing happens. This alone does not
  // keep the exchange: one that gives up drops its reply, and the client sees that.
  reply_.when_gone(door_->scope.done<Ok>(kNoLimit, [weak = weak_from_this()](const Result<Ok>&) {
    if (const auto self = weak.lock()) self->end_watch();
  }));
  read_watch();
}

void Exchange::read_watch() {
  if (!watch_) return;
  if (const Duration wait = gather_until_ - door_->scope.executor().clock().now();
      wait > Duration{}) {
    door_->scope.after(wait, [self = shared_from_this()] { self->read_watch(); });
    return;
  }
  watch_->read(door_->scope.done<kube::WatchStream::Batch>(
      kNoLimit, [self = shared_from_this()](Result<kube::WatchStream::Batch> batch) {
        if (!self->watch_) return;
        if (!batch) return self->end_watch();  // broken, not ended, and the client can tell
        self->batch_ = std::move(*batch);
        self->next_ = 0;
        if (self->batch_.events.size() < kMuch)
          self->gather_until_ = self->door_->scope.executor().clock().now() + kGather;
        self->write_events();
      }));
}

void Exchange::write_events() {
  const std::size_t most = door_->options.limits.piece_bytes;
  std::string piece;
  std::vector<kube::WatchEvent>& events = batch_.events;
  while (next_ < events.size() && piece.size() < most) {
    if (told_ == 0) told_at_ = door_->now();
    if (!renderer_->event(events[next_], told_at_, most, told_, piece)) break;
    told_ = 0;
    ++next_;
  }
  const bool all = next_ == events.size();
  if (all) events.clear();
  const bool over = all && batch_.end;
  if (piece.empty()) {
    if (!over) return read_watch();
    end_watch();
    return reply_.end();
  }
  reply_.write(std::move(piece),
               door_->scope.done<Ok>(kNoLimit, [self = shared_from_this(), over](Result<Ok> taken) {
                 if (!self->watch_) return;
                 if (!taken) return self->end_watch();
                 if (!over) return self->write_events();
                 self->end_watch();
                 self->reply_.end();
               }));
}

void Exchange::end_watch() {
  watch_.reset();
  batch_ = {};
  if (!std::exchange(counted_, false)) return;
  --door_->watches;
  const auto open = door_->watches_of.find(client_);
  if (--open->second == 0) door_->watches_of.erase(open);
}

}  // namespace berth::apiserver

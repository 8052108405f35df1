// SPDX-License-Identifier: Apache-2.0
#include "gateway/stomp_session.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "gateway/events.h"
#include "gateway/replies.h"
#include "gateway/sockjs.h"
#include "gateway/stomp.h"
#include "json/writer.h"

namespace berth::gateway {
namespace {

constexpr std::size_t kMostAtOnce = 64 << 10;
constexpr std::size_t kMostSubscriptions = 64;

// "cx,cy" in milliseconds; what cannot be read is 0,0.
std::pair<Duration, Duration> heart_beat_of(const std::string& text) {
  std::int64_t first = 0, second = 0;
  const char* const end = text.data() + text.size();
  const auto one = std::from_chars(text.data(), end, first);
  if (one.ec != std::errc() || one.ptr == end || *one.ptr != ',') return {};
  const auto two = std::from_chars(one.ptr + 1, end, second);
  if (two.ec != std::errc() || two.ptr != end || first < 0 || second < 0) return {};
  const auto bounded = [](std::int64_t ms) {
    return Duration(std::chrono::milliseconds(std::min<std::int64_t>(ms, 3'600'000)));
  };
  return {bounded(first), bounded(second)};
}

std::string best_version(const StompFrame& connect) {
  const std::string offered = connect.text("accept-version");
  for (const std::string_view version : {"1.2", "1.1"})
    if (net::lists_token(offered, version)) return std::string(version);
  return {};
}

// Kept by what it waits for: a read, a write, a review. Loop-confined to the gateway's.
class StompSession final : public Feeds::Listener,
                           public std::enable_shared_from_this<StompSession> {
 public:
  StompSession(StompParts parts, Visitor visitor, std::shared_ptr<net::WebSocket> socket,
               bool sockjs)
      : gateway_(parts.gateway),
        feeds_(parts.feeds),
        options_(std::move(parts.options)),
        visitor_(std::move(visitor)),
        socket_(std::move(socket)),
        sockjs_(sockjs),
        decoder_(parts.gateway.options().limits) {
    feeds_.add(*this);
  }
  ~StompSession() { feeds_.remove(*this); }

  void start() {
    if (sockjs_) socket_->write({.bytes = "o"}, {});
    scope().after(options_.connect_within, [weak = weak_from_this()] {
      const auto self = weak.lock();
      if (self && !self->connected_) self->refuse("nobody has connected");
    });
    read();
  }

  void changed() override {
    if (connected_ && !writing_) pump();
  }
  std::uint64_t behind() const override {
    std::uint64_t most = 0;
    for (const Subscription& one : subscriptions_) most = std::max(most, one.reader.behind());
    return most;
  }

 private:
  struct Subscription {
    std::string id, destination;
    Filter filter;
    Reader reader;
    std::string form;  // of its messages: who has the same shares them
    Told told;
    bool told_of_resets = false;  // it asked to go on from somewhere
  };

  Scope& scope() { return gateway_.scope(); }
  bool over() const { return socket_ == nullptr; }

  void read() {
    socket_->read(scope().done<net::WebSocket::Message>(
        kNoLimit, [self = shared_from_this()](Result<net::WebSocket::Message> message) {
          if (self->over()) return;
          if (!message) return self->end(net::kCloseNormal, "");
          self->heard_ = true;
          self->on_message(std::move(message->bytes));
          if (!self->over()) self->read();
        }));
  }

  void on_message(std::string bytes) {
    if (!sockjs_) return on_bytes(bytes);
    const auto messages = sockjs_received(bytes);
    if (!messages) return refuse(messages.error().message);
    for (const std::string& message : *messages) {
      if (over()) return;
      on_bytes(message);
    }
  }

  void on_bytes(std::string_view in) {
    while (!in.empty() && !over()) {
      auto frame = decoder_.step(in);
      if (!frame) return refuse(frame.error());
      if (*frame) waiting_.push_back(**std::move(frame));
    }
    work();
  }

  // Frames are carried out one after the other, also where one has to wait for a review.
  void work() {
    while (!busy_ && !waiting_.empty() && !over()) {
      const StompFrame frame = std::move(waiting_.front());
      waiting_.pop_front();
      on_frame(frame);
    }
    if (waiting_.size() > kMostSubscriptions) refuse("too many frames at once");
  }
  void done_with(const StompFrame& frame) {
    busy_ = false;
    receipt(frame);
    work();
  }

  void on_frame(const StompFrame& frame) {
    const std::string& command = frame.command;
    if (command == "CONNECT" || command == "STOMP") return connect(frame);
    if (!connected_) return refuse("the first frame must be CONNECT", &frame);
    if (command == "SUBSCRIBE") return subscribe(frame);
    if (command == "SEND") return send(frame);
    if (command == "UNSUBSCRIBE") {
      std::erase_if(subscriptions_,
                    [id = frame.text("id")](const Subscription& one) { return one.id == id; });
    } else if (command == "DISCONNECT") {
      receipt(frame);
      return end(net::kCloseNormal, "");
    } else if (command != "ACK" && command != "NACK") {  // nothing is delivered twice
      return refuse(fmt::format("{} is not supported", command), &frame);
    }
    receipt(frame);
  }

  void connect(const StompFrame& frame) {
    if (connected_ || busy_) return refuse("already connected", &frame);
    version_ = best_version(frame);
    if (version_.empty())
      return refuse("only STOMP 1.2 and 1.1 are spoken here", &frame, {{"version", "1.2,1.1"}});
    heart_beat_ = heart_beat_of(frame.text("heart-beat"));
    if (const std::string passcode = frame.text("passcode"); !passcode.empty()) {
      visitor_.proof = {.token = passcode};
      visitor_.identity.reset();
    }
    busy_ = true;
    if (visitor_.identity) return known(*visitor_.identity);
    gateway_.auth().who(visitor_.proof, scope().done<Identity>(
                                            kNoLimit, [self = shared_from_this()](auto identity) {
                                              if (self->over()) return;
                                              if (!identity)
                                                return self->refuse(identity.error().message);
                                              self->known(*identity);
                                            }));
  }

  void known(Identity identity) {
    auto seat = gateway_.seats().take(identity.user.name);
    if (!seat) return refuse(seat.error().message);
    seat_ = *std::move(seat);
    guard_ = gateway_.auth().guard(visitor_.proof, identity, {},
                                   [weak = weak_from_this()](const Error& error) {
                                     if (const auto self = weak.lock()) self->refuse(error.message);
                                   });
    visitor_.identity = std::move(identity);
    gateway_.log().info("connected", {{"user", visitor_.identity->user.name}, {"by", "stomp"}});
    connected_ = true;
    const auto [theirs, wanted] = heart_beat_;
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(options_.heart_beat);
    put(encode({.command = "CONNECTED",
                .headers = {{"version", version_},
                            {"heart-beat", fmt::format("{0},{0}", ms.count())},
                            {"server", "berth"},
                            {"user-name", visitor_.identity->user.name}}}));
    if (wanted > Duration{})
      beat(std::max(wanted, options_.heart_beat), sockjs_ ? sockjs_messages({"\n"}) : "\n");
    if (theirs > Duration{}) listen(2 * std::max(theirs, options_.heart_beat));
    if (sockjs_) beat(25s, "h");
    busy_ = false;
    flush();
    work();
  }

  void beat(Duration every, std::string text) {
    scope().after(
        every,
        [weak = weak_from_this(), every, text = std::move(text)] {
          const auto self = weak.lock();
          if (!self || self->over()) return;
          if (!self->writing_) self->socket_->write({.bytes = text}, {});
          self->beat(every, text);
        },
        Timer::kBackground);
  }
  void listen(Duration every) {
    heard_ = false;
    scope().after(
        every,
        [weak = weak_from_this(), every] {
          const auto self = weak.lock();
          if (!self || self->over()) return;
          if (!self->heard_) return self->refuse("no heart-beat was heard");
          self->listen(every);
        },
        Timer::kBackground);
  }

  void subscribe(const StompFrame& frame) {
    const std::string id = frame.text("id"), destination = frame.text("destination");
    if (id.empty() || destination.empty())
      return refuse("SUBSCRIBE needs an id and a destination", &frame);
    if (subscriptions_.size() >= kMostSubscriptions)
      return refuse(fmt::format("more than {} subscriptions", kMostSubscriptions), &frame);
    if (std::any_of(subscriptions_.begin(), subscriptions_.end(),
                    [&](const Subscription& one) { return one.id == id; }))
      return refuse("there is a subscription with this id", &frame);
    const auto filter = filter_of(destination, options_.ns);
    if (!filter) return refuse(filter.error().message, &frame);
    if (!feeds_.synced()) return refuse("the gateway has not seen the cluster yet", &frame);
    const Access access{.verb = "watch",
                        .group = std::string(kGroup),
                        .resource = std::string(resource_of(filter->topic)),
                        .ns = filter->ns,
                        .name = filter->name.value_or("")};
    busy_ = true;
    gateway_.auth().may(*visitor_.identity, access,
                        scope().done<Ok>(kNoLimit, [self = shared_from_this(), frame, access,
                                                    filter = *filter](const Result<Ok>& allowed) {
                          if (self->over()) return;
                          if (!allowed) return self->refuse(allowed.error().message, &frame);
                          self->guard_->add(access);
                          self->subscribed(frame, filter);
                        }));
  }

  // Destinations that the thesis knows carry what it knows.
  static Told told_at(const StompFrame& frame, const Filter& filter) {
    if (!filter.name) return Told::kName;
    return frame.text("destination").starts_with("/topic/ns/") ? Told::kObject : Told::kThesis;
  }
  void subscribed(const StompFrame& frame, const Filter& filter) {
    Subscription one{frame.text("id"),
                     frame.text("destination"),
                     filter,
                     {feeds_, {filter}},
                     frame.text("id") + '\n' + frame.text("destination"),
                     told_at(frame, filter)};
    std::string from = frame.text("cursor");
    if (from.empty()) from = frame.text("last-event-id");
    if (!from.empty()) {
      one.reader.resume(Cursor::parse(from).value_or(Cursor{}));
      one.told_of_resets = true;
    } else if (frame.text("snapshot") == "true") {
      one.reader.from_snapshot();
      one.told_of_resets = true;
    }
    subscriptions_.push_back(std::move(one));
    done_with(frame);
    if (!over() && !writing_) pump();
  }

  void send(const StompFrame& frame) {
    if (frame.text("destination") != "/app/schedulings" || !options_.submit)
      return refuse("only /app/schedulings takes messages", &frame);
    busy_ = true;
    options_.submit(options_.ns, frame.body, *visitor_.identity,
                    scope().done<Ok>(kNoLimit, [self = shared_from_this(), frame](auto done) {
                      if (self->over()) return;
                      self->gateway_.log().info("sent",
                                                {{"user", self->visitor_.identity->user.name},
                                                 {"destination", "/app/schedulings"},
                                                 {"taken", done.has_value()}});
                      if (!done) return self->refuse(done.error().message, &frame);
                      self->done_with(frame);
                    }));
  }

  void receipt(const StompFrame& frame) {
    if (over()) return;
    if (const auto wanted = frame.get("receipt")) {
      put(encode({.command = "RECEIPT", .headers = {{"receipt-id", *wanted}}}));
      flush();
    }
  }

  // ERROR, and that is the end, as the protocol wants it.
  void refuse(const std::string& why, const StompFrame* to = nullptr,
              std::vector<std::pair<std::string, std::string>> more = {}) {
    if (over()) return;
    StompFrame error{.command = "ERROR", .headers = std::move(more), .body = why};
    error.headers.emplace_back("message", why);
    error.headers.emplace_back("content-type", "text/plain");
    if (to != nullptr)
      if (const auto wanted = to->get("receipt")) error.headers.emplace_back("receipt-id", *wanted);
    put(encode(error));
    end(net::kClosePolicy, why);
  }

  void end(std::uint16_t code, const std::string& why) {
    if (over()) return;
    write_out({});
    if (sockjs_) socket_->write({.bytes = sockjs_close(code == 1000 ? 3000 : code, why)}, {});
    socket_->close(code, why);
    socket_.reset();
    feeds_.remove(*this);
    guard_.reset();
    seat_.reset();
    subscriptions_.clear();
  }

  void put(std::string_view frame) {
    out_ += frame;
    ++out_frames_;
    if (sockjs_) out_sizes_.push_back(frame.size());
  }

  // Fills what is written next with what has happened.
  void pump() {
    for (Subscription& one : subscriptions_) {
      while (out_.size() < kMostAtOnce) {
        const auto item = one.reader.next();
        if (!item) break;
        tell(one, *item);
      }
    }
    flush();
  }

  void tell(const Subscription& one, const Reader::Item& item) {
    switch (item.what) {
      case Reader::Item::What::kReset:
        if (one.told_of_resets) put(message(one, "", R"({"action":"RESET","resource":null})"));
        return;
      case Reader::Item::What::kSynced:
        if (one.told_of_resets)
          put(message(one, item.cursor.text(), R"({"action":"BOOKMARK","resource":null})"));
        return;
      case Reader::Item::What::kObject:
        put(message(
            one, "",
            stomp_event_json(item.topic, ObjectChange::Action::kAdded, *item.object, one.told),
            item.object->revision()));
        return;
      case Reader::Item::What::kChange:
        put(*feeds_.encoded(*item.change, one.form, [&](const ObjectChange& change) {
          return message(one, change.cursor.text(),
                         stomp_event_json(change.topic, change.action, change.object, one.told),
                         change.seq, std::to_string(change.place));
        }));
    }
  }

  std::string message(const Subscription& one, std::string_view cursor, std::string body,
                      kube::Revision seq = 0, std::string id = "") {
    if (id.empty()) id = fmt::format("s{}", ++made_);
    StompFrame frame{.command = "MESSAGE",
                     .headers = {{"destination", one.destination},
                                 {"subscription", one.id},
                                 {"message-id", std::move(id)},
                                 {"content-type", "application/json"}},
                     .body = std::move(body)};
    if (seq != 0) {
      frame.headers.emplace_back("seq", std::to_string(seq));
      frame.headers.emplace_back("resourceVersion", std::to_string(seq));
    }
    if (!cursor.empty()) frame.headers.emplace_back("cursor", cursor);
    return encode(frame);
  }

  void flush() {
    if (over() || writing_ || out_.empty()) return;
    writing_ = true;
    write_out(scope().done<Ok>(kNoLimit, [self = shared_from_this()](const Result<Ok>& taken) {
      self->writing_ = false;
      if (self->over()) return;
      if (!taken) return self->end(net::kCloseNormal, "");
      self->pump();
    }));
  }

  // Frames of one round share a message: clients read them as a stream.
  void write_out(Done<Ok> taken) {
    if (out_.empty()) return;
    feeds_.delivered(std::exchange(out_frames_, 0), out_.size());
    std::string bytes = std::exchange(out_, {});
    if (sockjs_) bytes = sockjs_messages(frames_in(bytes));
    socket_->write({.bytes = std::move(bytes)}, std::move(taken));
  }
  std::vector<std::string> frames_in(std::string_view bytes) {
    std::vector<std::string> frames;
    for (const std::size_t size : std::exchange(out_sizes_, {})) {
      frames.emplace_back(bytes.substr(0, size));
      bytes.remove_prefix(size);
    }
    return frames;
  }

  Gateway& gateway_;
  Feeds& feeds_;
  StompOptions options_;
  Visitor visitor_;
  std::shared_ptr<net::WebSocket> socket_;  // null: it is over
  bool sockjs_;
  StompDecoder decoder_;
  std::deque<StompFrame> waiting_;
  bool busy_ = false, connected_ = false, writing_ = false, heard_ = false;
  std::string version_;
  std::pair<Duration, Duration> heart_beat_ = {};
  std::unique_ptr<Seats::Seat> seat_;
  std::unique_ptr<Auth::Guard> guard_;
  std::vector<Subscription> subscriptions_;
  std::string out_;  // frames to be written
  std::size_t out_frames_ = 0;
  std::vector<std::size_t> out_sizes_;  // of each; SockJS wraps them one by one
  std::uint64_t made_ = 0;
};

}  // namespace

Result<Filter> filter_of(std::string_view destination, const std::string& ns) {
  const auto bad = [&] {
    return fail(Reason::kBadRequest,
                fmt::format("there is no destination {}; there are /topic/testbeds, /topic/jobs "
                            "and /topic/schedulings, with a name behind it or /ns/NAMESPACE before",
                            json::quoted(destination)));
  };
  std::vector<std::string> parts;
  std::string_view rest = destination;
  if (!rest.starts_with("/topic/")) return bad();
  rest.remove_prefix(7);
  while (true) {
    const std::size_t slash = rest.find('/');
    parts.emplace_back(rest.substr(0, slash));
    if (parts.back().empty()) return bad();
    if (slash == std::string_view::npos) break;
    rest.remove_prefix(slash + 1);
  }
  Filter filter{.ns = ns};
  if (parts.size() > 2 && parts[0] == "ns") {
    filter.ns = parts[1];
    parts.erase(parts.begin(), parts.begin() + 2);
  }
  const auto topic = topic_named(parts[0]);
  if (!topic || parts.size() > 2) return bad();
  filter.topic = *topic;
  if (parts.size() == 2) filter.name = parts[1];
  return filter;
}

void mount_stomp(Routes& routes, StompParts parts) {
  for (const auto& [path, sockjs] : {std::pair<const char*, bool>{"/scheduler", false},
                                     {"/scheduler/websocket", false},
                                     {"/scheduler/{server}/{session}/websocket", true}}) {
    Route route;
    route.path = path;
    route.entry = Entry::kOffered;
    route.protocols = {"v12.stomp", "v11.stomp"};
    route.socket = [parts, sockjs = sockjs](const Request&, Visitor visitor,
                                            std::shared_ptr<net::WebSocket> socket) {
      std::make_shared<StompSession>(parts, std::move(visitor), std::move(socket), sockjs)->start();
    };
    route.doc = {.summary = sockjs ? "STOMP over a WebSocket in SockJS' framing"
                                   : "STOMP over a WebSocket"};
    routes.add(std::move(route));
  }
  Route info;
  info.path = "/scheduler/info";
  info.entry = Entry::kOpen;
  info.handle = [](const Request&, const kube::User&, Done<Reply> done) {
    done(json_reply(
        R"({"websocket":true,"origins":["*:*"],"cookie_needed":false,"entropy":305419896})"));
  };
  info.doc = {.summary = "What SockJS asks first", .gives = "SockJsInfo"};
  routes.add(std::move(info));
}

}  // namespace berth::gateway

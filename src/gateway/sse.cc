// SPDX-License-Identifier: Apache-2.0
#include "gateway/sse.h"

#include <fmt/format.h>

#include "gateway/events.h"
#include "json/writer.h"

namespace berth::gateway {
namespace {

constexpr std::size_t kMostAtOnce = 64 << 10;
constexpr Duration kSilence = 15s;

std::string event_text(std::string_view id, std::string_view event, std::string_view data) {
  return fmt::format("{}{}{}event: {}\ndata: {}\n\n", id.empty() ? "" : "id: ", id,
                     id.empty() ? "" : "\n", event, data);
}

// Kept by its stream and by what it waits for. Loop-confined.
class Events final : public Feeds::Listener, public std::enable_shared_from_this<Events> {
 public:
  Events(Feeds& feeds, std::vector<Filter> filters, std::shared_ptr<Stream> stream)
      : feeds_(feeds), reader_(feeds, std::move(filters)), stream_(std::move(stream)) {
    feeds_.add(*this);
  }
  ~Events() { feeds_.remove(*this); }

  void start(const std::optional<Cursor>& cursor) {
    if (cursor)
      reader_.resume(*cursor);
    else
      reader_.from_snapshot();
    stream_->begin("text/event-stream");
    stream_->when_over([self = shared_from_this()] { self->feeds_.remove(*self); });
    write("retry: 1000\n\n");
    arm();
  }

  void changed() override {
    if (!writing_) pump();
  }
  std::uint64_t behind() const override { return reader_.behind(); }

 private:
  void pump() {
    std::string batch;
    std::size_t events = 0;
    while (batch.size() < kMostAtOnce) {
      const auto item = reader_.next();
      if (!item) break;
      append(batch, *item);
      ++events;
    }
    feeds_.delivered(events, batch.size());
    if (!batch.empty()) write(std::move(batch));
  }

  void append(std::string& batch, const Reader::Item& item) {
    switch (item.what) {
      case Reader::Item::What::kReset:
        batch += event_text("", "reset", R"({"action":"RESET"})");
        return;
      case Reader::Item::What::kSynced:
        batch +=
            event_text(item.cursor.text(), "synced",
                       fmt::format(R"({{"action":"SYNCED","cursor":"{}"}})", item.cursor.text()));
        return;
      case Reader::Item::What::kObject:
        batch += event_text("", "change",
                            event_json(item.topic, ObjectChange::Action::kAdded, *item.object));
        return;
      case Reader::Item::What::kChange:
        batch += *feeds_.encoded(*item.change, "sse", [](const ObjectChange& change) {
          return event_text(change.cursor.text(), "change",
                            event_json(change.topic, change.action, change.object));
        });
    }
  }

  void write(std::string bytes) {
    writing_ = true;
    quiet_ = false;
    stream_->write(
        std::move(bytes),
        feeds_.scope().done<Ok>(kNoLimit, [self = shared_from_this()](const Result<Ok>& taken) {
          self->writing_ = false;
          if (taken && !self->stream_->over()) self->pump();
        }));
  }

  // Proxies and clients hang up on what says nothing.
  void arm() {
    feeds_.scope().after(
        kSilence,
        [weak = weak_from_this()] {
          const auto self = weak.lock();
          if (!self || self->stream_->over()) return;
          if (std::exchange(self->quiet_, true) && !self->writing_) self->write(": still here\n\n");
          self->arm();
        },
        Timer::kBackground);
  }

  Feeds& feeds_;
  Reader reader_;
  std::shared_ptr<Stream> stream_;
  bool writing_ = false;
  bool quiet_ = true;
};

Result<std::vector<Filter>> filters_of(const Request& request, const std::string& otherwise) {
  std::string ns = request.value("ns");
  if (ns.empty()) ns = request.asked("namespace").value_or(otherwise);
  std::vector<Filter> filters;
  const std::string kinds = request.asked("kinds").value_or("");
  std::string_view rest = kinds;
  while (!rest.empty()) {
    const std::string_view name = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(name.size() + 1, rest.size()));
    const auto topic = topic_named(name);
    if (!topic)
      return fail(Reason::kBadRequest,
                  fmt::format("kinds: there is no kind {}; there are testbeds, jobs, schedulings",
                              json::quoted(name)));
    filters.push_back({.topic = *topic, .ns = ns});
  }
  if (filters.empty())
    for (const Topic topic : kTopics) filters.push_back({.topic = topic, .ns = ns});
  return filters;
}

std::optional<Cursor> cursor_of(const Request& request) {
  std::string text(request.headers.get("Last-Event-ID"));
  if (text.empty()) text = request.asked("cursor").value_or("");
  if (text.empty()) return std::nullopt;
  // What is no cursor of ours is one of another life.
  return Cursor::parse(text).value_or(Cursor{});
}

}  // namespace

void send_events(Feeds& feeds, std::vector<Filter> filters, std::optional<Cursor> cursor,
                 std::shared_ptr<Stream> stream) {
  std::make_shared<Events>(feeds, std::move(filters), std::move(stream))->start(cursor);
}

void mount_events(Routes& routes, Feeds& feeds, std::string ns) {
  for (const char* path : {"/external/v1/events", "/external/v1/namespaces/{ns}/events"}) {
    Route route;
    route.path = path;
    route.rights_of = [ns](const Request& request) -> Result<std::vector<Access>> {
      const auto filters = filters_of(request, ns);
      if (!filters) return tl::unexpected(filters.error());
      std::vector<Access> rights;
      for (const Filter& filter : *filters)
        rights.push_back({.verb = "watch",
                          .group = std::string(kGroup),
                          .resource = std::string(resource_of(filter.topic)),
                          .ns = filter.ns});
      return rights;
    };
    route.stream = [&feeds, ns](const Request& request, const kube::User&,
                                std::shared_ptr<Stream> stream) {
      if (!feeds.synced())
        return stream->refuse({.reason = Reason::kServiceUnavailable,
                               .message = "the gateway has not seen the cluster yet",
                               .retry_after = 1s});
      send_events(feeds, *filters_of(request, ns), cursor_of(request), std::move(stream));
    };
    route.doc = {.summary =
                     "Changes as server-sent events, beginning with what there is, or after "
                     "the event that Last-Event-ID names",
                 .gives = "",
                 .query = {"kinds: some of testbeds, jobs, schedulings; all unless told",
                           "cursor: instead of Last-Event-ID"}};
    routes.add(std::move(route));
  }
}

}  // namespace berth::gateway

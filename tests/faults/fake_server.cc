// SPDX-License-Identifier: Apache-2.0
#include "fake_server.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "json/patch.h"
#include "json/slice.h"
#include "json/writer.h"
#include "kube_rules.h"

namespace berth::faults {

using kube::ApiReply;
using kube::ApiRequest;
using kube::Key;
using kube::KindId;
using kube::Object;
using kube::Revision;
using kube::WatchEvent;
using Type = WatchEvent::Type;
using Batch = kube::WatchStream::Batch;

namespace {

constexpr Duration kBookmarkInterval = 60s;

tl::unexpected<Error> refuse(Reason reason, std::string message) {
  return tl::unexpected(
      Error{.reason = reason, .message = std::move(message), .code = http_code_of(reason)});
}

// The document with its identity and revision as the server has them.
Object stamped(KindId kind, const Key& key, const std::string& text, std::string_view uid,
               Revision revision) {
  const json::Slice document{std::string_view(text)};
  json::Writer w;
  w.object().member("apiVersion").string(kube::kind_of(kind).api_version());
  w.member("kind").string(kube::kind_of(kind).kind);
  w.member("metadata").object().member("name").string(key.name);
  if (!key.ns.empty()) w.member("namespace").string(key.ns);
  w.member("uid").string(uid).member("resourceVersion").string(std::to_string(revision));
  for (auto at = document["metadata"].members().begin(); at != nullptr; ++at) {
    const auto [name, value] = *at;
    if (name != "name" && name != "namespace" && name != "uid" && name != "resourceVersion")
      w.member(name).raw(value.raw());
  }
  w.end();
  for (auto at = document.members().begin(); at != nullptr; ++at) {
    const auto [name, value] = *at;
    if (name != "apiVersion" && name != "kind" && name != "metadata")
      w.member(name).raw(value.raw());
  }
  w.end();
  auto object = Object::parse(kind, w.text());
  BERTH_CHECK(object.has_value(), w.text());
  return *object;
}

}  // namespace

struct FakeServer::Watcher {
  KindId kind{};
  std::string ns;
  Revision cursor = 0;           // everything up to here was sent
  std::deque<WatchEvent> queue;  // initial events, bookmarks
  Done<Batch> waiting;
  bool bookmarks = false, ended = false, broken = false, closed = false;
};

class FakeServer::Stream final : public kube::WatchStream {
 public:
  Stream(FakeServer& server, std::shared_ptr<Watcher> watcher)
      : server_(server), home_(server.home_), watcher_(std::move(watcher)) {}
  ~Stream() override {  // the server may be gone by now
    home_.post([watcher = watcher_] { watcher->closed = true; });
  }
  void read(Done<Batch> done) override {
    server_.home_.post(
        [this_server = &server_, watcher = watcher_, done = std::move(done)]() mutable {
          watcher->waiting = std::move(done);
          this_server->pump(*watcher);
        });
  }

 private:
  FakeServer& server_;
  Executor& home_;
  std::shared_ptr<Watcher> watcher_;
};

FakeServer::~FakeServer() = default;

void FakeServer::handle(ApiRequest request, Done<ApiReply> done) {
  ++requests;
  if (away_)
    return done(tl::unexpected(Error{.reason = Reason::kUnreachable,
                                     .message = "connection refused",
                                     .outcome = Outcome::kNotSent}));
  if (posted && request.verb == kube::Verb::kRaw && request.raw_method == "POST")
    return posted(request.raw_path, std::move(done));
  if (last_requests_ == 0) return done(answer(request));
  if (ending_ == Ending::kLosesReplies) (void)answer(request);
  if (--last_requests_ == 0) leave();
  done(tl::unexpected(Error{.reason = Reason::kUnreachable,
                            .message = "the connection broke",
                            .outcome = Outcome::kUnknown}));
}

void FakeServer::die(Ending ending, std::uint64_t last_requests) {
  ending_ = ending;
  last_requests_ = ending == Ending::kRefuses ? 0 : last_requests;
  if (last_requests_ == 0) leave();
}
void FakeServer::leave() {
  away_ = true;
  cut_watches();
}
void FakeServer::revive(History history) {
  last_requests_ = 0;
  leave();  // where nobody asked for anything meanwhile
  away_ = false;
  if (history == History::kCompacted) compact();
}

Result<ApiReply> FakeServer::answer(ApiRequest& request) {
  const bool reads = request.verb == kube::Verb::kGet || request.verb == kube::Verb::kList ||
                     request.verb == kube::Verb::kWatch;
  if (refusal_ && !reads && request.verb != kube::Verb::kRaw) return refuse(*refusal_, "refused");
  if (admit && !reads)
    if (Result<Ok> admitted = admit(request); !admitted) return tl::unexpected(admitted.error());
  if (request.verb != kube::Verb::kRaw &&
      (!serves(request.kind) || (request.subresource == "scale" && !scales(request.kind))))
    return refuse(Reason::kNotFound, "the server could not find the requested resource");
  switch (request.verb) {
    case kube::Verb::kGet: {
      const Objects& objects = objects_[request.kind];
      const auto found = objects.find({request.ns, request.name});
      if (found == objects.end()) return refuse(Reason::kNotFound, request.name + " not found");
      ApiReply reply;
      reply.body = request.subresource == "scale" ? scale_of(found->second) : found->second;
      return reply;
    }
    case kube::Verb::kList:
      return list(request);
    case kube::Verb::kWatch:
      return watch(request);
    case kube::Verb::kCreate:
      return create(request);
    case kube::Verb::kUpdate:
      return update(request);
    case kube::Verb::kPatch:
      return patch(request);
    case kube::Verb::kDelete:
      return erase(request);
    case kube::Verb::kDeleteCollection:
      return erase_all(request);
    case kube::Verb::kRaw:
      return discover(request);
    default:
      return refuse(Reason::kMethodNotAllowed, "not known here");
  }
}

Result<ApiReply> FakeServer::list(const ApiRequest& request) {
  ++lists;
  std::vector<Object> items;
  kube::ObjectList page;
  page.revision = revision_;
  if (!request.options.continue_token.empty()) {
    const auto found = snapshots_.find(request.options.continue_token);
    if (found == snapshots_.end())
      return refuse(Reason::kExpired, "The provided continue parameter is too old");
    items = std::move(found->second);
    page.revision = snapshot_revisions_[found->first];
    snapshots_.erase(found);
  } else {
    const std::string wanted = request.options.resource_version.value_or("");
    if (!wanted.empty() && std::stoull(wanted) > revision_) {
      Error late{
          .reason = Reason::kTimeout,
          .message = fmt::format("Too large resource version: {}, current: {}", wanted, revision_),
          .retry_after = 1s,
          .causes = {{"ResourceVersionTooLarge", "Too large resource version", ""}},
          .code = 504};
      return tl::unexpected(std::move(late));
    }
    for (const auto& [key, object] : objects_[request.kind])
      if (request.ns.empty() || request.ns == key.ns) items.push_back(object);
    constexpr std::string_view kOnNode = "spec.nodeName=";
    if (const std::string_view fields = request.options.field_selector; fields.starts_with(kOnNode))
      std::erase_if(items, [&](const Object& each) {
        return !each.member("spec")["nodeName"].equals(fields.substr(kOnNode.size()));
      });
  }
  const auto limit = static_cast<std::size_t>(request.options.limit);
  if (limit > 0 && items.size() > limit) {
    page.continue_token = fmt::format("{}-{}", page.revision, requests);
    snapshots_[page.continue_token].assign(items.begin() + static_cast<std::ptrdiff_t>(limit),
                                           items.end());
    snapshot_revisions_[page.continue_token] = page.revision;
    items.resize(limit);
  }
  page.items = std::move(items);
  ApiReply reply;
  reply.body = std::move(page);
  return reply;
}

Result<ApiReply> FakeServer::watch(const ApiRequest& request) {
  ++watches;
  const kube::Options& options = request.options;
  if (options.send_initial_events.value_or(false) && !watch_list_)
    return refuse(Reason::kInvalid, "sendInitialEvents is forbidden for watch");
  auto watcher = std::make_shared<Watcher>();
  watcher->kind = request.kind;
  watcher->ns = request.ns;
  watcher->bookmarks = options.bookmarks;
  if (options.send_initial_events.value_or(false)) {
    for (const auto& [key, object] : objects_[request.kind])
      if (request.ns.empty() || request.ns == key.ns) {
        WatchEvent event;
        event.object = object;
        event.revision = object.revision();
        watcher->queue.push_back(std::move(event));
      }
    WatchEvent end;
    end.type = Type::kBookmark;
    end.revision = watcher->cursor = revision_;
    end.initial_events_end = true;
    watcher->queue.push_back(std::move(end));
  } else {
    watcher->cursor = std::stoull(options.resource_version.value_or("0"));
  }
  if (options.timeout_seconds)
    home_.at(
        home_.clock().now() + std::chrono::seconds(*options.timeout_seconds),
        [this, weak = std::weak_ptr<Watcher>(watcher)] {
          if (auto live = weak.lock()) {
            live->ended = true;
            pump(*live);
          }
        },
        Timer::kBackground);
  watchers_.push_back(watcher);
  arm_bookmarks();
  ApiReply reply;
  reply.body = std::unique_ptr<kube::WatchStream>(std::make_unique<Stream>(*this, watcher));
  return reply;
}

// Sends a handful at a time, so that batches end at any place.
void FakeServer::pump(Watcher& watcher) {
  if (!watcher.waiting || watcher.closed) return;
  Batch batch;
  const std::size_t most = 1 + random_.below(8);
  if (watcher.broken) {
    return std::exchange(watcher.waiting, {})(
        tl::unexpected(Error{.reason = Reason::kUnreachable, .message = "the connection was cut"}));
  }
  while (!watcher.queue.empty() && batch.events.size() < most) {
    batch.events.push_back(std::move(watcher.queue.front()));
    watcher.queue.pop_front();
  }
  if (batch.events.empty() && watcher.cursor < floor_) {
    WatchEvent gone;
    gone.type = Type::kError;
    gone.error =
        Error{.reason = Reason::kExpired,
              .message = fmt::format("too old resource version: {} ({})", watcher.cursor, floor_),
              .code = 410};
    batch.events.push_back(std::move(gone));
    batch.end = true;
    return std::exchange(watcher.waiting, {})(std::move(batch));
  }
  // What was compacted meanwhile is not skipped: the next batch says that it is gone.
  if (watcher.queue.empty() && watcher.cursor >= floor_) {
    auto at = std::upper_bound(history_.begin(), history_.end(), watcher.cursor,
                               [](Revision r, const Change& c) { return r < c.revision; });
    for (; at != history_.end() && batch.events.size() < most; ++at) {
      watcher.cursor = at->revision;
      if (at->kind != watcher.kind) continue;
      if (!watcher.ns.empty() && at->object.ns() != watcher.ns) continue;
      WatchEvent event;
      event.type = at->type;
      event.object = at->object;
      event.revision = at->revision;
      batch.events.push_back(std::move(event));
    }
  }
  if (batch.events.empty() && watcher.ended) batch.end = true;
  if (!batch.events.empty() || batch.end) std::exchange(watcher.waiting, {})(std::move(batch));
}

void FakeServer::arm_bookmarks() {
  if (std::exchange(ticking_, true)) return;
  home_.at(
      home_.clock().now() + kBookmarkInterval,
      [this] {
        ticking_ = false;
        std::erase_if(watchers_, [](const auto& w) { return w->closed; });
        for (const auto& watcher : watchers_) {
          if (!watcher->bookmarks || watcher->cursor < floor_) continue;
          if (watcher->cursor > revision_) continue;  // k8s 1.36: silent until it is reached
          pump(*watcher);
          const bool behind = !history_.empty() && history_.back().revision > watcher->cursor;
          if (behind || !watcher->waiting) continue;
          WatchEvent bookmark;
          bookmark.type = Type::kBookmark;
          bookmark.revision = watcher->cursor = revision_;
          watcher->queue.push_back(std::move(bookmark));
          pump(*watcher);
        }
        if (!watchers_.empty()) arm_bookmarks();
      },
      Timer::kBackground);
}

Object FakeServer::store(KindId kind, const Key& key, const std::string& json, std::string uid) {
  Objects& objects = objects_[kind];
  const bool fresh = objects.count(key) == 0;
  Object object = stamped(kind, key, json, uid, ++revision_);
  objects[key] = object;
  changed({revision_, kind, fresh ? Type::kAdded : Type::kModified, object});
  return object;
}

void FakeServer::erase_key(KindId kind, const Key& key) {
  auto node = objects_[kind].extract(key);
  ++revision_;
  changed({revision_, kind, Type::kDeleted,
           stamped(kind, key, node.mapped().json(), node.mapped().uid(), revision_)});
}

void FakeServer::changed(Change change) {
  if (on_commit) on_commit(change.kind, change.object);
  history_.push_back(std::move(change));
  for (const auto& watcher : watchers_) pump(*watcher);
}

Result<ApiReply> FakeServer::create(const ApiRequest& request) {
  const json::Slice body{std::string_view(*request.body.bytes)};
  Key key{request.ns, body["metadata"]["name"].text()};
  if (objects_[request.kind].count(key) > 0)
    return refuse(Reason::kAlreadyExists, key.text() + " already exists");
  std::string document = *request.body.bytes;
  if (rules_) {
    const auto home = objects_[kube::kNamespace].find({"", request.ns});
    if (home != objects_[kube::kNamespace].end() && home->second.deleting()) {
      Error ends{.reason = Reason::kForbidden,
                 .message = fmt::format("{} is forbidden: unable to create new content in "
                                        "namespace {} because it is being terminated",
                                        key.name, request.ns),
                 .causes = {{"NamespaceTerminating",
                             fmt::format("namespace {} is being terminated", request.ns),
                             "metadata.namespace"}},
                 .code = 403};
      return tl::unexpected(std::move(ends));
    }
    auto created = as_created(request, home_.clock().wall());
    if (!created) return tl::unexpected(created.error());
    document = std::move(*created);
  }
  std::string uid = fmt::format("uid-{}", ++uids_);
  if (rules_ && request.kind == kube::kJob) document = with_selector_of(document, uid);
  ApiReply reply;
  reply.code = 201;
  reply.body = store(request.kind, key, document, std::move(uid));
  return reply;
}

Result<ApiReply> FakeServer::update(const ApiRequest& request) {
  const Key key{request.ns, request.name};
  const auto found = objects_[request.kind].find(key);
  if (found == objects_[request.kind].end())
    return refuse(Reason::kNotFound, key.text() + " not found");
  if (rules_) return keep(request, found->second, *request.body.bytes);
  const json::Slice body{std::string_view(*request.body.bytes)};
  const std::string wanted = body["metadata"]["resourceVersion"].text();
  if (!wanted.empty() && wanted != std::to_string(found->second.revision()))
    return refuse(Reason::kConflict, "the object has been modified");
  ApiReply reply;
  reply.body = store(request.kind, key, *request.body.bytes, std::string(found->second.uid()));
  return reply;
}

Result<ApiReply> FakeServer::patch(const ApiRequest& request) {
  const Key key{request.ns, request.name};
  const auto found = objects_[request.kind].find(key);
  if (found == objects_[request.kind].end())
    return refuse(Reason::kNotFound, key.text() + " not found");
  if (rules_) {
    auto patched = as_patched(request, found->second);
    if (!patched) return tl::unexpected(patched.error());
    return keep(request, found->second, std::move(*patched));
  }
  auto merged = json::merge_patch(found->second.json(), *request.body.bytes);
  if (!merged) return tl::unexpected(merged.error());
  ApiReply reply;
  reply.body = store(request.kind, key, *merged, std::string(found->second.uid()));
  return reply;
}

Result<ApiReply> FakeServer::erase(const ApiRequest& request) {
  const Key key{request.ns, request.name};
  const auto found = objects_[request.kind].find(key);
  if (found != objects_[request.kind].end() && rules_) {
    auto deletion = as_deleted(request, found->second, home_.clock().wall());
    if (!deletion) return tl::unexpected(deletion.error());
    if (deletion->json) {
      ApiReply reply;
      reply.body = deletion->changed
                       ? store(request.kind, key, *deletion->json, std::string(found->second.uid()))
                       : found->second;
      return reply;
    }
  }
  if (!remove(request.kind, key)) return refuse(Reason::kNotFound, key.text() + " not found");
  ApiReply reply;
  reply.body = std::string();
  return reply;
}

Result<ApiReply> FakeServer::erase_all(const ApiRequest& request) {
  std::vector<Key> keys;
  for (const auto& [key, object] : objects_[request.kind])
    if (request.ns.empty() || request.ns == key.ns) keys.push_back(key);
  for (const Key& key : keys) {
    ApiRequest one = request;
    one.verb = kube::Verb::kDelete;
    one.ns = key.ns;
    one.name = key.name;
    if (auto reply = erase(one); !reply) return reply;
  }
  ApiReply reply;
  reply.body = std::string();
  return reply;
}

bool FakeServer::serves(KindId kind) const {
  return served_.empty() || std::find(served_.begin(), served_.end(), kind) != served_.end();
}

bool FakeServer::scales(KindId kind) const {
  return std::find(scaled_.begin(), scaled_.end(), kind) != scaled_.end();
}

Result<ApiReply> FakeServer::discover(const ApiRequest& request) const {
  const bool core = request.raw_path == "/api";
  if (!core && request.raw_path != "/apis") return refuse(Reason::kNotFound, "no such path");
  std::vector<KindId> kinds = served_;
  if (kinds.empty())
    for (const auto& [kind, objects] : objects_) kinds.push_back(kind);
  ApiReply reply;
  reply.body = discovery_json(core, kinds, scaled_);
  return reply;
}

Result<ApiReply> FakeServer::keep(const ApiRequest& request, const Object& old, std::string next) {
  auto update = as_updated(request, old, std::move(next));
  if (!update) return tl::unexpected(update.error());
  const Key key = old.key();
  ApiReply reply;
  reply.body =
      update->changed ? store(request.kind, key, update->json, std::string(old.uid())) : old;
  if (update->gone) erase_key(request.kind, key);
  return reply;
}

Object FakeServer::set(KindId kind, const Key& key, const std::string& body) {
  const auto found = objects_[kind].find(key);
  std::string uid = found == objects_[kind].end() ? fmt::format("uid-{}", ++uids_)
                                                  : std::string(found->second.uid());
  return store(kind, key, "{" + body + "}", std::move(uid));
}

bool FakeServer::remove(KindId kind, const Key& key) {
  if (objects_[kind].count(key) == 0) return false;
  erase_key(kind, key);
  return true;
}

void FakeServer::compact() {
  history_.clear();
  snapshots_.clear();
  snapshot_revisions_.clear();
  floor_ = revision_;
}

void FakeServer::restore(Backup backup) {
  objects_ = std::move(backup.objects);
  revision_ = backup.revision;
  compact();
  cut_watches();
}

void FakeServer::cut_watches() {
  for (const auto& watcher : watchers_) {
    watcher->broken = true;
    pump(*watcher);
  }
  watchers_.clear();
}

}  // namespace berth::faults

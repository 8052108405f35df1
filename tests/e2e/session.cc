// SPDX-License-Identifier: Apache-2.0
#include "session.h"

#include <fmt/format.h>

#include "base/random.h"
#include "pod_maker.h"

namespace berth::e2e {

Result<std::unique_ptr<Session>> Session::open(const std::filesystem::path& kubeconfig) {
  std::unique_ptr<Session> session(new Session);
  client::ConnectOptions options;
  options.kubeconfig = kubeconfig.string();
  auto cluster = client::connect(session->loop_.runtime(), options, session->log_);
  if (!cluster) return tl::unexpected(cluster.error());
  session->cluster_ = std::move(*cluster);
  session->loop_.run([&] {
    session->api_ = std::make_unique<client::Api>(session->loop_.scope(), session->transport(),
                                                  Random::from_entropy());
  });
  return session;
}

Session::~Session() {
  loop_.run([&] { api_.reset(); });
  loop_.close();  // what still uses the transport ends first
}

Result<kube::ApiReply> Session::once(kube::ApiRequest request, Duration limit) {
  return loop_.ask<kube::ApiReply>(limit + 30s, [&](Done<kube::ApiReply> done) {
    transport().call(std::move(request), loop_.executor().clock().now() + limit, std::move(done));
  });
}

Result<kube::Object> Session::get(kube::KindId kind, const kube::Key& key) {
  return ask<kube::Object>(
      [&](client::Api& api, Done<kube::Object> done) { api.get(kind, key, std::move(done)); });
}

Result<kube::Object> Session::create(kube::KindId kind, const std::string& ns, std::string json,
                                     kube::Options options) {
  return ask<kube::Object>([&](client::Api& api, Done<kube::Object> done) {
    api.create(kind, ns, std::move(json), std::move(done), std::move(options));
  });
}

Result<kube::Object> Session::patch(kube::KindId kind, const kube::Key& key, std::string patch,
                                    kube::PatchType type, std::string subresource,
                                    kube::Options options) {
  return ask<kube::Object>([&](client::Api& api, Done<kube::Object> done) {
    api.patch(kind, key, std::move(patch), type, std::move(done), std::move(subresource),
              std::move(options));
  });
}

Result<Ok> Session::erase(kube::KindId kind, const kube::Key& key, kube::Options options) {
  return ask<Ok>([&](client::Api& api, Done<Ok> done) {
    api.erase(kind, key, std::move(done), std::move(options));
  });
}

Result<kube::ObjectList> Session::list_all(kube::KindId kind, const std::string& ns,
                                           kube::Options options) {
  return ask<kube::ObjectList>([&](client::Api& api, Done<kube::ObjectList> done) {
    api.list_all(kind, ns, std::move(options), std::move(done));
  });
}

Contents contents_of(const kube::ObjectList& list) {
  Contents out;
  for (const kube::Object& object : list.items)
    out[object.key()] = {object.revision(), object.without_managed_fields().json()};
  return out;
}

std::string difference(const Contents& store, const Contents& list) {
  std::string out;
  int told = 0;
  const auto tell = [&](const kube::Key& key, const std::string& what) {
    if (++told <= 5) out += key.text() + ": " + what + "\n";
  };
  for (const auto& [key, kept] : list) {
    const auto found = store.find(key);
    if (found == store.end())
      tell(key, "not in the store");
    else if (found->second.revision != kept.revision)
      tell(key, fmt::format("revision {} in the store, {} in the list", found->second.revision,
                            kept.revision));
    else if (found->second.json != kept.json)
      tell(key, "store: " + found->second.json + "\nlist:  " + kept.json);
  }
  for (const auto& [key, kept] : store)
    if (list.count(key) == 0) tell(key, "only in the store");
  return told > 5 ? out + fmt::format("and {} more", told - 5) : out;
}

namespace {
// Keeps a number of creations under way until all are done. Loop-confined.
class Creation {
 public:
  Creation(Session& session, std::size_t count, Fn<NewObject(std::size_t)> make, bool again)
      : session_(session), count_(count), make_(std::move(make)), again_(again) {}
  Result<Ok> run() {
    return session_.loop().ask<Ok>(kNoLimit, [this](Done<Ok> done) {
      done_ = std::move(done);
      if (count_ == 0) return done_(Ok{});
      for (int i = 0; i < 32; ++i) next();
    });
  }

 private:
  void next() {
    if (next_ == count_ || error_) return;
    NewObject object = make_(next_++);
    ++under_way_;
    session_.api().create(
        object.kind, object.ns, object.json,
        session_.loop().scope().done<kube::Object>(
            kNoLimit,
            [this, json = object.json](const Result<kube::Object>& made) { ended(made, json); }));
  }
  void ended(const Result<kube::Object>& made, const std::string& json) {
    --under_way_;
    const bool there = again_ && !made && made.error().reason == Reason::kAlreadyExists;
    if (!made && !there && !error_) {
      error_ = made.error();
      error_->message += ": " + json;
    }
    next();
    if (under_way_ > 0) return;
    if (error_) return done_(tl::unexpected(*error_));
    done_(Ok{});
  }

  Session& session_;
  std::size_t count_;
  Fn<NewObject(std::size_t)> make_;
  bool again_;  // what exists already counts as created
  std::size_t next_ = 0, under_way_ = 0;
  std::optional<Error> error_ = {};
  Done<Ok> done_;
};
}  // namespace

Result<Ok> create_all(Session& session, std::vector<NewObject> objects) {
  return Creation(
             session, objects.size(), [&](std::size_t i) { return std::move(objects[i]); }, false)
      .run();
}

Result<Ok> create_pods(Session& session, const std::string& ns, std::size_t count) {
  const auto pod = [&](std::size_t i) { return NewObject{kube::kPod, ns, bench::new_pod_json(i)}; };
  return Creation(session, count, pod, true).run();
}

}  // namespace berth::e2e

// SPDX-License-Identifier: Apache-2.0
#include "watched.h"

#include <fmt/format.h>

#include "base/random.h"

namespace berth::e2e {

Watched::Watched(Session& session, client::FeedOptions feed)
    : session_(session), scope_(session.loop().child("watched")) {
  session_.loop().run([&] {
    informer_ = std::make_unique<client::Informer<>>(
        scope_, session_.transport(), Random::from_entropy(),
        client::InformerOptions{.feed = std::move(feed), .keep = client::Keep::kDocument});
    informer_->add_handler(
        {.added = [this](const kube::Object& o) { on_added(o); },
         .updated = [this](const kube::Object& a, const kube::Object& b) { on_updated(a, b); },
         .deleted = [this](const kube::Object& o) { on_deleted(o); }});
    informer_->start();
  });
}

Watched::~Watched() {
  session_.loop().close(scope_);
  session_.loop().run([&] { informer_.reset(); });
}

bool Watched::synced() {
  bool out = false;
  session_.loop().run([&] { out = informer_->synced(); });
  return out;
}

Contents Watched::contents() {
  Contents out;
  session_.loop().run([&] {
    informer_->for_each([&](const kube::Key& key, const kube::Object& object) {
      out[key] = {object.revision(), object.json()};
    });
  });
  return out;
}

client::FeedStats Watched::stats() {
  client::FeedStats out;
  session_.loop().run([&] { out = informer_->stats(); });
  return out;
}

std::size_t Watched::delivered() {
  std::size_t out = 0;
  session_.loop().run([&] { out = delivered_; });
  return out;
}

std::vector<std::string> Watched::violations() {
  std::vector<std::string> out;
  session_.loop().run([&] { out = violations_; });
  return out;
}

void Watched::on_added(const kube::Object& object) {
  Known& known = known_[object.key()];
  if (known.present) violations_.push_back(object.key().text() + ": added while present");
  known.present = true;
  known.uid = object.uid();
  rise(known, object, "added");
}

void Watched::on_updated(const kube::Object& before, const kube::Object& after) {
  Known& known = known_[after.key()];
  if (!known.present) violations_.push_back(after.key().text() + ": updated while absent");
  if (before.revision() != known.highest)
    violations_.push_back(after.key().text() + ": updated from a state never delivered");
  if (after.uid() != known.uid)
    violations_.push_back(after.key().text() + ": another uid without a delete in between");
  rise(known, after, "updated");
}

// The last state known: either the one delivered before, or the server's final one.
void Watched::on_deleted(const kube::Object& last) {
  ++delivered_;
  Known& known = known_[last.key()];
  if (!known.present) violations_.push_back(last.key().text() + ": deleted while absent");
  if (last.revision() < known.highest)
    violations_.push_back(last.key().text() + ": deleted with a state older than delivered");
  known.present = false;
  known.highest = last.revision();
  if (informer_->get(last.key()) != nullptr)
    violations_.push_back(last.key().text() + ": still in the store when its delete arrived");
}

void Watched::rise(Known& known, const kube::Object& object, const char* what) {
  ++delivered_;
  if (object.revision() <= known.highest)
    violations_.push_back(fmt::format("{}: {} with revision {} after {}", object.key().text(), what,
                                      object.revision(), known.highest));
  known.highest = object.revision();
  const kube::Object* stored = informer_->get(object.key());
  if (stored == nullptr || stored->revision() != object.revision())
    violations_.push_back(object.key().text() + ": the store does not show what was delivered");
}

}  // namespace berth::e2e

// SPDX-License-Identifier: Apache-2.0
#include "writer.h"

#include <fmt/format.h>

#include "json/slice.h"
#include "pod_maker.h"

namespace berth::e2e {

Writer::Writer(Session& session, std::string ns, std::size_t objects, std::uint64_t seed)
    : session_(session), ns_(std::move(ns)), scope_(session.loop().child("writer")) {
  Random random(seed);
  for (std::size_t i = 0; i < objects; ++i) {
    Work work{.index = i,
              .name = json::Slice(bench::new_pod_json(i))["metadata"]["name"].text(),
              .patches = static_cast<int>(random.below(3)),
              .erase = random.chance(0.5)};
    total_ += 1u + static_cast<std::size_t>(work.patches) + (work.erase ? 1u : 0u);
    work_.push_back(std::move(work));
  }
}

Writer::~Writer() { session_.loop().close(scope_); }

void Writer::start() {
  session_.loop().run([&] {
    for (int i = 0; i < 8; ++i) next_object();
  });
}

void Writer::next_object() {
  if (next_ < work_.size()) take_step(work_[next_++]);
}

void Writer::take_step(Work& work) {
  auto told = [this, &work](const auto& result) {
    after_step(work, result ? nullptr : &result.error());
  };
  const kube::Key key{ns_, work.name};
  client::Api& api = session_.api();
  if (work.step == 0)
    api.create(kube::kPod, ns_, bench::new_pod_json(work.index),
               scope_.done<kube::Object>(120s, told));
  else if (work.step <= work.patches)
    api.patch(kube::kPod, key,
              fmt::format(R"({{"metadata":{{"labels":{{"step":"{}"}}}}}})", work.step),
              kube::PatchType::kMerge, scope_.done<kube::Object>(120s, told));
  else
    api.erase(kube::kPod, key, scope_.done<Ok>(120s, told), {.grace_period_seconds = 0});
}

// An attempt whose reply was lost may have been carried out: the next one then finds it done.
void Writer::after_step(Work& work, const Error* error) {
  const bool found_done = error != nullptr && work.again &&
                          ((work.step == 0 && error->reason == Reason::kAlreadyExists) ||
                           (work.step > work.patches && error->reason == Reason::kNotFound));
  if (error != nullptr && !found_done) return retry(work);
  work.again = false;
  ++work.step;
  ++done_;
  if (work.step > work.patches + (work.erase ? 1 : 0)) return next_object();
  take_step(work);
}

void Writer::retry(Work& work) {
  if (!work.again) ++repeated_;
  work.again = true;
  scope_.after(500ms, [this, &work] { take_step(work); });
}

}  // namespace berth::e2e

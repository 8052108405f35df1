// SPDX-License-Identifier: Apache-2.0
#include "controllers/scavenger/reclaim.h"

#include <fmt/format.h>

#include "controllers/pods.h"
#include "json/writer.h"
#include "kube/ours/ours.h"
#include "kube/pod_view.h"
#include "kube/resource_list.h"
#include "kube/time.h"

namespace berth::controllers {
namespace {

using json::Slice;
using json::Writer;
using kube::Object;

bool good_json(std::string_view text) {
  json::Cursor cursor(text);
  cursor.skip();
  return cursor.finish() && cursor.ok();
}

// The amounts, each at most what elastic.min says; "" where none is lowered.
std::string lowered(Slice amounts, const kube::ResourceList& least) {
  bool lower = false;
  Writer w;
  w.object();
  for (const auto& [name, minimum] : least) {
    if (name != "cpu" && name != "memory") continue;  // nothing else can be resized
    const auto now = kube::Quantity::from_json(amounts[name]);
    if (!amounts[name] || !now || *now <= minimum) continue;
    lower = true;
    w.member(name).string(minimum.text());
  }
  w.end();
  return lower ? w.take() : std::string();
}

}  // namespace

std::optional<Reclaim> reclaim_of(const Object& job) {
  const std::string text = job.annotation(kube::kReclaimAnnotation);
  if (text.empty() || !good_json(text)) return std::nullopt;
  const Slice from{std::string_view(text)};
  Reclaim out;
  const std::string pod = from["for"].text();
  const std::size_t slash = pod.find('/');
  out.message = from["message"].text();
  if (slash == pod.npos && out.message.empty()) return std::nullopt;
  if (slash != pod.npos) out.pod = {pod.substr(0, slash), pod.substr(slash + 1)};
  out.uid = from["uid"].text();
  const auto deadline = kube::parse_time(from["deadline"].text());
  if (!deadline) return std::nullopt;
  out.deadline = *deadline;
  return out;
}

std::string Reclaim::why() const {
  return pod.name.empty() ? message : fmt::format("pod {} needs its room", pod.text());
}

std::string reclaim_json(const Reclaim& reclaim, WallTime asked) {
  Writer w;
  w.object();
  if (!reclaim.pod.name.empty())
    w.member("for").string(reclaim.pod.text()).member("uid").string(reclaim.uid);
  w.member("deadline").string(kube::micro_time_text(reclaim.deadline));
  w.member("asked").string(kube::micro_time_text(asked)).end();
  return w.take();
}

bool nobody_needs(const runtime::View& view, const Reclaim& reclaim) {
  if (reclaim.pod.name.empty()) return false;
  const Object* pod = view.get(kube::kPod, reclaim.pod);
  if (pod == nullptr || (!reclaim.uid.empty() && pod->uid() != reclaim.uid)) return true;
  return pod->deleting() || pod_ended(*pod) || kube::PodView(*pod).assigned();
}

runtime::Action annotate(const Object& pod, const std::optional<WallTime>& deadline) {
  return runtime::PatchAction{
      .target = runtime::target_of(pod),
      .patch = fmt::format(
          R"({{"metadata":{{"annotations":{{"{}":{}}}}}}})", kube::kCheckpointRequestedAnnotation,
          deadline ? json::quoted(kube::time_text(*deadline)) : std::string("null")),
      .pin = runtime::Pin::kUid};
}
runtime::Action forget_reclaim(const Object& job) {
  return runtime::PatchAction{
      .target = runtime::target_of(job),
      .patch = fmt::format(R"({{"metadata":{{"annotations":{{"{}":null}}}}}})",
                           kube::kReclaimAnnotation),
      .pin = runtime::Pin::kUid};
}

runtime::Action ask_to_go(const Object& job, WallTime deadline, std::string_view message) {
  Writer w;
  w.object().member("message").string(message);
  w.member("deadline").string(kube::micro_time_text(deadline)).end();
  return runtime::PatchAction{
      .target = runtime::target_of(job),
      .patch = fmt::format(R"({{"metadata":{{"annotations":{{"{}":{}}}}}}})",
                           kube::kReclaimAnnotation, json::quoted(w.take())),
      .pin = runtime::Pin::kUid};
}

std::vector<runtime::Action> shrink(const kube::ScavengerJobView& job,
                                    const std::vector<const Object*>& pods) {
  std::vector<runtime::Action> out;
  const auto least = kube::parse_resource_list(job.spec()["elastic"]["min"], "spec.elastic.min");
  if (!least || least->empty()) return out;
  for (const Object* pod : pods) {
    const kube::PodView view(*pod);
    if (!view.assigned() || view.finished() || pod->deleting()) continue;
    bool changes = false;
    Writer w;
    w.object().member("spec").object().member("containers").array();
    // The first container is the program; a quality of service stays what it is only if requests
    // and limits go down together.
    for (const Slice container : view.containers().elements()) {
      const std::string requests = lowered(container["resources"]["requests"], *least),
                        limits = lowered(container["resources"]["limits"], *least);
      if (!requests.empty()) {
        changes = true;
        w.object().member("name").string(container["name"].text()).member("resources").object();
        w.member("requests").raw(requests);
        if (!limits.empty()) w.member("limits").raw(limits);
        w.end().end();
      }
      break;
    }
    w.end().end().end();
    if (changes)
      out.push_back(runtime::PatchAction{.target = runtime::target_of(*pod),
                                         .patch = w.take(),
                                         .subresource = "resize",
                                         .type = kube::PatchType::kStrategic,
                                         .pin = runtime::Pin::kUid});
  }
  return out;
}

std::optional<GrowBack> grow_back(const Object& batch_job, const Object& pod) {
  const Slice first = kube::PodView(pod).containers()[std::size_t{0}],
              meant = batch_job.member("spec")["template"]["spec"]["containers"][std::size_t{0}];
  kube::ResourceList more;
  Writer w;
  w.object().member("spec").object().member("containers").array().object();
  w.member("name").string(first["name"].text()).member("resources").object();
  for (const char* part : {"requests", "limits"}) {
    w.member(part).object();
    for (const char* name : {"cpu", "memory"}) {
      const Slice wanted = meant["resources"][part][name], is = first["resources"][part][name];
      const auto whole = kube::Quantity::from_json(wanted), now = kube::Quantity::from_json(is);
      if (!wanted || !is || !whole || !now || *whole <= *now) continue;
      w.member(name).raw(wanted.raw());
      if (std::string_view(part) == "requests") more[name] = *whole - *now;
    }
    w.end();
  }
  w.end().end().end().end().end();
  if (more.empty()) return std::nullopt;
  return GrowBack{std::move(more), runtime::PatchAction{.target = runtime::target_of(pod),
                                                        .patch = w.take(),
                                                        .subresource = "resize",
                                                        .type = kube::PatchType::kStrategic,
                                                        .pin = runtime::Pin::kUid}};
}

}  // namespace berth::controllers

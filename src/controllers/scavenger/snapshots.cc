// SPDX-License-Identifier: Apache-2.0
#include "controllers/scavenger/snapshots.h"

#include <algorithm>

#include <fmt/format.h>

#include "controllers/pods.h"
#include "json/writer.h"
#include "kube/ours/scavenger_job_view.h"
#include "kube/pod_view.h"
#include "kube/time.h"

namespace berth::controllers {
namespace {

using kube::Object;

constexpr std::size_t kLongestMessage = 1'024, kLongestPath = 4'096;  // as the schema has them

std::string question(const Object& pod, std::string_view container) {
  return fmt::format("snapshot {} {}", pod.uid(), container);
}

// The first of the archives that a kubelet names; "" where its answer is of another form.
std::string archive_of(std::string_view answer) {
  std::string path = json::check(answer) ? json::Slice(answer)["items"][std::size_t{0}].text() : "";
  return path.size() <= kLongestPath ? path : "";
}

// At the start of a character.
void cut(std::string& text) {
  if (text.size() <= kLongestMessage) return;
  std::size_t end = kLongestMessage;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  text.resize(end);
}

// By the names of the spec, which cannot be chosen to lead to another path of the kubelet's, as
// those in a status might.
std::vector<std::string> containers(const Object& pod) {
  std::vector<std::string> names;
  for (const json::Slice one : kube::PodView(pod).containers().elements())
    names.push_back(one["name"].text());
  return names;
}

bool runs(const Object& pod, std::string_view container) {
  for (const json::Slice one : pod.status()["containerStatuses"].elements())
    if (one["name"].equals(container)) return one["state"]["running"].is_object();
  return false;
}

}  // namespace

std::vector<runtime::Action> ask_for_snapshots(const std::vector<const Object*>& pods, WallTime now,
                                               WallTime deadline) {
  std::vector<runtime::Action> out;
  for (const Object* pod : pods) {
    const kube::PodView view(*pod);
    if (!view.assigned() || pod_ended(*pod) || pod->deleting()) continue;
    for (const std::string& container : containers(*pod)) {
      if (!runs(*pod, container)) continue;
      if (std::ssize(out) == kube::kMostSnapshots) return out;
      // A kubelet takes 0 for its own idea of a limit.
      const auto seconds = std::max<std::int64_t>(1, (deadline - now) / 1s);
      out.push_back(runtime::PostAction{
          .name = question(*pod, container),
          .path = fmt::format("{}{}/proxy/checkpoint/{}/{}/{}?timeout={}", kSnapshotPath,
                              view.node_name(), pod->ns(), pod->name(), container, seconds),
          .limit = deadline - now});
    }
  }
  return out;
}

std::string note_snapshots(const runtime::View& view, const std::vector<const Object*>& pods,
                           StatusDraft& status) {
  int taken = 0, asked = 0;
  std::string where, why;
  json::Writer w;
  w.array();
  for (const Object* pod : pods)
    for (const std::string& container : containers(*pod)) {
      const runtime::Answer* answer = view.answer(question(*pod, container));
      if (answer == nullptr) continue;
      ++asked;
      const std::string node = kube::PodView(*pod).node_name(), archive = archive_of(answer->text);
      w.object().member("pod").string(pod->name()).member("container").string(container);
      w.member("node").string(node);
      if (!archive.empty()) {
        ++taken;
        where = fmt::format("{} on node {}", archive, node);
        w.member("archive").string(archive);
      } else {
        why = answer->error ? answer->error->message : "the kubelet's answer names no archive";
        cut(why);
        w.member("message").string(why);
      }
      w.member("at").string(kube::time_text(answer->at)).end();
    }
  w.end();
  if (asked == 0) return "";
  status.raw("snapshots", w.take());
  std::string told = fmt::format("{} of {} containers snapshotted", taken, asked);
  if (taken > 0) told += fmt::format("; {}{}", where, taken > 1 ? " and more" : "");
  if (taken < asked) told += "; " + why;
  return told;
}

}  // namespace berth::controllers

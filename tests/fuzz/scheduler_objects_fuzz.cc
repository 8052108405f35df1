// SPDX-License-Identifier: Apache-2.0
// Any document taken for a pod or node: the scheduler's compiler never breaks on it, gives equal
// documents one spec, and what it says can be used.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "scheduler/cache/node.h"
#include "scheduler/cache/pod.h"

using namespace berth;
using namespace berth::scheduler;

namespace {

void check_pod(const kube::Object& object) {
  PodCompiler compiler({.keep_documents = true});
  const Result<PodPtr> made = compiler.compile(object);
  if (!made) {
    BERTH_CHECK(!made.error().message.empty(), "an error without a word");
    return;
  }
  const Pod& pod = **made;
  BERTH_CHECK(!pod.spec->canonical.empty() && pod.labels != nullptr, "a pod without its parts");
  BERTH_CHECK(pod.spec->image_containers <= pod.spec->images.size(), "more containers than images");
  if (pod.volumes)
    for (const PodVolume& volume : pod.volumes->list) (void)volume.source["name"].text();
  // The same again, written anew and met by another compiler: still the same spec and labels.
  const Result<kube::Object> again = kube::Object::parse(kube::kPod, object.json());
  BERTH_CHECK(again.has_value(), object.json());
  const Result<PodPtr> second = compiler.compile(*again);
  BERTH_CHECK(second && (*second)->spec == pod.spec && (*second)->labels == pod.labels);
  const Result<PodPtr> other = PodCompiler().compile(*again);
  BERTH_CHECK(other && (*other)->spec->canonical == pod.spec->canonical);
  BERTH_CHECK(PodCompiler::placed(pod, "n")->assigned(), "placed and yet nowhere");

  const Labels& labels = *pod.labels;
  for (const auto* terms : {&pod.spec->affinity.required, &pod.spec->affinity.required_anti,
                            &pod.spec->affinity.preferred, &pod.spec->affinity.preferred_anti})
    for (const AffinityTerm& term : *terms) (void)matches(term.selector, labels);
  for (const SpreadConstraint& constraint : pod.spec->spread)
    (void)matches(constraint.selector, labels);
  if (pod.spec->required_node_affinity)
    (void)matches(*pod.spec->required_node_affinity, labels, pod.name);
  if (pod.spec->preferred_node_affinity)
    (void)score(*pod.spec->preferred_node_affinity, labels, pod.name);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto pod = kube::Object::parse(kube::kPod, text)) check_pod(*pod);
  if (const auto object = kube::Object::parse(kube::kNode, text)) {
    const Result<NodePtr> node = Node::compile(*object);
    BERTH_CHECK(!node || (*node)->labels != nullptr, "a node without labels");
  }
  return 0;
}

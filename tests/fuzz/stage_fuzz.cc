// SPDX-License-Identifier: Apache-2.0
// Stage files: whatever a file says, reading it ends with stages or an error, and what was read can
// be followed.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lab/stages/stages.h"
#include "lab/usage.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth;  // NOLINT
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static const kube::Object pod =
      kube::Object::parse(
          kube::kPod,
          R"({"metadata":{"name":"p","namespace":"d","uid":"u","annotations":{"a/b":"2s"}},)"
          R"("spec":{"nodeName":"n","containers":[{"name":"x","image":"i"}]},)"
          R"("status":{"phase":"Pending","conditions":[{"type":"Ready","status":"False"}]}})")
          .value();
  lab::TemplateFacts facts;
  facts.node_name = "n";
  facts.node_ip = [](std::string_view) { return std::string("172.16.0.1"); };
  facts.pod_ip = [] { return std::string("10.0.0.1"); };

  lab::Stages stages;
  if (stages.add(text, "input"))
    if (const auto choice = stages.choose(pod, {}, Random(1)))
      (void)stages.requests(choice->stage, pod, facts);
  if (const auto query = lab::Query::parse(text)) (void)query->run(json::Slice(pod.json()));
  if (const auto made = lab::Template::parse(text)) {
    const std::string document = pod.json();
    (void)made->render(json::Slice(document), facts);
  }
  lab::UsageRules rules;
  (void)rules.add(text, "input");
  if (const auto model = lab::UsageModel::parse(text)) (void)model->at(Duration(1), {1}, Random(1));
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
#include "scheduler/cache/pod.h"

#include <algorithm>
#include <unordered_map>

#include "json/writer.h"
#include "kube/time.h"
#include "scheduler/cache/pod_fields.h"

namespace berth::scheduler {
namespace {

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>()(text);
  }
};
template <class V>
using ByText = std::unordered_map<std::string, V, TextHash, std::equal_to<>>;

constexpr std::size_t kFirstSweep = 1024;

void append_label(std::string& out, std::string_view key, std::string_view value) {
  const auto append = [&out](std::string_view text) {
    const auto size = static_cast<std::uint32_t>(text.size());
    out.append(reinterpret_cast<const char*>(&size), sizeof size);
    out += text;
  };
  append(key);
  append(value);
}

std::string claim_statuses_of(const PodFields& fields) {
  const bool claims = fields.claim_statuses.size() > 0;
  const bool extended = stated(fields.extended_claim_status);
  if (!claims && !extended) return {};
  json::Writer text;
  text.object();
  if (claims) text.member("resourceClaimStatuses").raw(fields.claim_statuses.raw());
  if (extended) text.member("extendedResourceClaimStatus").raw(fields.extended_claim_status.raw());
  return text.end().take();
}

void read_conditions(json::Slice conditions, Pod& pod) {
  bool seen_disruption = false;
  for (const json::Slice condition : conditions.elements()) {
    json::Slice type, status, reason, message;
    for (const auto& [key, value] : condition.members()) {
      if (key == "type")
        type = value;
      else if (key == "status")
        status = value;
      else if (key == "reason")
        reason = value;
      else if (key == "message")
        message = value;
    }
    if (type.equals("PodScheduled")) {
      if (!pod.scheduled) pod.scheduled = {status.text(), reason.text(), message.text()};
    } else if (type.equals("DisruptionTarget") && !seen_disruption) {
      seen_disruption = true;
      pod.disrupted_by_scheduler = status.equals("True") && reason.equals("PreemptionByScheduler");
    }
  }
}

}  // namespace

struct PodCompiler::Tables {
  // Both hold what somebody else holds too, and for a while what nobody does.
  std::unordered_map<std::string_view, PodSpecPtr> specs;  // by canonical
  ByText<std::weak_ptr<const PodSpec>> by_source;          // by PodFields::append_source
  ByText<LabelsPtr> labels;
  std::size_t spec_sweep = kFirstSweep, source_sweep = kFirstSweep, label_sweep = kFirstSweep;
  // Memory to be used again.
  PodFields fields;
  std::string key;

  void sweep_specs() {
    if (specs.size() < spec_sweep && by_source.size() < source_sweep) return;
    std::erase_if(specs, [](const auto& entry) { return entry.second.use_count() == 1; });
    std::erase_if(by_source, [](const auto& entry) { return entry.second.expired(); });
    // Many spellings of few specs are not worth keeping.
    if (by_source.size() > kFirstSweep + 4 * specs.size()) by_source.clear();
    spec_sweep = std::max(kFirstSweep, 2 * specs.size());
    source_sweep = std::max(kFirstSweep, 2 * by_source.size());
  }
  void sweep_labels() {
    if (labels.size() < label_sweep) return;
    std::erase_if(labels, [](const auto& entry) { return entry.second.use_count() == 1; });
    label_sweep = std::max(kFirstSweep, 2 * labels.size());
  }

  Result<PodSpecPtr> spec_of(const kube::Object& object) {
    key.clear();
    fields.append_source(key);
    if (const auto known = by_source.find(key); known != by_source.end())
      if (PodSpecPtr spec = known->second.lock()) return spec;
    Result<PodSpec> built = build_spec(fields, object);
    if (!built) return tl::unexpected(std::move(built.error()));
    built->canonical = canonical_text(*built, preferred_text(fields));
    sweep_specs();
    PodSpecPtr spec;
    if (const auto same = specs.find(built->canonical); same != specs.end()) {
      spec = same->second;
    } else {
      spec = PodSpecPtr(new PodSpec(*std::move(built)));
      specs.emplace(spec->canonical, spec);
    }
    by_source.insert_or_assign(key, spec);
    return spec;
  }
};

PodCompiler::PodCompiler(CompileOptions options)
    : options_(options), tables_(std::make_unique<Tables>()) {}
PodCompiler::~PodCompiler() = default;

// Labels from an API server come in order and without escapes, so their bytes are nearly always
// canonical; every other spelling is brought into order first.
LabelsPtr PodCompiler::labels(json::Slice slice) {
  Tables& t = *tables_;
  t.key.clear();
  std::string scratch;
  std::string_view last;
  bool plain = slice.raw().find('\\') == std::string_view::npos;
  for (const auto& [key, value] : slice.members()) {
    if (!plain || (!t.key.empty() && key <= last)) {
      plain = false;
      break;
    }
    append_label(t.key, key, value.text(scratch));
    last = key;
  }
  Labels made;
  if (!plain) {
    made = Labels::from_json(slice);
    t.key.clear();
    for (const auto& [key, value] : made.pairs()) append_label(t.key, key, value);
  }
  if (const auto known = t.labels.find(t.key); known != t.labels.end()) return known->second;
  t.sweep_labels();
  if (plain) made = Labels::from_json(slice);
  return t.labels.emplace(t.key, std::make_shared<const Labels>(std::move(made))).first->second;
}

Result<PodPtr> PodCompiler::compile(const kube::Object& object) {
  PodFields& fields = tables_->fields;
  fields.read(object);
  Result<PodSpecPtr> spec = tables_->spec_of(object);
  if (!spec) return tl::unexpected(std::move(spec.error()));

  auto pod = std::make_shared<Pod>();
  pod->ns = object.ns();
  pod->name = object.name();
  pod->uid = object.uid();
  pod->revision = object.revision();
  pod->generation = object.generation();
  pod->spec = *std::move(spec);
  pod->labels = labels(object.labels());
  pod->node_name = fields.node_name.text();
  pod->nominated_node_name = fields.nominated_node_name.text();
  std::string scratch;
  if (fields.start_time.present())
    pod->start_time = kube::parse_time(fields.start_time.text(scratch));
  pod->deleting = object.deleting();
  read_conditions(fields.conditions, *pod);
  pod->finished = fields.phase.equals("Succeeded") || fields.phase.equals("Failed");
  pod->controller = object.controller();
  pod->volumes = volumes_of(fields, object);
  pod->claim_statuses = claim_statuses_of(fields);
  if (may_be_resized(fields)) {
    Result<Accounted> now = accounted(fields, object, true);
    if (!now) return tl::unexpected(std::move(now.error()));
    if (*now != Accounted{pod->spec->used, pod->spec->used_nonzero_millicores,
                          pod->spec->used_nonzero_memory}) {
      pod->resized = std::make_shared<const Resources>(std::move(now->used));
      pod->resized_nonzero_millicores = now->nonzero_millicores;
      pod->resized_nonzero_memory = now->nonzero_memory;
    }
  }
  if (options_.keep_documents) pod->document = object;
  return pod;
}

PodPtr PodCompiler::placed(const Pod& pod, std::string node) {
  auto copy = std::make_shared<Pod>(pod);
  copy->node_name = std::move(node);
  return copy;
}

}  // namespace berth::scheduler

// SPDX-License-Identifier: Apache-2.0
#include "lab/usage.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "json/yaml.h"
#include "kube/quantity.h"
#include "kube/time.h"
#include "lab/pace.h"

namespace berth::lab {
namespace {

Result<double> amount(std::string_view text) {
  const Result<kube::Quantity> parsed = kube::Quantity::parse(text);
  if (!parsed) return invalid(fmt::format("\"{}\" is no amount", text));
  // Nano-units where that fits: amounts of processors; thousandths else: amounts of memory.
  const std::int64_t thousandths = parsed->scaled_value(-3);
  if (thousandths > -1'000'000'000'000 && thousandths < 1'000'000'000'000)
    return static_cast<double>(parsed->scaled_value(-9)) / 1e9;
  return static_cast<double>(thousandths) / 1e3;
}

Result<Duration> duration(std::string_view text) {
  const std::optional<Duration> parsed = kube::parse_duration(text);
  if (!parsed || *parsed <= Duration{})
    return invalid(fmt::format("\"{}\" is no duration; write 90s or 24h", text));
  return *parsed;
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::size_t from = text.find_first_not_of(" \t\n");
    if (from == text.npos) break;
    const std::size_t to = std::min(text.find_first_of(" \t\n", from), text.size());
    words.push_back(text.substr(from, to - from));
    text.remove_prefix(to);
  }
  return words;
}

double seconds(Duration d) { return std::chrono::duration<double>(d).count(); }

}  // namespace

UsageModel UsageModel::constant(double amount) {
  UsageModel made;
  made.phases_.push_back({amount});
  return made;
}

Result<UsageModel> UsageModel::parse(std::string_view text) {
  UsageModel made;
  std::vector<std::string_view> words = words_of(text);
  if (words.empty()) return invalid("an amount is missing");
  if (words[0] == "phases")
    made.type_ = Type::kPhases;
  else if (words[0] == "seasonal")
    made.type_ = Type::kSeasonal;
  else if (words[0] == "trace")
    made.type_ = Type::kTrace;
  if (made.type_ != Type::kConstant) words.erase(words.begin());
  std::optional<double> base;
  for (const std::string_view word : words) {
    const std::size_t equals = word.find('=');
    const std::string_view key = equals == word.npos ? "" : word.substr(0, equals);
    const std::string_view value = equals == word.npos ? word : word.substr(equals + 1);
    const auto set_duration = [&](Duration& into) -> Result<Ok> {
      const Result<Duration> parsed = duration(value);
      if (!parsed) return tl::unexpected(parsed.error());
      into = *parsed;
      return Ok{};
    };
    Result<Ok> fine = Ok{};
    if (key == "noise") {
      const auto [end, error] =
          std::from_chars(value.data(), value.data() + value.size(), made.noise_);
      if (error != std::errc() || std::string_view(end, value.end()) != "%" ||
          !(made.noise_ >= 0 && made.noise_ <= 1'000))
        return invalid(fmt::format("\"{}\" is no noise; write noise=10%", word));
      made.noise_ /= 100;
    } else if (made.type_ == Type::kSeasonal && (key == "base" || key == "amplitude")) {
      const Result<double> parsed = amount(value);
      if (!parsed) return tl::unexpected(parsed.error());
      if (key == "base")
        base = *parsed;
      else
        made.amplitude_ = *parsed;
    } else if (made.type_ == Type::kSeasonal && key == "period") {
      fine = set_duration(made.period_);
    } else if (made.type_ == Type::kSeasonal && key == "peak") {
      fine = set_duration(made.peak_);
    } else if (made.type_ == Type::kTrace && key == "every") {
      fine = set_duration(made.period_);
    } else if (made.type_ == Type::kPhases && word == "repeat") {
      made.repeats_ = true;
    } else if (key.empty() && made.type_ != Type::kSeasonal) {
      const std::size_t slash = made.type_ == Type::kPhases ? word.find('/') : word.npos;
      const Result<double> parsed = amount(word.substr(0, slash));
      if (!parsed) return tl::unexpected(parsed.error());
      Phase& phase = made.phases_.emplace_back();
      phase.amount = *parsed;
      if (slash != word.npos) {
        const Result<Duration> lasts = duration(word.substr(slash + 1));
        if (!lasts) return tl::unexpected(lasts.error());
        phase.lasts = *lasts;
      }
    } else {
      return invalid(fmt::format("\"{}\" is not understood here", word));
    }
    if (!fine) return tl::unexpected(fine.error());
  }
  switch (made.type_) {
    case Type::kConstant:
      if (made.phases_.size() != 1) return invalid("one amount is expected");
      break;
    case Type::kPhases:
      if (made.phases_.empty()) return invalid("a phase is missing: 100m/5m");
      for (std::size_t i = 0; i < made.phases_.size(); ++i) {
        const std::optional<Duration> lasts = made.phases_[i].lasts;
        if (!lasts && (made.repeats_ || i + 1 < made.phases_.size()))
          return invalid("only the last phase, and not where they repeat, may be without an end");
        if (lasts.value_or(Duration{}) > kAges - made.period_)
          return invalid("the phases last more than a hundred years");
        made.period_ += lasts.value_or(Duration{});
      }
      break;
    case Type::kSeasonal:
      if (!base || made.period_ == Duration{}) return invalid("seasonal needs base= and period=");
      made.phases_.push_back({*base});
      break;
    case Type::kTrace:
      if (made.phases_.empty() || made.period_ == Duration{})
        return invalid("a trace needs every= and its points");
      break;
  }
  return made;
}

double UsageModel::at(Duration age, WallTime now, const Random& chance) const {
  age = std::max(age, Duration{});
  double value = phases_.front().amount;
  switch (type_) {
    case Type::kConstant:
      break;
    case Type::kPhases: {
      if (repeats_) age %= period_;
      value = phases_.back().amount;
      for (const Phase& phase : phases_) {
        if (phase.lasts && age >= *phase.lasts) {
          age -= *phase.lasts;
          continue;
        }
        value = phase.amount;
        break;
      }
      break;
    }
    case Type::kSeasonal: {
      const Duration into(now.unix_nanos % period_.count());
      const double turns = seconds(into - peak_) / seconds(period_);
      value += amplitude_ * std::cos(2 * 3.14159265358979323846 * turns);
      break;
    }
    case Type::kTrace: {
      const double place =
          std::fmod(seconds(age) / seconds(period_), static_cast<double>(phases_.size()));
      const auto left = static_cast<std::size_t>(place);
      const Phase& a = phases_[left];
      const Phase& b = phases_[(left + 1) % phases_.size()];
      value = a.amount + (b.amount - a.amount) * (place - static_cast<double>(left));
      break;
    }
  }
  if (noise_ > 0) {
    Random own = chance.fork(std::to_string(now.unix_nanos / 15'000'000'000));
    value *= 1 + noise_ * (2 * own.unit() - 1);
  }
  return std::max(value, 0.0);
}

namespace {

// Quantity("1m"), or: "key" in pod.metadata.annotations ? Quantity(pod.metadata.annotations["key"])
// : Quantity("1m"). White space aside.
struct Expression {
  std::string annotation;
  std::string otherwise;
};
std::optional<Expression> read_expression(std::string_view text) {
  std::string dense;
  bool quoted = false;
  for (const char c : text) {
    if (c == '"') quoted = !quoted;
    if (quoted || (c != ' ' && c != '\n' && c != '\t')) dense += c;
  }
  std::string_view rest = dense;
  const auto take = [&](std::string_view word) {
    if (!rest.starts_with(word)) return false;
    rest.remove_prefix(word.size());
    return true;
  };
  const auto string = [&](std::string& into) {
    if (!take("\"")) return false;
    const std::size_t close = rest.find('"');
    if (close == rest.npos) return false;
    into = std::string(rest.substr(0, close));
    rest.remove_prefix(close + 1);
    return true;
  };
  Expression out;
  if (rest.starts_with("\"")) {
    std::string again;
    if (!string(out.annotation) || !take("inpod.metadata.annotations?") ||
        !take("Quantity(pod.metadata.annotations[") || !string(again) || again != out.annotation ||
        !take("]):"))
      return std::nullopt;
  }
  if (!take("Quantity(") || !string(out.otherwise) || !take(")") || !rest.empty())
    return std::nullopt;
  return out;
}

std::vector<std::string> texts(json::Slice list) {
  std::vector<std::string> out;
  for (const json::Slice each : list.elements()) out.push_back(each.text());
  return out;
}

bool among(const std::vector<std::string>& list, std::string_view text) {
  return list.empty() || std::find(list.begin(), list.end(), text) != list.end();
}

}  // namespace

Result<Ok> UsageRules::add(std::string_view text, std::string_view file_name) {
  const Result<std::vector<json::YamlDocument>> documents = json::yaml_to_json(text);
  if (!documents) return invalid(fmt::format("{}: {}", file_name, documents.error().message));
  for (std::size_t d = 0; d < documents->size(); ++d) {
    const json::Slice document((*documents)[d].json);
    if (!document["apiVersion"].text().starts_with("kwok.x-k8s.io/")) continue;
    const bool cluster = document["kind"].equals("ClusterResourceUsage");
    if (!cluster && !document["kind"].equals("ResourceUsage")) continue;
    std::size_t i = 0;
    for (const json::Slice each : document["spec"]["usages"].elements()) {
      Rule rule;
      if (cluster) {
        rule.namespaces = texts(document["spec"]["selector"]["matchNamespaces"]);
        rule.names = texts(document["spec"]["selector"]["matchNames"]);
      } else {
        std::string ns = document["metadata"]["namespace"].text();
        rule.namespaces = {ns.empty() ? "default" : ns};
        rule.names = {document["metadata"]["name"].text()};
      }
      rule.containers = texts(each["containers"]);
      for (const auto& [name, into] :
           {std::pair{"cpu", &Rule::cpu}, std::pair{"memory", &Rule::memory}}) {
        const json::Slice stated = each["usage"][name];
        if (!stated) continue;
        const std::string path = fmt::format("spec.usages[{}].usage.{}", i, name);
        const auto wrong = [&](std::string_view why) {
          return invalid(fmt::format("{}:{}: {}: {}", file_name,
                                     json::yaml_line_of(text, d, path).value_or(1), path, why));
        };
        Amount made;
        std::string value = stated["value"].text();
        if (value.empty()) {
          const std::optional<Expression> read = read_expression(stated["expression"].text());
          if (!read)
            return wrong(
                "only a value, Quantity(\"…\"), or an annotation's value or else a quantity are "
                "understood");
          made.annotation = read->annotation;
          value = read->otherwise;
        }
        const Result<double> parsed = amount(value);
        if (!parsed) return wrong(parsed.error().message);
        made.otherwise = *parsed;
        rule.*into = std::move(made);
      }
      rules_.push_back(std::move(rule));
      ++i;
    }
  }
  return Ok{};
}

const UsageRules::Amount* UsageRules::find(const kube::Object& pod, std::string_view container,
                                           std::optional<Amount> Rule::*which) const {
  for (const Rule& rule : rules_)
    if (rule.*which && among(rule.namespaces, pod.ns()) && among(rule.names, pod.name()) &&
        among(rule.containers, container))
      return &*(rule.*which);
  return nullptr;
}

Usage UsageRules::usage(const kube::Object& pod, json::Slice container, WallTime started,
                        WallTime now, const Random& chance) const {
  const std::string name = container["name"].text();
  const json::Slice annotations = pod.annotations();
  const auto read = [&](std::string_view resource, double nothing,
                        std::optional<Amount> Rule::*which) {
    const Random own = chance.fork(fmt::format("usage/{}/{}/{}", pod.uid(), name, resource));
    const auto model = [&](const std::string& text) -> std::optional<double> {
      if (text.empty()) return std::nullopt;
      const Result<UsageModel> parsed = UsageModel::parse(text);
      if (!parsed) return std::nullopt;
      return parsed->at(now - started, now, own);
    };
    for (const std::string& key : {fmt::format("berth.dev/usage-{}.{}", resource, name),
                                   fmt::format("berth.dev/usage-{}", resource),
                                   fmt::format("kwok.x-k8s.io/usage-{}", resource)})
      if (const auto found = model(annotations[key].text())) return *found;
    if (const Amount* rule = find(pod, name, which)) {
      if (!rule->annotation.empty())
        if (const auto found = model(annotations[rule->annotation].text())) return *found;
      return rule->otherwise;
    }
    const json::Slice request = container["resources"]["requests"][resource];
    if (!request) return nothing;
    const Result<kube::Quantity> quantity = kube::Quantity::from_json(request);
    if (!quantity) return nothing;
    return amount(quantity->text()).value_or(nothing) / 2;
  };
  return {read("cpu", 0.001, &Rule::cpu), read("memory", 1 << 20, &Rule::memory)};
}

}  // namespace berth::lab

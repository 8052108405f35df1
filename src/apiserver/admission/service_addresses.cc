// SPDX-License-Identifier: Apache-2.0
// Gives services their cluster addresses and node ports, each to one service only. What is taken is
// what published services have, which a watch follows, and what was promised to writes that are
// still on their way. The real server does this in the storage of services.
#include <map>
#include <set>

#include <fmt/format.h>

#include "apiserver/admission/refusal.h"
#include "apiserver/admission/steps.h"
#include "apiserver/kinds/findings.h"
#include "apiserver/kinds/rules.h"

namespace berth::apiserver {

namespace {

constexpr Duration kPromise = std::chrono::minutes(1);

std::optional<std::uint32_t> parse_ip(std::string_view text) {
  std::uint32_t out = 0;
  for (int part = 0; part < 4; ++part) {
    std::uint32_t value = 0;
    std::size_t digits = 0;
    for (; !text.empty() && text.front() >= '0' && text.front() <= '9'; text.remove_prefix(1)) {
      value = value * 10 + static_cast<std::uint32_t>(text.front() - '0');
      if (++digits > 3) return std::nullopt;
    }
    if (digits == 0 || value > 255) return std::nullopt;
    out = out << 8 | value;
    if (part == 3) break;
    if (text.empty() || text.front() != '.') return std::nullopt;
    text.remove_prefix(1);
  }
  return text.empty() ? std::optional(out) : std::nullopt;
}

std::string ip_text(std::uint32_t ip) {
  return fmt::format("{}.{}.{}.{}", ip >> 24, ip >> 16 & 255, ip >> 8 & 255, ip & 255);
}

// Numbers out of a range that belong to somebody. Loop-confined.
class Pool {
 public:
  Pool(std::uint32_t first, std::uint32_t last) : first_(first), last_(last) {}

  bool contains(std::uint32_t number) const { return number >= first_ && number <= last_; }
  bool taken(std::uint32_t number, const std::string& by_others_than, WallTime now) const {
    if (const auto found = held_.find(number); found != held_.end())
      for (const std::string& key : found->second)
        if (key != by_others_than) return true;
    const auto found = promised_.find(number);
    return found != promised_.end() && found->second.first != by_others_than &&
           now < found->second.second;
  }
  void promise(std::uint32_t number, const std::string& key, WallTime now) {
    promised_[number] = {key, now + kPromise};
  }
  // Any that is free, beginning somewhere by chance at or after `from`.
  std::optional<std::uint32_t> find(Random& random, std::uint32_t from, WallTime now) const {
    const std::uint32_t size = last_ - from + 1;
    const auto start = static_cast<std::uint32_t>(random.below(size));
    for (std::uint32_t i = 0; i < size; ++i) {
      const std::uint32_t number = from + (start + i) % size;
      if (!taken(number, "", now)) return number;
    }
    for (std::uint32_t number = first_; number < from; ++number)
      if (!taken(number, "", now)) return number;
    return std::nullopt;
  }

  // What a published service has now.
  void hold(const std::string& key, const std::set<std::uint32_t>& numbers) {
    release(key);
    for (const std::uint32_t number : numbers) {
      held_[number].insert(key);
      if (const auto found = promised_.find(number);
          found != promised_.end() && found->second.first == key)
        promised_.erase(found);
    }
    if (!numbers.empty()) by_key_[key] = numbers;
  }
  void release(const std::string& key) {
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return;
    for (const std::uint32_t number : found->second)
      if (const auto at = held_.find(number); at != held_.end()) {
        at->second.erase(key);
        if (at->second.empty()) held_.erase(at);
      }
    by_key_.erase(found);
  }
  void clear() {
    held_.clear();
    by_key_.clear();
  }

 private:
  std::uint32_t first_, last_;
  std::map<std::uint32_t, std::set<std::string>> held_;
  std::map<std::string, std::set<std::uint32_t>> by_key_;
  std::map<std::uint32_t, std::pair<std::string, WallTime>> promised_;
};

class ServiceAddresses final : public AdmissionStep, private WatchSink {
 public:
  ServiceAddresses(Store& store, Random random, const ServiceRange& range)
      : store_(store),
        random_(random),
        network_(*parse_ip(range.network)),
        size_(std::uint32_t{1} << (32 - range.prefix)),
        first_port_(range.first_port),
        last_port_(range.last_port),
        // Neither the network's own address nor the last one.
        ips_(network_ + 1, network_ + size_ - 2),
        ports_(range.first_port, range.last_port) {
    follow();
  }
  ~ServiceAddresses() override { store_.unwatch(watch_); }
  std::string_view name() const override { return "ServiceAddresses"; }

  Result<Ok> mutate(AdmissionCall& call) override {
    if (!call.is(kube::kService) || call.edit == nullptr) return Ok{};
    if (call.operation != Operation::kCreate && call.operation != Operation::kUpdate) return Ok{};
    json::Dict* spec = dict_in(call.edit->body(), "spec");
    if (spec == nullptr) return Ok{};
    const std::string key = kube::Key{call.request.ns, call.name}.text();
    if (auto ok = give_ip(call, *spec, key); !ok) return ok;
    if (auto ok = give_ports(call, *spec, key); !ok) return ok;
    return give_health_port(call, *spec, key);
  }

 private:
  // The watch of what exists.
  void follow() {
    ips_.clear();
    ports_.clear();
    watch_ = store_.watch({.kind = kube::kService, .initial_events = true}, *this);
    ready(watch_);
  }
  void ready(WatchId id) override {
    for (;;) {
      const WatchBatch batch = store_.read(id, 1'000);
      for (const kube::WatchEvent& event : batch.events) take(event);
      if (batch.end) break;
      if (!batch.more) return;
    }
    store_.unwatch(id);
    follow();
  }
  void take(const kube::WatchEvent& event) {
    using Type = kube::WatchEvent::Type;
    if (event.type == Type::kError || event.type == Type::kBookmark) return;
    const std::string key = event.object.key().text();
    std::set<std::uint32_t> ips, ports;
    if (event.type != Type::kDeleted) {
      const json::Slice spec = event.object.member("spec");
      for (const json::Slice ip : spec["clusterIPs"].elements())
        if (const auto number = parse_ip(ip.text())) ips.insert(*number);
      const auto add = [&](json::Slice port) {
        if (const auto number = port.integer(); number && *number > 0)
          ports.insert(static_cast<std::uint32_t>(*number));
      };
      for (const json::Slice port : spec["ports"].elements()) add(port["nodePort"]);
      add(spec["healthCheckNodePort"]);
    }
    ips_.hold(key, ips);
    ports_.hold(key, ports);
  }

  static Result<Ok> invalid(const AdmissionCall& call, const Path& at, const Shown& value,
                            std::string_view detail) {
    Findings findings;
    findings.invalid(at, value, detail);
    return tl::unexpected(findings.error(call.row.kind, call.name));
  }

  Result<Ok> give_ip(AdmissionCall& call, json::Dict& spec, const std::string& key) {
    if (Peek(spec)["type"].is("ExternalName")) return Ok{};
    // clusterIP alone means the same as both.
    json::List given(spec.storage());
    for (const json::Value& each : Peek(spec)["clusterIPs"].elements()) given.push_back(each);
    if (given.empty() && !Peek(spec)["clusterIP"].text().empty())
      given.push_back(spec["clusterIP"]);
    const json::Value shown = given;
    const Peek families = Peek(spec)["ipFamilies"];
    const bool headless = !given.empty() && Peek(given[0]).is("None");
    if (headless && Peek(spec)["selector"].size() == 0) return Ok{};
    const Path at("spec");
    for (std::size_t i = 0; i < given.size(); ++i)
      if (Peek(given[i]).text().find(':') != std::string_view::npos)
        return invalid(call, (at / "clusterIPs")[i], as_shown(shown),
                       "IPv6 is not configured on this cluster");
    if (Peek(spec)["ipFamilyPolicy"].is("RequireDualStack"))
      return invalid(call, at / "ipFamilyPolicy", Peek(spec)["ipFamilyPolicy"].text(),
                     "this cluster is not configured for dual-stack services");
    for (std::size_t i = 0; i < families.size(); ++i)
      if (!families[i].is("IPv4"))
        return invalid(call, (at / "ipFamilies")[i], families[i].text(),
                       "not configured on this cluster");
    if (headless) return Ok{};

    const Peek was = call.operation == Operation::kUpdate ? call.edit->was_body()["spec"] : Peek();
    if (was && !was["type"].is("ExternalName") && was["clusterIPs"].size() > 0) return Ok{};
    if (!given.empty()) {
      const std::string ip{Peek(given[0]).text()};
      const auto number = parse_ip(ip);
      if (!number) return Ok{};  // validation tells
      std::string_view problem;
      if (!ips_.contains(*number))
        problem = "the provided network does not match the current range";
      else if (ips_.taken(*number, key, call.now))
        problem = "provided IP is already allocated";
      if (!problem.empty())
        return invalid(call, at / "clusterIPs", as_shown(shown),
                       fmt::format("failed to allocate IP {}: {}", ip, problem));
      if (!call.request.options.dry_run) ips_.promise(*number, key, call.now);
      return Ok{};
    }
    // The first addresses are left to those who ask for them by number.
    const std::uint32_t by_number = std::min(std::max(16U, size_ / 16), 256U);
    const auto number = ips_.find(random_, network_ + std::min(by_number, size_ / 2), call.now);
    if (!number)
      return fail(Reason::kInternalError,
                  fmt::format("Internal error occurred: failed to allocate a serviceIP for Service "
                              "{}: range is full",
                              json::quoted(call.name)));
    if (!call.request.options.dry_run) ips_.promise(*number, key, call.now);
    spec["clusterIP"] = bj(ip_text(*number));
    json::List& list = spec["clusterIPs"].emplace_array();
    list.push_back(bj(ip_text(*number)));
    return Ok{};
  }

  bool wants_ports(const json::Dict& spec) const {
    if (Peek(spec)["type"].is("NodePort")) return true;
    const Peek allocate = Peek(spec)["allocateLoadBalancerNodePorts"];
    return Peek(spec)["type"].is("LoadBalancer") && (!allocate || allocate.boolean());
  }

  // What a port of that name had it keeps when an update leaves it out. Gives all that there were.
  std::set<std::int64_t> keep_ports(Peek was, json::Dict& spec) const {
    std::set<std::int64_t> own, named;
    std::map<std::string_view, std::int64_t> by_name;
    for (const json::Value& each : was["ports"].elements()) {
      const std::int64_t node = Peek(each)["nodePort"].integer_or(0);
      if (node == 0) continue;
      own.insert(node);
      by_name[Peek(each)["name"].text()] = node;
    }
    if (!wants_ports(was.members()) || !wants_ports(spec)) return own;
    for (const json::Value& each : Peek(spec)["ports"].elements())
      named.insert(Peek(each)["nodePort"].integer_or(0));
    each_dict(spec, "ports", [&](json::Dict& port) {
      if (Peek(port)["nodePort"].integer_or(0) != 0) return;
      const auto before = by_name.find(Peek(port)["name"].text());
      if (before != by_name.end() && named.count(before->second) == 0)
        port["nodePort"] = before->second;
    });
    return own;
  }

  // A port with several protocols has one node port for all of them.
  Result<Ok> give_ports(AdmissionCall& call, json::Dict& spec, const std::string& key) {
    if (!Peek(spec)["type"].is("NodePort") && !Peek(spec)["type"].is("LoadBalancer")) return Ok{};
    json::List* ports = list_in(spec, "ports");
    if (ports == nullptr) return Ok{};
    std::set<std::int64_t> own;  // had before
    if (call.operation == Operation::kUpdate) own = keep_ports(call.edit->was_body()["spec"], spec);
    std::map<std::int64_t, std::int64_t> given;  // by port
    for (const json::Value& each : *ports)
      if (const std::int64_t node = Peek(each)["nodePort"].integer_or(0); node != 0)
        given.try_emplace(Peek(each)["port"].integer_or(0), node);
    for (std::size_t i = 0; i < ports->size(); ++i) {
      if (!(*ports)[i].is_object()) continue;
      json::Dict& port = (*ports)[i].get_object();
      std::int64_t node = Peek(port)["nodePort"].integer_or(0);
      if (node == 0 && !wants_ports(spec)) continue;
      if (node == 0) {
        const auto shared = given.find(Peek(port)["port"].integer_or(0));
        // k8s 1.36: only a new service shares.
        if (shared != given.end() && call.operation == Operation::kCreate) {
          port["nodePort"] = shared->second;
          continue;
        }
        const auto found = free_port(call, key);
        if (!found)
          return fail(Reason::kInternalError,
                      "Internal error occurred: failed to allocate a nodePort: range is full");
        port["nodePort"] = *found;
        given.try_emplace(Peek(port)["port"].integer_or(0), *found);
      } else if (own.count(node) == 0) {
        const std::string problem = take_port(call, node, key);
        if (!problem.empty())
          return invalid(call, (Path("spec") / "ports")[i] / "nodePort", node, problem);
      }
    }
    return Ok{};
  }

  Result<Ok> give_health_port(AdmissionCall& call, json::Dict& spec, const std::string& key) {
    const auto needs = [](Peek of) {
      return of["type"].is("LoadBalancer") && of["externalTrafficPolicy"].is("Local");
    };
    if (!needs(Peek(spec))) return Ok{};
    const Peek was = call.operation == Operation::kUpdate ? call.edit->was_body()["spec"] : Peek();
    const std::int64_t asked = Peek(spec)["healthCheckNodePort"].integer_or(0);
    if (was && needs(was)) {
      if (asked == 0 && was["healthCheckNodePort"])
        spec["healthCheckNodePort"] = was["healthCheckNodePort"].integer_or(0);
      return Ok{};
    }
    if (asked != 0) {
      const std::string problem = take_port(call, asked, key);
      if (problem.empty()) return Ok{};
      return fail(Reason::kInternalError,
                  fmt::format("Internal error occurred: failed to allocate requested HealthCheck "
                              "NodePort {}: {}",
                              asked, problem));
    }
    const auto found = free_port(call, key);
    if (!found)
      return fail(Reason::kInternalError,
                  "Internal error occurred: failed to allocate a HealthCheck NodePort 0: range is "
                  "full");
    spec["healthCheckNodePort"] = *found;
    return Ok{};
  }

  std::optional<std::int64_t> free_port(const AdmissionCall& call, const std::string& key) {
    const auto found =
        ports_.find(random_, first_port_ + (last_port_ - first_port_) / 32, call.now);
    if (!found) return std::nullopt;
    if (!call.request.options.dry_run) ports_.promise(*found, key, call.now);
    return *found;
  }
  std::string take_port(const AdmissionCall& call, std::int64_t port, const std::string& key) {
    const auto number = static_cast<std::uint32_t>(port);
    if (port < 0 || port > 65535 || !ports_.contains(number))
      return fmt::format(
          "provided port is not in the valid range. The range of valid ports is {}-{}", first_port_,
          last_port_);
    if (ports_.taken(number, key, call.now)) return "provided port is already allocated";
    if (!call.request.options.dry_run) ports_.promise(number, key, call.now);
    return "";
  }

  Store& store_;
  Random random_;
  std::uint32_t network_, size_, first_port_, last_port_;
  Pool ips_, ports_;
  WatchId watch_ = WatchId::kNone;
};

}  // namespace

Step service_addresses(Store& store, Random random, const ServiceRange& range) {
  return std::make_unique<ServiceAddresses>(store, random, range);
}

}  // namespace berth::apiserver

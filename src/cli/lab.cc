// SPDX-License-Identifier: Apache-2.0
// berth lab: failures on demand in a cluster of `berth up`, and waiting until it is idle.
#include <algorithm>
#include <array>
#include <memory>

#include <fmt/format.h>

#include "base/check.h"
#include "cli/command.h"
#include "cli/on_cluster.h"
#include "client/api.h"
#include "json/slice.h"

namespace berth::cli {
namespace {

struct LabCommand {
  client::ConnectOptions connect;
  std::string action, name;
  std::string factor = "3", down = "30s", up = "30s", with = "not-ready", timeout = "10m";
  std::int64_t times = 3;
};

constexpr Duration kPatience = 1min;

enum class Target : std::uint8_t { kNone, kNode, kZone, kPod };

struct Action {
  std::string_view name;
  Target target = Target::kNone;
};
constexpr std::array<Action, 14> kActions{{
    {"status"},
    {"settle"},
    {"crash-node", Target::kNode},
    {"cut-off-node", Target::kNode},
    {"flap-node", Target::kNode},
    {"slow-node", Target::kNode},
    {"sicken-node", Target::kNode},
    {"recover-node", Target::kNode},
    {"lose-zone", Target::kZone},
    {"recover-zone", Target::kZone},
    {"crash-pod", Target::kPod},
    {"stick-pod", Target::kPod},
    {"recover-pod", Target::kPod},
    {"recover"},
}};

std::vector<std::string> action_names() {
  std::vector<std::string> names;
  for (const Action& action : kActions) names.emplace_back(action.name);
  return names;
}

const char* word(Target target) {
  switch (target) {
    case Target::kNode:
      return "a node";
    case Target::kZone:
      return "a zone";
    case Target::kPod:
      return "a pod";
    case Target::kNone:
      break;
  }
  return "nothing";
}

// What a path takes as it is; names of nodes, zones and pods consist of nothing else.
bool plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_';
  });
}

Result<Action> checked(const LabCommand& command) {
  const auto* const action =
      std::find_if(kActions.begin(), kActions.end(),
                   [&](const Action& each) { return each.name == command.action; });
  BERTH_CHECK(action != kActions.end(), "the action was checked before");
  if (command.name.empty() != (action->target == Target::kNone))
    return tl::unexpected(
        usage_error(action->target == Target::kNone
                        ? fmt::format("{} needs no name", action->name)
                        : fmt::format("{0} needs the name of {1}: berth lab {0} NAME", action->name,
                                      word(action->target))));
  for (const std::string* text : {&command.name, &command.factor, &command.down, &command.up,
                                  &command.timeout, &command.connect.ns})
    if (!plain(*text))
      return tl::unexpected(usage_error(fmt::format("'{}' is no name or time", *text)));
  return *action;
}

std::string path_of(const Action& action, const LabCommand& command, const std::string& ns) {
  std::string path = fmt::format("/lab/{}", action.name);
  if (action.target == Target::kPod) path += "/" + ns;
  if (!command.name.empty()) path += "/" + command.name;
  if (action.name == "flap-node")
    path += fmt::format("?down={}&up={}&times={}", command.down, command.up, command.times);
  if (action.name == "slow-node") path += "?factor=" + command.factor;
  if (action.name == "sicken-node") path += "?with=" + command.with;
  if (action.name == "settle") path += "?timeout=" + command.timeout;
  return path;
}

void print_status(json::Slice status, Context& context) {
  const auto number = [](json::Slice of) { return of.integer().value_or(0); };
  const json::Slice nodes = status["nodes"], pods = status["pods"];
  context.out << fmt::format(
      "Time   {}\n"
      "Nodes  {} simulated, {} silent\n"
      "Pods   {} pending, {} running, {} finished, {} stopping\n"
      "Ahead  {}\n",
      status["time"].text(), number(nodes["simulated"]), number(nodes["silent"]),
      number(pods["pending"]), number(pods["running"]), number(pods["finished"]),
      number(pods["stopping"]),
      status["busy"].boolean() ? "pods will start, end or stop by themselves"
                               : "nothing happens by itself");
  for (const json::Slice each : status["troubles"].elements())
    context.out << fmt::format("{}: {}\n", each["node"].text(), each["what"].text());
}

class LabCall {
 public:
  LabCall(Scope& scope, std::unique_ptr<client::Cluster> cluster, const LabCommand& command,
          const Action& action, Context& context, Finish finish)
      : scope_(scope),
        command_(command),
        action_(action),
        context_(context),
        finish_(std::move(finish)),
        cluster_(std::move(cluster)) {}

  void start() {
    // The time that settle may take is the cluster's, not ours.
    const Duration patience = action_.name == "settle" ? Duration(24h) : kPatience;
    ask(action_.name == "status" ? "GET" : "POST", path_of(action_, command_, cluster_->ns),
        patience, [this](Result<kube::ApiReply> reply) { answered(std::move(reply)); });
  }

 private:
  void ask(std::string method, std::string path, Duration patience,
           Fn<void(Result<kube::ApiReply>)> then) {
    kube::ApiRequest request{.verb = kube::Verb::kRaw};
    request.raw_method = std::move(method);
    request.raw_path = std::move(path);
    cluster_->transport->call(std::move(request), scope_.executor().clock().now() + patience,
                              scope_.done<kube::ApiReply>(kNoLimit, std::move(then)));
  }

  void failed(Error error) { finish_(tl::unexpected(asked_of(*cluster_, std::move(error)))); }
  void no_lab() {
    failed({.reason = Reason::kNotFound,
            .message = "this cluster has no simulated nodes; `berth up` starts one that has"});
  }

  void answered(Result<kube::ApiReply> reply) {
    if (!reply) return refused(std::move(reply.error()));
    const auto* const text = std::get_if<std::string>(&reply->body);
    const json::Slice said(text != nullptr ? std::string_view(*text) : "{}");
    if (action_.name == "status")
      print_status(said, context_);
    else
      context_.out << said["message"].text() << "\n";
    finish_(kExitOk);
  }

  // Is it the node that is not there, or the lab?
  void refused(Error error) {
    if (error.reason != Reason::kNotFound) return failed(std::move(error));
    if (action_.name == "status") return no_lab();
    ask("GET", "/lab/status", kPatience,
        [this, error = std::move(error)](const Result<kube::ApiReply>& there) mutable {
          if (!there && there.error().reason == Reason::kNotFound) return no_lab();
          failed(std::move(error));
        });
  }

  Scope& scope_;
  const LabCommand& command_;
  const Action& action_;
  Context& context_;
  Finish finish_;
  std::unique_ptr<client::Cluster> cluster_;
};

}  // namespace

Command lab() {
  auto options = std::make_shared<LabCommand>();
  Command command("lab", "Make simulated nodes and pods of `berth up` fail, and wait until idle");
  command.positional_choice("ACTION", &options->action, action_names(), "what to do")
      .optional_positional("NAME", &options->name, "the node, zone or pod")
      .flag("-n,--namespace", &options->connect.ns, "where the pod is; default: the context's",
            "NAME")
      .flag("--kubeconfig", &options->connect.kubeconfig,
            "kubeconfig file; default: KUBECONFIG, then ~/.kube/config, then in-cluster", "FILE")
      .flag("--context", &options->connect.context, "context of the kubeconfig", "NAME")
      .flag("--factor", &options->factor, "slow-node: how many times as long all takes", "N")
      .flag("--down", &options->down, "flap-node: how long it is silent", "TIME")
      .flag("--up", &options->up, "flap-node: and how long it is back", "TIME")
      .flag("--times", &options->times, "flap-node: how often")
      .choice("--with", &options->with,
              {"not-ready", "memory-pressure", "disk-pressure", "pid-pressure"},
              "sicken-node: what its kubelet reports")
      .flag("--timeout", &options->timeout, "settle: how long at most, in the cluster's time",
            "TIME")
      .example("berth lab crash-node node-7 && berth lab settle && berth lab status")
      .example("berth lab flap-node node-7 --down 1m --up 30s --times 5")
      .example("berth lab recover")
      .run([options](Context& context) -> Result<int> {
        const Result<Action> action = checked(*options);
        if (!action) return tl::unexpected(action.error());
        return run_on_cluster(
            kExitFailed, options->connect, [&](Scope& scope, auto cluster, Finish finish) {
              auto call = std::make_shared<LabCall>(scope, std::move(cluster), *options, *action,
                                                    context, std::move(finish));
              call->start();
              return call;
            });
      });
  return command;
}

}  // namespace berth::cli

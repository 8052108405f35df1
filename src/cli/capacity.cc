// SPDX-License-Identifier: Apache-2.0
// berth capacity: what a cluster, or the manifests in a file, still has to give.
#include <chrono>
#include <memory>

#include <fmt/format.h>

#include "cli/capacity_report.h"
#include "cli/command.h"
#include "cli/manifests.h"
#include "cli/on_cluster.h"
#include "client/api.h"
#include "client/informer.h"

namespace berth::cli {
namespace {

struct CapacityOptions {
  std::vector<std::string> files;
  client::ConnectOptions connect;
  std::string output = "table";
  bool watch = false;
};

void show(const CapacityReport& report, const CapacityOptions& options, Context& context) {
  if (options.output == "json")
    context.out << capacity_json(report);
  else
    print_capacity(report, context);
  context.out.flush();
}

Result<int> from_files(const CapacityOptions& options, Context& context) {
  Manifests all;
  for (const std::string& file : options.files)
    if (Result<Ok> read = all.read(file); !read) return tl::unexpected(std::move(read.error()));
  if (all.of(kube::kNode).empty())
    return fail(Reason::kNotFound,
                fmt::format("{}: no Node is in it; add a manifest that has nodes",
                            fmt::join(options.files, ", ")));
  Result<CapacityReport> report =
      capacity_report(all.of(kube::kNode), all.of(kube::kPod), true,
                      [&](const kube::Object& object, std::string_view field) {
                        return all.place_of(object, field);
                      });
  if (!report) return tl::unexpected(std::move(report.error()));
  show(*report, options, context);
  return kExitOk;
}

// Lists nodes and pods and prints; then, watching, follows both and prints again after changes, at
// most once a second. The lists come first so that a cluster that cannot be read is an error and
// not a wait.
class LiveCapacity {
 public:
  LiveCapacity(Scope& scope, std::unique_ptr<client::Cluster> cluster,
               const CapacityOptions& options, Context& context, Finish finish)
      : scope_(scope),
        options_(options),
        context_(context),
        finish_(std::move(finish)),
        cluster_(std::move(cluster)),
        api_(scope, *cluster_->transport, Random::from_entropy(), nullptr, {.attempts = 3}),
        nodes_(scope, *cluster_->transport, Random::from_entropy(),
               {.feed = {.kind = kube::kNode}}),
        pods_(scope, *cluster_->transport, Random::from_entropy(), {.feed = {.kind = kube::kPod}}) {
  }

  void start() {
    api_.list_all(kube::kNode, "", {}, scope_.done<kube::ObjectList>(kNoLimit, [this](auto nodes) {
      if (!nodes) return failed(std::move(nodes.error()));
      on_nodes(std::move(nodes->items));
    }));
  }

 private:
  void on_nodes(std::vector<kube::Object> nodes) {
    api_.list_all(
        kube::kPod, "", {},
        scope_.done<kube::ObjectList>(kNoLimit, [this, nodes = std::move(nodes)](auto pods) {
          if (!pods) return failed(std::move(pods.error()));
          print(nodes, pods->items);
          if (options_.watch) follow();
        }));
  }

  void failed(Error error) { finish_(tl::unexpected(asked_of(*cluster_, std::move(error)))); }

  void follow() {
    for (auto* informer : {&nodes_, &pods_}) {
      informer->on_synced([this, informer] {
        informer->add_handler({.added = [this](const auto&) { changed(); },
                               .updated = [this](const auto&, const auto&) { changed(); },
                               .deleted = [this](const auto&) { changed(); }});
      });
      informer->start();
    }
  }

  void changed() {
    if (due_ || !nodes_.synced() || !pods_.synced()) return;
    due_ = true;
    scope_.after(1s, [this] {
      due_ = false;
      if (context_.terminal && options_.output == "table") context_.out << "\x1b[H\x1b[2J";
      print(objects(nodes_), objects(pods_));
    });
  }

  static std::vector<kube::Object> objects(const client::Informer<>& informer) {
    std::vector<kube::Object> all;
    informer.for_each([&](const kube::Key&, const kube::Object& object) { all.push_back(object); });
    return all;
  }

  void print(std::span<const kube::Object> nodes, std::span<const kube::Object> pods) {
    const Result<CapacityReport> report =
        capacity_report(nodes, pods, false, [](const auto&, auto) { return std::string(); });
    if (!report) return finish_(tl::unexpected(report.error()));
    show(*report, options_, context_);
    if (!options_.watch || !context_.out) finish_(kExitOk);  // the reader of a pipe may be gone
  }

  Scope& scope_;
  const CapacityOptions& options_;
  Context& context_;
  Finish finish_;
  std::unique_ptr<client::Cluster> cluster_;
  client::Api api_;
  client::Informer<> nodes_, pods_;
  bool due_ = false;
};

Result<int> from_cluster(const CapacityOptions& options, Context& context) {
  return run_on_cluster(kExitOk, options.connect, [&](Scope& scope, auto cluster, Finish finish) {
    auto live = std::make_shared<LiveCapacity>(scope, std::move(cluster), options, context,
                                               std::move(finish));
    live->start();
    return live;
  });
}

}  // namespace

Command capacity() {
  auto options = std::make_shared<CapacityOptions>();
  Command command("capacity", "Show what each node of a cluster has left");
  command
      .flag("-f,--filename", &options->files,
            "read nodes and pods from manifests instead (- for standard input)", "FILE")
      .flag("--kubeconfig", &options->connect.kubeconfig,
            "kubeconfig file; default: KUBECONFIG, then ~/.kube/config, then in-cluster", "FILE")
      .flag("--context", &options->connect.context, "context of the kubeconfig", "NAME")
      .flag("-w,--watch", &options->watch, "go on and print again when something changes")
      .choice("-o,--output", &options->output, {"table", "json"}, "how to print")
      .example("berth capacity -f examples/manifests/cluster.yaml")
      .example("berth capacity --context prod --watch")
      .run([options](Context& context) -> Result<int> {
        if (options->files.empty()) return from_cluster(*options, context);
        if (options->watch)
          return tl::unexpected(
              usage_error("--watch follows a cluster; it does not go with --filename"));
        return from_files(*options, context);
      });
  return command;
}

}  // namespace berth::cli

// SPDX-License-Identifier: Apache-2.0
#include "cluster.h"

#include <cstdlib>

#include <fmt/format.h>

#include "base/random.h"
#include "kube/status.h"
#include "real.h"

namespace berth::e2e {

Subject subject() {
  const char* given = std::getenv("BERTH_SUBJECT");
  return given != nullptr && std::string(given) == "stock" ? Subject::kStock : Subject::kBerth;
}

std::string name_of(Subject subject) {
  return subject == Subject::kStock ? "kube-scheduler" : "berth scheduler";
}

namespace {
// What `berth scheduler --help` says; "" where there is no such command.
std::string help_of_berth() {
  TempFolder folder;
  auto help = Child::start({.program = BERTH_BERTH,
                            .args = {"scheduler", "--help"},
                            .env = {},
                            .log = folder.path() / "help.log"});
  if (!help || !(*help)->wait(std::chrono::seconds(30)) || (*help)->exit_code() != 0) return "";
  return (*help)->log();
}
}  // namespace

Result<std::string> program_of(Subject subject) {
  if (subject == Subject::kStock) {
    const auto program = real_program("kube-scheduler");
    if (!program) return tl::unexpected(program.error());
    return program->string();
  }
  if (help_of_berth().empty())
    return fail(Reason::kNotFound,
                "this berth has no command `scheduler`; BERTH_SUBJECT=stock tests kube-scheduler");
  return std::string(BERTH_BERTH);
}

Result<std::unique_ptr<Cluster>> Cluster::start(Options options) {
  std::unique_ptr<Cluster> cluster(new Cluster);
  std::vector<std::string> flags{"--disable-admission-plugins=" + options.without_admission};
  flags.insert(flags.end(), options.api_server_flags.begin(), options.api_server_flags.end());
  auto plane = ControlPlane::start({.etcd_flags = {}, .api_server_flags = std::move(flags)});
  if (!plane) return tl::unexpected(plane.error());
  cluster->plane_ = std::move(*plane);
  auto session = Session::open(cluster->plane_->kubeconfig());
  if (!session) return tl::unexpected(session.error());
  cluster->admin_ = std::move(*session);
  if (auto helpers = cluster->start_helpers(options); !helpers)
    return tl::unexpected(helpers.error());
  return cluster;
}

// Those who use the API server end before it does.
Cluster::~Cluster() {
  controllers_.reset();
  kwok_.reset();
  admin_.reset();
}

Result<Ok> Cluster::start_helpers(const Options& options) {
  const std::string kubeconfig = plane_->kubeconfig().string();
  if (!options.controllers.empty()) {
    std::vector<std::string> args = controller_manager_args(kubeconfig, options.controllers);
    args.insert(args.end(), {"--leader-elect=false", "--use-service-account-credentials=false",
                             "--root-ca-file=" + (plane_->folder().path() / "ca.crt").string(),
                             "--service-account-private-key-file=" +
                                 (plane_->folder().path() / "server.key").string()});
    auto child = plane_->start_program("kube-controller-manager", std::move(args));
    if (!child) return tl::unexpected(child.error());
    controllers_ = std::move(*child);
  }
  if (options.kwok) {
    std::vector<std::string> args = kwok_args(kubeconfig);
    args.push_back("--manage-all-nodes=true");
    auto child = plane_->start_program("kwok", std::move(args));
    if (!child) return tl::unexpected(child.error());
    kwok_ = std::move(*child);
  }
  return Ok{};
}

Result<std::unique_ptr<Child>> Cluster::start_scheduler(Subject subject,
                                                        const SchedulerOptions& options) {
  const auto program = program_of(subject);
  if (!program) return tl::unexpected(program.error());
  for (Child* helper : {controllers_.get(), kwok_.get()})
    if (helper != nullptr && !helper->running())
      return fail(Reason::kServiceUnavailable,
                  helper->name() + " has ended:\n" + helper->log_tail());
  const int number = ++schedulers_;
  const auto config =
      plane_->folder().write(fmt::format("scheduler-{}.yaml", number),
                             fmt::format(R"(apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection:
  leaderElect: false
clientConnection:
  kubeconfig: {}
  qps: 100000
  burst: 100000
{})",
                                         plane_->kubeconfig().string(), options.config));
  std::vector<std::string> args;
  if (subject == Subject::kBerth) args.push_back("scheduler");
  if (subject == Subject::kBerth && options.verify)
    args.insert(args.end(),
                {"--verify-decisions", "1", "--mismatch-dir", plane_->folder().path().string()});
  args.insert(args.end(), {"--config", config.string()});
  // Nobody asks it anything, and two may run on one machine.
  if (subject == Subject::kStock || help_of_berth().find("--secure-port") != std::string::npos)
    args.insert(args.end(), {"--secure-port", "0"});
  args.insert(args.end(), options.flags.begin(), options.flags.end());
  last_log_ = plane_->folder().path() / fmt::format("scheduler-{}.log", number);
  return Child::start({.program = *program, .args = args, .env = {}, .log = last_log_});
}

void Cluster::wipe() {
  std::vector<std::string> namespaces;
  for (const kube::Object& ns : list(kube::kNamespace)) namespaces.emplace_back(ns.name());
  const auto erase_all = [&](kube::KindId kind, const std::string& ns) {
    const auto gone = admin_->ask<Ok>([&](client::Api& api, Done<Ok> done) {
      api.erase_collection(
          kind, ns, {.grace_period_seconds = 0, .propagation = kube::Propagation::kBackground},
          std::move(done));
    });
    BERTH_CHECK(gone.has_value(), "the API server lets the admin delete");
  };
  for (const std::string& ns : namespaces)
    for (const kube::KindId kind :
         {kube::kReplicaSet, kube::kReplicationController, kube::kStatefulSet, kube::kPod,
          kube::kPersistentVolumeClaim, kube::kPodDisruptionBudget, kube::kEvent})
      erase_all(kind, ns);
  for (const kube::Object& service : list(kube::kService))
    if (service.name() != "kubernetes") admin_->erase(kube::kService, service.key());
  for (const kube::KindId kind : {kube::kPersistentVolume, kube::kCsiNode, kube::kNode})
    erase_all(kind, "");
}

std::vector<kube::Object> Cluster::list(kube::KindId kind) {
  auto listed = admin_->list_all(kind, "");
  BERTH_CHECK(listed.has_value(), "the API server answers");
  return std::move(listed->items);
}

ClusterState Cluster::state() {
  return {.nodes = list(kube::kNode),
          .pods = list(kube::kPod),
          .namespaces = list(kube::kNamespace),
          .volumes = list(kube::kPersistentVolume),
          .claims = list(kube::kPersistentVolumeClaim),
          .classes = list(kube::kStorageClass),
          .csi_nodes = list(kube::kCsiNode)};
}

std::string Cluster::log_tails(std::size_t lines) const {
  std::string all = plane_->log_tails(lines);
  for (const Child* child : {controllers_.get(), kwok_.get()})
    if (child != nullptr) all += "--- " + child->name() + "\n" + child->log_tail(lines);
  return all;
}

PodHistory::PodHistory(Session& session)
    : session_(session), scope_(session.loop().child("pod history")) {
  session_.loop().run([&] {
    informer_ =
        std::make_unique<client::Informer<>>(scope_, session_.transport(), Random::from_entropy(),
                                             client::InformerOptions{.feed = {.kind = kube::kPod}});
    informer_->add_handler(
        {.added = [this](const kube::Object& o) { saw(o, false); },
         .updated = [this](const kube::Object&, const kube::Object& o) { saw(o, false); },
         .deleted = [this](const kube::Object& o) { saw(o, true); }});
    informer_->start();
  });
  eventually(std::chrono::seconds(60), [&] {
    bool synced = false;
    session_.loop().run([&] { synced = informer_->synced(); });
    return synced;
  });
}

PodHistory::~PodHistory() {
  session_.loop().close(scope_);
  session_.loop().run([&] { informer_.reset(); });
}

void PodHistory::saw(const kube::Object& pod, bool gone) {
  const auto [at, added] = by_uid_.try_emplace(std::string(pod.uid()));
  Life& life = at->second;
  if (added) {
    life.key = pod.key().text();
    life.uid = pod.uid();
    ++there_;
  }
  const std::string node = pod.member("spec")["nodeName"].text();
  if (node != life.node) {
    if (life.node.empty()) ++bound_;
    ++life.binds;
    life.node = node;
  }
  life.nominated = pod.status()["nominatedNodeName"].text();
  life.leaving = pod.deleting();
  if (gone && !life.gone) {
    life.gone = true;
    --there_;
    if (!life.node.empty()) --bound_;
  }
}

std::vector<PodHistory::Life> PodHistory::lives() {
  std::vector<Life> out;
  session_.loop().run([&] {
    for (const auto& [uid, life] : by_uid_) out.push_back(life);
  });
  return out;
}

std::map<std::string, PodHistory::Life> PodHistory::by_key() {
  std::map<std::string, Life> out;
  for (const Life& life : lives()) {
    Life& kept = out[life.key];
    if (kept.key.empty() || kept.gone) kept = life;
  }
  return out;
}

std::uint64_t PodHistory::gaps() {
  std::uint64_t out = 0;
  session_.loop().run([&] { out = informer_->stats().relists; });
  return out;
}

std::string bound_other_than_once(const std::vector<PodHistory::Life>& lives) {
  std::string out;
  for (const PodHistory::Life& life : lives)
    if (life.binds != 1) out += fmt::format("{}: {} binds\n", life.key, life.binds);
  return out;
}

}  // namespace berth::e2e

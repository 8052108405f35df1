// SPDX-License-Identifier: Apache-2.0
#include "cli/install_check.h"

#include <memory>
#include <set>

#include <fmt/format.h>

#include "cli/on_cluster.h"
#include "client/api.h"
#include "json/yaml.h"
#include "kube/ours/ours.h"

namespace berth::cli {
namespace {

// Those that write what `berth install | kubectl apply` says.
bool is_ours(const std::string& conflict) {
  for (const char* manager : {"\"kubectl", "\"berth"})
    if (conflict.find(manager) != std::string::npos) return true;
  return false;
}

// Asks object by object.
class Check {
 public:
  Check(Scope& scope, std::unique_ptr<client::Cluster> cluster, std::vector<kube::Object> wanted,
        Context& context, Finish finish)
      : scope_(scope),
        wanted_(std::move(wanted)),
        context_(context),
        finish_(std::move(finish)),
        cluster_(std::move(cluster)),
        api_(scope, *cluster_->transport, Random::from_entropy(), nullptr, {.attempts = 3}) {}

  void next() {
    if (at_ == wanted_.size()) return list_classes();
    const kube::Object& object = wanted_[at_];
    api_.get(object.kind(), object.key(),
             scope_.done<kube::Object>(
                 kNoLimit, [this](Result<kube::Object> there) { on_there(std::move(there)); }));
  }

 private:
  void on_there(Result<kube::Object> there) {
    if (!there && there.error().reason != Reason::kNotFound) return failed(there.error());
    if (!there) {
      ++new_;
      say("is new");
      return advance();
    }
    before_ = *there;
    try_apply(false);
  }

  void try_apply(bool force) {
    const kube::Object& object = wanted_[at_];
    api_.patch(object.kind(), object.key(), object.json(), kube::PatchType::kApply,
               scope_.done<kube::Object>(
                   kNoLimit, [this](Result<kube::Object> after) { on_applied(std::move(after)); }),
               "", {.dry_run = true, .force = force, .field_manager = "berth-install"});
  }

  void on_applied(Result<kube::Object> after) {
    if (after) {
      const bool same = before_.body().raw() == after->body().raw();
      same ? ++same_ : ++changed_;
      if (!same) say("would change");
      return advance();
    }
    Error error = std::move(after.error());
    if (error.reason == Reason::kConflict) {
      std::string others;
      for (const Cause& cause : error.causes)
        if (!is_ours(cause.message))
          others += fmt::format("\n    {}: {}", cause.field, cause.message);
      // What an earlier version of ours says may be changed, if it can be.
      if (others.empty()) return try_apply(true);
      conflict("is somebody else's in part:" + others);
      return advance();
    }
    if (error.reason == Reason::kInvalid || error.reason == Reason::kForbidden ||
        error.reason == Reason::kBadRequest) {
      conflict("cannot be changed to what it should be: " + error.message);
      return advance();
    }
    failed(std::move(error));
  }

  // Scavengers are to lie below everything else.
  void list_classes() {
    api_.list_all(
        kube::kPriorityClass, "", {},
        scope_.done<kube::ObjectList>(kNoLimit, [this](Result<kube::ObjectList> all) {
          if (!all) return failed(all.error());
          const std::set<std::string_view> ours = {kube::kScavengerClass, kube::kStarvedClass};
          for (const kube::Object& one : all->items) {
            const std::int64_t value = one.member("value").integer().value_or(0);
            if (ours.count(one.name()) > 0) continue;
            if (value <= kube::kStarvedPriority) {
              ++conflicts_;
              context_.out << fmt::format(
                  "CONFLICT PriorityClass {}: its value {} is not above that of scavengers, {}\n",
                  one.name(), value, kube::kStarvedPriority);
            } else if (value < 0 && one.member("globalDefault").boolean()) {
              ++conflicts_;
              context_.out << fmt::format(
                  "CONFLICT PriorityClass {}: the cluster's default lies below 0, {}; ordinary "
                  "pods could not be raised\n",
                  one.name(), value);
            }
          }
          finish();
        }));
  }

  void finish() {
    context_.out << fmt::format("{} new, {} to change, {} as they should be, {} conflicts\n", new_,
                                changed_, same_, conflicts_);
    finish_(conflicts_ == 0 ? kExitOk : kExitFailed);
  }

  void say(std::string_view what) {
    const kube::Object& object = wanted_[at_];
    context_.out << fmt::format("{} {} {}\n", kube::kind_of(object.kind()).kind,
                                object.key().text(), what);
  }
  void conflict(std::string_view what) {
    ++conflicts_;
    context_.out << "CONFLICT ";
    say(what);
  }
  void advance() {
    ++at_;
    next();
  }
  void failed(Error error) { finish_(tl::unexpected(asked_of(*cluster_, std::move(error)))); }

  Scope& scope_;
  std::vector<kube::Object> wanted_;
  Context& context_;
  Finish finish_;
  std::unique_ptr<client::Cluster> cluster_;
  client::Api api_;
  kube::Object before_;
  std::size_t at_ = 0;
  int new_ = 0, changed_ = 0, same_ = 0, conflicts_ = 0;
};

}  // namespace

Result<int> check_against_cluster(const client::ConnectOptions& connect,
                                  const std::string& manifests, Context& context) {
  const auto documents = json::yaml_to_json(manifests);
  if (!documents) return tl::unexpected(documents.error());
  std::vector<kube::Object> wanted;
  for (const json::YamlDocument& document : *documents) {
    auto object = kube::Object::parse(document.json);
    if (!object) return tl::unexpected(object.error());
    wanted.push_back(*std::move(object));
  }
  return run_on_cluster(kExitFailed, connect,
                        [&](Scope& scope, std::unique_ptr<client::Cluster> cluster,
                            const Finish& finish) -> std::shared_ptr<void> {
                          auto check = std::make_shared<Check>(scope, std::move(cluster),
                                                               std::move(wanted), context, finish);
                          check->next();
                          return check;
                        });
}

}  // namespace berth::cli

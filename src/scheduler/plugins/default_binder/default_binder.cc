// SPDX-License-Identifier: Apache-2.0
// Binds a pod by telling the API server.
#include "base/check.h"
#include "client/api.h"
#include "scheduler/framework/plugin.h"
#include "scheduler/framework/services.h"

namespace berth::scheduler {
namespace {

class DefaultBinder final : public Bind {
 public:
  explicit DefaultBinder(const PluginContext& context)
      : Plugin(context), services_(context.services) {}

  // A refusal is handed on as the error it is, not as a status: the caller tells by its reason and
  // outcome a pod that is gone or bound elsewhere from an answer that got lost.
  void bind(Cycle& cycle, const std::string& node, Done<Status> done) override {
    BERTH_CHECK(services_ != nullptr, "binding where nothing may be done");
    const Pod& pod = cycle.pod;
    services_->api().bind(
        {pod.ns, pod.name}, pod.uid, node,
        services_->scope().done<Ok>(kNoLimit, [done = std::move(done)](Result<Ok> answer) mutable {
          if (answer)
            done(Status{});
          else
            done(tl::unexpected(std::move(answer.error())));
        }));
  }

 private:
  Services* services_;
};

}  // namespace

std::unique_ptr<Plugin> make_default_binder(const PluginContext& context) {
  return std::make_unique<DefaultBinder>(context);
}

}  // namespace berth::scheduler

// SPDX-License-Identifier: Apache-2.0
// Draws two of the nodes that fit and takes the less loaded one: nearly as even as looking at all
// of them, for the price of two looks. Load is the larger share of cpu or memory that is requested,
// containers that request none counted with their defaults.
#include <algorithm>

#include "base/random.h"
#include "scheduler/framework/services.h"
#include "scheduler/plugins/one_winner.h"

namespace berth::scheduler {
namespace {

double load(const Rows& rows, std::uint32_t row) {
  const auto share = [](double used, double alloc) { return alloc > 0 ? used / alloc : 1; };
  return std::max(share(rows.cpu_nonzero[row], rows.cpu_alloc[row]),
                  share(rows.memory_nonzero[row], rows.memory_alloc[row]));
}

class PowerOfTwoChoices final : public OneWinner {
 public:
  explicit PowerOfTwoChoices(const PluginContext& context)
      : Plugin(context),
        chance_(context.services != nullptr ? context.services->random().fork(context.name)
                                            : Random(0)) {}

 protected:
  std::uint32_t pick(const Cycle&, const FeasibleSummary& nodes) const override {
    if (nodes.count == 1) return nth(nodes.feasible, 0);
    const std::uint64_t first = chance_.below(nodes.count);
    std::uint64_t second = chance_.below(nodes.count - 1);
    second += second >= first ? 1 : 0;  // two different ones
    const std::uint32_t a = nth(nodes.feasible, first), b = nth(nodes.feasible, second);
    return load(nodes.rows, b) < load(nodes.rows, a) ? b : a;
  }

 private:
  mutable Random chance_;
};

}  // namespace

std::unique_ptr<Plugin> make_power_of_two_choices(const PluginContext& context) {
  return std::make_unique<PowerOfTwoChoices>(context);
}

}  // namespace berth::scheduler

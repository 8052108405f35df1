// SPDX-License-Identifier: Apache-2.0
// Which of the rights that it declares each controller has used, over all stories of this process.
// With BERTH_RIGHTS set, a right that no story has used fails the run: nobody needs it, or nobody
// tests what it is for.
#pragma once

#include <string>

#include "client/transport.h"
#include "runtime/spec.h"

namespace berth::controllers::stories {

// The way of one controller's own calls. What its informers read goes another way, and is used as
// soon as it is declared.
class UsedRights final : public client::Transport {
 public:
  UsedRights(const runtime::Spec&, client::Transport& inner);
  void call(kube::ApiRequest, Instant deadline, Done<kube::ApiReply>) override;

 private:
  std::string controller_;
  client::Transport& inner_;
};

}  // namespace berth::controllers::stories

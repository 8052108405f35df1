// SPDX-License-Identifier: Apache-2.0
// A watch between the store and its reader. The reader may be on another thread; the store is not.
#pragma once

#include <memory>
#include <string>

#include "apiserver/serve/call.h"

namespace berth::apiserver {

// Loop-confined to the API server's. Kept by its stream and while something is posted for it.
class Watching final : public WatchSink, public std::enable_shared_from_this<Watching> {
 public:
  explicit Watching(Call&);
  ~Watching() override;

  void start(WatchSpec, Duration lasts);
  // The reader's end.
  std::unique_ptr<kube::WatchStream> stream();
  void read(Done<kube::WatchStream::Batch>);
  // Ends it for its reader too: cleanly, as after timeoutSeconds. The server may go afterwards.
  void end();
  void drop();                          // the reader has gone
  bool served(const Kinds& now) const;  // its kind still is, and by the same definition

  void ready(WatchId) override;

 private:
  void pump();
  void leave();  // the store and the server

  Core* core_;  // null: over
  Executor& home_;
  std::shared_ptr<const Kinds> kinds_;
  const KindRow& row_;
  std::shared_ptr<void> looked_;
  WatchId id_ = WatchId::kNone;
  TimerId bookmark_ = TimerId::kNone, timeout_ = TimerId::kNone;
  Done<kube::WatchStream::Batch> waiting_;
  bool readable_ = true;  // the store may have something
};

}  // namespace berth::apiserver

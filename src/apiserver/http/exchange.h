// SPDX-License-Identifier: Apache-2.0
// One request at the door, from its reading until the last byte of its answer has left.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "apiserver/http/body.h"
#include "apiserver/http/door.h"
#include "apiserver/http/indenter.h"
#include "apiserver/http/render.h"
#include "apiserver/http/request.h"
#include "net/gzip.h"

namespace berth::apiserver {

// What the exchanges of a door share. Loop-confined to the scope's executor.
struct DoorState {
  Scope& scope;
  Executor& api;
  std::shared_ptr<const Door::Handle> handle;
  const KindRegistry& kinds;
  Random random;
  DoorOptions options;
  std::map<std::string, std::size_t, std::less<>> watches_of = {};  // by address
  std::size_t watches = 0;
  std::deque<std::shared_ptr<class Exchange>> large = {};  // the first is being served
  std::optional<BodyCounts> bodies = {};

  WallTime now() const { return api.clock().wall(); }
  std::string audit_id();
};

// Loop-confined. Kept by the calls that it waits for.
class Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  Exchange(std::shared_ptr<DoorState>, const net::HttpPeer&, net::HttpReply);
  ~Exchange();

  void begin(net::HttpRequest, const net::HttpPeer&);

 private:
  void hand_over();
  void take_turn();  // one of those that are large
  void answered(Result<kube::ApiReply>);
  void refuse(const Error&);
  void send_text(int code, std::string text, std::string_view content_type);
  void send_page(std::string text, std::string_view content_type);
  void send_json(int code, std::string json);  // in YAML, or indented, where that was wanted
  net::Headers headers(std::string_view content_type) const;
  bool compresses(std::size_t bytes) const;

  void start_list(kube::ObjectList);
  void more_of_list();
  void write_piece(std::string piece, bool last);

  void start_watch(std::unique_ptr<kube::WatchStream>);
  void read_watch();
  void write_events();
  void end_watch();

  std::shared_ptr<DoorState> door_;
  net::HttpReply reply_;
  std::string client_;  // its address
  bool near_ = false;   // on this machine
  bool takes_gzip_ = false;
  bool is_one_ = false;  // the answer is one object, not many or a page
  std::string audit_id_;
  Incoming in_ = {};
  std::vector<std::string> warnings_ = {};
  int code_ = 200;
  std::optional<Renderer> renderer_ = {};

  kube::ObjectList list_ = {};
  std::size_t next_ = 0;  // item or event
  std::size_t told_ = 0;  // bytes of the next event that have left already
  WallTime told_at_{};    // when they began to
  bool streaming_ = false;
  Indenter indenter_;
  std::unique_ptr<net::Compressor> compressor_ = {};

  std::unique_ptr<kube::WatchStream> watch_ = {};
  kube::WatchStream::Batch batch_ = {};
  Instant gather_until_{};  // before that, events are left where they are
  bool counted_ = false;
};

}  // namespace berth::apiserver

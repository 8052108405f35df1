// SPDX-License-Identifier: Apache-2.0
// Controllers at work in virtual time: a pretended API server that follows the rules common to all
// kinds, nodes that start and stop pods, and a process that can be killed at any of its writes.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/world.h"
#include "client/faulty_transport.h"
#include "client/local_transport.h"
#include "fake_server.h"
#include "runtime/home.h"

namespace berth::controllers::stories {

using kube::Key;
using kube::KindId;
using kube::Object;

using Controllers = std::function<std::vector<std::unique_ptr<runtime::Controller>>()>;

// When the process dies, in relation to one of its writes. One that stalls is replaced as if it had
// died; long after its term it wakes, and the write still goes out.
enum class Moment { kBefore, kCommitted, kAnswered, kStalled };
struct KillAt {
  std::uint64_t write = 0;  // counted from 1 over all starts; 0: never
  Moment moment = Moment::kBefore;
};

// What a simulated container does.
struct PodLife {
  Duration start = 1s;               // from bound to running and ready
  std::optional<Duration> run = {};  // then it ends; none: it runs until it is deleted
  bool fails = false;
  int exit_code = 1;   // where it fails
  Duration stop = 1s;  // from deletion to gone
  bool placed = true;  // false: somebody else binds it
};

struct LabOptions {
  Controllers controllers = nullptr;
  Seed seed = 1;
  Order order = Order::kFifo;
  KillAt kill = {};
  client::TransportFaults faults = {};
  runtime::HomeOptions home = {};
  std::vector<KindId> kinds = {};        // that the server has; none: whatever it is asked for
  std::vector<KindId> scaled = {};       // of them, with a subresource "scale"
  std::vector<Controllers> beside = {};  // in processes of their own
};

class Lab {
 public:
  explicit Lab(LabOptions);
  ~Lab();

  // As a user would; the JSON has apiVersion and kind. The answer is what was stored.
  Result<Object> create(std::string_view json);
  Result<Object> patch(KindId, const Key&, std::string merge_patch, std::string subresource = "");
  Result<Ok> erase(KindId, const Key&, kube::Propagation = kube::Propagation::kBackground,
                   std::optional<std::int64_t> grace = {});
  Object get(KindId, const Key&);  // invalid where there is none
  std::vector<Object> list(KindId);
  std::vector<std::string> names(KindId);
  std::vector<std::string> events();  // "reason: note", oldest first

  void run(Duration how_long = 30s) { world.run_for(how_long); }
  runtime::Home& home();
  client::FaultyTransport& wire();  // of the controllers
  int starts() const;               // of their process
  void stop(std::size_t process = 0) { world.kill(*processes_[process]); }
  void crash(std::size_t process = 0);  // and starts it again, as it does one that was stopped
  std::size_t processes() const { return processes_.size(); }
  // One more process, of whatever kind; it is crashed by its number like the others.
  std::size_t spawn(std::string name, Fn<std::unique_ptr<Component>(Env&)> make);
  berth::Process& process(std::size_t number) { return *processes_[number]; }
  // The API server dies, and is there again after a while; nodes look at all their pods then.
  void kill_server(faults::FakeServer::Ending, std::uint64_t last_requests, Duration away,
                   faults::FakeServer::History);
  bool leads(std::size_t process);
  double metric(const std::string& series);  // of the running process; 0 where it is not shown
  std::uint64_t writes() const { return *writes_; }
  // Everything there is but events and leases, without what differs from run to run.
  std::string end_state();

  World world;
  faults::FakeServer server;
  std::function<PodLife(const Object&)> life;  // null: the default life
  bool nodes_work = true;
  std::function<void()> server_returned;

 private:
  struct Process;
  Result<kube::ApiReply> ask(kube::ApiRequest);
  void react(KindId, const Object&);
  void pod_changed(const Object&);
  void later(Duration, const Object& pod, std::function<void(const Object&)>);
  runtime::HomeOptions home_of(std::size_t process) const;

  LabOptions options_;
  std::shared_ptr<std::uint64_t> writes_ = std::make_shared<std::uint64_t>(0);
  std::vector<berth::Process*> processes_;
};

// Merge patches of pod statuses, as a kubelet writes them.
std::string running_status(WallTime);
std::string ended_status(WallTime, bool failed, int exit_code = 1);

}  // namespace berth::controllers::stories

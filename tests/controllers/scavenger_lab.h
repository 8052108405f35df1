// SPDX-License-Identifier: Apache-2.0
// ScavengerJobs in virtual time: the real operator and the real Job controller, a small scheduler
// that knows only room, and somebody who writes down what must never be.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kube/ours/ours.h"
#include "kube/ours/scavenger_job_view.h"
#include "kube/resource_list.h"
#include "lab.h"

namespace berth::controllers::stories {

// The operator in a process of its own, so that it can be away while the others are not.
Controllers scavenger_operator();
Controllers job_keepers();

struct ScavengerLabOptions {
  KillAt kill = {};
  Seed seed = 1;
  Order order = Order::kFifo;
  Controllers controllers = nullptr;  // none: scavenger_operator()
  runtime::HomeOptions home = {};
};

class ScavengerLab {
 public:
  explicit ScavengerLab(ScavengerLabOptions options = {}, int nodes = 3,
                        std::string_view cpu = "10");

  void node(const std::string& name, std::string_view cpu = "10");
  // Gone without a word: its pods neither start nor stop any more.
  void lose_node(const std::string& name) { dead.insert(name); }
  void policy(std::string_view spec);  // made, or changed
  Result<Object> job(const std::string& name, std::string_view cpu = "1",
                     std::string_view more = "", const std::string& ns = "default");
  void pod(const std::string& name, std::string_view cpu, std::string_view more = "");  // ordinary

  Object get(const std::string& name, const std::string& ns = "default");
  std::string phase(const std::string& name) { return kube::ScavengerJobView(get(name)).phase(); }
  std::int64_t count(const std::string& name) {
    return kube::ScavengerJobView(get(name)).interrupted_count();
  }
  std::string message(const std::string& name) { return get(name).status()["message"].text(); }
  std::string condition(const std::string& name, std::string_view type);  // "False NoFit"
  std::vector<Object> pods(const std::string& name);                      // that live, of the job
  std::vector<Object> all_pods(const std::string& name);
  std::vector<Object> jobs(const std::string& name);
  // Records of choices on the Events of a job, each as a sentence.
  std::vector<std::string> choices_told_to(const std::string& name);
  std::vector<std::string> running();  // names of all that run, in order

  // What happens to a pod.
  void erase_pod(const Object& pod);
  void disrupt(const Object& pod, std::string_view reason);  // the condition, then the deletion
  void end(const Object& pod, int exit_code, std::string_view message = "",
           std::string_view reason = "");
  void report(const Object& pod, WallTime checkpoint);

  void stop_operator() { lab.stop(0); }
  void start_operator() { lab.crash(0); }
  WallTime now() { return lab.world.clock().wall(); }

  // Whatever was wrong with any version of any object; see scavenger_lab.cc.
  std::vector<std::string> wrongs;
  std::vector<std::string> left_over();  // at the end: finalizers, Jobs and pods that nobody needs

  Lab lab;
  std::function<PodLife(const Object&)> life;  // of scavengers' pods; null: until they are ended
  std::set<std::string, std::less<>> dead;
  bool places = true;
  bool checks = true;  // what is written
  int threshold = 70;

 private:
  void place_all();
  bool has_room(const Object& pod, const Object& node) const;
  void check(KindId, const Object&);
  void check_job(const Object& before, const Object& after);
  void check_start(const Object& job);

  // What was bound, and on what, at a revision.
  struct Use {
    kube::Revision revision = 0;
    WallTime at = {};
    std::map<std::string, std::int64_t> used = {}, capacity = {};
    std::map<std::string, std::int64_t> placed = {};  // members, by the Job's uid
  };
  void note_use(kube::Revision);

  bool pending_ = false;
  std::deque<Use> uses_;                             // the latest
  std::map<std::string, Object, std::less<>> last_;  // jobs, by uid
};

}  // namespace berth::controllers::stories

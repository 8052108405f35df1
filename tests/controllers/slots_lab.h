// SPDX-License-Identifier: Apache-2.0
// Testbeds, jobs and Schedulings in virtual time: three labelled nodes, and somebody who stands in
// for the BatchJob controller and its applications, so that what is told here needs neither.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "controllers/slot_sight.h"
#include "lab.h"
#include "policy/slots/ledger.h"

namespace berth::controllers::stories {

// Runs a job's executors as bare pods that are bound with their slots, as Berth's scheduler does.
std::unique_ptr<runtime::Controller> make_job_stand_in();
Controllers slot_controllers(bool with_jobs = true);

// A node with the label that the Testbeds here go by.
void labelled_node(Lab&, const std::string& name, const std::string& label,
                   std::string_view cpu = "4");

class SlotsLab {
 public:
  explicit SlotsLab(LabOptions options = {.controllers = slot_controllers()}, int nodes = 3);

  void node(const std::string& name, const std::string& label) { labelled_node(lab, name, label); }
  void testbed(const std::string& name = "tb", std::string_view more = "", int slots_per_node = 2,
               std::string_view cpu = "750m");
  void job(const std::string& name, std::string_view more = "");
  void queue(const std::string& name, std::string_view jobs, std::string_view more = "");
  void placed(const std::string& name, std::string_view mode,
              const std::vector<std::pair<std::string, std::vector<int>>>& jobs,
              std::string_view more = "");

  Object get_testbed(const std::string& name = "tb");
  Object get_job(const std::string& name);
  Object get_scheduling(const std::string& name);
  slots::Ledger ledger(const std::string& name = "tb");
  std::vector<Object> ghosts();
  std::vector<Object> executors();
  std::string slot_states(const std::string& name = "tb");  // "FREE FREE OCCUPIED"
  std::string state(const std::string& scheduling);
  std::string condition(const Object&, std::string_view type);  // "False NoRoom"
  std::string running();                                        // "A{0,3} B{1}": grants, by job

  Lab lab;
  // What was ever wrong with the ledgers, and which jobs were granted, in order.
  std::vector<std::string> wrongs;
  std::vector<std::string> granted;
  std::vector<std::string> chips;  // the states that first jobs of Schedulings went through

 private:
  void check(const Object& ledger);
  void note_chip(const Object& scheduling);
  slots::Ledger before_;
};

inline const kube::SlotKinds& kinds() { return kube::thesis_kinds(); }

}  // namespace berth::controllers::stories

// SPDX-License-Identifier: Apache-2.0
// Who leads, decided over one Lease. Pure: told what happened and when, it answers what to send and
// whether the term begins or ends.
//
// Why two never lead at once: a term lasts `renew_deadline` from the moment a successful write was
// *sent*; anybody else waits the record's full lease from the moment it first *saw* that write, on
// its own monotonic clock. The first is before the write, the second after it, and renew_deadline
// is shorter than the lease. No clock of another machine is read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "base/random.h"
#include "base/result.h"
#include "kube/object.h"

namespace berth::client {

// What a Lease says. `revision` is the precondition of the next write.
struct LeaseRecord {
  std::string holder;
  std::int64_t lease_seconds = 0;
  WallTime acquired, renewed;
  std::int64_t transitions = 0;
  kube::Revision revision = 0;

  bool same_claim(const LeaseRecord&) const;  // all but the revision
};

struct ElectorSettings {
  std::string identity = {};  // must be unique; see unique_identity
  Duration lease = 15s;
  Duration renew_deadline = 10s;  // less than lease
  Duration retry = 2s;            // less than renew_deadline / 1.2
};
Result<Ok> check(const ElectorSettings&);

// "host_3f0c…": a new one each time it is asked.
std::string unique_identity(std::string_view host, Random&);

// Thread-compatible; a value.
class Elector {
 public:
  struct Start {};
  struct Tick {};  // `wake` was reached
  struct Read {
    std::optional<LeaseRecord> record;  // none: there is no such lease
  };
  struct Written {
    LeaseRecord record;  // as the server has it now
  };
  struct Failed {
    Reason reason{};
  };
  struct Release {};  // the process wants to leave
  using What = std::variant<Start, Tick, Read, Written, Failed, Release>;
  struct Input {
    Instant now;
    WallTime wall;
    What what;
  };

  struct Call {
    enum class Kind : std::uint8_t { kGet, kCreate, kUpdate };
    Kind kind = Kind::kGet;
    LeaseRecord record;  // to be written
    Instant deadline;
  };
  // In this order. One call is under way at most; its answer is Read, Written or Failed.
  struct Effects {
    bool end_term = false;
    bool begin_term = false;
    bool released = false;  // nothing more will come after Release
    std::optional<Call> call = {};
    std::optional<Instant> wake = {};  // replaces the one before; none: not needed now
  };

  Elector(ElectorSettings settings, Random random) : set_(std::move(settings)), random_(random) {}

  Effects on(const Input&);

  bool leads(Instant now) const { return leading_ && now < term_end_; }
  Instant term_end() const { return term_end_; }  // no call of the term may outlast it
  const std::optional<LeaseRecord>& observed() const { return observed_; }

 private:
  struct Pending {
    Call::Kind kind;
    Instant sent;
  };

  void on_start(Instant now);
  void on_tick(const Input&);
  void on_read(const Input&, const Read&);
  void on_written(const Input&, const Written&);
  void on_failed(const Input&, const Failed&);
  void on_release(const Input&);

  void get(Instant now);
  void claim(const Input&);    // create, acquire or renew
  void give_up(const Input&);  // write an empty holder, if we hold it
  void send(Instant now, Call);
  void observe(Instant now, const LeaseRecord&);
  void lose();
  bool held_by_other(Instant now) const;
  Instant expiry() const;
  Duration pause();

  ElectorSettings set_;
  Random random_;
  bool leading_ = false, releasing_ = false;
  bool read_first_ = true;  // what we know of the record may be outdated
  Instant term_end_{}, next_try_{}, observed_at_{};
  std::optional<LeaseRecord> observed_;
  std::optional<Pending> pending_;
  Effects out_;
};

}  // namespace berth::client

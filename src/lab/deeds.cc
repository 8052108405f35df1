// SPDX-License-Identifier: Apache-2.0
#include "lab/deeds.h"

#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "json/writer.h"
#include "kube/status.h"
#include "kube/time.h"
#include "lab/script.h"

namespace berth::lab {
namespace {

using kube::ApiReply;

constexpr std::string_view kRoot = "/lab/";
constexpr Duration kPatience = 1min;  // for an answer
constexpr Duration kStill = 1s;       // without a change: idle, in real time
constexpr Duration kBetweenLooks = 100ms;
constexpr std::string_view kStuck = "berth.dev/stuck-terminating";
constexpr std::string_view kWell = R"("berth.dev/fail":null,"berth.dev/slow":null)";

ApiReply say(std::string_view message) {
  json::Writer w;
  w.object().member("message").string(message).end();
  ApiReply reply;
  reply.body = w.take();
  return reply;
}

void answer(Done<ApiReply>& done, const Result<Ok>& result, std::string_view message) {
  if (!result) return done(tl::unexpected(result.error()));
  done(say(message));
}

// As a reply, not an error: a server tells nothing but "page not found" of a path that answers so.
void refuse(Done<ApiReply>& done, Reason reason, std::string message) {
  Error error{.reason = reason, .message = std::move(message)};
  ApiReply reply;
  reply.code = error.code = http_code_of(reason);
  reply.body = kube::status_json(error);
  done(std::move(reply));
}

std::optional<Duration> one_duration(std::string_view text) {
  const std::optional<Span> span = parse_span(text);
  if (!span || span->least != span->most || span->least <= Duration{}) return std::nullopt;
  return span->least;
}

}  // namespace

// "/lab/slow-node/node-7?factor=3"
struct Deeds::Wish {
  explicit Wish(std::string_view path) {
    const std::size_t mark = std::min(path.find('?'), path.size());
    query = path.substr(std::min(mark + 1, path.size()));
    path = path.substr(0, mark);
    path.remove_prefix(std::min(path.size(), kRoot.size()));
    const std::size_t slash = std::min(path.find('/'), path.size());
    what = path.substr(0, slash);
    whom = path.substr(std::min(slash + 1, path.size()));
  }
  std::string_view value(std::string_view key, std::string_view otherwise) const {
    std::string_view rest = query;
    while (!rest.empty()) {
      const std::string_view one = rest.substr(0, rest.find('&'));
      rest.remove_prefix(std::min(one.size() + 1, rest.size()));
      if (one.size() > key.size() && one.starts_with(key) && one[key.size()] == '=')
        return one.substr(key.size() + 1);
    }
    return otherwise;
  }

  std::string_view what, whom, query;
};

Deeds::Deeds(Scope& scope, Lab& lab, kube::ApiHandler& api, IdleSigns signs)
    : scope_(scope), lab_(lab), api_(api), signs_(std::move(signs)) {}

ApiReply Deeds::status() const {
  const LabCounts counts = lab_.counts();
  const auto number = [](std::size_t n) { return static_cast<std::int64_t>(n); };
  json::Writer w;
  w.object().member("time").string(kube::time_text(lab_.wall()));
  w.member("busy").boolean(lab_.busy());
  w.member("nodes").object();
  w.member("simulated").integer(number(counts.nodes));
  w.member("silent").integer(number(counts.silent_nodes)).end();
  w.member("pods").object();
  w.member("pending").integer(number(counts.pending));
  w.member("running").integer(number(counts.running));
  w.member("finished").integer(number(counts.finished));
  w.member("stopping").integer(number(counts.stopping)).end();
  w.member("troubles").array();
  for (const auto& [node, what] : lab_.troubles())
    w.object().member("node").string(node).member("what").string(what).end();
  w.end().end();
  ApiReply reply;
  reply.body = w.take();
  return reply;
}

void Deeds::perform(const kube::ApiRequest& asked, Done<ApiReply> done) {
  const Wish wish(asked.raw_path);
  if (wish.what == "settle") return settle(wish, std::move(done));
  if (wish.what == "recover") return recover_all(std::move(done));
  if (wish.what == "flap-node") return flap(wish, std::move(done));
  if (wish.what.ends_with("-node")) return on_node(wish, std::move(done));
  if (wish.what.ends_with("-zone")) return on_zone(wish, std::move(done));
  if (wish.what.ends_with("-pod")) return on_pod(wish, std::move(done));
  refuse(done, Reason::kNotFound, fmt::format("the lab knows no \"{}\"", wish.what));
}

void Deeds::on_node(const Wish& wish, Done<ApiReply> done) {
  const std::string node(wish.whom);
  if (!lab_.simulates_node(node))
    return refuse(done, Reason::kNotFound, fmt::format("there is no simulated node \"{}\"", node));
  std::string annotation, message;
  if (wish.what == "crash-node") {
    annotation = R"("berth.dev/fail":"crash")";
    message = fmt::format("{} has crashed", node);
  } else if (wish.what == "cut-off-node") {
    annotation = R"("berth.dev/fail":"cut-off")";
    message = fmt::format("{} is cut off", node);
  } else if (wish.what == "sicken-node") {
    const std::string_view with = wish.value("with", "not-ready");
    if (with != "not-ready" && with != "memory-pressure" && with != "disk-pressure" &&
        with != "pid-pressure")
      return refuse(done, Reason::kBadRequest,
                    "a node can be sick with not-ready, memory-pressure, disk-pressure or "
                    "pid-pressure");
    annotation = fmt::format(R"("berth.dev/fail":"{}")", with);
    message = fmt::format("{} reports {}", node, with);
  } else if (wish.what == "slow-node") {
    const std::string_view factor = wish.value("factor", "3");
    if (!parse_factor(factor))
      return refuse(done, Reason::kBadRequest,
                    fmt::format("factor \"{}\": write how many times as long all takes", factor));
    annotation = fmt::format(R"("berth.dev/slow":"{}")", factor);
    message = fmt::format("all on {} takes {} times as long", node, factor);
  } else if (wish.what == "recover-node") {
    return recover_nodes({node}, [done = std::move(done), node](const Result<Ok>& well) mutable {
      answer(done, well, fmt::format("{} is well", node));
    });
  } else {
    return refuse(done, Reason::kNotFound, fmt::format("the lab knows no \"{}\"", wish.what));
  }
  annotate(kube::kNode, {{"", node}}, annotation,
           [done = std::move(done), message](const Result<Ok>& written) mutable {
             answer(done, written, message);
           });
}

void Deeds::flap(const Wish& wish, Done<ApiReply> done) {
  const std::string_view down_text = wish.value("down", "30s"), up_text = wish.value("up", "30s");
  const std::string_view times_text = wish.value("times", "3");
  const auto down = one_duration(down_text), up = one_duration(up_text);
  int times = 0;
  std::from_chars(times_text.data(), times_text.data() + times_text.size(), times);
  if (!down || !up || times < 1)
    return refuse(done, Reason::kBadRequest,
                  fmt::format("down {}, up {}, times {}: write times like 30s or 1m30s, and how "
                              "often, once at least",
                              down_text, up_text, times_text));
  if (!lab_.flap_node(wish.whom, *down, *up, times))
    return refuse(done, Reason::kNotFound,
                  fmt::format("there is no simulated node \"{}\"", wish.whom));
  done(say(fmt::format("{} goes down for {} and up for {}, {} times", wish.whom, down_text, up_text,
                       times)));
}

void Deeds::on_zone(const Wish& wish, Done<ApiReply> done) {
  const bool lose = wish.what == "lose-zone";
  if (!lose && wish.what != "recover-zone")
    return refuse(done, Reason::kNotFound, fmt::format("the lab knows no \"{}\"", wish.what));
  const std::string zone(wish.whom);
  const std::vector<std::string> names =
      zone.empty() ? std::vector<std::string>() : lab_.nodes_in(zone);
  if (names.empty())
    return refuse(done, Reason::kNotFound,
                  fmt::format("no simulated node is in zone \"{}\"", zone));
  Then then = [done = std::move(done), zone, lose,
               count = names.size()](const Result<Ok>& written) mutable {
    answer(done, written,
           fmt::format("zone {} is {}: {} node{}", zone, lose ? "lost" : "well", count,
                       count == 1 ? "" : "s"));
  };
  if (!lose) return recover_nodes(names, std::move(then));
  std::vector<kube::Key> keys;
  for (const std::string& name : names) keys.push_back({"", name});
  annotate(kube::kNode, std::move(keys), R"("berth.dev/fail":"crash")", std::move(then));
}

void Deeds::on_pod(const Wish& wish, Done<ApiReply> done) {
  const std::size_t slash = std::min(wish.whom.find('/'), wish.whom.size());
  const kube::Key key{std::string(wish.whom.substr(0, slash)),
                      std::string(wish.whom.substr(std::min(slash + 1, wish.whom.size())))};
  const kube::Object* const pod = lab_.store().get(kube::kPod, {key.ns, key.name});
  if (pod == nullptr)
    return refuse(done, Reason::kNotFound, fmt::format("there is no pod {}", key.text()));
  if (wish.what == "crash-pod") {
    const std::string node = pod->member("spec")["nodeName"].text();
    if (node.empty())
      return refuse(done, Reason::kConflict, fmt::format("pod {} has no node yet", key.text()));
    if (!lab_.fail_pod(key))
      return refuse(done, Reason::kConflict,
                    fmt::format("pod {} is on {}, which {}", key.text(), node,
                                lab_.simulates_node(node) ? "is silent" : "is not simulated"));
    return done(say(fmt::format("the containers of {} end with an error", key.text())));
  }
  const bool stick = wish.what == "stick-pod";
  if (!stick && wish.what != "recover-pod")
    return refuse(done, Reason::kNotFound, fmt::format("the lab knows no \"{}\"", wish.what));
  annotate(kube::kPod, {key}, fmt::format(R"("{}":{})", kStuck, stick ? R"("true")" : "null"),
           [done = std::move(done), stick, key](const Result<Ok>& written) mutable {
             answer(done, written,
                    fmt::format("{} {}", key.text(),
                                stick ? "will not stop when it is deleted" : "is well"));
           });
}

void Deeds::recover_all(Done<ApiReply> done) {
  const std::vector<std::string> names = lab_.nodes_in("");
  std::vector<kube::Key> stuck;
  for (const kube::Object& pod : lab_.pods_in(""))
    if (!pod.annotation(kStuck).empty()) stuck.push_back(pod.key());
  recover_nodes(names, [this, keep = shared_from_this(), stuck = std::move(stuck),
                        done = std::move(done)](const Result<Ok>& well) mutable {
    if (!well) return answer(done, well, "");
    annotate(kube::kPod, std::move(stuck), fmt::format(R"("{}":null)", kStuck),
             [done = std::move(done)](const Result<Ok>& written) mutable {
               answer(done, written, "all is well");
             });
  });
}

void Deeds::recover_nodes(const std::vector<std::string>& names, Then then) {
  std::vector<kube::Key> noted;
  for (const std::string& name : names) {
    const kube::Object* const node = lab_.store().get(kube::kNode, {"", name});
    if (node != nullptr &&
        !(node->annotation("berth.dev/fail") + node->annotation("berth.dev/slow")).empty())
      noted.push_back({"", name});
  }
  annotate(kube::kNode, std::move(noted), std::string(kWell),
           [this, keep = shared_from_this(), names,
            then = std::move(then)](const Result<Ok>& written) mutable {
             for (const std::string& name : names) {
               lab_.set_health(name, Health::kReady);
               lab_.slow_node(name, 1);
               lab_.recover_node(name);
             }
             then(written);
           });
}

void Deeds::annotate(kube::KindId kind, std::vector<kube::Key> keys, const std::string& annotations,
                     Then then) {
  struct All {
    std::size_t open = 1;
    Result<Ok> result = Ok{};
    Then then;
    void one(Result<ApiReply> reply) {
      // Who is gone needs nothing.
      if (!reply && reply.error().reason != Reason::kNotFound && result)
        result = tl::unexpected(std::move(reply.error()));
      if (--open == 0) then(std::move(result));
    }
  };
  const auto all = std::make_shared<All>();
  all->then = std::move(then);
  all->open = keys.size() + 1;
  const auto patch = std::make_shared<const std::string>(
      fmt::format(R"({{"metadata":{{"annotations":{{{}}}}}}})", annotations));
  for (kube::Key& key : keys) {
    kube::ApiRequest request{.verb = kube::Verb::kPatch,
                             .kind = kind,
                             .ns = std::move(key.ns),
                             .name = std::move(key.name)};
    request.options.patch_type = kube::PatchType::kMerge;
    request.options.field_manager = "berth-lab";
    request.body = {.bytes = patch, .media_type = "application/merge-patch+json"};
    request.user = lab_.options().user;
    api_.handle(std::move(request),
                scope_.done<ApiReply>(kPatience, [all, keep = shared_from_this()](auto reply) {
                  all->one(std::move(reply));
                }));
  }
  all->one(ApiReply());
}

void Deeds::settle(const Wish& wish, Done<ApiReply> done) {
  const std::string limit_text(wish.value("timeout", "10m"));
  const auto limit = one_duration(limit_text);
  if (!limit)
    return refuse(done, Reason::kBadRequest,
                  fmt::format("timeout \"{}\": write a time like 90s or 1h", limit_text));
  const auto answer = std::make_shared<Done<ApiReply>>(std::move(done));
  std::shared_ptr<void> asked;  // goes with the timer
  if (signs_.when_idle) asked = signs_.when_idle([answer] { (*answer)(say("idle")); });
  scope_.after(
      *limit,
      [answer, limit_text, asked] {
        refuse(*answer, Reason::kTimeout, fmt::format("not idle after {}", limit_text));
      },
      Timer::kBackground);
  if (!signs_.when_idle) look_again(0, lab_.now(), answer);
}

void Deeds::look_again(std::uint64_t seen, Instant since, std::shared_ptr<Done<ApiReply>> answer) {
  if (!*answer) return;  // it took too long
  const std::uint64_t changes = signs_.changes ? signs_.changes() : 0;
  if (lab_.busy() || changes != seen) since = lab_.now();
  if (lab_.now() - since >= kStill) return (*answer)(say("idle"));
  scope_.after(
      kBetweenLooks,
      [this, keep = shared_from_this(), changes, since, answer] {
        look_again(changes, since, answer);
      },
      Timer::kBackground);
}

}  // namespace berth::lab

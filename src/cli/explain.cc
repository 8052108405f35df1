// SPDX-License-Identifier: Apache-2.0
// berth explain: where pods would go, and why; of a cluster, or of cases in a file. And what jobs,
// slots and Schedulings wait for.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>

#include <fmt/format.h>

#include "base/check.h"
#include "cli/command.h"
#include "cli/explain_pod.h"
#include "cli/explain_scavenger.h"
#include "cli/explain_slots.h"
#include "scheduler/explain/answer.h"
#include "scheduler/explain/lines.h"

namespace berth::cli {
namespace {

struct ExplainOptions {
  std::string cases;
  std::string subject;  // "pod", or one of kExplainedBySlots
  ExplainPodOptions pod;
  std::string mode = "plain";
};

constexpr std::pair<std::string_view, scheduler::AnswerMode> kModes[] = {
    {"plain", scheduler::AnswerMode::kPlain},
    {"cached", scheduler::AnswerMode::kCached},
    {"warm", scheduler::AnswerMode::kWarm}};

// A line on the terminal that is written over; nothing where nobody looks.
class Progress {
 public:
  Progress(Context& context, std::uint64_t bytes)
      : err_(context.err), on_(context.err_terminal && !context.terminal), bytes_(bytes) {}
  ~Progress() {
    if (on_) err_ << "\r\x1b[K";
  }
  void answered(std::uint64_t cases, std::uint64_t bytes_read) {
    if (!on_ || cases % 20 != 0) return;
    err_ << fmt::format("\r{} cases", cases);
    if (bytes_ > 0) err_ << fmt::format(", {} %", 100 * bytes_read / bytes_);
    err_ << "\x1b[K" << std::flush;
  }

 private:
  std::ostream& err_;
  bool on_;
  std::uint64_t bytes_;
};

Result<int> answer_all(std::istream& in, const std::string& name, std::uint64_t bytes,
                       scheduler::AnswerMode mode, Context& context) {
  const scheduler::Answerer answerer(mode);
  scheduler::LineReader lines(in);
  Progress progress(context, bytes);
  std::uint64_t cases = 0;
  const auto wrong = [&](std::uint64_t line, const Error& error) {
    return fail(error.reason, fmt::format("{}:{}: {}", name, line, error.message));
  };
  while (true) {
    const Result<std::optional<std::string_view>> line = lines.next();
    if (!line) return wrong(lines.number() + 1, line.error());
    if (!*line) break;
    const Result<std::string> answer = answerer.answer(**line);
    if (!answer) return wrong(lines.number(), answer.error());
    context.out << *answer << '\n';
    if (!context.out) return kExitFailed;  // the reader of a pipe is gone
    progress.answered(++cases, lines.bytes_read());
  }
  context.out.flush();
  if (cases == 0)
    return fail(Reason::kNotFound,
                fmt::format("{}: holds no case; give a file with one a line", name));
  return kExitOk;
}

Result<int> explain_cases(const ExplainOptions& options, Context& context) {
  const auto* const mode =
      std::find_if(std::begin(kModes), std::end(kModes),
                   [&](const auto& known) { return known.first == options.mode; });
  BERTH_CHECK(mode != std::end(kModes), options.mode);  // choice() let it through
  if (options.cases == "-") return answer_all(std::cin, "standard input", 0, mode->second, context);
  std::ifstream in(options.cases, std::ios::binary);
  std::error_code ignored;
  if (!in || std::filesystem::is_directory(options.cases, ignored))
    return fail(Reason::kNotFound,
                fmt::format("{}: cannot be read: {}; give the path of a file of cases, or - for "
                            "standard input",
                            options.cases, in ? "it is a folder" : std::strerror(errno)));
  const std::uintmax_t bytes = std::filesystem::file_size(options.cases, ignored);
  return answer_all(in, options.cases, ignored ? 0 : bytes, mode->second, context);
}

}  // namespace

Command explain() {
  auto options = std::make_shared<ExplainOptions>();
  Command command("explain", "Show where pods would go and why, and what jobs and slots wait for");
  command
      .optional_positional("pod|job|slot|scheduling|testbed|scavenger", &options->subject,
                           "what is to be explained, then its name")
      .optional_positional("NAME", &options->pod.name, "of the cluster; a slot is TESTBED/NUMBER")
      .flag("-n,--namespace", &options->pod.connect.ns, "its namespace; default: the context's",
            "NS")
      .flag("-f,--filename", &options->pod.files,
            "read the cluster from manifests instead (- for standard input)", "FILE")
      .flag("--kubeconfig", &options->pod.connect.kubeconfig,
            "kubeconfig file; default: KUBECONFIG, then ~/.kube/config, then in-cluster", "FILE")
      .flag("--context", &options->pod.connect.context, "context of the kubeconfig", "NAME")
      .flag("--config", &options->pod.config,
            "the scheduler's KubeSchedulerConfiguration; default: kube-scheduler's defaults",
            "FILE")
      .flag("--all-nodes", &options->pod.all_nodes, "list every node, however many there are")
      .choice("-o,--output", &options->pod.output, {"table", "json"}, "how to print")
      .flag("--cases", &options->cases,
            "instead: scheduling problems, one a line as JSON, plain or gzip (- for standard "
            "input)",
            "FILE")
      .choice("--mode", &options->mode, {"plain", "cached", "warm"},
              "of cases, which path chooses: plain; cached, from a cache made for the pod; warm, "
              "from one that has seen it come and go")
      .example("berth explain pod web-0 -n shop")
      .example("berth explain pod web-0 --config scheduler.yaml -o json")
      .example("berth explain pod train-1 -n research -f examples/manifests/cluster.yaml")
      .example("berth explain scheduling nightly -n research")
      .example("berth explain slot tb/3")
      .example("berth explain scavenger mc-ising -n physics")
      .example("berth explain --cases tests/parity/sample/cases-basic.jsonl.gz")
      .run([options](Context& context) -> Result<int> {
        if (options->cases.empty() == options->subject.empty())
          return tl::unexpected(
              usage_error("say what to explain: pod NAME of a cluster (or job, slot, scheduling, "
                          "testbed, scavenger), or --cases FILE"));
        if (!options->cases.empty()) return explain_cases(*options, context);
        const bool slots = std::find(std::begin(kExplainedBySlots), std::end(kExplainedBySlots),
                                     options->subject) != std::end(kExplainedBySlots);
        const bool scavenger = options->subject == kExplainedScavenger;
        if (options->subject != "pod" && !slots && !scavenger)
          return tl::unexpected(usage_error(
              fmt::format("\"{}\" cannot be explained, only a pod, a job, a slot, a "
                          "scheduling, a testbed or a scavenger: berth explain pod NAME",
                          options->subject)));
        if (options->pod.name.empty())
          return tl::unexpected(
              usage_error(fmt::format("say which {0}: berth explain {0} {1}", options->subject,
                                      options->subject == "slot" ? "TESTBED/NUMBER" : "NAME")));
        if (!slots && !scavenger) return explain_pod(options->pod, context);
        const ExplainSlotsOptions asked{.subject = options->subject,
                                        .name = options->pod.name,
                                        .files = options->pod.files,
                                        .connect = options->pod.connect,
                                        .output = options->pod.output};
        return scavenger ? explain_scavenger(asked, context) : explain_slots(asked, context);
      });
  return command;
}

}  // namespace berth::cli

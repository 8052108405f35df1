// SPDX-License-Identifier: Apache-2.0
#include "player.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>

#include <fmt/format.h>

#include "child.h"
#include "conversation.h"
#include "json/cursor.h"
#include "json/writer.h"
#include "json/yaml.h"

namespace berth::conformance {
namespace {
namespace fs = std::filesystem;

constexpr Duration kNextEvent = std::chrono::seconds(20);

// path -> line -> what it becomes
std::map<std::string, std::map<std::size_t, std::string>> records;

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  for (std::size_t at = 0; (at = text.find(what, at)) != text.npos; at += with.size())
    text.replace(at, what.size(), with);
  return text;
}

class Played final : public Conformance {
 public:
  Played(std::string file, const Check& check) : file_(std::move(file)), check_(check) {}

  void TestBody() override {
    for (const Step& step : check_.steps) {
      for (int i = 0; i < step.times; ++i) {
        talk().variables()["I"] = std::to_string(i);
        play(step);
        if (HasFailure()) return;
      }
    }
  }

  void TearDown() override {
    streams_.clear();
    Conformance::TearDown();
  }

 private:
  void play(const Step& step) {
    switch (step.does) {
      case Step::Does::kWatch:
        return watch(step);
      case Step::Does::kEvent:
        return event(step);
      case Step::Does::kEnd:
        return end(step);
      case Step::Does::kRequest:
        break;
    }
    if (!step.until) return told(step, attempt(step));
    std::string why;
    e2e::eventually(patience(), [&] { return (why = attempt(step)).empty(); });
    told(step, why);
  }

  void told(const Step& step, const std::string& why) {
    if (!why.empty()) ADD_FAILURE_AT(file_.c_str(), static_cast<int>(step.line)) << why;
  }

  Result<net::HttpRequest> request_of(const Step& step, As& as) {
    net::HttpRequest request{.method = step.method, .target = talk().target(step.path)};
    for (const auto& [name, value] : step.headers) {
      if (name == "Authorization") as = As::kItself;
      if (name != "Authorization" || value != "none") request.headers.add(name, talk().fill(value));
    }
    if (!request.headers.has("Accept")) request.headers.add("Accept", "application/json");
    if (step.body.empty()) return request;
    if (!request.headers.has("Content-Type"))
      request.headers.add("Content-Type",
                          step.patch.empty() ? "application/json" : patch_type(step.patch));
    const std::string body = talk().fill(step.body);
    if (body.starts_with("raw ")) {
      request.body = body.substr(4, body.size() - 5);
      return request;
    }
    auto json = body_json(body, templates());
    if (!json) return tl::unexpected(json.error());
    request.body = *json;
    return request;
  }

  std::string attempt(const Step& step) {
    As as = As::kAdmin;
    auto request = request_of(step, as);
    if (!request) return "the case itself: " + request.error().message;
    const std::string asked =
        fmt::format("{} {}\n{}", request->method, request->target, request->body.substr(0, 2000));
    auto response = talk().wire().call(std::move(*request), as);
    if (!response) return asked + "\n" + response.error().message;
    if (step.record) return record(step, *response);
    std::string why = compare(step, *response);
    if (why.empty()) return "";
    return fmt::format("{}\n{}\n-> {} {}", why, asked, response->status,
                       response->body.substr(0, 4000));
  }

  std::string compare(const Step& step, const net::HttpResponse& response) {
    Variables& known = talk().variables();
    if (response.status != step.code)
      return fmt::format("expected {}, got {}", step.code, response.status);
    for (const auto& [name, value] : step.reply_headers) {
      const std::string_view actual = response.headers.get(name);
      const std::string why = value == "<absent>" && actual.empty()
                                  ? ""
                                  : text_mismatch(talk().fill(value), actual, known);
      if (!why.empty()) return name + why;
    }
    if (!step.text.empty())
      return text_mismatch(talk().fill(replaced(step.text, "\\n", "\n")), response.body, known);
    if (step.reason.empty() && step.expected.empty()) return "";
    if (!json::check(response.body)) return "the answer is not JSON";
    const json::Slice actual(response.body);
    std::string expected = "{}";
    if (!step.expected.empty()) {
      auto read = json::yaml_document_to_json(talk().fill(step.expected));
      if (!read) return "the case itself: " + read.error().message;
      expected = *read;
    }
    if (!step.reason.empty()) return compare_status(step, json::Slice(expected), actual);
    return mismatch(json::Slice(expected), actual, known);
  }

  std::string compare_status(const Step& step, json::Slice expected, json::Slice actual) {
    json::Writer frame;
    frame.object().member("kind").string("Status").member("apiVersion").string("v1");
    frame.member("metadata").raw("{}").member("status").string("Failure");
    frame.member("message").string(talk().fill(replaced(step.message, "\\n", "\n")));
    if (step.reason != "-") frame.member("reason").string(step.reason);
    if (expected["details"])
      frame.member("details").raw(expected["details"].raw());
    else if (actual["details"])
      frame.member("details").string("<any>");
    frame.member("code").integer(step.code).end();
    return mismatch(json::Slice(frame.text()), actual, talk().variables(), Compare::kWhole);
  }

  std::string record(const Step& step, const net::HttpResponse& response) {
    std::string text = fmt::format("=> {}", response.status);
    if (json::check(response.body)) {
      const json::Slice body(response.body);
      if (body["kind"].text() == "Status" && body["status"].text() == "Failure") {
        text += fmt::format(" {} {}", body["reason"] ? body["reason"].text() : "-",
                            replaced(body["message"].text(), "\n", "\\n"));
        if (body["details"]) text += fmt::format("\n{{details: {}}}", body["details"].raw());
      } else {
        text += "\n" + std::string(body.raw());
      }
    } else {
      text += fmt::format(" \"{}\"", response.body.substr(0, 300));
    }
    text = replaced(text, talk().ns(), "$NS");
    text = std::regex_replace(
        text, std::regex("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "<uid>");
    text = std::regex_replace(text, std::regex("20[0-9-]{8}T[0-9:]{8}Z"), "<time>");
    records[file_][step.line] = text;
    return "";
  }

  void watch(const Step& step) {
    As as = As::kAdmin;
    auto request = request_of(step, as);
    if (!request) return told(step, request.error().message);
    auto stream = talk().wire().open(std::move(*request), as);
    if (!stream) return told(step, stream.error().message);
    if ((*stream)->status() != step.code) {
      const auto body = (*stream)->rest(kNextEvent);
      return told(step, fmt::format("expected {}, got {}: {}", step.code, (*stream)->status(),
                                    body ? *body : body.error().message));
    }
    for (const auto& [name, value] : step.reply_headers)
      told(step, text_mismatch(value, (*stream)->headers().get(name), talk().variables()));
    streams_[step.stream] = std::move(*stream);
  }

  void event(const Step& step) {
    const auto stream = streams_.find(step.stream);
    if (stream == streams_.end()) return told(step, "no stream " + step.stream);
    const auto line = stream->second->line(kNextEvent);
    if (!line) return told(step, line.error().message);
    if (!json::check(*line)) return told(step, "not JSON: " + *line);
    const json::Slice event(*line);
    std::string why;
    if (event["type"].text() != step.event)
      why = fmt::format("expected {}, got {}", step.event, event["type"].text());
    if (why.empty() && !step.expected.empty()) {
      const auto expected = json::yaml_document_to_json(talk().fill(step.expected));
      why = expected ? mismatch(json::Slice(*expected), event["object"], talk().variables())
                     : expected.error().message;
    }
    if (!why.empty()) told(step, why + "\n" + line->substr(0, 4000));
  }

  void end(const Step& step) {
    const auto stream = streams_.find(step.stream);
    if (stream == streams_.end()) return told(step, "no stream " + step.stream);
    const auto line = stream->second->line(patience());
    if (line) return told(step, "the stream goes on: " + *line);
    if (line.error().reason != Reason::kNotFound) told(step, line.error().message);
  }

  std::string file_;
  const Check& check_;
  std::map<std::string, std::unique_ptr<Stream>> streams_;
};

std::string test_name(std::string_view title) {
  std::string name;
  for (const char c : title) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (!plain && (name.empty() || name.back() == '_')) continue;
    name += plain ? c : '_';
  }
  while (name.ends_with('_')) name.pop_back();
  return name;
}

std::string content_of(const fs::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

bool register_cases() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(BERTH_SOURCE_DIR "/tests/conformance/cases"))
    if (entry.path().extension() == ".check") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  static std::vector<std::unique_ptr<std::vector<Check>>> all;
  for (const fs::path& path : files) {
    auto checks = parse_checks(content_of(path));
    if (!checks) {
      fmt::print(stderr, "{}: {}\n", path.string(), checks.error().message);
      return false;
    }
    all.push_back(std::make_unique<std::vector<Check>>(std::move(*checks)));
    for (const Check& check : *all.back())
      ::testing::RegisterTest(
          path.stem().c_str(), test_name(check.title).c_str(), nullptr, nullptr, path.c_str(),
          static_cast<int>(check.line),
          [file = path.string(), &check]() -> Conformance* { return new Played(file, check); });
  }
  return true;
}

void write_records() {
  if (std::getenv("BERTH_CONFORMANCE_RECORD") == nullptr) return;
  for (const auto& [path, lines] : records) {
    // A step's line is that of its request; its "=> ?" is the next one.
    std::istringstream text(content_of(path));
    std::string out, line;
    std::string pending;
    for (std::size_t number = 1; std::getline(text, line); ++number) {
      if (const auto found = lines.find(number); found != lines.end()) pending = found->second;
      const bool here = !pending.empty() && line.starts_with("=> ?");
      out += (here ? pending : line) + "\n";
      if (here) pending.clear();
    }
    std::ofstream(path) << out;
  }
}

}  // namespace berth::conformance

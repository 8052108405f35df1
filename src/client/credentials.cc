// SPDX-License-Identifier: Apache-2.0
#include "client/credentials.h"

#include <algorithm>
#include <utility>

#include "base/base64.h"
#include "client/exec_plugin.h"

namespace berth::client {
namespace {

constexpr Duration kFilePeriod = 50s;    // "at least once a minute", with room to spare
constexpr Duration kAfterFailure = 10s;  // while the old ones still serve
constexpr Duration kForcedPeriod =
    10s;  // a server that refuses everything is not a reason to hurry
constexpr Duration kMostLead = 60s;

std::string trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t from = text.find_first_not_of(kBlank);
  if (from == std::string_view::npos) return "";
  return std::string(text.substr(from, text.find_last_not_of(kBlank) - from + 1));
}

bool same(const Secrets& a, const Secrets& b) {
  return a.authorization == b.authorization && a.tls.ca_pem == b.tls.ca_pem &&
         a.tls.certificate_pem == b.tls.certificate_pem && a.tls.key_pem == b.tls.key_pem;
}

// k8s 1.36: a token's file goes before the token beside it, which serves when the file does not.
Result<std::string> read_token(const Material& token, const Surroundings& surroundings) {
  Material file = token;
  file.data.clear();
  Result<std::string> text = file.read(surroundings);
  if (text) *text = trimmed(*text);
  if (text && !text->empty()) return text;
  if (!token.data.empty()) return token.data;
  if (!text) return text;
  return fail(Reason::kUnauthorized, token.place + ": " + token.file + " is empty");
}

}  // namespace

Credentials::Credentials(Runtime& runtime, Scope& scope, ClusterConfig config,
                         net::TlsClientOptions loaded, Surroundings surroundings, const Logger& log)
    : runtime_(runtime),
      scope_(scope),
      log_(log),
      config_(std::make_shared<const ClusterConfig>(std::move(config))),
      surroundings_(std::make_shared<const Surroundings>(std::move(surroundings))) {
  const ClusterConfig& c = *config_;
  files_ =
      c.url.origin.tls && !(c.ca.file + c.certificate.file + c.key.file + c.token.file).empty();
  if (c.exec || !c.token.file.empty()) return;
  Secrets secrets{.authorization = "", .tls = std::move(loaded)};
  if (c.token.set())
    secrets.authorization = "Bearer " + c.token.data;
  else if (!c.username.empty() || !c.password.empty())
    secrets.authorization = "Basic " + base64(c.username + ":" + c.password);
  current_ = std::make_shared<const Secrets>(std::move(secrets));
  read_again_ = scope_.executor().clock().now() + kFilePeriod;
}

Credentials::~Credentials() { *stop_ = true; }

bool Credentials::fresh() const {
  if (!current_ || refused_) return false;
  const Clock& clock = scope_.executor().clock();
  if (files_ && clock.now() >= read_again_) return false;
  return !ask_again_ || clock.wall() < *ask_again_;
}

void Credentials::get(Done<std::shared_ptr<const Secrets>> done) {
  if (fresh()) return done(current_);
  waiting_.push_back(std::move(done));
  if (!loading_) reload();
}

bool Credentials::rejected(const std::shared_ptr<const Secrets>& shown) {
  if (shown != current_) return true;  // newer ones are there already
  if (!files_ && !config_->exec) return false;
  const Instant now = scope_.executor().clock().now();
  if (forced_ && now - *forced_ < kForcedPeriod) return false;
  forced_ = now;
  refused_ = true;
  return true;
}

void Credentials::reload() {
  loading_ = true;
  Done<Loaded> done = scope_.done<Loaded>(
      kNoLimit, [this](Result<Loaded> loaded) { on_loaded(std::move(loaded)); });
  runtime_.loop("credentials")
      .post([done = std::move(done), config = config_, surroundings = surroundings_, stop = stop_,
             &clock = scope_.executor().clock()]() mutable {
        done(load(*config, *surroundings, clock, *stop));
      });
}

Result<Credentials::Loaded> Credentials::load(const ClusterConfig& config,
                                              const Surroundings& surroundings, const Clock& clock,
                                              const std::atomic<bool>& stop) {
  Result<net::TlsClientOptions> tls = tls_of(config, surroundings);
  if (!tls) return tl::unexpected(tls.error());
  Loaded out{.secrets = {.authorization = "", .tls = std::move(*tls)}, .expires = {}};
  if (config.token.set()) {
    Result<std::string> token = read_token(config.token, surroundings);
    if (!token) return tl::unexpected(token.error());
    out.secrets.authorization = "Bearer " + *token;
  } else if (!config.username.empty() || !config.password.empty()) {
    out.secrets.authorization = "Basic " + base64(config.username + ":" + config.password);
  } else if (config.exec) {
    Result<ExecCredential> given =
        run_exec_plugin(*config.exec, config, out.secrets.tls.ca_pem, surroundings, clock, stop);
    if (!given) return tl::unexpected(given.error());
    if (!given->token.empty()) out.secrets.authorization = "Bearer " + given->token;
    out.secrets.tls.certificate_pem = std::move(given->certificate_pem);
    out.secrets.tls.key_pem = std::move(given->key_pem);
    out.expires = given->expires;
  }
  return out;
}

void Credentials::on_loaded(Result<Loaded> loaded) {
  loading_ = false;
  const Clock& clock = scope_.executor().clock();
  Result<std::shared_ptr<const Secrets>> answer = current_;
  if (loaded) {
    refused_ = false;
    read_again_ = clock.now() + kFilePeriod;
    expires_ = loaded->expires;
    ask_again_ = expires_;
    if (expires_) {
      const Duration life = std::max(*expires_ - clock.wall(), Duration{});
      ask_again_ = *expires_ - std::min(life / 10, kMostLead);
    }
    // The same ones stay the same: connections need not be made anew for them.
    if (!current_ || !same(*current_, loaded->secrets))
      current_ = std::make_shared<const Secrets>(std::move(loaded->secrets));
    answer = current_;
  } else if (current_ && (!expires_ || clock.wall() < *expires_)) {
    log_.warn("credentials could not be renewed; the old ones are used",
              {{"error", loaded.error().message}});
    refused_ = false;
    read_again_ = clock.now() + kAfterFailure;
    if (ask_again_) ask_again_ = clock.wall() + kAfterFailure;
  } else {
    loaded.error().outcome = Outcome::kNotSent;
    if (loaded.error().reason != Reason::kCancelled) loaded.error().reason = Reason::kUnauthorized;
    answer = tl::unexpected(std::move(loaded.error()));
  }
  for (auto& done : std::exchange(waiting_, {})) done(answer);
}

}  // namespace berth::client

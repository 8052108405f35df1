// SPDX-License-Identifier: Apache-2.0
#include "child.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <system_error>
#include <thread>

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace berth::e2e {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kFolderPrefix = "berth-e2e-";

// What the watchdog writes into the report pipe.
struct Report {
  enum class What : int { kStarted, kNotStarted, kEnded } what;
  int value;  // pid, errno, exit code
};

// Everything from here to _exit runs in a forked copy of a threaded process: system calls only.
void tell(int report, Report::What what, int value) {
  const Report r{what, value};
  [[maybe_unused]] const ssize_t n = ::write(report, &r, sizeof r);
}

int code_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

[[noreturn]] void watch_over(int leash, int report, int log, char* const* argv, char* const* envp) {
  // Known numbers first, then everything else is closed: an inherited end of another child's pipe
  // would keep that child alive.
  constexpr int kLeash = 3, kReport = 4, kLog = 5;
  const int high[3] = {::fcntl(leash, F_DUPFD, 10), ::fcntl(report, F_DUPFD, 10),
                       ::fcntl(log, F_DUPFD, 10)};
  ::dup2(high[0], kLeash);
  ::dup2(high[1], kReport);
  ::dup2(high[2], kLog);
  ::close_range(6, ~0U, 0);
  const int null = ::open("/dev/null", O_RDWR);
  for (int fd : {0, 1, 2}) ::dup2(null, fd);
  ::setpgid(0, 0);  // a Ctrl-C for the test reaches us through the pipe, and only so

  std::array<int, 2> exec_failed{};
  if (::pipe2(exec_failed.data(), O_CLOEXEC) != 0) {
    tell(kReport, Report::What::kNotStarted, errno);
    ::_exit(1);
  }
  const pid_t self = ::getpid();
  const pid_t program = ::fork();
  if (program == 0) {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != self) ::_exit(1);
    ::dup2(kLog, 1);
    ::dup2(kLog, 2);
    ::close_range(3, static_cast<unsigned>(exec_failed[1]) - 1, 0);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::execve(argv[0], argv, envp);
    const int why = errno;
    [[maybe_unused]] const ssize_t n = ::write(exec_failed[1], &why, sizeof why);
    ::_exit(127);
  }
  ::close(exec_failed[1]);
  int why = errno;
  if (program < 0 || ::read(exec_failed[0], &why, sizeof why) == sizeof why) {
    tell(kReport, Report::What::kNotStarted, why);
    ::_exit(1);
  }
  ::close(exec_failed[0]);
  ::close(kLog);
  tell(kReport, Report::What::kStarted, program);

  const int handle = static_cast<int>(::syscall(SYS_pidfd_open, program, 0));
  std::array<pollfd, 2> wait_for{pollfd{kLeash, POLLIN, 0}, pollfd{handle, POLLIN, 0}};
  while (::poll(wait_for.data(), wait_for.size(), -1) < 0 && errno == EINTR) {
  }
  if (wait_for[1].revents == 0) ::kill(-program, SIGKILL);
  int status = 0;
  ::waitpid(program, &status, 0);
  ::kill(-program, SIGKILL);  // whatever the program itself started
  tell(kReport, Report::What::kEnded, code_of(status));
  ::_exit(0);
}

bool read_report(int fd, Report& r) {
  ssize_t n = 0;
  while ((n = ::read(fd, &r, sizeof r)) < 0 && errno == EINTR) {
  }
  return n == sizeof r;
}

}  // namespace

bool eventually(std::chrono::seconds limit, Fn<bool()> holds) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

TempFolder::TempFolder() {
  const fs::path root = fs::temp_directory_path();
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(root, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kFolderPrefix)) continue;
    const pid_t owner = std::atoi(name.c_str() + kFolderPrefix.size());
    if (owner > 0 && ::kill(owner, 0) != 0 && errno == ESRCH) fs::remove_all(entry.path(), ignored);
  }
  std::string name = (root / (std::string(kFolderPrefix) + std::to_string(::getpid()))).string();
  name += "-XXXXXX";
  BERTH_CHECK(::mkdtemp(name.data()) != nullptr, "no temporary folder can be made");
  path_ = name;
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

fs::path TempFolder::write(const std::string& name, std::string_view content) const {
  const fs::path file = path_ / name;
  fs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << content;
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
  return file;
}

Result<std::unique_ptr<Child>> Child::start(Options options) {
  std::unique_ptr<Child> child(new Child);
  child->name_ = fs::path(options.program).filename().string();
  child->log_ = options.log;

  std::vector<char*> argv{options.program.data()};
  for (std::string& arg : options.args) argv.push_back(arg.data());
  argv.push_back(nullptr);
  std::vector<char*> envp;
  for (std::string& e : options.env) envp.push_back(e.data());  // the first of a name wins
  for (char** e = environ; *e != nullptr; ++e) envp.push_back(*e);
  envp.push_back(nullptr);

  std::array<int, 2> leash{}, report{};
  const int log = ::open(options.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (log < 0 || ::pipe2(leash.data(), O_CLOEXEC) != 0 || ::pipe2(report.data(), O_CLOEXEC) != 0)
    return fail(Reason::kInternalError,
                child->name_ + ": " + options.log.string() + ": " + std::strerror(errno));
  child->watchdog_ = ::fork();
  if (child->watchdog_ == 0) watch_over(leash[0], report[1], log, argv.data(), envp.data());
  ::close(log);
  ::close(leash[0]);
  ::close(report[1]);
  child->leash_ = leash[1];
  child->report_ = report[0];
  Report r{Report::What::kNotStarted, ECHILD};
  if (!read_report(child->report_, r) || r.what != Report::What::kStarted) {
    child->ended_ = true;
    return fail(Reason::kNotFound, options.program + ": " + std::strerror(r.value));
  }
  child->pid_ = r.value;
  return child;
}

Child::~Child() {
  stop();
  if (leash_ >= 0) ::close(leash_);
  if (report_ >= 0) ::close(report_);
  if (watchdog_ > 0) ::waitpid(watchdog_, nullptr, 0);
}

bool Child::running() { return !wait(std::chrono::seconds(0)); }

void Child::signal(int number) {
  if (running()) ::kill(pid_, number);
}

void Child::freeze() {
  signal(SIGSTOP);
  const fs::path threads = fs::path("/proc") / std::to_string(pid_) / "task";
  const bool stopped = eventually(std::chrono::seconds(10), [&] {
    for (const fs::directory_entry& thread : fs::directory_iterator(threads)) {
      std::string stat;
      std::getline(std::ifstream(thread.path() / "stat"), stat);
      const auto end = stat.rfind(')');
      if (end == std::string::npos || stat.substr(end + 2, 1) != "T") return false;
    }
    return true;
  });
  BERTH_CHECK(stopped, "a stopped program runs on");
}

bool Child::wait(std::chrono::seconds limit) {
  if (ended_) return true;
  pollfd p{report_, POLLIN, 0};
  if (::poll(&p, 1, static_cast<int>(limit.count() * 1000)) <= 0) return false;
  Report r{Report::What::kEnded, 128 + SIGKILL};  // if the watchdog was killed, so was the program
  read_report(report_, r);
  code_ = r.value;
  ended_ = true;
  return true;
}

void Child::stop(std::chrono::seconds patience) {
  signal(SIGTERM);
  if (wait(patience)) return;
  ::close(leash_);
  leash_ = -1;
  wait(std::chrono::seconds(10));
}

std::string Child::log() const {
  std::ifstream in(log_, std::ios::binary);
  std::ostringstream all;
  all << in.rdbuf();
  return all.str();
}

std::string Child::log_tail(std::size_t lines) const {
  const std::string all = log();
  std::size_t at = all.size();
  for (std::size_t n = 0; at != std::string::npos && at > 0 && n <= lines; ++n)
    at = all.rfind('\n', at - 1);
  return all.substr(at == std::string::npos ? 0 : at + 1);
}

std::uint16_t free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  BERTH_CHECK(fd >= 0 && ::bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0,
              "no free port");
  ::close(fd);
  return ntohs(address.sin_port);
}

}  // namespace berth::e2e

// SPDX-License-Identifier: Apache-2.0
#include "client/process.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace berth::client {
namespace {

// Closes what it holds.
class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd() { reset(); }
  void reset() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

struct Pipe {
  Fd read, write;
};

bool open_pipe(Pipe& out) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  out.read = Fd(ends[0]);
  out.write = Fd(ends[1]);
  return ::fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

// Later entries of the same name win: an environment with two would be ambiguous.
std::vector<std::string> merged_environment(const std::vector<std::string>& added) {
  const auto name = [](std::string_view entry) { return entry.substr(0, entry.find('=')); };
  std::vector<std::string> out;
  const auto put = [&](std::string entry) {
    const auto same = std::find_if(out.begin(), out.end(), [&](const std::string& existing) {
      return name(existing) == name(entry);
    });
    if (same == out.end())
      out.push_back(std::move(entry));
    else
      *same = std::move(entry);
  };
  for (char** entry = environ; *entry != nullptr; ++entry) put(*entry);
  for (const std::string& entry : added) put(entry);
  return out;
}

int spawn(const Command& command, const Pipe& out, const Pipe& err, pid_t& pid) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, out.write.get(), STDOUT_FILENO);
  if (!command.use_terminal) {
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, err.write.get(), STDERR_FILENO);
  }
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
  // A group of its own, so that what it started dies with it; a terminal's group must stay.
  if (!command.use_terminal) flags = static_cast<short>(flags | POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setflags(&attributes, flags);

  const std::vector<std::string> environment = merged_environment(command.env);
  std::vector<char*> argv = pointers(command.argv), envp = pointers(environment);
  const int error = ::posix_spawn(&pid, argv[0], &actions, &attributes, argv.data(), envp.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

// Takes what is there. False at the end of the stream.
bool drain(Fd& fd, std::string& into, std::size_t most) {
  char buffer[8 << 10];
  for (;;) {
    const ssize_t got = ::read(fd.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno == EAGAIN;
    if (got == 0) return false;
    into.append(buffer, std::min(static_cast<std::size_t>(got), most - into.size()));
    if (into.size() == most) return true;
  }
}

}  // namespace

Result<CommandOutput> run_command(const Command& command, const Clock& clock,
                                  const std::atomic<bool>& stop) {
  const Instant deadline = clock.now() + command.limit;
  const std::string& program = command.argv.front();
  Pipe out, err;
  if (!open_pipe(out) || !open_pipe(err))
    return invalid(fmt::format("{}: no pipe: {}", program, std::strerror(errno)));
  pid_t pid = -1;
  if (const int error = spawn(command, out, err, pid); error != 0)
    return invalid(fmt::format("{}: {}", program, std::strerror(error)));
  out.write.reset();
  err.write.reset();
  const Fd exited(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));

  CommandOutput result;
  std::string why;  // it had to be killed
  bool running = exited.get() >= 0;
  if (!running) why = std::strerror(errno);
  bool more_out = true, more_err = true;
  while (running) {
    pollfd fds[] = {{exited.get(), POLLIN, 0},
                    {more_out ? out.read.get() : -1, POLLIN, 0},
                    {more_err ? err.read.get() : -1, POLLIN, 0}};
    const Duration left = deadline - clock.now();
    if (stop)
      why = "stopped";
    else if (left <= Duration{})
      why = fmt::format("no answer within {} s",
                        std::chrono::duration_cast<std::chrono::seconds>(command.limit).count());
    else if (result.out.size() >= command.most_output)
      why = fmt::format("more than {} bytes of output", command.most_output - 1);
    if (!why.empty()) break;
    // Short naps, to notice `stop`.
    const auto nap = std::min<Duration>(left, 100ms);
    ::poll(fds, 3, 1 + static_cast<int>(nap / 1ms));
    if (more_out) more_out = drain(out.read, result.out, command.most_output);
    if (more_err) {
      more_err = drain(err.read, result.err, command.most_complaint);
      if (result.err.size() == command.most_complaint) {
        std::string dropped;
        more_err = drain(err.read, dropped, 64 << 10);
      }
    }
    running = (fds[0].revents & POLLIN) == 0;
  }
  if (running || exited.get() < 0) ::kill(command.use_terminal ? pid : -pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!why.empty()) return invalid(fmt::format("{}: {}", program, why));
  // What it wrote last; whatever it left running does not hold us up.
  if (more_out) drain(out.read, result.out, command.most_output);
  if (more_err) drain(err.read, result.err, command.most_complaint);
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

}  // namespace berth::client

// SPDX-License-Identifier: Apache-2.0
#include "ran.h"

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"

namespace berth {
namespace {

std::string contents(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

Binary::Binary() {
  std::string name = (std::filesystem::temp_directory_path() / "berth-commands-XXXXXX").string();
  BERTH_CHECK(mkdtemp(name.data()) != nullptr, name);
  folder_ = name;
}

Binary::~Binary() { std::filesystem::remove_all(folder_); }

void Binary::write(const std::string& name, std::string_view text) const {
  std::ofstream(folder_ / name, std::ios::binary) << text;
}

Ran Binary::berth(std::vector<std::string> arguments) const {
  arguments.insert(arguments.begin(), "berth");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const std::string home = "HOME=" + folder_.string();
  const char* const env[] = {home.c_str(), nullptr};
  const std::string out = (folder_ / ".out").string(), err = (folder_ / ".err").string();

  const pid_t child = fork();
  BERTH_CHECK(child >= 0, "fork");
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(30);  // outlives exec
    constexpr int kNew = O_WRONLY | O_CREAT | O_TRUNC;
    const bool ready = dup2(open("/dev/null", O_RDONLY), STDIN_FILENO) >= 0 &&
                       dup2(open(out.c_str(), kNew, 0600), STDOUT_FILENO) >= 0 &&
                       dup2(open(err.c_str(), kNew, 0600), STDERR_FILENO) >= 0 &&
                       chdir(folder_.c_str()) == 0;
    if (ready) execve(BERTH_BERTH, argv.data(), const_cast<char* const*>(env));
    _exit(127);
  }
  int status = 0;
  BERTH_CHECK(waitpid(child, &status, 0) == child, "waitpid");
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return {code, contents(out), contents(err)};
}

}  // namespace berth

#include "tandem/cli/launch/child_processes.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "tandem/cli/launch/signals.h"
#include "tandem/cli/message.h"

namespace tandem::cli {
namespace {

// The parent of a process, from /proc/PID/stat: "PID (NAME) STATE PARENT …", where NAME may contain anything.
pid_t parent_of(const std::filesystem::path& process) {
  std::ifstream file(process / "stat");
  std::string text;
  std::getline(file, text, '\0');
  const std::size_t name = text.rfind(") ");
  return name == std::string::npos || name + 4 >= text.size() ? 0 : std::atoi(text.c_str() + name + 4);
}

// Not every kernel has /proc/PID/task/TID/children.
std::vector<pid_t> children_by_search() {
  std::vector<pid_t> out;
  std::error_code error;
  std::filesystem::directory_iterator entries("/proc", error), end;
  for (; !error && entries != end; entries.increment(error)) {
    const pid_t pid = std::atoi(entries->path().filename().c_str());
    if (pid > 0 && parent_of(entries->path()) == ::getpid()) out.push_back(pid);
  }
  return out;
}

// The children of all threads of this process, those that have ended but were not waited for included.
std::vector<pid_t> all_children() {
  std::vector<pid_t> out;
  std::error_code error;
  std::filesystem::directory_iterator threads("/proc/self/task", error), end;
  for (; !error && threads != end; threads.increment(error)) {
    std::ifstream file(threads->path() / "children");
    if (!file) return children_by_search();
    for (pid_t pid = 0; file >> pid;) out.push_back(pid);
  }
  return out;
}

// What a child needs between fork and exec, prepared so that it allocates nothing there: another thread of
// the launcher may have held the allocator's lock.
struct Prepared {
  explicit Prepared(const ChildProgram& program) : streams{program.in, program.out, program.err} {
    path = program.path.c_str();
    for (const std::string& text : program.arguments) arguments.push_back(const_cast<char*>(text.c_str()));
    for (const std::string& text : program.environment) environment.push_back(const_cast<char*>(text.c_str()));
    arguments.push_back(nullptr);
    environment.push_back(nullptr);
  }
  const char* path;
  std::vector<char*> arguments, environment;
  int streams[3];
  pid_t launcher = ::getpid();
};

// Calls only async-signal-safe functions.
[[noreturn]] void become(const Prepared& program, int report) {
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != program.launcher) ::_exit(127);  // it had died before the line above
  bool good = true;
  for (int fd = 0; fd < 3; ++fd)
    if (program.streams[fd] != fd) good = good && ::dup2(program.streams[fd], fd) == fd;
  reset_signals_of_child();
  if (good) ::execve(program.path, program.arguments.data(), program.environment.data());
  const int error = errno;
  [[maybe_unused]] const ssize_t written = ::write(report, &error, sizeof error);
  ::_exit(127);
}

// The errno that the child reported; 0 if it runs the program, which closes the pipe.
int reported_error(int fd) {
  int error = 0;
  ssize_t got = 0;
  while ((got = ::read(fd, &error, sizeof error)) < 0 && errno == EINTR) {
  }
  return got == static_cast<ssize_t>(sizeof error) ? error : 0;
}

StartError cannot_run(const std::string& name, int error) {
  std::string text = concat("cannot run ", name, ": ", std::strerror(error));
  if (error == EACCES && name.ends_with(".py"))
    text += concat("; it is not executable: run python3 ", name, ", or chmod +x it");
  if (error == ENOEXEC) text += "; a script starts with a line such as #!/bin/sh";
  if (error == EMFILE) text += " (see ulimit -n)";
  if (error == EAGAIN) text += " (see ulimit -u)";
  return {text, error};
}

int access_error(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return errno;
  if (S_ISDIR(found.st_mode)) return EISDIR;
  return ::access(path.c_str(), X_OK) == 0 ? 0 : errno;
}

}  // namespace

ChildProcesses::ChildProcesses() : others_(all_children()) {
  others_.push_back(keeper_.pid());
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

ChildProcesses::~ChildProcesses() {
  for (int tries = 0; tries < 100 && any_left(); ++tries) {
    signal_all(SIGKILL);
    ::usleep(10'000);
    reap();
  }
}

pid_t ChildProcesses::start(int slot, const ChildProgram& program) {
  const Prepared prepared(program);
  int report[2];
  if (::pipe2(report, O_CLOEXEC) != 0) throw cannot_run(program.arguments.front(), errno);
  const pid_t pid = ::fork();
  if (pid == 0) become(prepared, report[1]);
  int error = pid < 0 ? errno : 0;
  ::close(report[1]);
  if (pid > 0) error = reported_error(report[0]);
  ::close(report[0]);
  if (error != 0) {
    if (pid > 0) ::waitpid(pid, nullptr, 0);
    throw cannot_run(program.arguments.front(), error);
  }
  if (static_cast<std::size_t>(slot) >= children_.size()) children_.resize(static_cast<std::size_t>(slot) + 1);
  children_[static_cast<std::size_t>(slot)] = {pid, true};
  keeper_.guard(slot, pid);
  return pid;
}

std::vector<pid_t> ChildProcesses::adopted() const {
  std::vector<pid_t> out;
  for (const pid_t pid : all_children()) {
    const bool mine =
        std::ranges::any_of(children_, [pid](const Child& child) { return child.running && child.pid == pid; });
    if (!mine && std::ranges::count(others_, pid) == 0) out.push_back(pid);
  }
  return out;
}

std::vector<ProcessEnd> ChildProcesses::reap() {
  std::vector<ProcessEnd> out;
  int status = 0;
  for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
    std::erase(others_, pid);
    for (std::size_t slot = 0; slot < children_.size(); ++slot) {
      Child& child = children_[slot];
      if (!child.running || child.pid != pid) continue;
      child.running = false;
      // The number of an empty group may be used again by another program.
      if (::kill(-pid, 0) != 0) keeper_.guard(static_cast<int>(slot), 0);
      out.push_back({pid, WIFEXITED(status) ? WEXITSTATUS(status) : 0, WIFSIGNALED(status) ? WTERMSIG(status) : 0});
    }
  }
  return out;
}

bool ChildProcesses::any_left() {
  for (const Child& child : children_)
    if (child.running) return true;
  if (!adopted().empty()) return true;
  for (std::size_t slot = 0; slot < children_.size(); ++slot) keeper_.guard(static_cast<int>(slot), 0);
  children_.clear();
  return false;
}

// An adopted process is not waited for meanwhile, so neither its number nor its group's can belong to another program.
void ChildProcesses::signal_all(int signal) {
  std::set<pid_t> groups;
  for (const Child& child : children_)
    if (child.running) groups.insert(child.pid);
  for (const pid_t pid : adopted())
    if (const pid_t group = ::getpgid(pid); group > 1 && group != ::getpgrp()) groups.insert(group);
  for (const pid_t group : groups) ::kill(-group, signal);
}

std::string find_program(const std::string& name) {
  if (name.empty()) throw cannot_run("''", ENOENT);
  if (name.find('/') != std::string::npos) {
    if (const int error = access_error(name); error != 0) throw cannot_run(name, error);
    return name;
  }
  const char* variable = std::getenv("PATH");
  const std::string folders = variable == nullptr ? "/usr/local/bin:/usr/bin:/bin" : variable;
  int worst = ENOENT;
  for (const std::string& folder : split_names(folders, ':')) {
    const std::string path = (folder.empty() ? "." : folder) + "/" + name;
    const int error = access_error(path);
    if (error == 0) return path;
    if (error == EACCES) worst = EACCES;
  }
  throw cannot_run(name, worst);
}

}  // namespace tandem::cli

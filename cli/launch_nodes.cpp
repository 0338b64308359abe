// Keys: launch/joined/N counts the launchers with node rank N, launch/node/N is "RANKS NODES", launch/checked/N says that
// node N has compared them, launch/alive/N counts its signs of life, launch/failure is "CODE TEXT", launch/left/N.
#include "tandem/cli/launch_nodes.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <vector>

#include "tandem/core/clock.h"

namespace tandem::cli {

using distributed::DistributedError;
using distributed::Milliseconds;

namespace {

constexpr double kSilentSeconds = 30;  // after which a node counts as lost
constexpr auto kPause = std::chrono::milliseconds(300);

std::string key(const char* what, int node) { return concat("launch/", what, "/", node); }

}  // namespace

struct LaunchNodes::Watched {
  std::vector<int64_t> alive;
  std::vector<double> changed;  // time at which `alive` last grew
};

std::string store_name(const LaunchPlace& place) {
  return concat(place.host.find(':') != std::string::npos ? "[" + place.host + "]" : place.host, ":",
                place.port);
}

LaunchNodes::LaunchNodes(std::shared_ptr<distributed::Store> store, const LaunchPlace& place, int seconds)
    : store_(std::move(store)), place_(place), watched_(new Watched) {
  event_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  check(event_ >= 0, "cannot open an event: ", std::strerror(errno));
  try {
    join(seconds);
  } catch (...) {
    ::close(event_);
    throw;
  }
}

LaunchNodes::~LaunchNodes() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
  ::close(event_);
}

void LaunchNodes::compare(int node, const std::string& text) const {
  std::istringstream words(text);
  int ranks = 0, nodes = 0;
  words >> ranks >> nodes;
  if (nodes != place_.nodes)
    throw UsageError(concat("--nnodes ", place_.nodes, " on node ", place_.node, ", but --nnodes ", nodes,
                            " on node ", node, ": all nodes need the same"));
  if (ranks != place_.local_size)
    throw UsageError(concat("-n ", place_.local_size, " on node ", place_.node, ", but -n ", ranks,
                            " on node ", node, ": all nodes need the same"));
}

void LaunchNodes::join(int seconds) {
  if (store_->add(key("joined", place_.node), 1) != 1)
    throw UsageError(concat("--node-rank ", place_.node, ": another launcher of this job has the same"));
  store_->set(key("node", place_.node), concat(place_.local_size, " ", place_.nodes));
  const double end = seconds_now() + seconds;
  std::exception_ptr error;
  for (int node = 0; node < place_.nodes && !error; ++node) try {
      const double left = std::max(0.1, end - seconds_now());
      compare(node, store_->get(key("node", node), Milliseconds(static_cast<int64_t>(1000 * left))));
    } catch (const UsageError&) {
      error = std::current_exception();
    } catch (const DistributedError& reason) {
      throw Error(concat("node ", node, " of ", place_.nodes, " has not joined the job at ",
                         store_name(place_), ": ", reason.what()));
    }
  store_->set(key("checked", place_.node), "1");
  if (!error) return;
  // The others shall see the contradiction, too, not the end of the store.
  for (int node = 1; place_.node == 0 && node < place_.nodes; ++node) try {
      store_->get(key("checked", node), Milliseconds(2000));
    } catch (const DistributedError&) {
      break;
    }
  std::rethrow_exception(error);
}

void LaunchNodes::watch() {
  watched_->alive.assign(static_cast<std::size_t>(place_.nodes), 0);
  watched_->changed.assign(static_cast<std::size_t>(place_.nodes), seconds_now());
  store_->set_timeout(Milliseconds(10'000));
  thread_ = std::thread([this] { watch_loop(); });
}

void LaunchNodes::watch_loop() {
  while (!stop_) {
    try {
      look();
    } catch (const Error& error) {
      fail({1, concat("lost the store of node 0 at ", store_name(place_), ": ", error.what())});
      return;
    }
    std::this_thread::sleep_for(kPause);
  }
}

void LaunchNodes::look() {
  store_->add(key("alive", place_.node), 1);
  if (store_->check({"launch/failure"})) {
    const std::string text = store_->get("launch/failure");
    const std::size_t space = text.find(' ');
    const int code = std::atoi(text.c_str());
    if (space != std::string::npos && code > 0 && code < 256) fail({code, text.substr(space + 1)});
  }
  if (place_.node == 0) look_after_others();
}

void LaunchNodes::look_after_others() {
  bool all = true;
  for (int node = 1; node < place_.nodes; ++node) {
    if (store_->check({key("left", node)})) continue;
    all = false;
    const auto i = static_cast<std::size_t>(node);
    const int64_t alive = store_->add(key("alive", node), 0);
    if (alive != watched_->alive[i]) watched_->changed[i] = seconds_now();
    watched_->alive[i] = alive;
    if (seconds_now() - watched_->changed[i] < kSilentSeconds) continue;
    store_->set(key("left", node), "lost");
    fail(
        report({1, concat("node ", node, " has not answered for ", static_cast<int>(kSilentSeconds), " s")}));
  }
  all_left_ = all;
}

void LaunchNodes::fail(const JobFailure& failure) {
  {
    const std::lock_guard lock(mutex_);
    if (failure_.code == 0) failure_ = failure;
  }
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(event_, &one, sizeof one);
}

JobFailure LaunchNodes::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

JobFailure LaunchNodes::report(const JobFailure& failure) try {
  const std::string mine = concat(failure.code, " ", failure.text.substr(0, 1000));
  const std::string first = store_->compare_set("launch/failure", "", mine);
  const std::size_t space = first.find(' ');
  if (first == mine || space == std::string::npos) return failure;
  return {std::max(1, std::atoi(first.c_str()) & 255), first.substr(space + 1)};
} catch (const Error&) {
  return failure;  // the others will notice that this node has gone
}

void LaunchNodes::leave() try {
  if (place_.node != 0) stop_ = true;
  if (place_.node != 0 && thread_.joinable()) thread_.join();
  store_->set(key("left", place_.node), "1");
} catch (const Error&) {  // node 0 has gone already
}

}  // namespace tandem::cli

// Keys: joined/N counts the launchers with node rank N, node/N is "RANKS NODES RESTARTS", checked/N says that
// node N has compared them, alive/N counts its signs of life, left/N says that its ranks have ended, gone/N
// that it needs the store no more, and failure is "CODE FINAL TEXT".
#include "tandem/cli/launch/nodes.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <sstream>

#include "tandem/core/base/clock.h"
#include "tandem/parallel/distributed/socket.h"

namespace tandem::cli {

using distributed::DistributedError;
using distributed::Milliseconds;

namespace {

constexpr double kSilentSeconds = 30;  // after which a node counts as lost
constexpr Milliseconds kPartTime{5000};
constexpr std::size_t kMaxText = 1000;
constexpr auto kPause = std::chrono::milliseconds(300);

std::string key(const char* what, int node) { return concat(what, "/", node); }

// "host:port"
std::string store_name(const LaunchPlace& place) { return distributed::detail::endpoint(place.host, place.port); }

// Another launcher wrote it, so it is checked.
JobFailure failure_from(const std::string& text) {
  std::istringstream words(text.substr(0, 2 * kMaxText));
  JobFailure out{0, "", true};
  words >> out.code >> out.final;
  words.ignore();
  std::getline(words, out.text);
  if (out.code < 1 || out.code > 255) out.code = 1;
  return out;
}

}  // namespace

LaunchNodes::LaunchNodes(std::shared_ptr<distributed::Store> store, const LaunchPlace& place, int seconds)
    : store_(std::move(store)), place_(place), event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  check(fd() >= 0, "cannot open an event: ", std::strerror(errno));
  join(seconds);
}

LaunchNodes::~LaunchNodes() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
}

void LaunchNodes::compare(int node, const std::string& text) const {
  std::istringstream words(text);
  const auto same = [&](const char* option, int mine) {
    int theirs = 0;
    words >> theirs;
    require(theirs == mine, option, " ", mine, " on node ", place_.node, ", but ", option, " ", theirs, " on node ",
            node, ": all nodes need the same");
  };
  same("-n", place_.local_size);
  same("--nnodes", place_.nodes);
  same("--max-restarts", place_.max_restarts);
}

void LaunchNodes::join(int seconds) {
  require(store_->add(key("joined", place_.node), 1) == 1, "--node-rank ", place_.node,
          ": another launcher of this job has the same");
  store_->set(key("node", place_.node), concat(place_.local_size, " ", place_.nodes, " ", place_.max_restarts));
  const double end = seconds_now() + seconds;
  std::exception_ptr error;
  for (int node = 0; node < place_.nodes && !error; ++node) try {
      const double left = std::max(0.1, end - seconds_now());
      compare(node, store_->get(key("node", node), Milliseconds(static_cast<int64_t>(1000 * left))));
    } catch (const UsageError&) {
      error = std::current_exception();
    } catch (const DistributedError& reason) {
      throw Error(concat("node ", node, " of ", place_.nodes, " has not joined the job at ", store_name(place_), ": ",
                         reason.what()));
    }
  store_->set(key("checked", place_.node), "1");
  if (!error) return;
  // The others must see the contradiction, too, not the end of the store.
  for (int node = 1; place_.node == 0 && node < place_.nodes; ++node) try {
      store_->get(key("checked", node), Milliseconds(2000));
    } catch (const DistributedError&) {
      break;
    }
  std::rethrow_exception(error);
}

void LaunchNodes::watch() {
  watched_.alive.assign(static_cast<std::size_t>(place_.nodes), 0);
  watched_.changed.assign(static_cast<std::size_t>(place_.nodes), seconds_now());
  store_->set_timeout(Milliseconds(10'000));
  thread_ = std::thread([this] { watch_loop(); });
}

void LaunchNodes::watch_loop() {
  while (!stop_) {
    try {
      look();
    } catch (const Error& error) {
      fail({1, concat("lost the store of node 0 at ", store_name(place_), ": ", error.what()), true});
      all_left_ = true;  // as far as this node can tell
      return;
    }
    std::this_thread::sleep_for(kPause);
  }
}

void LaunchNodes::look() {
  store_->add(key("alive", place_.node), 1);
  if (store_->check({"failure"})) fail(failure_from(store_->get("failure")));
  std::vector<std::string> left;
  for (int node = 0; node < place_.nodes; ++node) {
    if (node != 0 && place_.node == 0) look_after(node);
    left.push_back(key("left", node));
  }
  all_left_ = store_->check(left);
}

void LaunchNodes::look_after(int node) {
  if (store_->check({key("left", node)})) return;
  const auto i = static_cast<std::size_t>(node);
  const int64_t alive = store_->add(key("alive", node), 0);
  if (alive != watched_.alive[i]) watched_.changed[i] = seconds_now();
  watched_.alive[i] = alive;
  if (seconds_now() - watched_.changed[i] < kSilentSeconds) return;
  store_->set(key("left", node), "lost");
  fail(report({1, concat("node ", node, " has not answered for ", static_cast<int>(kSilentSeconds), " s"), true}));
}

void LaunchNodes::fail(const JobFailure& failure) {
  {
    const std::lock_guard lock(mutex_);
    if (failure_.code == 0) failure_ = failure;
  }
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(fd(), &one, sizeof one);
}

JobFailure LaunchNodes::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

JobFailure LaunchNodes::report(const JobFailure& failure) try {
  const std::string mine = concat(failure.code, failure.final ? " 1 " : " 0 ", failure.text.substr(0, kMaxText));
  const std::string first = store_->compare_set("failure", "", mine);
  return first == mine || first.empty() ? failure : failure_from(first);
} catch (const Error&) {
  return failure;  // the others will notice that this node has gone
}

void LaunchNodes::leave() try { store_->set(key("left", place_.node), "1"); } catch (const Error&) {
  // Node 0 has gone, which the thread reports.
}

void LaunchNodes::part() try {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
  store_->set(key("gone", place_.node), "1");
  if (place_.node != 0) return;
  std::vector<std::string> gone;
  for (int node = 0; node < place_.nodes; ++node) gone.push_back(key("gone", node));
  store_->wait(gone, kPartTime);
} catch (const Error&) {  // the remaining nodes will report that the store is lost
}

}  // namespace tandem::cli

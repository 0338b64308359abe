#include "tandem/parallel/distributed/mpi/library.h"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>
#include <thread>

namespace tandem::distributed::mpi {

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

bool initialized_here = false;
std::atomic<bool> given_up{false};
pid_t initializing_process = 0;

bool is_finalized() {
  int done = 0;
  MPI_Finalized(&done);
  return done != 0;
}

// Runs when the process exits; a thread that is still in MPI then, or a child that was forked, must not end it.
void finalize_at_exit(int status, void*) {
  if (status != 0 || getpid() != initializing_process) return;
  std::unique_lock lock(library_mutex(), std::defer_lock);
  for (int tries = 0; !lock.try_lock(); ++tries) {
    if (tries == 1000) return;
    std::this_thread::sleep_for(milliseconds(1));
  }
  if (is_running()) MPI_Finalize();
}

// How a poll waits for the next: ranks may share cores, and the one that is waited for needs one.
class Backoff {
 public:
  void pause(steady_clock::duration waited) {
    if (waited < microseconds(20)) return;
    if (waited < milliseconds(2)) return std::this_thread::yield();
    std::this_thread::sleep_for(sleep_);
    sleep_ = std::min(sleep_ * 2, microseconds(50));
  }

 private:
  microseconds sleep_{5};
};

}  // namespace

std::mutex& library_mutex() {
  static auto& mutex = *new std::mutex;
  return mutex;
}

void start_library() {
  if (given_up || is_finalized()) return check_running();
  int initialized = 0, level = 0;
  MPI_Initialized(&initialized);
  if (initialized == 0) {
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level), "MPI_Init_thread");
    initialized_here = true;
    initializing_process = getpid();
    on_exit(finalize_at_exit, nullptr);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  }
  MPI_Query_thread(&level);
  if (level >= MPI_THREAD_SERIALIZED) return;
  throw std::runtime_error(initialized_here
                               ? "MPI: this library does not support MPI_THREAD_SERIALIZED; use backend gloo"
                               : "MPI: the program has initialised MPI for one thread only; call MPI_Init_thread with "
                                 "MPI_THREAD_MULTIPLE, or leave it to the process group");
}

bool is_running() { return !given_up && !is_finalized(); }

void check_running() {
  if (is_finalized()) throw std::runtime_error("MPI: MPI_Finalize has been called");
  if (given_up)
    throw std::runtime_error(
        "MPI: an operation of this process was given up earlier, after which it cannot use MPI; start the job again");
}

void check(int code, const char* operation) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw std::runtime_error("MPI: " + std::string(operation) + ": " + text);
}

// ---- Pending

Pending::~Pending() {
  const auto is_done = [](MPI_Request request) { return request == MPI_REQUEST_NULL; };
  if (std::all_of(requests_.begin(), requests_.end(), is_done)) return;
  const std::lock_guard lock(library_mutex());
  if (!is_running()) return;
  if (can_cancel_) cancel();
  if (!std::all_of(requests_.begin(), requests_.end(), is_done)) given_up = true;
}

void Pending::cancel() {
  for (MPI_Request& request : requests_) {
    if (request == MPI_REQUEST_NULL || MPI_Cancel(&request) != MPI_SUCCESS) continue;
    int done = 0;
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  }
}

bool Pending::test() {
  const std::lock_guard lock(library_mutex());
  check_running();
  statuses_.resize(requests_.size());
  int done = 0;
  const int code = MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done, statuses_.data());
  if (code == MPI_ERR_IN_STATUS)
    for (const MPI_Status& status : statuses_)
      if (status.MPI_ERROR != MPI_ERR_PENDING) check(status.MPI_ERROR, operation_);
  check(code, operation_);
  return done != 0;
}

void Pending::wait(milliseconds timeout, const std::atomic<bool>& aborted) {
  const auto start = steady_clock::now();
  for (Backoff backoff; !test();) {
    if (aborted) throw std::runtime_error("MPI: " + std::string(operation_) + " was aborted");
    const auto waited = steady_clock::now() - start;
    if (waited >= timeout)
      throw std::runtime_error("MPI: " + std::string(operation_) + " did not finish within " +
                               std::to_string(timeout.count()) + " ms");
    backoff.pause(waited);
  }
}

std::size_t Pending::received_bytes() const {
  MPI_Count bytes = 0;
  const std::lock_guard lock(library_mutex());
  check(MPI_Get_elements_x(&statuses_.at(0), MPI_BYTE, &bytes), operation_);
  return static_cast<std::size_t>(bytes);
}

}  // namespace tandem::distributed::mpi

// The MPI library as one process has it. All engines of the process share it, and one thread at a time calls it.
#pragma once
#include <mpi.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <vector>

namespace tandem::distributed::mpi {

/// Held during every MPI call: MPI is initialised with MPI_THREAD_SERIALIZED.
std::mutex& library_mutex();

/// Initialises MPI if nobody has done so, and then finalises it when the process ends well. A process that ends with an
/// error does not, since it would wait there for the others; mpirun then ends them. Throws std::runtime_error if the
/// program has initialised MPI for one thread only, or has finalised it. The mutex must be held.
void start_library();

/// Whether MPI may still be called. The mutex must be held.
bool is_running();
/// Throws std::runtime_error if not.
void check_running();

/// Throws std::runtime_error with MPI's explanation unless `code` is MPI_SUCCESS. The mutex must be held.
void check(int code, const char* operation);

/// MPI operations in progress. If one is given up, its memory cannot be taken back: MPI would write there as soon as
/// another engine lets it make progress. The process therefore makes no MPI call after that.
class Pending {
 public:
  explicit Pending(const char* operation) : operation_(operation) {}
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;
  ~Pending();

  /// Calls `start(MPI_Request*)`, which starts an operation and returns MPI's code. The mutex must be held.
  template <class Start>
  void add(const Start& start) {
    requests_.push_back(MPI_REQUEST_NULL);
    check(start(&requests_.back()), operation_);
  }
  /// Whether all operations are done. Throws std::runtime_error if one failed.
  bool test();
  /// Polls until they are. Throws std::runtime_error if one fails, after `timeout`, and soon after `aborted` is set.
  void wait(std::chrono::milliseconds timeout, const std::atomic<bool>& aborted);
  /// Of a single receive, once it is done.
  std::size_t received_bytes() const;
  /// Operations that can be cancelled, which are receives, do not make the library unusable.
  void allow_cancelling() { can_cancel_ = true; }

 private:
  void cancel();

  const char* const operation_;
  std::vector<MPI_Request> requests_;
  std::vector<MPI_Status> statuses_;
  bool can_cancel_ = false;
};

}  // namespace tandem::distributed::mpi

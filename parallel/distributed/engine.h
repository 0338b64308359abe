// The interface of a communication engine, which moves bytes between processes: Gloo, MPI or NCCL. Each is a separate
// shared library (libtandem_gloo.so, …) that is loaded on first use, so neither the library nor programs link it. A
// plugin includes only this header, reduce_loops.h and what is inline in core/. After any change to this header, raise
// EnginePlugin::kVersion.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/core/dtype.h"

namespace tandem::distributed {

enum class ReduceOp : uint8_t { SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR };

/// The part of a Store that engines use to connect.
class EngineStore {
 public:
  virtual ~EngineStore() = default;
  virtual void set(const std::string& key, std::string_view value) = 0;
  virtual std::string get(const std::string& key, std::chrono::milliseconds timeout) = 0;
};

struct EngineOptions {
  int rank = 0, size = 1;
  EngineStore* store = nullptr;  ///< valid during construction; keys are the engine's own
  std::chrono::milliseconds timeout{30'000};
  /// Network interface ("eth0") or local address; empty: the one that reaches the master.
  std::string interface = {};
  int device_index = -1;  ///< CUDA device of this rank, for engines that compute there
};

/// The options of every call. All ranks of the group make the same call with the same `tag`, in one order.
struct CallOptions {
  uint32_t tag = 0;  ///< differs between calls that do not match or may overlap
  std::chrono::milliseconds timeout{30'000};
  /// Engines on devices: where to submit the call. The caller orders this stream with others.
  void* stream = nullptr;
};

/// A point-to-point operation that has been started.
class EngineRequest {
 public:
  virtual ~EngineRequest() = default;
  /// Throws std::runtime_error when it fails or after `timeout`.
  virtual void wait(std::chrono::milliseconds timeout) = 0;
  /// Whether it is complete. Throws like wait().
  virtual bool test() = 0;
};

/// The processes of one group. Calls block until the result is available (device engines: until it has been submitted).
/// They throw std::runtime_error, after which the engine is unusable. One thread at a time makes collective calls;
/// send, recv and abort may be called from others.
class Engine {
 public:
  virtual ~Engine() = default;
  /// In place on `count` elements. The order of the sum is the engine's.
  virtual void all_reduce(void* data, std::size_t count, ScalarType dtype, ReduceOp op, const CallOptions&) = 0;
  /// The same, but only rank `root` has the result. The others' data is undefined afterwards.
  virtual void reduce(void* data, std::size_t count, ScalarType dtype, ReduceOp op, int root, const CallOptions&) = 0;
  virtual void broadcast(void* data, std::size_t bytes, int root, const CallOptions&) = 0;
  /// `out` receives bytes[0] + bytes[1] + … bytes in rank order; `in` has bytes[rank].
  virtual void all_gather(const void* in, void* out, const std::size_t* bytes, const CallOptions&) = 0;
  /// `in` holds in_bytes[i] for rank i, in rank order; `out` receives out_bytes[i] from rank i.
  virtual void all_to_all(const void* in, const std::size_t* in_bytes, void* out, const std::size_t* out_bytes,
                          const CallOptions&) = 0;
  /// `out` (on the root only) receives `bytes` per rank.
  virtual void gather(const void* in, void* out, std::size_t bytes, int root, const CallOptions&) = 0;
  /// `in` (on the root only) holds `bytes` per rank.
  virtual void scatter(const void* in, void* out, std::size_t bytes, int root, const CallOptions&) = 0;
  virtual void barrier(const CallOptions&) = 0;
  /// The memory must stay valid until the request is complete.
  virtual std::unique_ptr<EngineRequest> send(const void* data, std::size_t bytes, int to, const CallOptions&) = 0;
  virtual std::unique_ptr<EngineRequest> recv(void* data, std::size_t bytes, int from, const CallOptions&) = 0;
  /// Ranks whose connection is known to be closed, for error messages after a call has thrown.
  virtual std::vector<int> lost() { return {}; }
  /// Makes running and later calls fail as soon as possible, after a failure.
  virtual void abort() noexcept = 0;
  /// Whether it also makes collective calls throw at once, so that a thread that has to end in time can make them.
  virtual bool aborts_at_once() const { return false; }
  /// Whether data is CUDA memory and calls are ordered by streams; otherwise data is host memory.
  virtual bool on_device() const { return false; }
  /// Whether all_reduce and reduce have `op` (never AVG) for `dtype`. From any thread.
  virtual bool can_reduce(ScalarType /*dtype*/, ReduceOp /*op*/) const { return true; }
  /// Engines on devices: throws std::runtime_error if submitted work is known to fail. Does not wait. From any thread.
  virtual void check_submitted() {}
};

/// What a plugin exports, as `extern "C" const EnginePlugin tandem_engine_plugin`.
struct EnginePlugin {
  static constexpr int kVersion = 3;
  int version = kVersion;
  const char* name = nullptr;         ///< "gloo"
  const char* description = nullptr;  ///< library and version, for `tandem devices`
  /// Throws std::runtime_error.
  Engine* (*make)(const EngineOptions&) = nullptr;
};

}  // namespace tandem::distributed

// What one call of a process group does: for comparison between ranks, for messages and for the list of recent calls.
#pragma once
#include <array>
#include <mutex>
#include <string>

#include "tandem/core/base/array_ref.h"
#include "tandem/parallel/distributed/engine.h"

namespace tandem::distributed {

enum class Operation : uint8_t {
  kAllReduce,
  kReduce,
  kBroadcast,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kGather,
  kScatter,
  kBarrier,
  kSend,
  kRecv
};
const char* name(Operation operation);
const char* name(ReduceOp op);

struct CallRecord {
  static constexpr int kDims = 6;

  Operation operation = Operation::kBarrier;
  int64_t sequence = 0;
  ScalarType dtype = ScalarType::Undefined;
  bool reduces = false;
  ReduceOp reduce_op = ReduceOp::SUM;
  int root = -1;                          ///< or the other rank of send and recv
  int bucket = -1;                        ///< or the tag of send and recv
  int64_t splits = 0;                     ///< 0: none; 1: each rank has its own; else a hash of all ranks' splits
  int ndim = 0;                           ///< of the part of the shape that must be the same on every rank
  std::array<int64_t, kDims> sizes = {};  ///< the last one holds the product of all further dimensions
  int64_t numel = 1;
  bool channels_last = false;  ///< elements are sent in this order

  void set_shape(IntArrayRef shape);
  /// All ranks pass the same `all`.
  void set_splits(IntArrayRef all);
  bool point_to_point() const { return operation == Operation::kSend || operation == Operation::kRecv; }
  /// "all_reduce 41 (bucket 2)"
  std::string label() const;
  /// "all_reduce [10] float32 sum", "broadcast [4] float32 from rank 0"
  std::string description() const;

  /// The record as numbers, the same on every machine.
  static constexpr std::size_t kWords = 16;
  using Words = std::array<int64_t, kWords>;
  Words words() const;
  /// The inverse. Values out of range, as only a broken peer sends them, are replaced.
  static CallRecord from(const Words& words);
  /// A hash of everything but the sequence number.
  uint64_t fingerprint() const;
  /// Differs between calls that do not match.
  uint32_t tag() const;
};

/// The last calls of a group. Functions may be called from several threads at a time.
class CallHistory {
 public:
  static constexpr std::size_t kCalls = 256;
  enum class State : uint8_t { kQueued, kRunning, kDone, kFailed };
  void add(const CallRecord& call);
  void set(const CallRecord& call, State state);
  /// One line per call, oldest first: "41 all_reduce [10] float32 sum: done, 0.0012 s".
  std::string text() const;

 private:
  struct Entry {
    CallRecord call;
    State state = State::kQueued;
    int64_t began = 0, ended = 0;  // nanoseconds
  };
  mutable std::mutex mutex_;
  std::array<Entry, kCalls> entries_;
  int64_t count_ = 0;
};

}  // namespace tandem::distributed

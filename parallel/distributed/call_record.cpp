#include "tandem/parallel/distributed/call_record.h"

#include <algorithm>
#include <cstdio>

#include "tandem/core/base/clock.h"
#include "tandem/core/error.h"
#include "tandem/core/random/splitmix64.h"

namespace tandem::distributed {

namespace {

constexpr const char* kOperations[] = {"all_reduce",     "reduce",     "broadcast", "all_gather",
                                       "reduce_scatter", "all_to_all", "gather",    "scatter",
                                       "barrier",        "send",       "recv"};
constexpr const char* kReduceOps[] = {"sum", "avg", "product", "min", "max", "band", "bor", "bxor"};

uint64_t mix(uint64_t hash, int64_t value) { return mixed(hash ^ static_cast<uint64_t>(value)); }

template <class T>
T clamped(int64_t value, int64_t low, int64_t high) {
  return static_cast<T>(std::clamp(value, low, high));
}

}  // namespace

const char* name(Operation operation) { return kOperations[static_cast<int>(operation)]; }
const char* name(ReduceOp op) { return kReduceOps[static_cast<int>(op)]; }

void CallRecord::set_shape(IntArrayRef shape) {
  ndim = static_cast<int>(std::min<std::size_t>(shape.size(), 1000));
  numel = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    numel *= shape[i];
    if (i < kDims)
      sizes[i] = shape[i];
    else
      sizes[kDims - 1] *= shape[i];
  }
}

void CallRecord::set_splits(IntArrayRef all) {
  uint64_t hash = 3;
  for (const int64_t split : all) hash = mix(hash, split);
  splits = static_cast<int64_t>(hash | 2);  // neither 0 nor 1
}

std::string CallRecord::label() const {
  if (operation == Operation::kSend) return concat("send to rank ", root, " (tag ", bucket, ")");
  if (operation == Operation::kRecv) return concat("recv from rank ", root, " (tag ", bucket, ")");
  std::string out = concat(name(operation), " ", sequence);
  if (bucket >= 0) out += concat(" (bucket ", bucket, ")");
  return out;
}

std::string CallRecord::description() const {
  std::string out = name(operation);
  if (operation == Operation::kBarrier) return out;
  const auto shown = static_cast<std::size_t>(std::clamp(ndim, 0, kDims));
  const IntArrayRef shape(sizes.data(), shown);
  out += concat(operation == Operation::kAllToAll ? " rows of " : " ", shape, " ", dtype);
  if (channels_last) out += " channels-last";
  if (splits != 0) out += " with splits";
  if (reduces) out += concat(" ", name(reduce_op));
  if (root >= 0) {
    const bool from =
        operation == Operation::kBroadcast || operation == Operation::kScatter || operation == Operation::kRecv;
    out += concat(from ? " from rank " : " to rank ", root);
  }
  return out;
}

CallRecord::Words CallRecord::words() const {
  Words out{static_cast<int64_t>(operation),
            sequence,
            static_cast<int64_t>(dtype),
            reduces + 2 * channels_last,
            static_cast<int64_t>(reduce_op),
            root,
            bucket,
            splits,
            ndim};
  std::copy(sizes.begin(), sizes.end(), out.begin() + 9);
  out[15] = numel;
  return out;
}

CallRecord CallRecord::from(const Words& words) {
  CallRecord out;
  out.operation = clamped<Operation>(words[0], 0, static_cast<int64_t>(Operation::kRecv));
  out.sequence = words[1];
  out.dtype = clamped<ScalarType>(words[2], 0, static_cast<int64_t>(kUInt64));
  out.reduces = (words[3] & 1) != 0;
  out.channels_last = (words[3] & 2) != 0;
  out.reduce_op = clamped<ReduceOp>(words[4], 0, static_cast<int64_t>(ReduceOp::BXOR));
  out.root = clamped<int>(words[5], -1, INT32_MAX);
  out.bucket = clamped<int>(words[6], -1, INT32_MAX);
  out.splits = words[7];
  out.ndim = clamped<int>(words[8], 0, 1000);
  std::copy(words.begin() + 9, words.begin() + 9 + kDims, out.sizes.begin());
  out.numel = words[15];
  return out;
}

uint64_t CallRecord::fingerprint() const {
  const Words all = words();
  uint64_t hash = 1;
  for (std::size_t i = 0; i < kWords; ++i)
    if (i != 1) hash = mix(hash, all[i]);
  return hash;
}

uint32_t CallRecord::tag() const {
  // A send and its recv are the same call, of which only the number of bytes and the tag must agree.
  if (point_to_point()) return static_cast<uint32_t>(mix(mix(mix(2, bucket), numel), static_cast<int>(dtype)));
  return static_cast<uint32_t>(mix(fingerprint(), sequence));
}

void CallHistory::add(const CallRecord& call) {
  const std::lock_guard lock(mutex_);
  entries_[static_cast<std::size_t>(count_++) % kCalls] = {call, State::kQueued, nanoseconds_now(), 0};
}

void CallHistory::set(const CallRecord& call, State state) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[static_cast<std::size_t>(call.sequence) % kCalls];
  if (entry.call.sequence != call.sequence) return;  // overwritten by later calls
  entry.state = state;
  (state == State::kRunning ? entry.began : entry.ended) = nanoseconds_now();
}

std::string CallHistory::text() const {
  static constexpr const char* kStates[] = {"queued", "running", "done", "failed"};
  const std::lock_guard lock(mutex_);
  std::string out;
  const int64_t now = nanoseconds_now();
  for (int64_t i = std::max<int64_t>(0, count_ - static_cast<int64_t>(kCalls)); i < count_; ++i) {
    const Entry& entry = entries_[static_cast<std::size_t>(i) % kCalls];
    const int64_t end = entry.ended == 0 ? now : entry.ended;
    char seconds[32];
    std::snprintf(seconds, sizeof seconds, "%.4f", 1e-9 * static_cast<double>(end - entry.began));
    out += concat(entry.call.sequence, " ", entry.call.description(),
                  entry.call.bucket >= 0 ? concat(" (bucket ", entry.call.bucket, ")") : "", ": ",
                  kStates[static_cast<int>(entry.state)], ", ", seconds, " s\n");
  }
  return out;
}

}  // namespace tandem::distributed

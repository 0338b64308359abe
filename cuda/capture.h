// A captured step: its graph, its memory, and the numbers that differ between replays.
//
// While a step is recorded, random kernels and optimizer kernels get the place of a number in device memory instead of
// the number (cuda/replayed_value.h). The places of optimizers are found again by their signature: at a replay, each
// optimizer kernel call only writes its new numbers on the host, and one small copy sends them to the device if any
// has changed.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/capture.h"
#include "tandem/cuda/context.h"
#include "tandem/cuda/fusion/queue.h"
#include "tandem/cuda/replayed_value.h"

namespace tandem::cuda_impl {

struct Recording {
  enum class Phase { kIdle, kCapturing, kNumbers };
  struct Slot {
    std::size_t at, bytes;
    uint64_t signature;
    bool written;
  };

  explicit Recording(int device);
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  /// Records why the step cannot be captured; only the first reason counts.
  void refuse(std::string reason);
  /// The place in device memory of the number of the optimizer call with this signature, whose new value the next
  /// upload() brings there; nullptr if refused.
  const void* number(const void* value, std::size_t bytes, uint64_t signature);
  /// Copies the numbers to the device if any has changed, in order on `stream`.
  void upload(cudaStream_t stream);

  int device;
  PoolId pool;
  std::unique_ptr<FusionQueue> queue;  ///< while the step is recorded
  std::optional<QueueKernels> queueing;
  FusionCounts fused;
  cudaStream_t stream = nullptr;
  Phase phase = Phase::kIdle;
  std::string refusal;
  cudaGraphExec_t graph = nullptr;
  std::vector<cudaStream_t> replayed_in;

  // The numbers: a Generator::Draw, then the slots of optimizers.
  static constexpr std::size_t kNumberBytes = 16384;
  char* device_numbers = nullptr;
  std::vector<char> numbers, uploaded;
  std::vector<Slot> slots;
  std::vector<OptimizerCall> calls;

  Generator::Draw first_draw{};  ///< state of the default generator when the recording began
  uint64_t draws = 0;
  void* workspace = nullptr;  ///< workspace of the math libraries inside the graph

  // The stream and pool to return to.
  cudaStream_t outer_stream = nullptr;
  PoolId outer_pool = 0;

 private:
  // Pinned copies of the numbers, used in turn. A half is rewritten only after the copies from it have
  // completed.
  static constexpr int kHalf = 32;
  char* ring_ = nullptr;
  int next_ = 0;
  cudaEvent_t read_[2]{};
  bool used_[2]{};
};

/// For operations that cannot be recorded: records the reason and throws it as Error. Does nothing outside a
/// capture.
void refuse_in_capture(Context& c, const char* reason);

/// Distinguishes optimizer calls by kind and memory.
uint64_t call_signature(const void* kind, std::initializer_list<TensorList> lists);
/// The numbers of an optimizer kernel as its parameter; nullopt if the kernel must not be launched.
template <class T>
std::optional<ReplayedValue<T>> replayed_value(Context& c, const T& value, uint64_t signature, TensorList params,
                                               TensorList grads) {
  static_assert(std::is_trivially_copyable_v<T>);
  if (c.recording == nullptr) [[likely]]
    return ReplayedValue<T>{value};
  const bool launch = c.recording->phase == Recording::Phase::kCapturing;
  const void* place = c.recording->number(&value, sizeof(T), signature);
  if (!launch || place == nullptr) return std::nullopt;
  c.recording->calls.push_back({{params.begin(), params.end()}, {grads.begin(), grads.end()}});
  return ReplayedValue<T>{value, static_cast<const T*>(place)};
}

}  // namespace tandem::cuda_impl

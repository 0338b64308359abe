// KeptCall: a call of a kernel with copies of its arguments, to be made again.
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "tandem/core/backend/kernel_recorder.h"
#include "tandem/core/capture/recorded_memory.h"
#include "tandem/core/random/generator.h"
#include "tandem/core/tensor.h"

namespace tandem::detail {

/// Holds the arguments of kept calls.
class KeptArguments {
 public:
  explicit KeptArguments(RecordedMemory& memory) : memory_(memory) {}

  /// Copies of an argument of call number `call`. Tensors have no history and, in the recording's memory, no storage.
  const Tensor* keep(const Tensor& t, int call);
  TensorList keep(TensorList list, int call);
  /// Any other object; it lives as long as this.
  template <class T>
  T* own(T value) {
    auto owned = std::make_shared<T>(std::move(value));
    T* const at = owned.get();
    owned_.push_back(std::move(owned));
    return at;
  }
  /// The addresses of the recording's memory become those of RecordedMemory::place().
  void place();
  /// Marks the tensors as written by a replay, whose storages were written in the recording.
  void bump_versions() const;
  /// Finds which storages were written since their first use.
  void end();

  /// The draws of the calls, to be set before a replay.
  struct KeptDraw {
    Generator::Draw recorded;
    Generator::Draw* now;
  };
  std::vector<KeptDraw> draws;

 private:
  RecordedMemory& memory_;
  std::deque<Tensor> tensors_;
  std::vector<std::pair<TensorImpl*, int>> inside_;  // of tensors_, with the number of a storage of the recording
  std::vector<std::pair<StorageImpl*, uint32_t>> outside_;  // with the version at the first use
  std::vector<StorageImpl*> written_;
  Storage anywhere_;  // of tensors whose memory is the recording's
  std::vector<std::shared_ptr<void>> owned_;
};

struct KeptCall {
  /// Throws Error if an argument has a type that cannot be kept.
  KeptCall(const KernelCall& call, KeptArguments& arguments, int number);
  void run() const { run_(kernel, values.data()); }

  const void* kernel;
  std::vector<const void*> values;

 private:
  void (*run_)(const void* kernel, const void* const* values);
};

}  // namespace tandem::detail

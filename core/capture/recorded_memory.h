// RecordedMemory: the CPU memory of a step that is recorded and not run.
//
// While a step is recorded, each storage has addresses of its own and no memory: nothing reads or writes it. When the
// recording is complete, the storages that have died, outputs and gradients share one block, by the calls between which
// they are needed; another storage that lives on keeps its addresses. The system gives a page memory when it is
// first touched, so a program that reads or writes an element while it records is noticed.
#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tandem/core/backend/kernel_recorder.h"
#include "tandem/core/tensor.h"

namespace tandem::detail {

class RecordedMemory : public std::enable_shared_from_this<RecordedMemory> {
 public:
  ~RecordedMemory();

  /// A storage of the recording; null if there are no addresses left, and then touched() is true.
  Storage make(std::size_t nbytes, Device device);
  /// Notes that recorded call number `call` uses the storage whose memory begins at `data`. Returns its number, or -1 if
  /// it is none of the recording's.
  int use(const void* data, int call);
  /// Whether the host has read or written an element since its storage was made.
  bool touched() const;
  /// Ends the recording: the dead storages get places in one block, and so do those of `results`, tensors that the step
  /// leaves behind, from their first use on. Throws OutOfMemoryError.
  void place(TensorList results);
  /// A storage in place of number `storage` after place(), for replays.
  const Storage& placed(int storage);

 private:
  struct Block {
    char* data = nullptr;
    std::size_t bytes = 0;  // of the storage; its addresses are whole pages
    Device device{kCPU, 0};
    int first = -1, last = -1;  // calls that use it
    std::size_t at = 0;         // its place in the block of the dead
    bool alive = true;
    Storage placed;
  };
  struct Owner {
    std::shared_ptr<RecordedMemory> memory;
    std::size_t index;
  };

  int find(const void* data) const;
  static std::size_t arrange(const std::vector<Block*>& blocks, bool high);
  void release(std::size_t index) noexcept;

  std::vector<std::pair<char*, std::size_t>> ranges_;  // of addresses
  char *next_ = nullptr, *end_ = nullptr;              // what is free of the last one
  std::vector<Block> blocks_;
  std::unordered_map<const void*, int> numbers_;  // of the blocks, by address
  Storage together_;                              // of the dead
  bool placed_ = false, full_ = false;
};

/// The memory of the recording that this thread makes, or nullptr.
extern constinit thread_local RecordedMemory* recorded_memory;

/// In its scope, this thread's CPU tensors have memory and its kernels run, although it records a step on the CPU. For
/// what an operation computes on the host from numbers and sizes; a recording keeps it as it is.
class OutsideRecording {
 public:
  OutsideRecording() : memory_(std::exchange(recorded_memory, nullptr)) {
    if (memory_ != nullptr) paused_.emplace();
  }
  ~OutsideRecording() { recorded_memory = memory_; }
  OutsideRecording(const OutsideRecording&) = delete;
  OutsideRecording& operator=(const OutsideRecording&) = delete;

 private:
  RecordedMemory* const memory_;
  std::optional<PauseRecorder> paused_;
};

}  // namespace tandem::detail

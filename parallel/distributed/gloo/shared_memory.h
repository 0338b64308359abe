// The collectives of processes on one machine, through memory that all of them map.
//
// A call consists of rounds. In each, a rank writes at most kSlotBytes into its slot, publishes them, waits until all
// ranks have published theirs, and reads. A rank has two slots, which rounds use in turn: once all have published a
// round, nobody reads the slots of the one before.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tandem/core/base/descriptor.h"
#include "tandem/parallel/distributed/engine.h"
#include "tandem/parallel/distributed/reduce_loops.h"

namespace tandem::distributed {

class SharedMemory {
 public:
  /// Where a rank runs, and where its memory is. Plain bytes, which ranks send to each other.
  struct Place {
    char machine[128];  ///< its start, and the namespaces of processes and networks
    int32_t process, descriptor;
  };

  /// Makes the memory on rank 0; the others open it.
  SharedMemory(int rank, int size);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  const Place& place() const { return place_; }
  /// Maps the memory of rank 0. Returns false if the ranks, whose places are given, do not all run on this machine, or
  /// where the system does not allow it. Use the other functions only if it returned true on all ranks.
  bool open(const std::vector<Place>& places);

  // As Engine's. They throw std::runtime_error if a rank ends or leaves, after abort() and when the time is over.
  /// `ring`: adds in the order of Gloo's ring of segments of at most `segment_bytes`, otherwise of its halving and
  /// doubling, for which the number of ranks is a power of two. So sums have the same bits with and without this class.
  void all_reduce(void* data, std::size_t count, std::size_t item, ReduceFunction function, bool ring,
                  std::size_t segment_bytes, const CallOptions& options);
  void broadcast(void* data, std::size_t bytes, int root, const CallOptions& options);
  void all_gather(const void* in, void* out, const std::size_t* bytes, const CallOptions& options);
  void all_to_all(const void* in, const std::size_t* in_bytes, void* out, const std::size_t* out_bytes,
                  const CallOptions& options);
  void barrier(const CallOptions& options) { publish(options, false); }

  /// Makes calls of this rank, running and later ones, throw, and those of the others. From any thread.
  void abort() noexcept;

 private:
  struct Member;
  struct Reduction {
    ReduceFunction function;
    std::size_t item;   // bytes of an element
    std::size_t chunk;  // of the ring; 0: in pairs
  };

  Member& member(int rank) const;
  /// The slot of a rank in this round; own slots are those of the next one to publish.
  char* slot(int rank, uint32_t round) const;
  char* own_slot() const { return slot(rank_, round_ + 1); }
  const char* published(int rank) const { return slot(rank, round_); }
  /// Ends a round: publishes the own slot and waits for those of the others. Returns whether any rank has `more`.
  bool publish(const CallOptions& options, bool more);
  void await(int rank, const CallOptions& options, int64_t end);
  void check_alive();
  /// Throws. The rank makes no more calls, so the others fail, too.
  [[noreturn]] void fail(const std::string& why);
  void combine(char* to, std::size_t at, std::size_t bytes, std::size_t whole, const Reduction& r) const;
  void combine_pairs(char* to, int first, int ranks, std::size_t at, std::size_t bytes, const Reduction& r) const;

  const int rank_, size_, spins_;
  Place place_{};
  tandem::detail::Descriptor memory_;
  std::vector<tandem::detail::Descriptor> processes_;  // by rank
  char* begin_ = nullptr;
  std::size_t bytes_ = 0;
  uint32_t round_ = 0;  // the last one that this rank has published
  std::atomic<bool> aborted_ = false;
};

}  // namespace tandem::distributed

// The threads of a block. They run one after another on one fiber; a thread that must wait keeps that fiber,
// and the remaining threads continue on a new one. When all have ended or wait, complete meetings are
// resolved and their threads resumed. If no meeting is complete, the kernel is wrong and the program aborts
// with a message.
#include "tandem/tests/cuda_emulation/kernel.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "tandem/tests/cuda_emulation/device.h"
#include "tandem/tests/cuda_emulation/fiber.h"

namespace tandem::cuda_emulation {

Position position;

namespace {

constexpr int kWarp = 32;

struct Thread {
  enum State : uint8_t { kNew, kWaiting, kReady, kEnded } state = kNew;
  Meeting kind;
  uint32_t mask;
  int source;
  uint64_t value, result;
  Place place;
  Fiber* fiber;
};
struct LateCopy {
  void* to;
  const void* from;
};

bool of_block(Meeting kind) { return kind <= Meeting::kBlockCount; }
const char* name_of(Meeting kind) {
  switch (kind) {
    case Meeting::kWarp:
      return "__syncwarp";
    case Meeting::kShuffle:
      return "a shuffle";
    case Meeting::kBallot:
      return "a vote";
    case Meeting::kMatch:
      return "__match_any_sync";
    case Meeting::kExchange:
      return "a function of the tensor cores";
    default:
      return "__syncthreads";
  }
}
bool same(const Thread& a, const Thread& b) {
  return a.kind == b.kind && a.mask == b.mask && a.place.line == b.place.line &&
         (a.place.file == b.place.file || std::strcmp(a.place.file, b.place.file) == 0);
}

class Runner {
 public:
  void run(const Launch& launch, const std::function<void()>& thread);
  void fiber_main();
  uint64_t meet(Meeting kind, uint32_t mask, uint64_t value, int source, Place place);
  int now() const { return now_; }
  void* shared() { return shared_.get(); }
  std::vector<LateCopy>& copies() { return copies_[static_cast<std::size_t>(now_)]; }

 private:
  bool begin_thread();
  void begin_block();
  void set_thread(int index);
  Fiber* idle_fiber();
  void resolve();
  bool resolve_block();
  bool resolve_warp(int first);
  bool complete(int first, const Thread& one) const;
  void finish_group(int first, const Thread& one);
  [[noreturn]] void report() const;
  [[noreturn]] void wrong(int index, const char* why, int other) const;
  [[noreturn]] void wrong(int index, const char* why) const;

  const Launch* launch_ = nullptr;
  const std::function<void()>* thread_ = nullptr;
  std::vector<Thread> threads_;
  std::vector<uint3> places_;                           // threadIdx of each thread
  std::vector<std::array<uint64_t, kWarp>> exchanged_;  // of each warp
  std::vector<std::vector<LateCopy>> copies_;           // of each thread
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_;
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  std::unique_ptr<void, Free> shared_;
  Fiber* running_ = nullptr;
  int count_ = 0, next_ = 0, alive_ = 0, now_ = 0;
  uint64_t block_ = 0, blocks_ = 0;
};

Runner& runner() {
  static Runner* one = new Runner;  // never destroyed: kernels may run during process exit
  return *one;
}

void enter_fiber() { runner().fiber_main(); }

void Runner::run(const Launch& launch, const std::function<void()>& thread) {
  launch_ = &launch;
  thread_ = &thread;
  count_ = static_cast<int>(launch.block.x * launch.block.y * launch.block.z);
  blocks_ = static_cast<uint64_t>(launch.grid.x) * launch.grid.y * launch.grid.z;
  block_ = 0;
  threads_.resize(static_cast<std::size_t>(count_));
  exchanged_.resize(static_cast<std::size_t>(count_ + kWarp - 1) / kWarp);
  copies_.resize(static_cast<std::size_t>(count_));
  places_.clear();
  for (uint3 i{0, 0, 0}; i.z < launch.block.z; ++i.z)
    for (i.y = 0; i.y < launch.block.y; ++i.y)
      for (i.x = 0; i.x < launch.block.x; ++i.x) places_.push_back(i);
  shared_.reset(launch.shared_bytes == 0 ? nullptr : std::aligned_alloc(16, (launch.shared_bytes + 15) / 16 * 16));
  position.block_size = launch.block;
  position.grid = launch.grid;
  begin_block();
  while (block_ < blocks_) {
    if (next_ < count_) {
      running_ = idle_fiber();
      running_->run();
    } else {
      resolve();
    }
  }
  shared_.reset();
}

void Runner::begin_block() {
  next_ = alive_ = 0;
  if (block_ == blocks_) return;
  for (Thread& t : threads_) t.state = Thread::kNew;
  const uint64_t index = launch_->descending ? blocks_ - 1 - block_ : block_;
  const dim3& grid = launch_->grid;
  position.block = {static_cast<unsigned>(index % grid.x), static_cast<unsigned>(index / grid.x % grid.y),
                    static_cast<unsigned>(index / grid.x / grid.y)};
  if (shared_) std::memset(shared_.get(), 0xff, launch_->shared_bytes);
}

void Runner::set_thread(int index) {
  now_ = index;
  position.thread = places_[static_cast<std::size_t>(index)];
}

// Starts the next thread of this block, or of the next block if all have ended. Returns false if other
// threads must continue first.
bool Runner::begin_thread() {
  if (next_ == count_) {
    if (alive_ > 0) return false;
    ++block_;
    begin_block();
    if (block_ == blocks_) return false;
  }
  set_thread(launch_->descending ? count_ - 1 - next_ : next_);
  ++next_;
  ++alive_;
  return true;
}

Fiber* Runner::idle_fiber() {
  if (idle_.empty()) {
    fibers_.push_back(std::make_unique<Fiber>(enter_fiber));
    idle_.push_back(fibers_.back().get());
  }
  Fiber* fiber = idle_.back();
  idle_.pop_back();
  return fiber;
}

// Never ends, because the address sanitizer maps new memory for every fiber that begins.
void Runner::fiber_main() {
  running_->arrived();
  for (;;) {
    while (begin_thread()) {
      (*thread_)();
      if (!copies().empty()) wrong(now_, "ended with copies that it has not waited for");
      threads_[static_cast<std::size_t>(now_)].state = Thread::kEnded;
      --alive_;
    }
    idle_.push_back(running_);
    running_->leave();
  }
}

uint64_t Runner::meet(Meeting kind, uint32_t mask, uint64_t value, int source, Place place) {
  Thread& own = threads_[static_cast<std::size_t>(now_)];
  own = {Thread::kWaiting, kind, mask, source, value, 0, place, running_};
  if (!of_block(kind) && (mask >> (now_ % kWarp) & 1) == 0) wrong(now_, "with a mask that leaves it out", -1);
  running_->leave();
  return own.result;
}

void Runner::resolve() {
  bool any = resolve_block();
  for (int first = 0; first < count_; first += kWarp) any = resolve_warp(first) || any;
  if (!any) report();
  for (int i = 0; i < count_; ++i) {
    const int index = launch_->descending ? count_ - 1 - i : i;
    Thread& t = threads_[static_cast<std::size_t>(index)];
    if (t.state != Thread::kReady) continue;
    t.state = Thread::kNew;
    set_thread(index);
    running_ = t.fiber;
    running_->run();
  }
}

bool Runner::resolve_block() {
  uint64_t set = 0;
  for (const Thread& t : threads_) {
    if (t.state != Thread::kWaiting || !of_block(t.kind) || !same(t, threads_[0])) return false;
    set += t.value;
  }
  uint64_t result = set;
  if (threads_[0].kind == Meeting::kBlockOr) result = set != 0;
  if (threads_[0].kind == Meeting::kBlockAnd) result = set == static_cast<uint64_t>(count_);
  for (Thread& t : threads_) {
    t.result = result;
    t.state = Thread::kReady;
  }
  return true;
}

bool Runner::resolve_warp(int first) {
  bool any = false;
  for (int i = first; i < first + kWarp && i < count_; ++i) {
    const Thread& t = threads_[static_cast<std::size_t>(i)];
    if (t.state != Thread::kWaiting || of_block(t.kind) || !complete(first, t)) continue;
    finish_group(first, t);
    any = true;
  }
  return any;
}

bool Runner::complete(int first, const Thread& one) const {
  for (int lane = 0; lane < kWarp; ++lane) {
    if ((one.mask >> lane & 1) == 0) continue;
    if (first + lane >= count_) return false;
    const Thread& t = threads_[static_cast<std::size_t>(first + lane)];
    if (t.state != Thread::kWaiting || !same(t, one)) return false;
  }
  return true;
}

void Runner::finish_group(int first, const Thread& one) {
  const uint32_t mask = one.mask;
  const Meeting kind = one.kind;
  Thread* lanes = &threads_[static_cast<std::size_t>(first)];
  uint32_t ballot = 0;
  for (int i = 0; i < kWarp; ++i)
    if (mask >> i & 1) ballot |= (lanes[i].value != 0 ? 1u : 0u) << i;
  for (int i = 0; i < kWarp; ++i) {
    if ((mask >> i & 1) == 0) continue;
    lanes[i].result = ballot;
    if (kind == Meeting::kShuffle) {
      if (lanes[i].source < 0 || lanes[i].source >= kWarp || (mask >> lanes[i].source & 1) == 0)
        wrong(first + i, "reading a lane that the mask leaves out", -1);
      lanes[i].result = lanes[lanes[i].source].value;
    } else if (kind == Meeting::kMatch) {
      lanes[i].result = 0;
      for (int j = 0; j < kWarp; ++j)
        if ((mask >> j & 1) != 0 && lanes[j].value == lanes[i].value) lanes[i].result |= uint64_t{1} << j;
    }
  }
  if (kind == Meeting::kExchange) {
    auto& values = exchanged_[static_cast<std::size_t>(first / kWarp)];
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = lanes[i].value;
      lanes[i].result = reinterpret_cast<uint64_t>(values.data());
    }
  }
  for (int i = 0; i < kWarp; ++i)
    if (mask >> i & 1) lanes[i].state = Thread::kReady;
}

// No thread can continue: reports one that waits, and one that does not arrive.
void Runner::report() const {
  int waiting = 0;
  while (threads_[static_cast<std::size_t>(waiting)].state != Thread::kWaiting) ++waiting;
  const Thread& one = threads_[static_cast<std::size_t>(waiting)];
  const int first = of_block(one.kind) ? 0 : waiting / kWarp * kWarp;
  const int last = of_block(one.kind) ? count_ : first + kWarp;
  for (int i = first; i < last; ++i) {
    if (!of_block(one.kind) && (one.mask >> (i - first) & 1) == 0) continue;
    if (i >= count_) wrong(waiting, "with a mask that names lanes which the block does not have", -1);
    const Thread& other = threads_[static_cast<std::size_t>(i)];
    if (other.state == Thread::kEnded) wrong(waiting, "for a thread that has ended", i);
    if (!same(one, other)) wrong(waiting, "for a thread that waits elsewhere", i);
  }
  wrong(waiting, "forever", -1);
}

void Runner::wrong(int index, const char* why) const {
  std::fprintf(stderr, "emulated CUDA: kernel '%s', block (%u, %u, %u): thread %d of %d %s\n", launch_->operation,
               position.block.x, position.block.y, position.block.z, index, count_, why);
  std::abort();
}

void Runner::wrong(int index, const char* why, int other) const {
  const Thread& t = threads_[static_cast<std::size_t>(index)];
  std::fprintf(stderr, "emulated CUDA: kernel '%s', block (%u, %u, %u): thread %d of %d waits in %s (%s:%d) %s",
               launch_->operation, position.block.x, position.block.y, position.block.z, index, count_, name_of(t.kind),
               t.place.file, t.place.line, why);
  if (other >= 0) {
    const Thread& o = threads_[static_cast<std::size_t>(other)];
    std::fprintf(stderr, ": thread %d", other);
    if (o.state != Thread::kEnded) std::fprintf(stderr, " in %s (%s:%d)", name_of(o.kind), o.place.file, o.place.line);
  }
  std::fputc('\n', stderr);
  std::abort();
}

}  // namespace

void run_kernel(const Launch& launch, const std::function<void()>& thread) { runner().run(launch, thread); }

uint64_t meet(Meeting kind, uint32_t mask, uint64_t value, int source, Place place) {
  return runner().meet(kind, mask, value, source, place);
}
int lane() { return runner().now() % kWarp; }
const uint64_t* exchange(uint64_t value, Place place) {
  return reinterpret_cast<const uint64_t*>(runner().meet(Meeting::kExchange, 0xffffffffu, value, 0, place));
}
void copy_later(void* to, const void* from) { runner().copies().push_back({to, from}); }
void copy_now() {
  for (const LateCopy& copy : runner().copies())
    if (copy.from == nullptr)
      std::memset(copy.to, 0, 16);
    else
      std::memcpy(copy.to, copy.from, 16);
  runner().copies().clear();
}
void* dynamic_shared_memory() { return runner().shared(); }

}  // namespace tandem::cuda_emulation

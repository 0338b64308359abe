// The state of a random stream.
#include "tandem/core/random/generator.h"

#include <atomic>
#include <cstring>
#include <optional>
#include <random>

#include "tandem/core/base/fork.h"
#include "tandem/core/random/mersenne.h"
#include "tandem/core/tensor.h"

namespace tandem {

namespace {
constinit std::atomic<GeneratorMode> mode_of_all{GeneratorMode::kPhilox};
}
void set_generator_mode(GeneratorMode mode) { mode_of_all.store(mode, std::memory_order_relaxed); }
GeneratorMode generator_mode() { return mode_of_all.load(std::memory_order_relaxed); }

struct Generator::State {
  State(uint64_t seed, Device device) : device(device), seed(seed) {}
  const Device device;
  std::mutex turn;  // of programs
  detail::ForkMutex mutex;
  uint64_t seed, offset = 0;
  std::optional<detail::MersenneState> mersenne;
};

Generator::Generator(uint64_t seed, Device device) : state_(std::make_shared<State>(seed, device)) {}

void Generator::set_current_seed(uint64_t seed) const {
  std::lock_guard lock(state_->mutex);
  state_->seed = seed;
  state_->offset = 0;
  state_->mersenne.reset();
}
uint64_t Generator::seed() const {
  std::random_device device;
  const uint64_t high = device();
  const uint64_t seed = high << 32 | device();
  set_current_seed(seed);
  return seed;
}
Device Generator::device() const { return state_->device; }
std::mutex& Generator::mutex() const { return state_->turn; }
Generator Generator::clone() const {
  Generator copy(0, state_->device);
  std::lock_guard lock(state_->mutex);
  copy.state_->seed = state_->seed;
  copy.state_->offset = state_->offset;
  copy.state_->mersenne = state_->mersenne;
  return copy;
}

// The bytes of a state: seed, offset and, once it has been drawn from, the Mersenne Twister.
namespace {
constexpr std::size_t kPhiloxBytes = 2 * sizeof(uint64_t), kAllBytes = kPhiloxBytes + sizeof(detail::MersenneState);
}
Tensor Generator::get_state() const {
  std::lock_guard lock(state_->mutex);
  const bool with_mersenne = state_->mersenne.has_value();
  const auto size = static_cast<int64_t>(with_mersenne ? kAllBytes : kPhiloxBytes);
  const Tensor out = empty_raw({size}, kByte, Device(kCPU, 0));
  uint8_t* bytes = out.ptr<uint8_t>();
  std::memcpy(bytes, &state_->seed, sizeof(uint64_t));
  std::memcpy(bytes + sizeof(uint64_t), &state_->offset, sizeof(uint64_t));
  if (with_mersenne) std::memcpy(bytes + kPhiloxBytes, &*state_->mersenne, sizeof(detail::MersenneState));
  return out;
}
void Generator::set_state(const Tensor& state) const {
  check(state.dtype() == kByte && state.dim() == 1 &&
            (state.numel() == int64_t{kPhiloxBytes} || state.numel() == int64_t{kAllBytes}),
        "Generator::set_state: expected a state of get_state(), got ", state);
  const Tensor row = state.to(Device(kCPU, 0)).contiguous();
  const uint8_t* bytes = row.ptr<uint8_t>();
  std::optional<detail::MersenneState> mersenne;
  if (row.numel() == int64_t{kAllBytes}) {
    mersenne.emplace(0);
    std::memcpy(&*mersenne, bytes + kPhiloxBytes, sizeof(detail::MersenneState));
    check(mersenne->used <= 624, "Generator::set_state: the bytes are not a state of get_state()");
  }
  std::lock_guard lock(state_->mutex);
  std::memcpy(&state_->seed, bytes, sizeof(uint64_t));
  std::memcpy(&state_->offset, bytes + sizeof(uint64_t), sizeof(uint64_t));
  state_->mersenne = mersenne;
}
uint64_t Generator::current_seed() const {
  std::lock_guard lock(state_->mutex);
  return state_->seed;
}
uint64_t Generator::offset() const {
  std::lock_guard lock(state_->mutex);
  return state_->offset;
}
void Generator::set_offset(uint64_t offset) const {
  std::lock_guard lock(state_->mutex);
  state_->offset = offset;
}
Generator::Draw Generator::next() const { return take(1); }
Generator::Draw Generator::take(uint64_t count) const {
  std::lock_guard lock(state_->mutex);
  const Draw first{state_->seed, state_->offset};
  state_->offset += count;
  return first;
}

namespace {
thread_local constinit const Generator* thread_generator = nullptr;
}  // namespace

GeneratorGuard::GeneratorGuard(const Generator& generator) : previous_(thread_generator), generator_(generator) {
  thread_generator = &generator_;
}
GeneratorGuard::~GeneratorGuard() { thread_generator = previous_; }

const Generator& default_generator() {
  if (thread_generator != nullptr) return *thread_generator;
  static constinit detail::OnFirstUse<const Generator> instance;
  return instance.get([] { return new Generator; });
}

detail::MersenneStream::MersenneStream(const Generator& generator) : generator_(generator) {
  Generator::State& state = *generator_.state_;
  state.mutex.lock();
  if (!state.mersenne) state.mersenne.emplace(state.seed);
  state_ = &*state.mersenne;
}
detail::MersenneStream::~MersenneStream() { generator_.state_->mutex.unlock(); }

void manual_seed(uint64_t seed) { default_generator().set_current_seed(seed); }

}  // namespace tandem

// The state of a random stream.
#include "tandem/core/generator.h"

#include <mutex>

#include "tandem/core/fork.h"

namespace tandem {

struct Generator::State {
  detail::ForkMutex mutex;
  uint64_t seed, offset = 0;
};

Generator::Generator(uint64_t seed) : state_(std::make_shared<State>()) { state_->seed = seed; }

void Generator::set_current_seed(uint64_t seed) const {
  std::lock_guard lock(state_->mutex);
  state_->seed = seed;
  state_->offset = 0;
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

GeneratorGuard::GeneratorGuard(const Generator& generator)
    : previous_(thread_generator), generator_(generator) {
  thread_generator = &generator_;
}
GeneratorGuard::~GeneratorGuard() { thread_generator = previous_; }

const Generator& default_generator() {
  if (thread_generator != nullptr) return *thread_generator;
  static constinit detail::OnFirstUse<const Generator> instance;
  return instance.get([] { return new Generator; });
}
void manual_seed(uint64_t seed) { default_generator().set_current_seed(seed); }

}  // namespace tandem

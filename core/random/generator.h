// Generator: a stream of random numbers. In the default mode, Philox, its whole state is a seed and an offset, and
// element i of a draw depends only on (seed, offset of the draw, i): see philox.h. GeneratorMode::kPyTorch adds
// the stream of PyTorch's CPU generator.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>

#include "tandem/core/device.h"

namespace tandem {

class Tensor;
namespace detail {
class MersenneStream;
}

/// How tensors on the CPU are filled with random numbers.
///
/// kPhilox: the same numbers on CPU and CUDA. kPyTorch: the numbers that PyTorch's CPU generator, a Mersenne Twister,
/// draws after the same seed, up to the rounding of logarithms, roots and cosines: in functions of tensors, dropout,
/// initial values of layers and the orders of samplers without a seed. Draws are sequential then, and fill tensors in the
/// order of their memory. CUDA always uses Philox.
enum class GeneratorMode : uint8_t { kPhilox, kPyTorch };
/// Sets the mode of all generators of the process.
void set_generator_mode(GeneratorMode mode);
GeneratorMode generator_mode();

class Generator {
 public:
  /// Starts a new stream; copies of a Generator share its stream.
  Generator() : Generator(kDefaultSeed) {}
  explicit Generator(uint64_t seed) : Generator(seed, Device(kCPU)) {}
  Generator(uint64_t seed, Device device);

  static constexpr uint64_t kDefaultSeed = 67280421310721;  // as in PyTorch

  /// Restarts the stream from `seed` at offset 0.
  void set_current_seed(uint64_t seed) const;
  uint64_t current_seed() const;
  /// Restarts the stream from a seed that differs from call to call, and returns the seed.
  uint64_t seed() const;
  /// Number of draws taken so far. A checkpoint stores the seed and this offset.
  uint64_t offset() const;
  uint64_t get_offset() const { return offset(); }
  void set_offset(uint64_t offset) const;
  /// The whole state, as bytes (uint8, on the CPU).
  Tensor get_state() const;
  /// Continues from a state of get_state(). Throws Error on any other tensor.
  void set_state(const Tensor& state) const;
  /// An independent generator with the same state.
  Generator clone() const;
  /// The device for which it was made; a generator draws for any device.
  Device device() const;
  bool defined() const { return true; }
  /// For programs that let several threads take turns. The generator's own functions do not lock it.
  std::mutex& mutex() const;
  friend bool operator==(const Generator& a, const Generator& b) { return a.state_ == b.state_; }

  /// The seed and offset of one draw; the next draw gets another offset. Thread-safe.
  struct Draw {
    uint64_t seed, offset;
  };
  Draw next() const;
  /// The first of `count` consecutive draws.
  Draw take(uint64_t count) const;

 private:
  friend class detail::MersenneStream;
  struct State;
  std::shared_ptr<State> state_;
};

/// The generator used when none is given. All devices share it, so a seed produces the same numbers on each.
const Generator& default_generator();

/// Makes `generator` the default of the calling thread until the guard goes out of scope. The draws of helper
/// threads then depend on their generator, not on which thread came first.
class GeneratorGuard {
 public:
  [[nodiscard]] explicit GeneratorGuard(const Generator& generator);
  ~GeneratorGuard();
  GeneratorGuard(const GeneratorGuard&) = delete;
  GeneratorGuard& operator=(const GeneratorGuard&) = delete;

 private:
  const Generator* previous_;
  Generator generator_;
};
/// Seeds the default generator.
void manual_seed(uint64_t seed);

namespace detail {
inline Generator createCPUGenerator(uint64_t seed = Generator::kDefaultSeed) { return Generator(seed); }
inline const Generator& getDefaultCPUGenerator() { return default_generator(); }
}  // namespace detail

/// The kinds of generator that make_generator makes: CPUGeneratorImpl takes a seed, CUDAGeneratorImpl a device index.
struct CPUGeneratorImpl {
  template <class Seed = uint64_t>  // any integer, as programs write one
  static Generator make(Seed seed = Generator::kDefaultSeed) {
    return Generator(static_cast<uint64_t>(seed));
  }
};
struct CUDAGeneratorImpl {
  template <class Index = DeviceIndex>
  static Generator make(Index index = -1) {
    return Generator(Generator::kDefaultSeed, Device(kCUDA, static_cast<DeviceIndex>(index)));
  }
};
template <class Impl, class... Args>
Generator make_generator(Args... args) {
  return Impl::make(args...);
}
inline Generator make_generator(uint64_t seed) { return Generator(seed); }

}  // namespace tandem

// Asks the driver once.
#include "tandem/cuda/cards.h"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "tandem/core/error.h"
#include "tandem/cuda/check.h"

namespace tandem::cuda_impl {
namespace {

struct Found {
  std::vector<Card> cards;
  int devices = 0;
  std::string reason;
};

Card read_card(int index) {
  cudaDeviceProp p{};
  ensure(cudaGetDeviceProperties(&p, index), "cudaGetDeviceProperties");
  return {index,           p.name, p.major, p.minor, p.multiProcessorCount, p.maxThreadsPerMultiProcessor,
          p.totalGlobalMem};
}

Found look() {
  Found found;
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0) {
    forget_error();
    int driver = 0;
    const bool none = cudaDriverGetVersion(&driver) == cudaSuccess && driver == 0;
    found.reason = concat("no CUDA device: ", none                    ? "there is no NVIDIA driver"
                                              : status == cudaSuccess ? "the driver shows none"
                                                                      : cudaGetErrorString(status));
    return found;
  }
  try {
    for (int i = 0; i < count; ++i) found.cards.push_back(read_card(i));
    found.devices = logical_devices(std::getenv("TANDEM_CUDA_DEVICES"), count);
  } catch (const Error& error) {
    found.cards.clear();
    found.reason = concat("no CUDA device: ", error.what());
  }
  return found;
}

const Found& found() {
  static const Found* instance = new Found(look());  // used until the very end of the process
  return *instance;
}

}  // namespace

int logical_devices(const char* wanted, int cards) {
  if (wanted == nullptr || *wanted == 0) return cards;
  int number = 0;
  const char* end = wanted + std::strlen(wanted);
  const auto [stop, error] = std::from_chars(wanted, end, number);
  check(error == std::errc() && stop == end && number >= 1 && number <= 64, "TANDEM_CUDA_DEVICES=", wanted,
        ": expected a number from 1 to 64");
  return number;
}

int device_count() { return found().devices; }
const std::string& why_none() { return found().reason; }

const Card& card_of(int device) {
  const Found& f = found();
  check(device >= 0 && device < f.devices, "no device cuda:", device, ": this process has ", f.devices,
        " CUDA device", f.devices == 1 ? "" : "s");
  return f.cards[static_cast<std::size_t>(device) % f.cards.size()];
}

int sharers(int device) {
  int count = 0;
  for (int i = 0; i < device_count(); ++i) count += card_of(i).index == card_of(device).index;
  return count;
}

void use_card(int device) {
  thread_local bool used = false;
  if (used && found().cards.size() == 1) return;
  const int card = card_of(device).index;
  int current = -1;
  ensure(cudaGetDevice(&current), "cudaGetDevice");
  if (!used || current != card) ensure(cudaSetDevice(card), "cudaSetDevice");
  used = true;
}

CardGuard::CardGuard(int device) : previous_(-1) {
  ensure(cudaGetDevice(&previous_), "cudaGetDevice");
  use_card(device);
}
CardGuard::~CardGuard() { log_failure(cudaSetDevice(previous_), "cudaSetDevice"); }

}  // namespace tandem::cuda_impl

// The cards of this process and the logical devices on them.
//
// cuda:k is card k, unless TANDEM_CUDA_DEVICES=n asks for n logical devices: then cuda:k lives on card k
// modulo the number of cards. CUDA_VISIBLE_DEVICES decides which cards there are.
#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>

namespace tandem::cuda_impl {

struct Card {
  int index = 0;
  std::string name;
  int major = 0, minor = 0;  ///< compute capability
  int multiprocessors = 0, threads_per_multiprocessor = 0;
  std::size_t memory = 0;  ///< bytes
};

/// Logical devices of this process; 0 where CUDA cannot be used: why_none() says why.
int device_count();
/// "no CUDA device: <the driver's words>", or empty.
const std::string& why_none();
/// Whether a process that this one was forked from has used the driver, whose state a child does not get.
/// What a child then frees stays as it is: it is the parent's.
bool is_forked_child();
/// Throws Error in such a child.
void refuse_in_forked_child();
/// The card of logical device `device`. Throws Error when there is none.
const Card& card_of(int device);
/// How many logical devices share the card of `device`.
int sharers(int device);
/// Logical devices wanted on so many cards by the value of TANDEM_CUDA_DEVICES (null or empty: one a card).
/// Throws Error unless it is a number from 1 to 64.
int logical_devices(const char* wanted, int cards);

/// Success where the current card can run the kernels of this build.
cudaError_t probe_card();

/// Makes the card of `device` current for the calling thread until the guard goes out of scope.
class CardGuard {
 public:
  explicit CardGuard(int device);
  ~CardGuard();
  CardGuard(const CardGuard&) = delete;
  CardGuard& operator=(const CardGuard&) = delete;

 private:
  int previous_;
};
/// Makes it current for good: what every operation does first. Asks the driver only where there are several.
void use_card(int device);

}  // namespace tandem::cuda_impl

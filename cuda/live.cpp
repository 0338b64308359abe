// Draws outside of captures.
#include "tandem/cuda/live.h"

namespace tandem::cuda {

LiveDraw live_draw(Context& c, const Generator::Draw& draw) {
  check(c.recording == nullptr, "random numbers cannot be captured yet");
  return {draw.seed, draw.offset, nullptr};
}

}  // namespace tandem::cuda

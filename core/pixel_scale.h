// PixelScale: how the bytes of an image become floating point numbers.
#pragma once

namespace tandem {

/// (pixel - shift) / scale, in float32.
struct PixelScale {
  float scale = 255, shift = 0;
};

}  // namespace tandem

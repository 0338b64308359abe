// Namespace fft: fft::NAME is the function fft_NAME. As in LibTorch, hfftn and ihfftn transform two dimensions by
// default.
#pragma once
#include "tandem/autograd/ops/fft/fft.h"
#include "tandem/autograd/ops/torch_names/named.h"

namespace tandem::fft {

#define TANDEM_FFT(name)                                                                                               \
  TANDEM_NAMED(fft, name,                                                                                              \
               (const Tensor& self, optional<int64_t> n = nullopt, int64_t dim = -1, FftNorm norm = nullopt), self, n, \
               dim, norm)
#define TANDEM_FFT2(name)                                                                                              \
  TANDEM_NAMED(                                                                                                        \
      fft, name,                                                                                                       \
      (const Tensor& self, OptionalIntArrayRef s = nullopt, IntArrayRef dim = {-2, -1}, FftNorm norm = nullopt), self, \
      s, dim, norm)
#define TANDEM_FFTN(name)                                                                               \
  TANDEM_NAMED(fft, name,                                                                               \
               (const Tensor& self, OptionalIntArrayRef s = nullopt, OptionalIntArrayRef dim = nullopt, \
                FftNorm norm = nullopt),                                                                \
               self, s, dim, norm)
TANDEM_FFT(fft)
TANDEM_FFT(ifft)
TANDEM_FFT(rfft)
TANDEM_FFT(irfft)
TANDEM_FFT(hfft)
TANDEM_FFT(ihfft)
TANDEM_FFT2(fft2)
TANDEM_FFT2(ifft2)
TANDEM_FFT2(rfft2)
TANDEM_FFT2(irfft2)
TANDEM_FFT2(hfft2)
TANDEM_FFT2(ihfft2)
TANDEM_FFT2(hfftn)
TANDEM_FFT2(ihfftn)
TANDEM_FFTN(fftn)
TANDEM_FFTN(ifftn)
TANDEM_FFTN(rfftn)
TANDEM_FFTN(irfftn)
#undef TANDEM_FFT
#undef TANDEM_FFT2
#undef TANDEM_FFTN
TANDEM_NAMED(fft, fftfreq, (int64_t n, double d, const TensorOptions& options = {}), n, d, options)
TANDEM_NAMED(fft, fftfreq, (int64_t n, const TensorOptions& options = {}), n, 1.0, options)
TANDEM_NAMED(fft, rfftfreq, (int64_t n, double d, const TensorOptions& options = {}), n, d, options)
TANDEM_NAMED(fft, rfftfreq, (int64_t n, const TensorOptions& options = {}), n, 1.0, options)
TANDEM_NAMED(fft, fftshift, (const Tensor& x, OptionalIntArrayRef dim = nullopt), x, dim)
TANDEM_NAMED(fft, ifftshift, (const Tensor& x, OptionalIntArrayRef dim = nullopt), x, dim)

}  // namespace tandem::fft

// Fourier transforms: many lengths against their definition, properties, gradients of complex tensors, errors; stft.
#include <doctest/doctest.h>

#include <numbers>

#include "tandem/autograd/torch_names.h"
#include "tandem/tandem.h"
#include "tandem/testing.h"
#include "tandem/tests/sanitized.h"

using namespace tandem;
using namespace tandem::testing;

namespace {

// Powers of each radix, composites of them, primes below and above the largest that is transformed directly, and their
// multiples.
const std::vector<int64_t> kLengths{1,  2,  3,  4,  5,   6,   7,   8,   9,    11,   12,   16,
                                    17, 30, 49, 64, 101, 121, 127, 202, 1000, 1009, 2018, 4096};

Tensor random_parts(std::vector<int64_t> sizes) {
  return make_inputs({.cases = {{constant(std::move(sizes))}}}, 0, kDouble)[0];
}
Tensor random_complex(std::vector<int64_t> sizes) {
  sizes.push_back(2);
  return view_as_complex(random_parts(std::move(sizes)));
}

/// The transform of lines [..., n, 2] by its definition.
Tensor by_definition(const Tensor& x, bool inverse) {
  const Tensor parts = view_as_real(x), re = parts.select(-1, 0), im = parts.select(-1, 1);
  const int64_t n = x.size(-1);
  const Tensor j = arange(n, kLong);
  const Tensor angle =
      outer(j, j).remainder(n).to(kDouble) * ((inverse ? 2 : -2) * std::numbers::pi / static_cast<double>(n));
  const Tensor c = angle.cos(), s = angle.sin();
  return complex(matmul(re, c) - matmul(im, s), matmul(re, s) + matmul(im, c));
}

double difference(const Tensor& a, const Tensor& b) {
  CHECK(a.sizes() == b.sizes());
  const auto real = [](const Tensor& t) { return (t.is_complex() ? view_as_real(t) : t).to(kDouble); };
  return (real(a) - real(b)).abs().max().item<double>();
}
double magnitude(const Tensor& a) { return view_as_real(a).abs().max().item<double>(); }

}  // namespace

TEST_CASE("fft: every length against the definition") {
  for (const int64_t n : kLengths) {
    if (test::kSanitized && n > 1009) break;  // the definition is quadratic
    CAPTURE(n);
    const Tensor z = random_complex({3, n}), x = random_parts({3, n});
    const Tensor forward = by_definition(z, false), backward = by_definition(z, true);
    const double bound = 1e-15 * (1 + std::log2(static_cast<double>(n))) * magnitude(forward) * 8;
    CHECK(difference(fft_fft(z), forward) <= bound);
    CHECK(difference(fft_ifft(z, nullopt, -1, "forward"), backward) <= bound);
    const Tensor spectrum = by_definition(complex(x, zeros_like(x)), false);
    CHECK(difference(fft_rfft(x), spectrum.slice(-1, 0, n / 2 + 1)) <= bound);
    CHECK(difference(fft_fft(x), spectrum) <= bound);
    CHECK(difference(fft_ihfft(x, nullopt, -1, "forward"),
                     by_definition(complex(x, zeros_like(x)), true).slice(-1, 0, n / 2 + 1)) <= bound);
    CHECK(difference(fft_irfft(spectrum.slice(-1, 0, n / 2 + 1), n), x) <= bound);
    CHECK(difference(fft_fft(z.to(kComplexFloat)), forward) <= 5e8 * bound);
    CHECK(difference(fft_rfft(x.to(kFloat)), spectrum.slice(-1, 0, n / 2 + 1)) <= 5e8 * bound);
  }
}

TEST_CASE("fft: inverses, and Parseval's theorem") {
  for (const int64_t n : {7, 64, 127, 1000}) {
    const Tensor z = random_complex({2, n}), x = random_parts({2, n});
    for (const char* norm : {"backward", "forward", "ortho"}) {
      CHECK(difference(fft_ifft(fft_fft(z, nullopt, -1, norm), nullopt, -1, norm), z) < 1e-13);
      CHECK(difference(fft_irfft(fft_rfft(x, nullopt, -1, norm), n, -1, norm), x) < 1e-13);
      CHECK(difference(fft_hfft(fft_ihfft(x, nullopt, -1, norm), n, -1, norm), x) < 1e-13);
    }
    const double before = view_as_real(z).square().sum().item<double>();
    CHECK(view_as_real(fft_fft(z, nullopt, -1, "ortho")).square().sum().item<double>() == doctest::Approx(before));
  }
  const Tensor z = random_complex({3, 4, 5});
  CHECK(difference(fft_ifftn(fft_fftn(z)), z) < 1e-14);
  CHECK(difference(fft_fftn(z), fft_fft(fft_fft(fft_fft(z, nullopt, 0), nullopt, 1), nullopt, 2)) < 1e-13);
  const Tensor x = random_parts({3, 4, 5});
  CHECK(difference(fft_irfftn(fft_rfftn(x), {3, 4, 5}), x) < 1e-14);
  CHECK(difference(fft_hfftn(fft_ihfftn(x), {3, 4, 5}), x) < 1e-14);
  CHECK(difference(fft_rfft2(x), fft_fft2(x).slice(-1, 0, 3)) < 1e-13);
}

TEST_CASE("fft: any strides and dimensions") {
  const Tensor z = random_complex({4, 5, 6});
  for (const int64_t dim : {-3, 1, 2}) {
    const Tensor moved = fft_fft(z.movedim(dim, -1).contiguous()).movedim(-1, dim);
    CHECK(difference(fft_fft(z, nullopt, dim), moved) < 1e-13);
    CHECK(difference(fft_fft(z.transpose(0, 2).contiguous().transpose(0, 2), nullopt, dim), moved) < 1e-13);
  }
  const Tensor wide = random_complex({3, 9});
  CHECK(difference(fft_fft(wide.slice(1, 1, 9, 2)), fft_fft(wide.slice(1, 1, 9, 2).contiguous())) == 0);
  CHECK(difference(fft_fft(wide.narrow(0, 0, 1).expand({4, 9})), fft_fft(wide.narrow(0, 0, 1)).expand({4, 9})) == 0);
  CHECK(fft_fft(zeros({0, 4})).sizes() == IntArrayRef({0, 4}));
  CHECK(fft_rfft(zeros({3, 0}), 4).sizes() == IntArrayRef({3, 3}));
}

TEST_CASE("fft: the same bits on any number of threads, and with plans that were dropped") {
  const int before = get_num_threads();
  for (const int64_t n : {6, 127, 4096, test::kSanitized ? 7001 : 70001}) {
    CAPTURE(n);
    const Tensor z = random_complex({std::max<int64_t>(3, 100000 / n), n}).to(kComplexFloat);
    set_num_threads(1);
    const Tensor one = fft_fft(z), other = fft_fft(z, nullopt, 0);
    set_num_threads(3);
    CHECK(identical(view_as_real(fft_fft(z)), view_as_real(one)));
    CHECK(identical(view_as_real(fft_fft(z, nullopt, 0)), view_as_real(other)));
    for (int64_t k = 1; k <= 6; ++k) fft_fft(zeros({n + k}));
    CHECK(identical(view_as_real(fft_fft(z)), view_as_real(one)));
  }
  set_num_threads(before);
}

TEST_CASE("fft: dtypes") {
  CHECK(fft_fft(tensor({1, 2, 3})).dtype() == kComplexFloat);
  CHECK(fft_rfft(tensor({true, false})).dtype() == kComplexFloat);
  CHECK(fft_irfft(tensor({1, 2, 3})).dtype() == kFloat);
  CHECK(fft_fft(zeros({3}, kDouble)).dtype() == kComplexDouble);
  CHECK(fft_hfft(zeros({3}, kComplexDouble)).dtype() == kDouble);
  CHECK_THROWS_WITH_AS(fft_fft(zeros({3}, kHalf)), doctest::Contains("Unsupported dtype"), Error);
  CHECK_THROWS_WITH_AS(fft_rfft(zeros({3}, kComplexFloat)), doctest::Contains("expects a real input"), Error);
  CHECK_THROWS_WITH_AS(fft_ihfftn(zeros({3}, kComplexFloat)), doctest::Contains("expects a real input"), Error);
}

TEST_CASE("fft: wrong lengths, dimensions and norms") {
  const Tensor x = ones({3, 4}), number = ones({});
  CHECK_THROWS_WITH_AS(fft_fft(x, 0), doctest::Contains("Invalid number of data points (0)"), Error);
  CHECK_THROWS_WITH_AS(fft_rfft(x, -2), doctest::Contains("Invalid number of data points (-2)"), Error);
  CHECK_THROWS_WITH_AS(fft_irfft(ones({1})), doctest::Contains("Invalid number of data points (0)"), Error);
  CHECK_THROWS_WITH_AS(fft_fft(ones({0})), doctest::Contains("Invalid number of data points (0)"), Error);
  CHECK_THROWS_WITH_AS(fft_fftn(x, {2, 0}), doctest::Contains("Invalid number of data points (0)"), Error);
  CHECK_THROWS_WITH_AS(fft_fft(x, int64_t{1} << 40), doctest::Contains("at most 134217728"), Error);
  CHECK_THROWS_WITH_AS(fft_irfft(x, std::numeric_limits<int64_t>::max()), doctest::Contains("at most 134217728"),
                       Error);
  CHECK_THROWS_AS(fft_fft(x, nullopt, 2), IndexError);
  CHECK_THROWS_AS(fft_fft(number), IndexError);
  CHECK_THROWS_AS(fft_fft2(ones({3})), IndexError);
  CHECK_THROWS_WITH_AS(fft_fftn(x, nullopt, {1, -1}), doctest::Contains("must be unique"), Error);
  CHECK_THROWS_WITH_AS(fft_fftn(x, {2}, {0, 1}), doctest::Contains("the same length"), Error);
  CHECK_THROWS_WITH_AS(fft_fftn(x, {2, 2, 2}), doctest::Contains("only 2 dimensions"), Error);
  CHECK_THROWS_WITH_AS(fft_rfftn(number), doctest::Contains("at least one axis"), Error);
  CHECK_THROWS_WITH_AS(fft_fft(x, nullopt, -1, "both"), doctest::Contains("Invalid normalization mode"), Error);
  CHECK(fft_fftn(number).item<float>() == 1);  // nothing to transform
}

TEST_CASE("fft: gradients of complex tensors") {
  // Values of PyTorch 2.
  const Tensor z = complex(tensor({1.0, -1.0, 0.0}, kDouble), tensor({2.0, 0.5, 3.0}, kDouble)).requires_grad_();
  const Tensor y = view_as_real(fft_fft(z)), weight = tensor({1, 2, 3}, kDouble);
  (y.select(-1, 0).square() * weight + y.select(-1, 1)).sum().backward();
  const Tensor expected =
      complex(tensor({19.330127, -9.665064, -9.665064}, kDouble), tensor({3.0, -21.348076, 21.348076}, kDouble));
  CHECK(difference(z.grad(), expected) < 1e-5);

  const Tensor half = z.detach().clone().requires_grad_();
  (fft_irfft(half).square() * tensor({1, 2, 3, 4}, kDouble)).sum().backward();
  CHECK(difference(half.grad(), complex(tensor({2.0, -2.5, 0.0}, kDouble), tensor({0.0, 2.0, 0.0}, kDouble))) < 1e-12);
}

TEST_CASE("fft: namespace fft and lists in braces") {
  const Tensor x = random_parts({4, 3, 5});
  CHECK(difference(fft::fftn(x, {4, 4}), fft_fftn(x, std::vector<int64_t>{4, 4}, std::vector<int64_t>{1, 2})) == 0);
  CHECK(difference(fft::fftn(x, nullopt, {1}), fft_fft(x, nullopt, 1)) == 0);
  CHECK(difference(fft::rfft(x, 6, 0, "ortho"), fft_rfft(x, 6, 0, "ortho")) == 0);
  CHECK(fft::fftn(x, {}, {0, 2}).sizes() == x.sizes());
  CHECK(fft::hfftn(fft::ihfftn(x), {3, 5}).sizes() == x.sizes());
  CHECK(difference(fft::fftshift(arange(5), {0}), tensor({3, 4, 0, 1, 2})) == 0);
  CHECK(difference(fft::ifftshift(fft::fftshift(x)), x) == 0);
}

TEST_CASE("fft: frequencies") {
  CHECK(difference(fft::fftfreq(5), tensor({0.0, 0.2, 0.4, -0.4, -0.2})) < 1e-7);
  CHECK(difference(fft::fftfreq(4, 0.5), tensor({0.0, 0.5, -1.0, -0.5})) < 1e-7);
  CHECK(difference(fft::rfftfreq(5, 2.0), tensor({0.0, 0.1, 0.2})) < 1e-7);
  CHECK(fft::rfftfreq(6, kDouble).dtype() == kDouble);
  CHECK(fft::fftfreq(3, 1.0, TensorOptions(kDouble).requires_grad(true)).requires_grad());
  CHECK_THROWS_WITH_AS(fft::fftfreq(4, 1.0, kLong), doctest::Contains("floating point"), Error);
}

TEST_CASE("stft and istft") {
  // Values of PyTorch 2.
  const Tensor x = tensor({1.0, 2.0, 4.0, 8.0, 3.0, -1.0, 0.0, 5.0}), window = hann_window(4);
  const Tensor s = stft(x, 4, 2, 4, window, true, "reflect", false, nullopt, true);
  CHECK(s.dtype() == kComplexFloat);
  const Tensor expected = tensor({3.0,  0.0, 9.0, 0.0, 6.5,  0.0,  2.0, 0.0,  2.0, 0.0,  -1.0, 0.0,  -4.0, 3.0,  -3.0,
                                  -4.5, 0.0, 3.0, 0.0, -3.0, -1.0, 0.0, -1.0, 0.0, -0.5, 0.0,  -2.0, 0.0,  -2.0, 0.0});
  CHECK(difference(view_as_real(s), expected.view({3, 5, 2})) < 1e-5);
  CHECK(difference(stft(x, 4, 2, 4, window, true, "reflect", false, nullopt, false), expected.view({3, 5, 2})) < 1e-5);
  CHECK(difference(istft(s, 4, 2, 4, window), x) < 1e-5);
  CHECK(difference(istft(s, 4, 2, 4, window, true, false, nullopt, 6), x.slice(0, 0, 6)) < 1e-5);
  const Tensor longer = istft(s, 4, 2, 4, window, true, false, nullopt, 14);
  CHECK(longer.size(0) == 14);
  CHECK(difference(longer.slice(0, 10), zeros({4})) == 0);
}

TEST_CASE("stft: round trips") {
  const Tensor x = random_parts({2, 200}), window = hamming_window(30, kDouble);
  for (const bool normalized : {false, true})
    for (const bool onesided : {false, true}) {
      const Tensor s = stft(x, 32, 10, 30, window, true, "constant", normalized, onesided, true);
      CHECK(s.size(1) == (onesided ? 17 : 32));
      CHECK(difference(istft(s, 32, 10, 30, window, true, normalized, onesided, 200), x) < 1e-12);
    }
  const Tensor z = random_complex({2, 60});
  const Tensor s = stft(z, 8, 2, 8, {}, true, "reflect", false);
  CHECK(s.size(1) == 8);
  CHECK(difference(istft(s, 8, 2, 8, {}, true, false, false, 60, true), z) < 1e-12);
  // A complex window makes a complex spectrum of a real signal.
  const Tensor turned = complex(zeros({8}, kDouble), ones({8}, kDouble));
  const Tensor plain = stft(x, 8, 2, 8, {}, true, "reflect", false, false, true);
  CHECK(difference(stft(x, 8, 2, 8, turned), complex(-imag(plain), real(plain))) < 1e-12);
}

TEST_CASE("stft and istft: wrong arguments") {
  const Tensor x = random_parts({20}), window = ones({8}, kDouble);
  CHECK_THROWS_WITH_AS(stft(x, 8), doctest::Contains("return_complex"), Error);
  CHECK_THROWS_WITH_AS(stft(x, 8, 0, 8, window, true, "reflect", false, true, true),
                       doctest::Contains("hop_length > 0"), Error);
  CHECK_THROWS_WITH_AS(stft(x, 8, 2, 9, window, true, "reflect", false, true, true), doctest::Contains("win_length"),
                       Error);
  CHECK_THROWS_WITH_AS(stft(x, 8, 2, 6, window, true, "reflect", false, true, true), doctest::Contains("1D window"),
                       Error);
  CHECK_THROWS_WITH_AS(stft(x, 30, 2, 30, {}, false, nullopt, true), doctest::Contains("n_fft"), Error);
  CHECK_THROWS_WITH_AS(stft(x, 0, 2, 8, {}, false, nullopt, true), doctest::Contains("data points"), Error);
  CHECK_THROWS_WITH_AS(stft(ones({1, 2, 3}), 2, 1, 2, {}, false, nullopt, true), doctest::Contains("1D or 2D"), Error);
  CHECK_THROWS_WITH_AS(stft(ones({9}, kLong), 2, 1, 2, {}, false, nullopt, true), doctest::Contains("floating point"),
                       Error);
  CHECK_THROWS_WITH_AS(stft(x, 8, 2, 8, window, true, "reflect", false, true, true, true),
                       doctest::Contains("align_to_window"), Error);
  const Tensor s = stft(x, 8, 2, 8, window, true, "reflect", false, true, true);
  CHECK_THROWS_WITH_AS(istft(view_as_real(s), 8), doctest::Contains("complex"), Error);
  CHECK_THROWS_WITH_AS(istft(s, 10), doctest::Contains("frequencies"), Error);
  CHECK_THROWS_WITH_AS(istft(s, 8, 9), doctest::Contains("hop_length"), Error);
  CHECK_THROWS_WITH_AS(istft(s, 8, 2, 8, hann_window(8, kDouble), false), doctest::Contains("window overlap add min"),
                       Error);
  CHECK_THROWS_WITH_AS(istft(s, 8, 2, 8, {}, true, false, true, nullopt, true), doctest::Contains("onesided"), Error);
  CHECK_THROWS_AS(unfold_backward(ones({2, 3}), {5}, 0, 4, 1), Error);
}

// Complex tensors: the dtype, views of the parts, conversions, printing, and gradients in PyTorch's convention.
// The numbers were computed by PyTorch.
#include <doctest/doctest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <sstream>

#include "tandem/tandem.h"
#include "tandem/testing.h"

using namespace tandem;
using testing::Tensors;

namespace {

using Numbers = std::vector<std::complex<double>>;

Tensor numbers(const Numbers& values, bool requires_grad = false) {
  return tensor(values, TensorOptions(kComplexDouble).requires_grad(requires_grad));
}
// The three numbers of most cases, and weights for their loss.
Tensor three() { return numbers({{1, 2}, {-3, 0.5}, {0.25, -1}}, true); }
Tensor weights() { return tensor({0.5, -1.0, 2.0}, kDouble); }

void check_close(const Tensor& values, const Numbers& expected, double tolerance = 1e-12) {
  REQUIRE(values.numel() == static_cast<int64_t>(expected.size()));
  const Tensor wide = values.detach().to(kComplexDouble).contiguous().reshape({-1});
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CAPTURE(i);
    const std::complex<double> value = wide[static_cast<int64_t>(i)].item<std::complex<double>>();
    CHECK(value.real() == doctest::Approx(expected[i].real()).epsilon(tolerance));
    CHECK(value.imag() == doctest::Approx(expected[i].imag()).epsilon(tolerance));
  }
}

template <class F>
void check_gradient(const F& loss, const Numbers& expected) {
  const Tensor z = three();
  loss(z).backward();
  check_close(z.grad(), expected);
}

void check_derivatives(const testing::TensorFn& fn, const Tensors& inputs) {
  CHECK_NOTHROW(testing::gradcheck(fn, inputs));
  CHECK_NOTHROW(testing::gradgradcheck(fn, inputs));
}

std::string printed(const Tensor& t) {
  std::ostringstream out;
  out << t;
  return out.str();
}

}  // namespace

TEST_CASE("the complex dtypes: names, sizes and promotion") {
  CHECK(std::string(tandem::name(kComplexFloat)) == "complex64");
  CHECK(std::string(toString(kComplexDouble)) == "ComplexDouble");
  CHECK(TypeMeta(kComplexFloat).name() == "c10::complex<float>");
  CHECK(item_size(kComplexFloat) == 8);
  CHECK(item_size(kComplexDouble) == 16);
  CHECK((scalar_type_of<std::complex<double>> == kComplexDouble));
  CHECK((toRealValueType(kComplexDouble) == kDouble));
  CHECK((toComplexType(kHalf) == kComplexHalf));
  CHECK((toComplexType(kBFloat16) == kComplexFloat));
  CHECK_THROWS_AS(toComplexType(kLong), Error);
  for (const ScalarType type : kAllDtypes) {
    if (isBarebonesUnsignedType(type)) continue;
    CAPTURE(type);
    const bool wide = type == kDouble || type == kComplexDouble;
    CHECK((promote_types(type, kComplexFloat) == (wide ? kComplexDouble : kComplexFloat)));
    CHECK((promote_types(kComplexDouble, type) == kComplexDouble));
    CHECK(can_cast(kComplexFloat, type) == is_complex(type));
    CHECK(can_cast(type, kComplexFloat));
  }
  const Complex<double> i(0, 1);
  CHECK((result_type(zeros({2}, kDouble), i) == kComplexDouble));
  CHECK((result_type(zeros({2}, kLong), i) == kComplexFloat));
  CHECK((result_type(zeros({2}), tensor(i)) == kComplexFloat));
  CHECK((result_type(zeros({2}, kLong), tensor(i)) == kComplexDouble));
  CHECK((result_type(zeros({2}, kDouble), tensor(Complex<float>(0, 1))) == kComplexDouble));
}

TEST_CASE("complex32 is stored, converted and viewed") {
  CHECK(static_cast<int>(kComplexHalf) == 8);
  CHECK(static_cast<int>(kBFloat16) == 15);
  CHECK(item_size(kComplexHalf) == 4);
  CHECK((toRealValueType(kComplexHalf) == kHalf));
  CHECK((toOpMathType(kComplexHalf) == kComplexFloat));
  CHECK((promote_types(kComplexHalf, kLong) == kComplexHalf));
  CHECK((promote_types(kComplexHalf, kHalf) == kComplexHalf));
  CHECK((promote_types(kBFloat16, kComplexHalf) == kComplexFloat));
  CHECK((promote_types(kComplexHalf, kDouble) == kComplexDouble));
  using C = std::complex<double>;
  const Tensor z = tensor({C(1.5, -2), C(1e-3, 70000)});
  const Tensor half = z.chalf();
  CHECK((half.dtype() == kComplexHalf));
  CHECK(half[0].item().toComplexDouble() == Complex<double>(1.5, -2));
  CHECK(std::isinf(half[1].item().toComplexDouble().imag()));
  CHECK(view_as_real(half).dtype() == kHalf);
  CHECK(view_as_real(half).sizes() == IntArrayRef({2, 2}));
  CHECK(half.to(kComplexDouble)[0].item().equal(C(1.5, -2)));
  CHECK(half.chalf().data_ptr() == half.data_ptr());
  CHECK((zeros({2}, kComplexHalf).fill_(C(0, 1))[1].item().equal(C(0, 1))));
  CHECK_THROWS_WITH_AS(half * half, doctest::Contains("not implemented for complex32"), Error);
  // A gradient passes through the conversion.
  const Tensor x = tensor({C(1, 2)}).requires_grad_();
  real(x.chalf().to(kComplexDouble)).sum().backward();
  CHECK(x.grad()[0].item().toComplexDouble() == Complex<double>(1, 0));
}

TEST_CASE("numbers convert between complex and real where nothing is lost") {
  const Scalar z = std::complex<float>(1.5f, -2);
  CHECK(z.isComplex());
  CHECK((z.type() == kComplexDouble));
  CHECK(z.toComplexDouble() == Complex<double>(1.5, -2));
  CHECK(z.to<std::complex<double>>() == std::complex<double>(1.5, -2));
  CHECK(z.equal(std::complex<double>(1.5, -2)));
  CHECK_FALSE(z.equal(1.5));
  CHECK((-z).equal(std::complex<double>(-1.5, 2)));
  CHECK(z.conj().equal(std::complex<double>(1.5, 2)));
  CHECK(z.toBool());
  CHECK_THROWS_WITH_AS(z.toDouble(),
                       doctest::Contains("value cannot be converted to type double without overflow: (1.5,-2)"), Error);
  CHECK(Scalar(Complex<double>(3, 0)).toLong() == 3);
  CHECK(Scalar(2).toComplexFloat() == Complex<float>(2, 0));
}

TEST_CASE("complex tensors are created, filled, read and converted") {
  CHECK(zeros({2}, kComplexFloat).nbytes() == 16);
  CHECK((full({2}, std::complex<double>(1, 2)).dtype() == kComplexFloat));
  CHECK((tensor({std::complex<double>(1, 2)}).dtype() == kComplexDouble));
  CHECK(ones({2}, kComplexDouble).equal(numbers({1, 1})));
  CHECK(eye(2, kComplexDouble).equal(numbers({1, 0, 0, 1}).view({2, 2})));
  Tensor z = numbers({{1.5, 2}, {0, -0.25}, 0});
  CHECK(z.is_complex());
  CHECK_FALSE(z.is_floating_point());
  CHECK(z.data_ptr<std::complex<double>>()[1] == std::complex<double>(0, -0.25));
  CHECK(z.accessor<Complex<double>, 1>()[0] == Complex<double>(1.5, 2));
  CHECK_THROWS_AS(z.data_ptr<double>(), Error);
  CHECK(z.to(kBool).equal(tensor({true, true, false})));
  CHECK(z.to(kComplexFloat).to(kComplexDouble).equal(z));
  CHECK(tensor({1, 2}).to(kComplexDouble).equal(numbers({1, 2})));
  CHECK(z.nonzero().equal(tensor({0, 1}).view({2, 1})));
  z[2] = std::complex<double>(0, 7);
  CHECK(z[2].item().toComplexDouble() == Complex<double>(0, 7));
  CHECK_THROWS_AS(z[2].item<double>(), Error);
  CHECK_THROWS_AS(zeros({1}).fill_(std::complex<double>(0, 1)), Error);
  CHECK_THROWS_AS(arange(3, kComplexFloat), Error);
  CHECK(z.toString() == "CPUComplexDoubleType");
}

TEST_CASE("both complex dtypes are moved by every operation that moves elements") {
  for (const ScalarType type : {kComplexFloat, kComplexDouble}) {
    const Tensor re = arange(24, kDouble).view({2, 3, 4}), z = complex(re, -re).to(type);
    const auto check_parts = [&](const testing::TensorFn& f) {
      const Tensor out = f({z})[0], expected = f({re})[0];
      CHECK((out.dtype() == type));
      CHECK(real(out).to(kDouble).equal(expected));
      CHECK(imag(out).to(kDouble).equal(-expected));
    };
    const Tensor index = tensor({1, 0, 1}), mask = re % 3 == 0;
    check_parts([](const Tensors& x) { return Tensors{x[0].transpose(0, 2).contiguous()}; });
    check_parts([](const Tensors& x) { return Tensors{cat({x[0], x[0].flip({1})}, 1)}; });
    check_parts([](const Tensors& x) { return Tensors{x[0].roll({1}, {2}).tril()}; });
    check_parts([&](const Tensors& x) { return Tensors{x[0].index_select(0, index)}; });
    check_parts([&](const Tensors& x) { return Tensors{x[0].index({index, index})}; });
    check_parts([&](const Tensors& x) { return Tensors{x[0].index({mask})}; });
    check_parts([&](const Tensors& x) { return Tensors{where(mask, x[0], x[0].flip({0}))}; });
    check_parts([&](const Tensors& x) { return Tensors{x[0].masked_fill(mask, 0)}; });
    check_parts([&](const Tensors& x) { return Tensors{x[0].gather(1, (re % 3).to(kLong))}; });
    check_parts(
        [&](const Tensors& x) { return Tensors{zeros_like(x[0]).index_put_({index}, x[0].index_select(0, index))}; });
  }
  Tensor big = zeros({128, 96}, kComplexDouble);  // copied in tiles
  big.copy_(complex(randn({96, 128}, kDouble), randn({96, 128}, kDouble)).t());
  CHECK(big.t().contiguous().t().equal(big));
}

TEST_CASE("views of the parts share memory and the version, both ways") {
  const Tensor z = numbers({{1, 2}, {-3, 0.5}});
  const Tensor parts = view_as_real(z);
  CHECK(parts.sizes() == IntArrayRef({2, 2}));
  CHECK(parts.is_alias_of(z));
  const uint32_t version = z._version();
  parts.select(-1, 1).fill_(4);
  CHECK(z._version() > version);
  CHECK(z.equal(numbers({{1, 4}, {-3, 4}})));
  CHECK(view_as_complex(parts).equal(z));
  CHECK(real(z.slice(0, 1)).equal(tensor({-3.0}, kDouble)));
  CHECK(imag(z.view({2, 1}).t()).sizes() == IntArrayRef({1, 2}));
  CHECK(view_as_real(zeros({0}, kComplexFloat)).sizes() == IntArrayRef({0, 2}));
  CHECK(view_as_complex(zeros({2})).dim() == 0);
  CHECK_THROWS_WITH_AS(view_as_real(zeros({2})), doctest::Contains("expected a complex tensor"), Error);
  CHECK_THROWS_WITH_AS(view_as_complex(zeros({3})), doctest::Contains("last dimension of size 2"), Error);
  CHECK_THROWS_WITH_AS(view_as_complex(zeros({2, 2}).t()), doctest::Contains("strides"), Error);
  CHECK_THROWS_WITH_AS(view_as_complex(zeros({5}).slice(0, 1, 3)), doctest::Contains("even"), Error);
  CHECK_THROWS_AS(view_as_complex(zeros({2}, kLong)), Error);
  CHECK_THROWS_WITH_AS(imag(zeros({2})), doctest::Contains("no imaginary part"), Error);
}

TEST_CASE("functions of complex numbers that are not holomorphic, and their gradients") {
  const Tensor w = weights();
  check_close(three().abs(), {2.23606797749979, 3.0413812651491097, 1.0307764064044151});
  check_gradient([&](const Tensor& z) { return (z.abs() * w).sum(); }, {{0.22360679774997896, 0.4472135954999579},
                                                                        {0.9863939238321437, -0.1643989873053573},
                                                                        {0.48507125007266594, -1.9402850002906638}});
  check_close(three().angle(), {1.1071487177940904, 2.976443976175166, -1.3258176636680326});
  check_gradient([&](const Tensor& z) { return (z.angle() * w).sum(); },
                 {{-0.2, 0.1}, {0.054054054054054064, 0.3243243243243244}, {1.8823529411764706, 0.47058823529411764}});
  check_gradient([&](const Tensor& z) { return (real(z) * w).sum(); }, {0.5, -1, 2});
  check_gradient([&](const Tensor& z) { return (imag(z.conj()) * w).sum(); }, {{0, -0.5}, {0, 1}, {0, -2}});
  check_gradient([&](const Tensor& z) { return (view_as_real(sgn(z)).sum(-1) * w).sum(); },
                 {{0.08944271909999159, -0.04472135954999578},
                  {-0.06220502222364871, -0.3732301333418922},
                  {2.282688235636075, 0.5706720589090187}});
  const Tensor zero = zeros({2}, TensorOptions(kComplexDouble).requires_grad(true));
  (zero.abs() + zero.angle()).sum().backward();
  check_close(zero.grad(), {0, 0});
  check_close(sgn(zero), {0, 0});

  for (const auto& f : std::vector<Tensor (*)(const Tensor&)>{
           [](const Tensor& z) { return z.abs(); }, [](const Tensor& z) { return z.angle(); },
           [](const Tensor& z) { return sgn(z); }, [](const Tensor& z) { return z.conj(); },
           [](const Tensor& z) { return real(z); }, [](const Tensor& z) { return imag(z); },
           [](const Tensor& z) { return view_as_real(z); }, [](const Tensor& z) { return z.to(kDouble) * 2; },
           [](const Tensor& z) { return view_as_complex(view_as_real(z) * 3); }})
    check_derivatives([&](const Tensors& x) { return Tensors{f(x[0])}; }, {three()});
}

TEST_CASE("complex numbers from their parts, and from size and angle") {
  const Tensor a = tensor({1.0, 2.0}, TensorOptions(kDouble).requires_grad(true)),
               t = tensor({0.5, -2.0}, TensorOptions(kDouble).requires_grad(true));
  const Tensor p = polar(a, t);
  check_close(p, {{0.8775825618903728, 0.479425538604203}, {-0.8322936730942848, -1.8185948536513634}});
  (view_as_real(p) * tensor({{1.0, 2.0}, {3.0, -1.0}}, kDouble)).sum().backward();
  check_close(a.grad(), {1.8364336390987788, -0.3391430828157455});
  check_close(t.grad(), {1.2757395851765425, 6.288078234048375});
  check_derivatives([](const Tensors& x) { return Tensors{complex(x[0], x[1].view({2, 1}))}; }, {a, t});
  CHECK((complex(zeros({2}), zeros({})).dtype() == kComplexFloat));
  CHECK_THROWS_AS(complex(zeros({2}), zeros({2}, kDouble)), Error);
  CHECK_THROWS_AS(complex(zeros({2}, kLong), zeros({2}, kLong)), Error);
}

TEST_CASE("writes through views of the parts are recorded") {
  const Tensor z = numbers({{1, 2}, {-3, 0.5}}, true);
  const Tensor b = z * 1;
  real(b).mul_(3);
  imag(b).add_(1);
  check_close(b, {{3, 3}, {-9, 1.5}});
  b.abs().square().sum().backward();
  check_close(z.grad(), {{18, 6}, {-54, 3}});

  const Tensor u = tensor({{1.0, 2.0}, {-3.0, 0.5}}, TensorOptions(kDouble).requires_grad(true));
  const Tensor c = u * 1;
  view_as_complex(c).mul_(std::complex<double>(0, 1));
  check_close(c, {-2, 1, -0.5, -3});
  (c * tensor({{1.0, 2.0}, {3.0, 4.0}}, kDouble)).sum().backward();
  check_close(u.grad(), {2, -1, 4, -3});
  // The parts were saved before they were written.
  const Tensor y = z * 1, size = y.abs();
  imag(y).zero_();
  CHECK_THROWS_WITH_AS(size.sum().backward(), doctest::Contains("overwritten"), Error);
}

TEST_CASE("arithmetic of complex with complex and real numbers") {
  const Tensor w = weights(), x = tensor({1.0, 2.0, 3.0}, TensorOptions(kDouble).requires_grad(true));
  const Tensor product = x * three().detach();
  check_close(product, {{1, 2}, {-6, 1}, {0.75, -3}});
  product.abs().sum().backward();  // a real input gets a real gradient
  CHECK((x.grad().dtype() == kDouble));
  check_close(x.grad(), {2.23606797749979, 3.04138126514911, 1.0307764064044151});
  check_gradient([&](const Tensor& z) { return (imag(z * z) * w).sum(); }, {{2, 1}, {-1, 6}, {-4, 1}});
  check_gradient([&](const Tensor& z) { return (imag(z / std::complex<double>(2, -1)) * w).sum(); },
                 {{0.1, 0.2}, {-0.2, -0.4}, {0.4, 0.8}});
  check_gradient([&](const Tensor& z) { return (real(std::complex<double>(1, 1) / z) * w).sum(); },
                 {{-0.020000000000000004, -0.14},
                  {0.06720233747260773, -0.13732651570489404},
                  {2.546712802768166, -0.7750865051903115}});
  const Tensor real_input = tensor({0.5, -1.5, 2.0}, TensorOptions(kDouble).requires_grad(true));
  const std::complex<double> i(0, 1);
  check_derivatives([&](const Tensors& a) { return Tensors{a[0] * a[1] + a[1] * i - a[0] / a[1]}; },
                    {three(), real_input});
  check_derivatives([&](const Tensors& a) { return Tensors{(i - a[0]) / (a[0] + 2) * a[1].conj() + i / a[0]}; },
                    {three(), numbers({{0.5, 1}, {1, -1}, {2, 0.5}}, true)});
  check_derivatives([&](const Tensors& a) { return Tensors{a[0].add(a[1], i).sub(a[1], 2) - a[0]}; },
                    {three(), numbers({{0.5, 1}, {1, -1}, {2, 0.5}}, true)});
  CHECK((numbers({{HUGE_VAL, 0}}) + numbers({{1, 1}})).equal(numbers({{HUGE_VAL, 1}})));
  check_close(numbers({{1e300, 1e300}}) / numbers({{1e300, 1e300}}), {1});
  CHECK((float_power(numbers({{0, 1}}).to(kComplexFloat), 2).dtype() == kComplexDouble));
  check_close(float_power(numbers({{0, 1}}), 2), {-1});
  CHECK_THROWS_AS(relu(three()), NotImplementedError);
  CHECK_THROWS_AS(max(three()), Error);
  CHECK_THROWS_AS(three().sort(), Error);
  CHECK((numbers({{1, 2}}) == numbers({{1, 2}, {1, 3}})).equal(tensor({true, false})));
  CHECK((numbers({{1, 2}}) != std::complex<double>(1, 2)).equal(tensor({false})));
  CHECK_THROWS_AS(lt(three(), three()), NotImplementedError);
  CHECK_THROWS_WITH_AS(zeros({2}).add_(std::complex<double>(0, 1)), doctest::Contains("cannot be stored"), Error);
}

TEST_CASE("branch cuts and large values") {
  check_close(numbers({{-4, 0.0}, {-4, -0.0}, {0, 0}}).sqrt(), {{0, 2}, {0, -2}, 0});
  check_close(numbers({{-1, 0.0}, {-1, -0.0}, {1, 1e-9}}).log(),
              {{0, 3.141592653589793}, {0, -3.141592653589793}, {5e-19, 1e-9}});
  check_close(numbers({{-1, 1e-9}, {2, 0.0}, {2, -0.0}}).atanh(), {{-10.708206508753179, 0.7853981636474483},
                                                                   {0.5493061443340549, 1.5707963267948966},
                                                                   {0.5493061443340549, -1.5707963267948966}});
  check_close(numbers({{2, 0.0}, {2, -0.0}}).asin(),
              {{1.5707963267948966, 1.3169578969248166}, {1.5707963267948966, -1.3169578969248166}});
  check_close(numbers({{400, 25}, {-400, 1}}).tanh(), {1, -1});
}

TEST_CASE("backward from a complex tensor needs a gradient") {
  const Tensor z = numbers({{1, 2}}, true);
  CHECK_THROWS_WITH_AS(z.sum().backward(), doctest::Contains("only for real scalar outputs"), Error);
  (z * z).sum().backward(tensor(std::complex<double>(0, 1)));
  check_close(z.grad(), {{4, 2}});
}

TEST_CASE("complex tensors are printed with both parts") {
  CHECK(printed(numbers({{1, 2}, {3, -4}})) == " 1+2j\n 3-4j\n[ CPUComplexDoubleType{2} ]");
}

TEST_CASE("random complex numbers have both parts, of variance 1 together") {
  manual_seed(3);
  const Tensor z = randn({20000}, kComplexDouble);
  CHECK(real(z).square().mean().item<double>() == doctest::Approx(0.5).epsilon(0.05));
  CHECK(imag(z).square().mean().item<double>() == doctest::Approx(0.5).epsilon(0.05));
  const Tensor u = rand({100}, kComplexFloat);
  CHECK(view_as_real(u).min().item<float>() >= 0);
  CHECK(imag(u).max().item<float>() > 0.5f);
}

TEST_CASE("decompositions of very large and very small complex matrices") {
  const Tensor a = numbers({{1, 2}, {-3, 0.5}, {0.25, -1}, {2, 0}}).reshape({2, 2});
  for (const double scale : {1e-200, 1.0, 1e200}) {
    CAPTURE(scale);
    const auto [u, s, vh] = linalg_svd(a * scale, false);
    CHECK(testing::close(matmul(u * (s / scale).unsqueeze(-2), vh), a, 1e-13));
    const Tensor hermitian = a + a.mH();
    const auto [values, vectors] = linalg_eigh(hermitian * scale);
    CHECK(testing::close(matmul(vectors * (values / scale).unsqueeze(-2), vectors.mH()), hermitian, 1e-13));
  }
}

TEST_CASE("Hermitian matrices are decomposed from one triangle and the real diagonal") {
  const Tensor whole = numbers({{5, 0}, {1, -2}, {1, 2}, {6, 0}}).reshape({2, 2});
  const Tensor lower = numbers({{5, 7}, {NAN, 0}, {1, 2}, {6, -7}}).reshape({2, 2});
  CHECK(testing::close(linalg_cholesky(lower), linalg_cholesky(whole), 1e-14));
  CHECK(testing::close(linalg_cholesky(lower.mH(), true), linalg_cholesky(whole).mH(), 1e-14));
  CHECK(testing::close(linalg_eigvalsh(lower), linalg_eigvalsh(whole), 1e-14));
  CHECK(testing::close(linalg_eigvalsh(lower.mH(), "U"), linalg_eigvalsh(whole), 1e-14));
}

TEST_CASE("logarithms of sums of exponentials, with infinities") {
  const double infinity = std::numeric_limits<double>::infinity();
  check_close(logcumsumexp(three(), 0),
              {{1, 2}, {1.001461191194629, 1.9817559060822776}, {0.38450289957380646, 1.8421759392028685}});
  check_gradient([](const Tensor& z) { return (logcumsumexp(z, 0).abs() * weights()).sum(); },
                 {{1.0733140561140686, 3.023559800381526},
                  {-0.045968343394579295, 0.018861852475489056},
                  {-0.8461234785907891, -1.5299118785418544}});
  const Tensor nothing = numbers({{-infinity, 0}, {-infinity, 0}, {1, 1}, {infinity, 0}, {0, 2}});
  const Tensor sums = logcumsumexp(nothing, 0);
  CHECK(equal(real(sums), tensor({-infinity, -infinity, 1.0, infinity, infinity}, kDouble)));
  CHECK(equal(imag(sums), tensor({0.0, 0.0, 1.0, 0.0, 0.0}, kDouble)));
  const Tensor low = numbers({{-infinity, 0}}), one = numbers({{1, 1}});
  CHECK(equal(logaddexp(low, low), low));
  CHECK(equal(logaddexp(low, one), one));
  CHECK(equal(logaddexp(one, low), one));
  CHECK(logcumsumexp(three().to(kComplexFloat), 0).dtype() == kComplexFloat);
  CHECK(logcumsumexp(numbers({{1, 2}}).reshape({}), 0).dim() == 0);
  CHECK(logcumsumexp(zeros({0, 2}, kComplexDouble), 0).numel() == 0);
}

TEST_CASE("dropout of complex numbers keeps or drops both parts") {
  const Tensor z = ones({1000}, kComplexFloat) * Complex<double>(1, -1), kept = dropout(z, 0.5, true);
  CHECK(kept.dtype() == kComplexFloat);
  CHECK(equal(real(kept), -imag(kept)));
  const double share = (real(kept) == 2).sum().item<double>() / 1000;
  CHECK(share > 0.4);
  CHECK(share < 0.6);
  CHECK(((real(kept) == 2) | (real(kept) == 0)).all().item<bool>());
  CHECK((dropout(z, 1, true) == 0).all().item<bool>());
}

TEST_CASE("gradients of complex numbers at the ends: no spread, no factors, integers to complex powers") {
  const Tensor same = numbers({{1, 2}, {1, 2}}, true);
  same.std(IntArrayRef(0), false).backward();
  CHECK((same.grad() == 0).all().item<bool>());
  const Tensor none = zeros({2, 0}, TensorOptions(kComplexDouble).requires_grad(true));
  const Tensor product = none.prod(1);
  CHECK(product.requires_grad());
  CHECK((product == 1).all().item<bool>());
  const Tensor exponent = numbers({{0, 1}}, true);
  real(pow(tensor({2, 3}, kByte), exponent)).sum().backward();
  check_close(exponent.grad(), {{1.0328802646594701, -1.4212930891456583}});
}

TEST_CASE("operations on real numbers refuse complex ones and name themselves") {
  const Tensor z = ones({2, 2, 4}, kComplexFloat), x = ones({2, 2, 4}), one = z.flatten()[0];
  const auto refused = [](const char* name, const auto& call) {
    CAPTURE(name);
    CHECK_THROWS_WITH_AS(call(), doctest::Contains(name), Error);
  };
  refused("mse_loss: not implemented for complex64", [&] { mse_loss(z, x); });
  refused("mse_loss: not implemented for complex64", [&] { mse_loss(x, z); });
  refused("smooth_l1_loss", [&] { smooth_l1_loss(z, z); });
  refused("huber_loss", [&] { huber_loss(z, z); });
  refused("kl_div", [&] { kl_div(x, z); });
  refused("layer_norm", [&] { layer_norm(z, {4}); });
  refused("group_norm", [&] { group_norm(z, 1); });
  refused("local_response_norm", [&] { local_response_norm(z, 3, 1e-4, 0.75, 1); });
  refused("upsample", [&] { upsample_nearest1d(z, {8}); });
  refused("logit", [&] { logit(z); });
  refused("xlogy", [&] { xlogy(x, z); });
  refused("copysign", [&] { copysign(z, 1); });
  refused("signbit", [&] { signbit(z); });
  refused("isposinf", [&] { isposinf(z); });
  refused("isneginf", [&] { isneginf(z); });
  refused("deg2rad", [&] { deg2rad(z); });
  refused("rad2deg", [&] { rad2deg(z); });
  refused("nansum", [&] { nansum(z, {}); });
  refused("nanmean", [&] { nanmean(z, {}); });
  refused("unique_consecutive", [&] { unique_consecutive(z); });
  refused("max", [&] { max(one, 0); });
  refused("argmin", [&] { argmin(one); });
  refused("scatter_reduce", [&] { scatter_reduce(z, 0, zeros({2, 2, 4}, kLong), z, "amax"); });
  refused("norm: dtype should be complex", [&] { norm(z, 2, {0}, false, kFloat); });
  refused("dtype should be complex", [&] { linalg_vector_norm(z, 2, nullopt, false, kFloat); });
  refused("dtype should be real", [&] { linalg_vector_norm(x, 2, nullopt, false, kComplexFloat); });
  const Tensor mask = x > 0, index = zeros({1}, kLong);
  refused("index_fill", [&] { index_fill(x, 0, index, one); });
  refused("masked_fill", [&] { masked_fill(x, mask, one * Complex<double>(0, 1)); });
  CHECK(equal(masked_fill(x * 0, mask | true, one), x));
}

// Printing, compared with LibTorch 1.13's text for the same tensors.
#include "tandem/core/print.h"

#include <doctest/doctest.h>

#include <cmath>
#include <sstream>

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/factories/tensor_literal.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/autograd/ops/view/view.h"

using namespace tandem;

namespace {
template <class T>
std::string text(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}
Tensor numbers(int64_t n, ScalarType type) { return arange(n, TensorOptions(type)); }
Tensor nothing(IntArrayRef sizes, ScalarType type) { return zeros(sizes, TensorOptions(type)); }
Tensor values(const std::vector<double>& x) { return tensor(x, kDouble); }
Tensor element(const Tensor& t, int64_t i) { return alias(t, {}, {}, i); }
}  // namespace

// clang-format off
TEST_CASE("tensors print as in LibTorch") {
  CHECK(text(numbers(6, kLong).view({2,3})) ==
      " 0  1  2\n"
      " 3  4  5\n"
      "[ CPULongType{2,3} ]"
  );
  CHECK(text(numbers(12, kLong).view({3,4}).sub(7)) ==
      "-7 -6 -5 -4\n"
      "-3 -2 -1  0\n"
      " 1  2  3  4\n"
      "[ CPULongType{3,4} ]"
  );
  CHECK(text(numbers(6, kFloat).view({2,3}).mul(0.37)) ==
      " 0.0000  0.3700  0.7400\n"
      " 1.1100  1.4800  1.8500\n"
      "[ CPUFloatType{2,3} ]"
  );
  CHECK(text(numbers(6, kFloat).mul(0.0037).add(0.001)) ==
      "0.01 *\n"
      " 0.1000\n"
      " 0.4700\n"
      " 0.8400\n"
      " 1.2100\n"
      " 1.5800\n"
      " 1.9500\n"
      "[ CPUFloatType{6} ]"
  );
  CHECK(text(numbers(6, kDouble).view({2,3}).mul(1e-7).add(1e-8)) ==
      "1e-07 *\n"
      " 0.1000  1.1000  2.1000\n"
      "  3.1000  4.1000  5.1000\n"
      "[ CPUDoubleType{2,3} ]"
  );
  CHECK(text(numbers(6, kFloat).view({2,3}).mul(1234.5).add(1000.25)) ==
      " 1000.2500  2234.7500  3469.2500\n"
      " 4703.7500  5938.2500  7172.7500\n"
      "[ CPUFloatType{2,3} ]"
  );
  CHECK(text(numbers(6, kFloat).view({2,3}).mul(123456.5).add(100000.25)) ==
      "1e+05 *\n"
      " 1.0000  2.2346  3.4691\n"
      "  4.7037  5.9383  7.1728\n"
      "[ CPUFloatType{2,3} ]"
  );
  CHECK(text(numbers(6, kDouble).view({2,3}).mul(12345.678).add(0.5)) ==
      " 5.0000e-01  1.2346e+04  2.4692e+04\n"
      " 3.7038e+04  4.9383e+04  6.1729e+04\n"
      "[ CPUDoubleType{2,3} ]"
  );
  CHECK(text(numbers(3, kDouble).mul(12345.678).add(0.5)) ==
      " 5.0000e-01\n"
      " 1.2346e+04\n"
      " 2.4692e+04\n"
      "[ CPUDoubleType{3} ]"
  );
  CHECK(text(numbers(6, kLong).view({2,3}).mul(1234567)) ==
      "       0 1.23457e+06 2.46913e+06\n"
      "3.7037e+06 4.93827e+06 6.17284e+06\n"
      "[ CPULongType{2,3} ]"
  );
  CHECK(text(numbers(6, kLong).view({2,3}).mul(int64_t(12345678901))) ==
      " 0.0000e+00  1.2346e+10  2.4691e+10\n"
      " 3.7037e+10  4.9383e+10  6.1728e+10\n"
      "[ CPULongType{2,3} ]"
  );
  CHECK(text(numbers(3, kFloat).mul(1000000)) ==
      "       0\n"
      "   1e+06\n"
      "   2e+06\n"
      "[ CPUFloatType{3} ]"
  );
  CHECK(text(nothing({2,2}, kFloat)) ==
      " 0  0\n"
      " 0  0\n"
      "[ CPUFloatType{2,2} ]"
  );
  CHECK(text(numbers(90, kLong).view({2,45}).sub(45)) ==
      "Columns 1 to 20-45 -44 -43 -42 -41 -40 -39 -38 -37 -36 -35 -34 -33 -32 -31 -30 -29 -28 -27 -26\n"
      "  0   1   2   3   4   5   6   7   8   9  10  11  12  13  14  15  16  17  18  19\n"
      "\n"
      "Columns 21 to 40-25 -24 -23 -22 -21 -20 -19 -18 -17 -16 -15 -14 -13 -12 -11 -10  -9  -8  -7  -6\n"
      " 20  21  22  23  24  25  26  27  28  29  30  31  32  33  34  35  36  37  38  39\n"
      "\n"
      "Columns 41 to 45 -5  -4  -3  -2  -1\n"
      " 40  41  42  43  44\n"
      "[ CPULongType{2,45} ]"
  );
  CHECK(text(numbers(40, kFloat).view({2,20}).mul(0.25)) ==
      "Columns 1 to 10 0.0000  0.2500  0.5000  0.7500  1.0000  1.2500  1.5000  1.7500  2.0000  2.2500\n"
      " 5.0000  5.2500  5.5000  5.7500  6.0000  6.2500  6.5000  6.7500  7.0000  7.2500\n"
      "\n"
      "Columns 11 to 20 2.5000  2.7500  3.0000  3.2500  3.5000  3.7500  4.0000  4.2500  4.5000  4.7500\n"
      " 7.5000  7.7500  8.0000  8.2500  8.5000  8.7500  9.0000  9.2500  9.5000  9.7500\n"
      "[ CPUFloatType{2,20} ]"
  );
  CHECK(text(numbers(40, kFloat).view({2,20}).mul(12345.25).add(10000.5)) ==
      "Columns 1 to 101e+05 *\n"
      " 0.1000  0.2235  0.3469  0.4704  0.5938  0.7173  0.8407  0.9642  1.0876  1.2111\n"
      "  2.5691  2.6925  2.8160  2.9394  3.0629  3.1863  3.3098  3.4332  3.5567  3.6801\n"
      "\n"
      "Columns 11 to 201e+05 *\n"
      " 1.3345  1.4580  1.5814  1.7049  1.8283  1.9518  2.0752  2.1987  2.3222  2.4456\n"
      "  3.8036  3.9270  4.0505  4.1739  4.2974  4.4208  4.5443  4.6677  4.7912  4.9147\n"
      "[ CPUFloatType{2,20} ]"
  );
  CHECK(text(numbers(12, kFloat).view({2,2,3})) ==
      "(1,.,.) = \n"
      " 0  1  2\n"
      "  3  4  5\n"
      "\n"
      "(2,.,.) = \n"
      "  6   7   8\n"
      "   9  10  11\n"
      "[ CPUFloatType{2,2,3} ]"
  );
  CHECK(text(numbers(12, kFloat).view({2,2,3}).mul(1234567.25).add(100000.5)) ==
      "(1,.,.) = \n"
      "1e+06 *\n"
      "  0.1000  1.3346  2.5691\n"
      "   3.8037  5.0383  6.2728\n"
      "\n"
      "(2,.,.) = \n"
      "7.507e+06 8.742e+06 9.977e+06\n"
      " 1.121e+07 1.245e+07 1.368e+07\n"
      "[ CPUFloatType{2,2,3} ]"
  );
  CHECK(text(numbers(60, kFloat).view({2,1,30}).mul(0.5)) ==
      "(1,.,.) = \n"
      "Columns 1 to 8   0.0000   0.5000   1.0000   1.5000   2.0000   2.5000   3.0000   3.5000\n"
      "\n"
      "Columns 9 to 16   4.0000   4.5000   5.0000   5.5000   6.0000   6.5000   7.0000   7.5000\n"
      "\n"
      "Columns 17 to 24   8.0000   8.5000   9.0000   9.5000  10.0000  10.5000  11.0000  11.5000\n"
      "\n"
      "Columns 25 to 30  12.0000  12.5000  13.0000  13.5000  14.0000  14.5000\n"
      "\n"
      "(2,.,.) = \n"
      "Columns 1 to 8  15.0000  15.5000  16.0000  16.5000  17.0000  17.5000  18.0000  18.5000\n"
      "\n"
      "Columns 9 to 16  19.0000  19.5000  20.0000  20.5000  21.0000  21.5000  22.0000  22.5000\n"
      "\n"
      "Columns 17 to 24  23.0000  23.5000  24.0000  24.5000  25.0000  25.5000  26.0000  26.5000\n"
      "\n"
      "Columns 25 to 30  27.0000  27.5000  28.0000  28.5000  29.0000  29.5000\n"
      "[ CPUFloatType{2,1,30} ]"
  );
  CHECK(text(numbers(16, kLong).view({2,2,2,2})) ==
      "(1,1,.,.) = \n"
      " 0  1\n"
      "  2  3\n"
      "\n"
      "(2,1,.,.) = \n"
      "  8   9\n"
      "  10  11\n"
      "\n"
      "(1,2,.,.) = \n"
      " 4  5\n"
      "  6  7\n"
      "\n"
      "(2,2,.,.) = \n"
      " 12  13\n"
      "  14  15\n"
      "[ CPULongType{2,2,2,2} ]"
  );
  CHECK(text(numbers(12, kLong).view({1,2,3,1,2})) ==
      "(1,1,1,.,.) = \n"
      " 0  1\n"
      "\n"
      "(1,2,1,.,.) = \n"
      " 6  7\n"
      "\n"
      "(1,1,2,.,.) = \n"
      " 2  3\n"
      "\n"
      "(1,2,2,.,.) = \n"
      " 8  9\n"
      "\n"
      "(1,1,3,.,.) = \n"
      " 4  5\n"
      "\n"
      "(1,2,3,.,.) = \n"
      " 10  11\n"
      "[ CPULongType{1,2,3,1,2} ]"
  );
  CHECK(text(nothing({0}, kFloat)) ==
      "[ CPUFloatType{0} ]"
  );
  CHECK(text(nothing({3,0}, kLong)) ==
      "[ CPULongType{3,0} ]"
  );
  CHECK(text(nothing({2,0,3}, kDouble)) ==
      "[ CPUDoubleType{2,0,3} ]"
  );
  CHECK(text(nothing({}, kFloat)) ==
      "0\n"
      "[ CPUFloatType{} ]"
  );
  CHECK(text(element(numbers(3, kDouble).mul(0.123456789), 1)) ==
      "0.123456789\n"
      "[ CPUDoubleType{} ]"
  );
  CHECK(text(element(numbers(3, kLong).mul(int64_t(123456789012)), 1)) ==
      "123456789012\n"
      "[ CPULongType{} ]"
  );
  CHECK(text(numbers(6, kLong).view({2,3}).eq(2)) ==
      " 0  0  1\n"
      " 0  0  0\n"
      "[ CPUBoolType{2,3} ]"
  );
  CHECK(text(numbers(4, kChar).sub(2)) ==
      "-2\n"
      "-1\n"
      " 0\n"
      " 1\n"
      "[ CPUCharType{4} ]"
  );
  CHECK(text(numbers(4, kHalf)) ==
      " 0\n"
      " 1\n"
      " 2\n"
      " 3\n"
      "[ CPUHalfType{4} ]"
  );
  CHECK(text(numbers(4, kBFloat16)) ==
      " 0\n"
      " 1\n"
      " 2\n"
      " 3\n"
      "[ CPUBFloat16Type{4} ]"
  );
  CHECK(text(values({1.0, NAN, 2.0, -INFINITY})) ==
      " 1\n"
      "nan\n"
      " 2\n"
      "-inf\n"
      "[ CPUDoubleType{4} ]"
  );
  CHECK(text(values({1.5, NAN, 2.0, INFINITY}).view({2,2})) ==
      " 1.5000     nan\n"
      " 2.0000     inf\n"
      "[ CPUDoubleType{2,2} ]"
  );
  CHECK(text(values({NAN, NAN})) ==
      "nan\n"
      "nan\n"
      "[ CPUDoubleType{2} ]"
  );
  CHECK(text(values({INFINITY, 12345.5, 0.001})) ==
      "        inf\n"
      " 1.2346e+04\n"
      " 1.0000e-03\n"
      "[ CPUDoubleType{3} ]"
  );
  CHECK(text(values({NAN, 12345, 3})) ==
      "   nan\n"
      " 12345\n"
      "     3\n"
      "[ CPUDoubleType{3} ]"
  );
  CHECK(text(element(values({NAN}), 0)) ==
      "nan\n"
      "[ CPUDoubleType{} ]"
  );
  CHECK(text(values({100000.5, 999999.99})) ==
      "1e+05 *\n"
      " 1.0000\n"
      "10.0000\n"
      "[ CPUDoubleType{2} ]"
  );
  CHECK(text(values({1e100, 2.5e100})) ==
      "1.0000e+100\n"
      "2.5000e+100\n"
      "[ CPUDoubleType{2} ]"
  );
  CHECK(text(values({1e-100, 2.5e-100})) ==
      "1e-100 *\n"
      " 1.0000\n"
      " 2.5000\n"
      "[ CPUDoubleType{2} ]"
  );
  CHECK(text(values({1e-100, 2.5}).view({1,2})) ==
      "1.0000e-100  2.5000e+00\n"
      "[ CPUDoubleType{1,2} ]"
  );
  CHECK(text(values({1e100, -3e100})) ==
      "1.0000e+100\n"
      "-3.0000e+100\n"
      "[ CPUDoubleType{2} ]"
  );
  CHECK(text(values({0.0001, 0.5})) ==
      " 0.0001\n"
      " 0.5000\n"
      "[ CPUDoubleType{2} ]"
  );
  CHECK(text(values({0.00001, 0.5, 1.0})) ==
      " 1.0000e-05\n"
      " 5.0000e-01\n"
      " 1.0000e+00\n"
      "[ CPUDoubleType{3} ]"
  );
  CHECK(text(values({-0.0, 1.0})) ==
      "-0\n"
      " 1\n"
      "[ CPUDoubleType{2} ]"
  );
  CHECK(text(values({999999999.0, 1.0})) ==
      "     1e+09\n"
      "         1\n"
      "[ CPUDoubleType{2} ]"
  );
  CHECK(text(values({9999999999.0, 1.0})) ==
      " 1.0000e+10\n"
      " 1.0000e+00\n"
      "[ CPUDoubleType{2} ]"
  );
  CHECK(text(values({1000.0, 0.5})) ==
      " 1000.0000\n"
      "    0.5000\n"
      "[ CPUDoubleType{2} ]"
  );
}
// clang-format on

TEST_CASE("the stream's width, flags and fill have no effect and are preserved") {
  std::ostringstream out;
  out.width(30);
  out.fill('*');
  out << values({0.5});
  CHECK(out.str() == " 0.5000\n[ CPUDoubleType{1} ]");
  CHECK(out.fill() == '*');
  CHECK(out.width() == 0);
  CHECK(out.precision() == 6);
}

TEST_CASE("views print their own values") {
  CHECK(text(numbers(6, kFloat).view({2, 3}).t()) == " 0  3\n 1  4\n 2  5\n[ CPUFloatType{3,2} ]");
  CHECK(text(ones({1, 1}).expand({2, 2})) == " 1  1\n 1  1\n[ CPUFloatType{2,2} ]");
}

TEST_CASE("small types") {
  CHECK(text(Tensor()) == "[ Tensor (undefined) ]");
  CHECK(text(Device(kCPU)) == "cpu");
  CHECK(text(Device("cuda:1")) == "cuda:1");
  CHECK(text(kCUDA) == "cuda");
  CHECK(text(kFloat) == "Float");
  CHECK(text(kBFloat16) == "BFloat16");
  CHECK(text(ones({2, 3}).sizes()) == "[2, 3]");
  CHECK(text(IntArrayRef()) == "[]");
  CHECK(text(Scalar(2.5)) == "2.5");
  CHECK(text(Scalar(true)) == "true");
  CHECK(text(Scalar(3)) == "3");
  CHECK(text(kStrided) == "Strided");
  CHECK(text(TensorOptions()) ==
        "TensorOptions(dtype=float (default), device=cpu (default), layout=Strided (default), "
        "requires_grad=false "
        "(default), pinned_memory=false (default), memory_format=(nullopt))");
  CHECK(text(TensorOptions(kLong).device("cuda:1").requires_grad(true)) ==
        "TensorOptions(dtype=long int, device=cuda:1, layout=Strided (default), requires_grad=true, "
        "pinned_memory=false (default), memory_format=(nullopt))");
}

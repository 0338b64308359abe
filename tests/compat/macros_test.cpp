// The macros of c10/macros, torch/csrc/Export.h, c10/util/Deprecated.h, Exception.h and ScalarType.h.
// They come by every path that LibTorch has for them.
#include <ATen/DeviceAccelerator.h>
#include <ATen/core/interned_strings.h>
#include <ATen/ops/add.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/macros/Macros.h>
#include <doctest/doctest.h>
#include <torch/csrc/Export.h>
#include <torch/csrc/api/include/torch/data/dataloader.h>
#include <torch/csrc/api/include/torch/script.h>
#include <torch/csrc/autograd/profiler.h>
#include <torch/csrc/jit/serialization/pickle.h>
#include <torch/csrc/utils/pybind.h>
#include <torch/headeronly/util/Deprecated.h>

HIDDEN_NAMESPACE_BEGIN(macros_one)
C10_EXPORT inline int exported() { return 1; }
HIDDEN_NAMESPACE_END(macros_one)
HIDDEN_NAMESPACE_BEGIN(macros_one, two, three)
TORCH_API inline int nested() { return 3; }
HIDDEN_NAMESPACE_END(macros_one, two, three)

namespace {

class C10_HIDDEN Alone {
 public:
  Alone() = default;
  C10_DISABLE_COPY_AND_ASSIGN(Alone);
};

C10_DIAGNOSTIC_PUSH_AND_IGNORED_IF_DEFINED("-Wunused-variable")
C10_CLANG_DIAGNOSTIC_PUSH()
C10_CLANG_DIAGNOSTIC_IGNORE("-Wunused-variable")
template <class T>
struct Net {
  using Impl TORCH_UNUSED_EXCEPT_CUDA = T;
};
C10_CLANG_DIAGNOSTIC_POP()
C10_DIAGNOSTIC_POP()

C10_ERASE int hidden(const int* C10_RESTRICT of C10_LIFETIMEBOUND) { return *of; }
__ubsan_ignore_undefined__ __ubsan_ignore_signed_int_overflow__ C10_USED int plain() { return 2; }
C10_HOST_DEVICE constexpr int on_both() { return C10_MAX_THREADS_PER_BLOCK(512) + C10_WARP_SIZE; }
[[maybe_unused]] C10_DEPRECATED void old() {}
[[maybe_unused]] C10_DEPRECATED_MESSAGE("use plain") int older() { return 1; }
C10_DEFINE_DEPRECATED_USING(OldPair, std::pair<int, int>)

int checked(const torch::Tensor& x) { TORCH_CHECK(x.dim() == 2, "m") return 0; }
int choose(bool ok) {
  if (ok) return 1;
  TORCH_INTERNAL_ASSERT_FALSE_OR_RETURN(2);
}
void rethrow() {
  try {
    TORCH_CHECK_VALUE(false, "first");
  } catch (c10::Error& error) {
    TORCH_RETHROW(error, "more");
  }
}

}  // namespace

TEST_CASE("macros of names, attributes and compilers") {
  CHECK(macros_one::exported() + macros_one::two::three::nested() == 4);
  CHECK(std::is_same_v<Net<int>::Impl, int>);
  CHECK_FALSE(std::is_copy_constructible_v<Alone>);
  const int two = 2;
  CHECK(hidden(&two) == plain());
  CHECK(on_both() == 544);
  CHECK(C10_MIN_BLOCKS_PER_SM(1024, 4) == 2);
  CHECK(std::string(C10_STRINGIZE(C10_CONCATENATE(a, b))) == "ab");
  [[maybe_unused]] const int C10_ANONYMOUS_VARIABLE(x) = 1, C10_ANONYMOUS_VARIABLE(x) = 2;  // two names on one line
  CHECK(C10_ASAN_ENABLED + C10_UBSAN_ENABLED <= 2);
  CUDA_KERNEL_ASSERT(two == 2)
  CUDA_KERNEL_ASSERT_MSG(two == 2, "two");
}

TEST_CASE("checks are statements without a semicolon, and throw their kinds") {
  CHECK(checked(torch::ones({2, 2})) == 0);
  CHECK_THROWS_WITH_AS(checked(torch::ones({2})), "m", c10::Error);
  CHECK_THROWS_AS(TORCH_CHECK_BUFFER(false, "b"), c10::BufferError);
  CHECK_THROWS_AS(TORCH_CHECK_WITH(SyntaxError, 1 > 2), c10::SyntaxError);
  CHECK_THROWS_AS(TORCH_CHECK_WITH(ValueError, 1 > 2), c10::ValueError);
  CHECK_THROWS_WITH_AS(TORCH_CHECK_ALWAYS_SHOW_CPP_STACKTRACE(false), doctest::Contains("Expected false"),
                       c10::ErrorAlwaysShowCppStacktrace);
  CHECK_THROWS_WITH_AS(STD_TORCH_CHECK(false, "a", 1), "a1", std::runtime_error);
  CHECK(TORCH_CHECK_MSG(x, "", "size ", 3) == "size 3");
  CHECK_THROWS_AS(TORCH_CHECK_OP(1, 2, ==), c10::Error);
  CHECK_THROWS_WITH_AS(rethrow(), "first", c10::ValueError);
  CHECK_THROWS_AS(throw C10_BUILD_ERROR(IndexError, "i"), c10::IndexError);
  CHECK(choose(true) == 1);
#ifdef NDEBUG
  CHECK(choose(false) == 2);
#else
  CHECK_THROWS_AS(choose(false), c10::Error);
#endif
  const auto pointer = std::make_unique<int>(3);
  CHECK(*TORCH_DCHECK_NOTNULL(pointer.get()) == 3);
}

TEST_CASE("lists of dtypes") {
  const auto same = [](auto of, at::ScalarType dtype) {
    return c10::CppTypeToScalarType<decltype(of)>::value == dtype;
  };
  int count = 0;
#define COUNT(type, Name) count += same(type(), at::k##Name) ? 1 : 100;
  AT_FORALL_INT_TYPES(COUNT) CHECK(count == 5);
  AT_FORALL_SCALAR_TYPES(COUNT) CHECK(count == 12);
  AT_FORALL_COMPLEX_TYPES(COUNT) CHECK(count == 14);
  AT_FORALL_SCALAR_TYPES_WITH_COMPLEX(COUNT) CHECK(count == 26);
  AT_FORALL_SCALAR_TYPES_AND2(Half, Bool, COUNT) CHECK(count == 35);
  AT_FORALL_SCALAR_TYPES_AND7(Half, Bool, BFloat16, ComplexFloat, ComplexDouble, Int, Long, COUNT) CHECK(count == 49);
#undef COUNT
}

// Describes Fourier transforms. Complex tensors are given and returned as pairs of real numbers [..., 2], so that the
// harness and the comparison with PyTorch see both parts as independent variables.
#include "tandem/tests/ops/cases.h"
#include "tandem/tests/ops/operation_table.h"

namespace tandem::testing {
namespace {

using Norm = optional<std::string_view>;
using MaybeInts = optional<IntArrayRef>;

enum class Kind { kComplex, kFromReal, kToReal };

template <auto f, Kind kind, class Sizes, class Dim>
void add_transform(Table& table, const std::string& name) {
  table.add(name, std::type_identity<T(CT, Sizes, Dim, Norm)>(), [](CT x, Sizes s, Dim dim, Norm norm) {
    const Tensor out =
        f(kind == Kind::kFromReal ? x : view_as_complex(x.clone(MemoryFormat::Contiguous)), s, dim, norm);
    return kind == Kind::kToReal ? out : view_as_real(out);
  });
}

std::string in_torch(const std::string& name, Kind kind) {
  const char* x =
      kind == Kind::kFromReal ? "x" : "torch.view_as_complex(x.clone(memory_format=torch.contiguous_format))";
  const std::string call = concat("torch.fft.", name, "(", x, ", *a)");
  return concat("lambda x, *a: ",
                kind == Kind::kToReal ? call : concat("torch.view_as_real(", call, ".resolve_conj())"));
}

/// The shape of an input in numbers: with the two parts if it is complex.
InputSpec input(Kind kind, std::vector<int64_t> sizes) {
  if (kind != Kind::kFromReal) sizes.push_back(2);
  return real(sizes);
}

template <auto one, auto two, auto many, Kind kind>
std::vector<Operation> transforms(const std::string& name) {
  using Length = optional<I>;
  const std::string one_name = "fft_" + name, two_name = one_name + "2", many_name = one_name + "n";
  return {
      {.name = one_name,
       .overloads = add_transform<one, kind, Length, I>,
       .torch = in_torch(name, kind),
       .examples = {{one_name,
                     "x0, None, -1, None",
                     {{input(kind, {3, 5})}, {input(kind, {2, 8})}, {input(kind, {0, 4})}}},
                    {one_name + " cut and padded", "x0, 6, 0, 'ortho'", {{input(kind, {9, 2})}, {input(kind, {2, 3})}}},
                    {one_name + " prime", "x0, 7, 1, 'forward'", {{input(kind, {2, 6, 2})}}}}},
      {.name = two_name,
       .overloads = add_transform<two, kind, MaybeInts, Ints>,
       .torch = in_torch(name + "2", kind),
       .examples = {{two_name, "x0, None, [0, -1], 'forward'", {{input(kind, {3, 2, 4})}}},
                    {two_name + " sizes", "x0, [3, 4], [-2, -1], None", {{input(kind, {4, 3})}}}}},
      {.name = many_name,
       .overloads = add_transform<many, kind, MaybeInts, MaybeInts>,
       .torch = in_torch(name + "n", kind),
       .examples = {{many_name, "x0, None, None, None", {{input(kind, {2, 3, 4})}, {input(kind, {5})}}},
                    {many_name + " sizes", "x0, [-1, 3], None, 'ortho'", {{input(kind, {2, 3, 2})}}},
                    {many_name + " dims", "x0, [3, 2, 5], [2, 0, 1], 'backward'", {{input(kind, {2, 3, 3})}}}}},
  };
}

std::vector<Operation> complex_transforms() {
  auto list = transforms<fft_fft, fft_fft2, fft_fftn, Kind::kComplex>("fft");
  for (Operation& f : transforms<fft_ifft, fft_ifft2, fft_ifftn, Kind::kComplex>("ifft")) list.push_back(std::move(f));
  list[0].tests = {
      op("fft_fft of real numbers", "torch.view_as_real(torch.fft.fft(x0, 5))",
         [](const Tensors& x) { return view_as_real(fft_fft(x[0], 5)); }, {{real({2, 5})}, {real({3, 4})}}),
      op("fft_ifftn of real numbers", "torch.view_as_real(torch.fft.ifftn(x0))",
         [](const Tensors& x) { return view_as_real(fft_ifftn(x[0])); }, {{real({2, 5})}, {real({3, 2, 4})}}),
      op("fft_irfft of real numbers", "torch.fft.irfft(x0)", [](const Tensors& x) { return fft_irfft(x[0]); },
         {{real({2, 5})}}),
  };
  return list;
}
std::vector<Operation> real_transforms() {
  auto list = transforms<fft_rfft, fft_rfft2, fft_rfftn, Kind::kFromReal>("rfft");
  for (Operation& f : transforms<fft_irfft, fft_irfft2, fft_irfftn, Kind::kToReal>("irfft"))
    list.push_back(std::move(f));
  return list;
}
std::vector<Operation> hermitian_transforms() {
  auto list = transforms<fft_hfft, fft_hfft2, fft_hfftn, Kind::kToReal>("hfft");
  for (Operation& f : transforms<fft_ihfft, fft_ihfft2, fft_ihfftn, Kind::kFromReal>("ihfft"))
    list.push_back(std::move(f));
  return list;
}

std::vector<Operation> frequencies() {
  return {
      {OPERATION(fft_fftfreq, T(I, double, Options)), .torch = with_dtype("fft.fftfreq")},
      {OPERATION(fft_rfftfreq, T(I, double, Options)), .torch = with_dtype("fft.rfftfreq")},
      {OPERATION(fft_fftshift, T(CT, MaybeInts)), .torch = "torch.fft.fftshift",
       .examples = {{"fft_fftshift", "x0, None", {{real({3, 4})}, {real({5})}, {real({0, 3})}}},
                    {"fft_fftshift dims", "x0, [-1]", {{real({3, 5})}}}}},
      {OPERATION(fft_ifftshift, T(CT, MaybeInts)), .torch = "torch.fft.ifftshift",
       .examples = {{"fft_ifftshift", "x0, None", {{real({3, 4})}, {real({5})}}},
                    {"fft_ifftshift dims", "x0, [0]", {{real({3, 5})}}}}},
  };
}

using Length = optional<I>;
using Flag = optional<bool>;

OpTest stft_of_complex_numbers() {
  return op(
      "stft of complex numbers",
      "torch.view_as_real(torch.stft(torch.complex(x0, x1), 4, 3, 4, x2, True, 'constant', "
      "return_complex=True))",
      [](const Tensors& x) { return view_as_real(stft(complex(x[0], x[1]), 4, 3, 4, x[2], true, "constant", false)); },
      {{real({10}), real({10}), real({4})}});
}

std::vector<Operation> short_time() {
  return {
      {.name = "stft",
       .overloads =
           [](Table& table, const std::string& name) {
             table.add(
                 name, std::type_identity<T(CT, I, Length, Length, CT, bool, std::string_view, bool, Flag)>(),
                 [](CT x, I n, Length hop, Length win, CT window, bool center, std::string_view mode, bool normalized,
                    Flag onesided) { return stft(x, n, hop, win, window, center, mode, normalized, onesided, false); });
             table.add(name, std::type_identity<T(CT, I, Length, Length, CT, bool, Flag, Flag)>(),
                       [](CT x, I n, Length hop, Length win, CT window, bool normalized, Flag onesided, Flag align) {
                         return view_as_real(stft(x, n, hop, win, window, normalized, onesided, true, align));
                       });
           },
       .torch = "lambda x, n, hop, win, window, *a: torch.view_as_real(torch.stft(x, n, hop, win, window, *a, "
                "return_complex=True)) if len(a) == 4 else torch.view_as_real(torch.stft(x, n, hop, win, window, "
                "False, 'constant', a[0], a[1], True, align_to_window=a[2]))",
       .examples = {{"stft", "x0, 8, None, None, x1, True, 'reflect', False, None", {{real({20}), real({8})}}},
                    {"stft options", "x0, 7, 3, 4, x1, True, 'constant', True, False", {{real({2, 16}), real({4})}}},
                    {"stft without center", "x0, 6, 2, 4, x1, True, None, None", {{real({2, 9}), real({4})}}},
                    {"stft aligned", "x0, 6, 2, 4, x1, False, None, True", {{real({2, 9}), real({4})}}}},
       .tests = {stft_of_complex_numbers()}},
      {.name = "istft",
       .overloads =
           [](Table& table, const std::string& name) {
             table.add(name, std::type_identity<T(CT, I, Length, Length, CT, bool, bool, Flag, Length, bool)>(),
                       [](CT x, I n, Length hop, Length win, CT window, bool center, bool normalized, Flag onesided,
                          Length length, bool complex) {
                         const Tensor out = istft(view_as_complex(x.clone(MemoryFormat::Contiguous)), n, hop, win,
                                                  window, center, normalized, onesided, length, complex);
                         return complex ? view_as_real(out) : out;
                       });
           },
       .torch = "lambda x, *a: (torch.view_as_real if a[-1] else lambda y: y)(torch.istft(torch.view_as_complex("
                "x.clone(memory_format=torch.contiguous_format)), *a[:-1], return_complex=a[-1]))",
       .examples =
           {{"istft", "x0, 8, None, None, x1, True, False, None, 16, False", {{real({5, 6, 2}), real({8}, 1, 2)}}},
            {"istft options", "x0, 6, 2, 4, x1, True, True, True, 9, False", {{real({2, 4, 5, 2}), real({4}, 1, 2)}}},
            {"istft complex",
             "x0, 5, 2, 5, x1, False, False, False, None, True",
             {{real({2, 5, 3, 2}), real({5}, 1, 2)}}}}},
      {OPERATION(unfold_backward, T(CT, Ints, I, I, I)), .torch = "torch.ops.aten.unfold_backward",
       .examples = {{"unfold_backward", "x0, [2, 9], 1, 4, 3", {{real({2, 2, 4})}}},
                    {"unfold_backward overlapping", "x0, [7, 2], 0, 4, 1", {{real({4, 2, 4})}}},
                    {"unfold_backward gaps", "x0, [9], 0, 2, 3", {{real({3, 2})}}}}},
  };
}

}  // namespace

std::vector<Operation> fft_operations() {
  return joined({complex_transforms, real_transforms, hermitian_transforms, frequencies, short_time});
}

}  // namespace tandem::testing

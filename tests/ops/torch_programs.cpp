// Programs of views and in-place writes; torch_cases/programs.py describes their parts.
//
// A program is a list of instructions "name/argument/…", separated by ';'. Each instruction creates one
// variable; the first variables are the inputs. A tensor argument is the number of a variable; lists are
// written "2.3"; non-integer numbers are given in quarters. An instruction that throws creates another handle
// to its first argument. The last instruction names the variables to combine in a weighted sum, which is
// differentiated.
#include <functional>

#include "tandem/autograd/ops.h"
#include "tandem/tests/ops/torch_table.h"

namespace tandem::testing {
namespace {

class Arguments {
 public:
  Arguments(const std::string& instruction, const Tensors& variables)
      : words_(split_words(instruction, '/')), variables_(variables) {}
  const std::string& name() const { return words_[0]; }
  bool has(std::size_t i) const { return i + 1 < words_.size(); }
  I number(std::size_t i) const { return std::stoll(words_.at(i + 1)); }
  Scalar quarters(std::size_t i) const { return static_cast<double>(number(i)) / 4; }
  T tensor(std::size_t i = 0) const { return variables_.at(static_cast<std::size_t>(number(i))); }
  T packed(std::size_t i = 0) const { return tensor(i).contiguous(); }
  std::vector<I> list(std::size_t i) const {
    std::vector<I> out;
    if (has(i))
      for (const std::string& word : split_words(words_[i + 1], '.')) out.push_back(std::stoll(word));
    return out;
  }
  T positions(std::size_t i) const { return tensor_of(list(i)); }
  static T tensor_of(const std::vector<I>& numbers) {
    T out = empty({static_cast<I>(numbers.size())}, kLong);
    std::copy(numbers.begin(), numbers.end(), out.data_ptr<I>());
    return out;
  }

 private:
  Words words_;
  const Tensors& variables_;
};

T last(const Tensors& list) {
  check(!list.empty(), "no tensors");
  return list.back();
}

using A = const Arguments&;
using Operations = std::map<std::string, std::function<T(A)>>;

const Operations& views() {
  static const Operations operations{
      {"select", [](A a) { return a.tensor().select(a.number(1), a.number(2)); }},
      {"slice", [](A a) { return a.tensor().slice(a.number(1), a.number(2), a.number(3), a.number(4)); }},
      {"narrow", [](A a) { return a.tensor().narrow(a.number(1), a.number(2), a.number(3)); }},
      {"transpose", [](A a) { return a.tensor().transpose(a.number(1), a.number(2)); }},
      {"permute", [](A a) { return a.tensor().permute(a.list(1)); }},
      {"expand", [](A a) { return a.tensor().expand(a.list(1)); }},
      {"unfold", [](A a) { return a.tensor().unfold(a.number(1), a.number(2), a.number(3)); }},
      {"diagonal", [](A a) { return a.tensor().diagonal(a.number(1), a.number(2), a.number(3)); }},
      {"view", [](A a) { return a.tensor().view(a.list(1)); }},
      {"reshape", [](A a) { return a.tensor().reshape(a.list(1)); }},
      {"flatten", [](A a) { return a.tensor().flatten(); }},
      {"squeeze", [](A a) { return a.tensor().squeeze(); }},
      {"squeeze_dim", [](A a) { return a.tensor().squeeze(a.number(1)); }},
      {"unsqueeze", [](A a) { return a.tensor().unsqueeze(a.number(1)); }},
      {"as_strided", [](A a) { return a.tensor().as_strided(a.list(1), a.list(2), a.number(3)); }},
      {"chunk", [](A a) { return a.tensor().chunk(a.number(1), a.number(2)).at(0); }},
      {"unbind", [](A a) { return last(a.tensor().unbind(a.number(1))); }},
      {"detach", [](A a) { return a.tensor().detach(); }},
  };
  return operations;
}

const Operations& writes() {
  static const Operations operations{
      {"add_", [](A a) { return a.tensor().add_(a.tensor(1)); }},
      {"sub_", [](A a) { return a.tensor().sub_(a.tensor(1)); }},
      {"mul_", [](A a) { return a.tensor().mul_(a.tensor(1)); }},
      {"copy_", [](A a) { return a.tensor().copy_(a.tensor(1)); }},
      {"add_number_", [](A a) { return a.tensor().add_(a.quarters(1)); }},
      {"mul_number_", [](A a) { return a.tensor().mul_(a.quarters(1)); }},
      {"fill_", [](A a) { return a.tensor().fill_(a.quarters(1)); }},
      {"fill_tensor_", [](A a) { return a.tensor().fill_(a.tensor(1)); }},
      {"zero_", [](A a) { return a.tensor().zero_(); }},
      {"neg_", [](A a) { return a.tensor().neg_(); }},
      {"relu_", [](A a) { return a.tensor().relu_(); }},
      {"tanh_", [](A a) { return a.tensor().tanh_(); }},
      {"clamp_", [](A a) { return a.tensor().clamp_(a.quarters(1), a.quarters(2)); }},
      {"masked_fill_", [](A a) { return a.tensor().masked_fill_(a.tensor(1) > 0, a.quarters(2)); }},
      {"masked_fill_tensor_", [](A a) { return a.tensor().masked_fill_(a.tensor(1) > 0, a.tensor(2)); }},
      {"addcmul_", [](A a) { return a.tensor().addcmul_(a.tensor(1), a.tensor(2)); }},
      {"index_put_", [](A a) { return a.tensor().index_put_({a.positions(1)}, a.tensor(2)); }},
      {"index_put_last_",
       [](A a) {
         return a.tensor().index_put_({"...", a.positions(1)}, a.tensor(2));
       }},
      {"index_add_up_", [](A a) { return a.tensor().index_put_(ArrayRef<T>(a.positions(1)), a.tensor(2), true); }},
      {"index_fill_", [](A a) { return a.tensor().index_fill_(a.number(1), a.positions(2), a.quarters(3)); }},
      {"index_copy_", [](A a) { return a.tensor().index_copy_(a.number(1), a.positions(2), a.tensor(3)); }},
  };
  return operations;
}

const Operations& others() {
  static const Operations operations{
      {"mul", [](A a) { return a.packed() * a.packed(1); }},
      {"add", [](A a) { return a.packed() + a.packed(1); }},
      {"mul_number", [](A a) { return a.packed() * a.quarters(1); }},
      {"sin", [](A a) { return a.packed().sin(); }},
      {"tanh", [](A a) { return a.packed().tanh(); }},
      {"relu", [](A a) { return a.packed().relu(); }},
      {"clone", [](A a) { return a.packed().clone(); }},
      {"sum", [](A a) { return a.packed().sum({a.number(1)}); }},
      {"where", [](A a) { return where(a.packed() > 0, a.packed(), a.packed(1)); }},
      {"index_select", [](A a) { return a.packed().index_select(a.number(1), a.positions(2)); }},
      {"cat",
       [](A a) {
         return cat({a.packed(), a.packed(1)}, a.number(2));
       }},
  };
  return operations;
}

class Program {
 public:
  explicit Program(const Tensors& inputs) {
    for (const T& x : inputs) variables_.push_back(x);
    for (std::size_t k = 0; k < leaves; ++k) {
      variables_[k] = inputs[k].detach().clone().requires_grad_();
      leaves_.push_back(variables_[k]);
      gradients_.push_back(zeros_like(inputs[k]));
    }
  }
  void run(const std::string& instruction) {
    const Arguments a(instruction, variables_);
    if (a.name() == "backward") return backward(a.list(0));
    T made;
    try {
      made = operation(a.name())(a);
      marks_.push_back(0);
      if (views().contains(a.name())) note_geometry(made);
    } catch (const Error&) {
      made = a.tensor();
      marks_.push_back(1);
    }
    variables_.push_back(made);
  }
  Tensors results() {
    for (const T& x : variables_) marks_.push_back(x.requires_grad());
    Tensors out{Arguments::tensor_of(marks_)};
    for (const T& x : variables_) out.push_back(x.detach().contiguous().clone());
    for (const T& g : gradients_) out.push_back(g.detach());
    out.push_back(tensor(ended_));
    return out;
  }

 private:
  static constexpr std::size_t leaves = 2;

  static const std::function<T(A)>& operation(const std::string& name) {
    for (const Operations* operations : {&views(), &writes(), &others()})
      if (const auto found = operations->find(name); found != operations->end()) return found->second;
    throw std::logic_error("programs have no operation " + name);
  }
  void note_geometry(const T& x) {
    if (x.numel() == 0) return;
    marks_.push_back(x.storage_offset());
    for (I d = 0; d < x.dim(); ++d)
      if (x.size(d) > 1) marks_.push_back(x.stride(d));
  }
  void backward(const std::vector<I>& numbers) {
    try {
      T loss = zeros({}, kDouble);
      for (const I number : numbers) {
        const T x = variables_.at(static_cast<std::size_t>(number));
        const T weight = (arange(x.numel(), kDouble).remainder(7) - 3) / 4;
        loss = loss + (x * weight.view(x.sizes())).sum();
      }
      Tensors found = autograd::grad({loss}, leaves_, {}, nullopt, false, true);
      for (std::size_t k = 0; k < leaves; ++k)
        if (found[k].defined()) gradients_[k] = found[k];
      ended_ = 0;
    } catch (const Error&) {
    }
  }

  Tensors variables_, leaves_, gradients_;
  I ended_ = 2;           // 0: gradients were computed
  std::vector<I> marks_;  // whether each instruction threw, strides of views, which variables require a gradient
};

}  // namespace

void add_programs(Table& table) {
  table.add("program", std::type_identity<Tensors(TensorList, std::string_view)>(),
            [](TensorList inputs, std::string_view text) {
              Program program(inputs.vec());
              for (const std::string& line : split_words(std::string(text), ';')) program.run(line);
              return program.results();
            });
}

}  // namespace tandem::testing

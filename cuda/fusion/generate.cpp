#include "tandem/cuda/fusion/generate.h"

#include <algorithm>
#include <set>

#include "tandem/core/formulas/store.h"
#include "tandem/cuda/fusion/fused.h"
#include "tandem/cuda/fusion/read_call.h"

namespace tandem::cuda_impl {
namespace {

// An expression of a kernel, and whether all elements of a vector have the same value.
struct Value {
  std::string text;
  bool uniform = true;
};

// Calls that are computed together, with a loop over the elements of a vector.
struct Part {
  std::string before, inside, after;
  std::set<std::size_t> loaded;  // operands
  bool used = false;
};

class Generator {
 public:
  Generator(const std::vector<QueuedCall>& calls, const std::vector<int64_t>& sizes)
      : calls_(calls), sizes_(sizes), needed_(calls.size()), stored_(calls.size()), uniform_(calls.size()) {
    for (std::size_t i = 0; i < calls.size(); ++i)
      if (calls[i].core != nullptr) core_ = static_cast<int>(i);
  }

  FusedSource generate(const std::function<bool(const QueuedArgument&)>& dead) {
    find_needed(dead);
    for (std::size_t i = 0; i < calls_.size(); ++i)
      if (stored_[i]) operands_.push_back(&calls_[i].out);
    outs_ = operands_.size();
    if (outs_ == 0 && core_ < 0) return {};
    std::size_t out = 0;
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      if (!needed_[i]) continue;
      now_ = &part_of(i);
      now_->used = now_->used || static_cast<int>(i) != core_;
      if (static_cast<int>(i) != core_) compute(i);
      if (!stored_[i]) continue;
      now_->before += concat("    Pack<", type_of(calls_[i].out), ", V> y", out, ";\n");
      now_->inside += concat("      y", out, ".x[v] = ", name_of(i), ";\n");
      now_->after += concat("    fused_store(p, ", out, ", at[", out, "], y", out, ");\n");
      ++out;
    }
    if (core_ > 0)
      if (const int from = writer(core().in[0], static_cast<std::size_t>(core_)); from >= 0)
        parts_[0].inside += concat("      core[v] = ", name_of(static_cast<std::size_t>(from)), ";\n");
    return finish();
  }

 private:
  static std::string_view type_of(const QueuedArgument& a) { return cpp_name(a.tensor.scalar_type()); }

  // The last call before `end` that writes the argument, or -1.
  int writer(const QueuedArgument& a, std::size_t end) const {
    for (std::size_t i = end; i-- > 0;)
      if (same_elements(calls_[i].out, a)) return static_cast<int>(i);
    return -1;
  }
  const QueuedCall& core() const { return calls_[static_cast<std::size_t>(core_)]; }
  // Calls before a core are computed as it reads its source, those after it as it writes its results.
  bool is_before(std::size_t i) const { return static_cast<int>(i) < core_; }
  Part& part_of(std::size_t i) { return parts_[core_ >= 0 && !is_before(i)]; }
  std::string name_of(std::size_t i) const {
    return static_cast<int>(i) == core_ ? std::string("core[v]") : concat("v", i);
  }

  void find_needed(const std::function<bool(const QueuedArgument&)>& dead) {
    for (std::size_t i = calls_.size(); i-- > 0;) {
      const QueuedCall& call = calls_[i];
      const bool is_core = static_cast<int>(i) == core_;
      const bool last = call.out.tensor.defined() && writer(call.out, calls_.size()) == static_cast<int>(i);
      stored_[i] = stored_[i] || (last && !dead(call.out));
      needed_[i] = needed_[i] || stored_[i] || is_core;
      if (!needed_[i]) continue;
      for (const QueuedArgument& in : call.in) {
        const int from = in.is_number() ? -1 : writer(in, i);
        if (from < 0) continue;
        needed_[static_cast<std::size_t>(from)] = true;
        // The core reads its source again, and what follows it finds in memory what was computed before.
        if (is_core || (is_before(static_cast<std::size_t>(from)) && !is_before(i)))
          stored_[static_cast<std::size_t>(from)] = true;
      }
    }
  }

  Value number(const Scalar& value, ScalarType type) {
    numbers_.push_back(bits_of<uint64_t>(value, type));
    return {concat("p.number<", cpp_name(type), ">(", numbers_.size() - 1, ")")};
  }
  Value argument(const QueuedArgument& a, ScalarType type, std::size_t call) {
    if (a.is_number()) return number(a.number, type);
    const int from = writer(a, call);
    const bool in_memory = from < 0 || (is_before(static_cast<std::size_t>(from)) && !is_before(call) && core_ >= 0);
    if (!in_memory) return {name_of(static_cast<std::size_t>(from)), uniform_[static_cast<std::size_t>(from)]};
    const bool uniform = sizes_[0] > 1 && a.strides[0] == 0;
    std::size_t at = from < 0 ? outs_ : 0;
    while (at < operands_.size() && !same_elements(*operands_[at], a)) ++at;
    if (at == operands_.size()) operands_.push_back(&a);
    if (now_->loaded.insert(at).second)
      now_->before += concat("    const auto x", at, " = fused_load<", type_of(a), uniform ? ", 1" : ", V", ">(p, ", at,
                             ", at[", at, "]);\n");
    return {concat("x", at, uniform ? ".x[0]" : ".x[v]"), uniform};
  }

  // What a formula is applied to, one part after the other.
  Value apply(std::string text, const std::vector<Value>& to) {
    bool uniform = true;
    for (std::size_t i = 0; i < to.size(); ++i) {
      text += i == 0 ? "(" : ", ";
      text += to[i].text;
      uniform = uniform && to[i].uniform;
    }
    return {text + ")", uniform};
  }
  Value functor(const QueuedCall& call, const char* name, int parameters, const std::vector<Value>& to) {
    const ScalarType type = computed_in(call);
    std::string values;
    for (int k = 0; k < parameters; ++k) values += (k == 0 ? "" : ", ") + number(call.parameters[k], type).text;
    return apply(concat(name, "<", call.formula->type, ", ", cpp_name(type), ">{", values, "}"), to);
  }
  Value formula(std::size_t i) {
    const QueuedCall& call = calls_[i];
    const FormulaKind kind = call.formula->kind;
    const ScalarType own = call.out.tensor.scalar_type(), type = computed_in(call);
    std::vector<Value> in;
    for (const QueuedArgument& a : call.in) in.push_back(argument(a, kind == FormulaKind::kWhere ? own : type, i));
    switch (kind) {
      case FormulaKind::kUnary:
        return functor(call, "Unary", call.has_parameters ? 2 : 0, in);
      case FormulaKind::kGradient:
        return functor(call, "Gradient", call.has_parameters ? 2 : 0, in);
      case FormulaKind::kBinary:
        return functor(call, "Binary", 1, in);
      case FormulaKind::kComparison:
        return functor(call, "Compare", 0, in);
      case FormulaKind::kTernary:
        return functor(call, "Ternary", 1, in);
      case FormulaKind::kWhere:
        return apply(concat("choose<", cpp_name(own), ">"), in);
      case FormulaKind::kCopy: {
        const ScalarType from = call.in[0].tensor.scalar_type();
        return from == own ? in[0] : apply(concat("Convert<", cpp_name(own), ", ", cpp_name(from), ">{}"), in);
      }
      case FormulaKind::kFill:
        return number(call.parameters[0], own);
      case FormulaKind::kNormalize: {
        const std::string_view name = cpp_name(type);
        const Value inverse = apply(concat("norm_inverse<", name, ">"), {in[2], number(call.parameters[0], type)}),
                    scale = local(concat("s", i), name,
                                  {concat(in[3].text, " * ", inverse.text), in[3].uniform && inverse.uniform});
        return apply(concat("normalized<", name, ">"), {in[0], in[1], scale, in[4]});
      }
      case FormulaKind::kCore:
      case FormulaKind::kOther:
        break;
    }
    return {};
  }
  // A variable with the value; what all elements of a vector share is computed once.
  Value local(const std::string& name, std::string_view type, const Value& value) {
    (value.uniform ? now_->before : now_->inside) += concat("    const ", type, " ", name, "(", value.text, ");\n");
    return {name, value.uniform};
  }
  void compute(std::size_t i) {
    const Value value = formula(i);
    uniform_[i] = local(concat("v", i), type_of(calls_[i].out), value).uniform;
  }

  FusedSource finish() {
    FusedSource source;
    int64_t widest = 1;
    for (const QueuedArgument* a : operands_) {
      widest = std::max(widest, a->tensor.element_size());
      const std::vector<int64_t> sizes(sizes_.rbegin(), sizes_.rend()), strides(a->strides.rbegin(), a->strides.rend());
      source.operands.push_back(borrowed(a->tensor, sizes, strides));
    }
    source.numbers = numbers_;
    source.vector = static_cast<int>(16 / widest);
    source.body = "namespace tandem::cuda_impl {\n";
    const std::string of_fused = "const __grid_constant__ tandem::cuda_impl::Fused p";
    if (core_ < 0) {
      source.body +=
          concat(text_of(parts_[0], "Body", ""), "}  // namespace tandem::cuda_impl\n",
                 signature(kFusedThreads, of_fused), "  tandem::cuda_impl::fused_elements<tandem::cuda_impl::Body, ",
                 operands_.size(), ", ", source.vector, ">(p);\n}\n");
      return source;
    }
    const Core& c = *core().core;
    const std::string type(type_of(core().in[0]));
    source.core = &c;
    source.vector = c.vector;
    source.from_memory = !parts_[0].used;
    source.to_memory = !parts_[1].used && !stored_[static_cast<std::size_t>(core_)];
    if (parts_[0].used) source.body += text_of(parts_[0], "Before", concat(", ", type, "* core"));
    if (parts_[1].used) source.body += text_of(parts_[1], "After", concat(", const ", type, "* core"));
    source.body +=
        concat("}  // namespace tandem::cuda_impl\n",
               signature(c.grid.threads,
                         concat(of_fused, ", const __grid_constant__ tandem::cuda_impl::", c.parameter, " core")),
               "  using namespace tandem::cuda_impl;\n  ", c.kernel, "(core, ",
               parts_[0].used ? concat("FromCalls<", type, ", Before, ", operands_.size(), ">{p}")
                              : concat("FromMemory<", type, ">{core.", c.memory, "}"),
               !c.sink.defined() ? std::string()
               : parts_[1].used  ? concat(", ToCalls<After, ", operands_.size(), ">{p}")
                                 : concat(", ToMemory<", type, ">{core.out}"),
               ");\n}\n");
    return source;
  }
  static std::string text_of(const Part& part, const char* name, const std::string& more) {
    return concat("template <int V>\nstruct ", name,
                  " {\n  static __device__ void run(const Fused& p, const uint32_t* at", more, ") {\n", part.before,
                  "    for (int v = 0; v < V; ++v) {\n", part.inside, "    }\n", part.after, "  }\n};\n");
  }
  static std::string signature(int threads, const std::string& parameters) {
    return concat("extern \"C\" __global__ void __launch_bounds__(", threads, ") tandem_fused(", parameters, ") {\n");
  }

  const std::vector<QueuedCall>& calls_;
  const std::vector<int64_t>& sizes_;
  std::vector<bool> needed_, stored_, uniform_;
  std::vector<const QueuedArgument*> operands_;
  std::size_t outs_ = 0;
  std::vector<uint64_t> numbers_;
  int core_ = -1;  // the call that has one
  Part parts_[2];
  Part* now_ = nullptr;
};

}  // namespace

bool same_elements(const QueuedArgument& a, const QueuedArgument& b) {
  return !a.is_number() && !b.is_number() && a.tensor.data_ptr() == b.tensor.data_ptr() &&
         a.tensor.scalar_type() == b.tensor.scalar_type() && a.strides == b.strides;
}

FusedSource generate(const std::vector<QueuedCall>& calls, const std::vector<int64_t>& sizes,
                     const std::function<bool(const QueuedArgument&)>& dead) {
  return Generator(calls, sizes).generate(dead);
}

}  // namespace tandem::cuda_impl

// Reads a description, builds its module and runs it.
#include "tandem/tests/networks/network.h"

#include <algorithm>
#include <cmath>

namespace tandem::testing {
namespace {

const Table& table() {
  static const Table all = [] {
    Table made;
    add_described(made);
    return made;
  }();
  return all;
}

int64_t whole(const std::string& word) { return std::stoll(word.substr(1)); }
double number(const std::string& word) { return std::strtod(word.c_str() + 1, nullptr); }
std::vector<int64_t> list(const std::string& word) { return read_word<std::vector<int64_t>>(word, {}); }

uint32_t hash_of(int64_t i, int64_t seed) {
  uint32_t x = static_cast<uint32_t>(i) * 0x9E3779B1U + static_cast<uint32_t>(seed) * 0x85EBCA77U;
  x ^= x >> 15;
  x *= 0x2C1B3C6DU;
  x ^= x >> 12;
  x *= 0x297A2D39U;
  return x ^ (x >> 15);
}

std::string with_examples(std::string word, int64_t examples) {
  const std::size_t at = word.find('@');
  return at == word.npos ? word : word.replace(at, 1, std::to_string(examples));
}

bool is_batch(const Instruction& at) { return at.kind == "data" || at.kind == "labels"; }

/// The arguments of a layer.
Tensors tensors_of(const Words& words, const Tensors& variables) {
  Tensors found;
  for (const std::string& word : words)
    if (word[0] == 't' && word.find('=') == word.npos) found.push_back(variables.at(std::stoul(word.substr(1))));
  return found;
}

/// The numbers of the variables that the words of an operation or a layer name.
std::vector<std::size_t> variables_in(const Words& words) {
  std::vector<std::size_t> found;
  for (std::size_t k = 1; k < words.size(); ++k) {  // after the name
    const std::string& word = words[k];
    if (word.find('=') != word.npos || std::string("tLx").find(word[0]) == std::string::npos) continue;
    for (std::string part : split_words(word[0] == 'x' ? word.substr(1) : word, ',')) {
      if (part[0] == 't' || part[0] == 'L')
        part = part.substr(1);
      else if (word[0] == 'x')
        continue;
      if (part != "n") found.push_back(std::stoul(part));
    }
  }
  return found;
}

/// The range of uniform values of a parameter of a layer: around 1 for the weights of normalisations.
std::pair<double, double> range_of(const std::string& name, const Tensor& p) {
  if (p.dim() == 1 && name.ends_with("weight")) return {0.5, 1.5};
  const double bound = p.dim() < 2 ? 0.5 : std::sqrt(3.0 / static_cast<double>(p.numel() / p.size(0)));
  return {-bound, bound};
}

}  // namespace

Tensor drawn(const std::vector<int64_t>& shape, int64_t seed, double low, double high) {
  Tensor x = empty(shape, kDouble);
  double* const values = x.data_ptr<double>();
  for (int64_t i = 0; i < x.numel(); ++i) values[i] = low + (high - low) * (hash_of(i, seed) / 4294967296.0);
  return x;
}

Keywords options_of(const Words& words) {
  Keywords options;
  for (const std::string& word : words)
    if (const std::size_t at = word.find('='); at != word.npos) options[word.substr(0, at)] = word.substr(at + 1);
  return options;
}

Description::Description(const Words& lines) {
  for (const std::string& line : lines) {
    Words words = split_words(line, ' ');
    const auto rest = [&](std::ptrdiff_t n) { return Words(words.begin() + n, words.end()); };
    if (words[0] == "loss") loss = std::stoul(words.at(1));
    if (words[0] == "group") groups.push_back(rest(1));
    if (words[0] == "segment") segments.push_back(rest(1));
    if (words[0] == "clip") clip = rest(1);
    if (words[0] == "scheduler") scheduler = rest(1);
    const auto equals = std::find(words.begin(), words.end(), "=");
    if (equals == words.end()) continue;
    Instruction made;
    for (auto word = words.begin(); word != equals; ++word) made.outputs.push_back(std::stoul(*word));
    made.kind = equals[1];
    made.words = Words(equals + 2, words.end());
    if (made.kind == "op" || made.kind == "layer") made.reads = variables_in(made.words);
    variables = std::max(variables, made.outputs.back() + 1);
    instructions.push_back(std::move(made));
  }
}

NetImpl::NetImpl(DescriptionPtr description, ScalarType dtype) : description_(std::move(description)), dtype_(dtype) {
  const NoGradGuard no_grad;
  for (const Instruction& at : description_->instructions) build(at);
}

void NetImpl::build(const Instruction& at) {
  const Words& w = at.words;
  const std::size_t id = at.outputs[0];
  if (at.kind == "layer") return build_layer(at);
  if (at.kind == "param") {
    const Tensor value = drawn(list(w[0]), whole(w[1]), number(w[2]), number(w[3])).to(dtype_);
    parameters_[id] = register_parameter(concat("p", id), value);
    ordered_.emplace_back(id, parameters_[id]);
  }
  Tensor constant;
  if (at.kind == "const") constant = drawn(list(w[0]), whole(w[1]), number(w[2]), number(w[3])).to(dtype_);
  if (at.kind == "mask") constant = drawn(list(w[0]), whole(w[1]), 0, 1) < number(w[2]);
  if (at.kind == "list") constant = tensor(list(w[1]), kLong).reshape(list(w[0]));
  if (constant.defined()) register_buffer(constants_[id] = concat("c", id), constant);
}

void NetImpl::build_layer(const Instruction& at) {
  const std::size_t id = at.outputs[0];
  Layer made = make_layer(at.words[0], options_of(at.words));
  made.module->to(dtype_);
  std::map<std::string, Tensor> sorted;
  for (const auto& item : made.module->named_parameters()) sorted[item.key()] = item.value();
  int64_t seed = whole(at.words[1]);
  for (auto& [name, p] : sorted) {
    const auto [low, high] = range_of(name, p);
    p.copy_(drawn(p.sizes().vec(), seed += 7919, low, high));
    ordered_.emplace_back(id, p);
  }
  register_module(concat("m", id), made.module);
  layers_[id] = std::move(made);
}

Tensors NetImpl::batch(int64_t step) const {
  constexpr int64_t kExamples = 16;
  Tensors made;
  for (const Instruction& at : description_->instructions) {
    if (!is_batch(at)) continue;
    const Words& w = at.words;
    const std::vector<int64_t> shape = list(with_examples(w[0], kExamples));
    const int64_t seed = whole(w[1]) + 1000003 * step;
    if (at.kind == "data") made.push_back(drawn(shape, seed, number(w[2]), number(w[3])).to(dtype_));
    if (at.kind == "labels") made.push_back(drawn(shape, seed, 0, number(w[2])).floor().to(kLong));
  }
  return made;
}

void NetImpl::run(const Instruction& at, Tensors& variables) {
  Tensors made;
  const std::size_t id = at.outputs[0];
  if (at.kind == "layer")
    made = layers_.at(id).forward(tensors_of(at.words, variables));
  else if (at.kind == "op")
    made = table().call(at.words[0], Words(at.words.begin() + 1, at.words.end()), variables);
  else if (at.kind == "param")
    made = {parameters_.at(id)};
  else
    made = {named_buffers(false)[constants_.at(id)]};
  for (std::size_t k = 0; k < at.outputs.size(); ++k) variables.at(at.outputs[k]) = made.at(k);
}

void NetImpl::run_all(std::size_t first, std::size_t last, Tensors& variables, int64_t examples) {
  for (std::size_t i = first; i < last; ++i) {
    Instruction at = description_->instructions[i];
    if (is_batch(at)) continue;
    for (std::string& word : at.words) word = with_examples(word, examples);
    run(at, variables);
  }
}

void NetImpl::run_segment(std::size_t first, std::size_t last, Tensors& variables, int64_t examples) {
  std::vector<std::size_t> read;
  for (std::size_t i = first; i < last; ++i)
    for (const std::size_t k : description_->instructions[i].reads)
      if (variables.at(k).defined() && std::find(read.begin(), read.end(), k) == read.end()) read.push_back(k);
  if (read.empty()) return run_all(first, last, variables, examples);
  const std::vector<std::size_t> given{read[0], read[read.size() / 2], read.back()};
  // Three of the tensors that the segment reads are its inputs; it captures the others.
  const auto segment = [this, first, last, examples, given, before = variables](const Tensor& x, const Tensor& y,
                                                                                const Tensor& z) {
    Tensors all = before;
    all[given[0]] = x, all[given[1]] = y, all[given[2]] = z;
    run_all(first, last, all, examples);
    return all;
  };
  variables = utils::checkpoint(segment, variables[given[0]], variables[given[1]], variables[given[2]]);
}

std::pair<std::size_t, std::size_t> NetImpl::instructions_of(const Words& segment) const {
  const auto& all = description_->instructions;
  const auto place = [&](const std::string& variable) {
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&](const Instruction& at) { return at.outputs[0] >= std::stoul(variable); });
    return static_cast<std::size_t>(found - all.begin());
  };
  return {place(segment.at(0)), place(segment.at(1))};
}

Tensor NetImpl::forward(const Tensors& batch, bool checkpointed) {
  Tensors variables(description_->variables);
  std::size_t next = 0, done = 0;
  for (const Instruction& at : description_->instructions)
    if (is_batch(at)) variables.at(at.outputs[0]) = batch.at(next++);
  const int64_t examples = batch.at(0).size(0);
  if (checkpointed)
    for (const Words& segment : description_->segments) {
      const auto [first, last] = instructions_of(segment);
      run_all(done, first, variables, examples);
      run_segment(first, last, variables, examples);
      done = last;
    }
  run_all(done, description_->instructions.size(), variables, examples);
  return variables.at(description_->loss);
}

}  // namespace tandem::testing

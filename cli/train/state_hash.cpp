// The sum of all is a sum of the tensors' sums, so that every byte is read once.
#include "tandem/cli/train/state_hash.h"

#include <map>

#include "tandem/autograd/ops.h"
#include "tandem/cli/data/sha256.h"
#include "tandem/cli/train/recipe.h"
#include "tandem/nn/module.h"
#include "tandem/nn/optim/optimizer.h"
#include "tandem/parallel/fully_sharded/checkpoint_files.h"

namespace tandem::cli {
namespace {

std::string sum_of(const std::string& name, const Tensor& tensor) {
  const Tensor values = tensor.detach().cpu().contiguous();
  const std::string head = concat(name, "\n", values.dtype(), "\n", values.sizes(), "\n");
  Sha256 sum;
  sum.update(head.data(), head.size());
  sum.update(values.data_ptr(), values.nbytes());
  return sum.hex_digest();
}

class Adder {
 public:
  template <class Archive>
  void add(const std::string& prefix, const Archive& archive) {
    for (const auto& item : archive.tensors()) {
      const std::string name = prefix + item.key();
      add_tensor(name, sum_of(name, item.value()));
    }
    std::map<std::string, std::string> entries;  // a file may hold them in another order
    for (const auto& item : archive.metadata()) entries[prefix + item.key()] = item.value();
    add_entries(entries);
  }
  void add_tensor(const std::string& name, const std::string& digits) {
    put(digits);
    out_.tensors += digits.substr(0, StateHash::kDigits);
    out_.names.push_back(name);
  }
  void add_entries(const std::map<std::string, std::string>& entries) {
    for (const auto& [name, text] : entries) put(concat(name, "\n", text));
  }
  StateHash result() {
    out_.sum = sum_.hex_digest();
    return std::move(out_);
  }

 private:
  // With its length, so that the parts of the sum cannot be confused.
  void put(const std::string& part) {
    const std::string text = concat(part.size(), "\n", part);
    sum_.update(text.data(), text.size());
  }
  Sha256 sum_;
  StateHash out_;
};

// The sums of a model's whole tensors, by name; on the first process.
using Sums = std::map<std::string, std::string>;

void add_model(Adder& adder, const distributed::FullyShardedDataParallelBase& model, const Sums& sums) {
  if (model.process_group()->rank() != 0) return;
  for (const auto& item : model.wrapped().state_dict()) adder.add_tensor("model." + item.key(), sums.at(item.key()));
}

}  // namespace

StateHash state_hash(const nn::Module& model, const optim::Optimizer& optimizer) {
  serialize::OutputArchive parameters, state;
  model.save(parameters);
  optimizer.save(state);
  Adder adder;
  adder.add("model.", parameters);
  adder.add("optimizer.", state);
  return adder.result();
}

StateHash state_hash(const serialize::InputArchive& model, const serialize::InputArchive& optimizer) {
  Adder adder;
  adder.add("model.", model);
  adder.add("optimizer.", optimizer);
  return adder.result();
}

StateHash state_hash(distributed::FullyShardedDataParallelBase& model, const optim::Optimizer& optimizer,
                     const Recipe& recipe) {
  // An optimizer of a whole model, whose parameters have no elements.
  std::vector<Tensor> trained;
  std::map<const TensorImpl*, std::string> names;
  for (const auto& [name, parameter] : model.wrapped().named_parameters())
    if (parameter.requires_grad()) {
      trained.push_back(empty(Dims(parameter.sizes().size(), 0)));
      names[trained.back().impl()] = name;
    }
  const auto like = make_optimizer(recipe, trained);
  for (auto& group : like->param_groups()) group.options().set_lr(optimizer.param_groups()[0].options().get_lr());
  std::map<std::string, std::size_t> numbers;  // of its parameters, by name
  for (const Tensor& parameter : like->parameters()) numbers.emplace(names.at(parameter.impl()), numbers.size());

  Sums sums;
  std::vector<std::vector<std::pair<std::string, std::string>>> states(numbers.size());
  std::map<std::string, std::string> entries;
  distributed::visit_checkpoint(model, &optimizer, [&](const distributed::CheckpointPart& part) {
    if (part.field.empty()) {
      sums[part.name] = sum_of("model." + part.name, part.tensor);
      return;
    }
    const std::size_t number = numbers.at(part.name);
    const std::string name = concat("optimizer.state.", number, ".", part.field);
    if (part.tensor.defined())
      states[number].emplace_back(name, sum_of(name, part.tensor));
    else
      entries[name] = part.text;
  });
  serialize::OutputArchive options;
  like->save(options);
  for (const auto& item : options.metadata()) entries["optimizer." + item.key()] = item.value();
  Adder adder;
  add_model(adder, model, sums);
  for (const auto& state : states)
    for (const auto& [name, digits] : state) adder.add_tensor(name, digits);
  adder.add_entries(entries);
  return adder.result();
}

std::string model_sha256(distributed::FullyShardedDataParallelBase& model) {
  Sums sums;
  distributed::visit_checkpoint(model, nullptr, [&](const distributed::CheckpointPart& part) {
    sums[part.name] = sum_of("model." + part.name, part.tensor);
  });
  Adder adder;
  add_model(adder, model, sums);
  return adder.result().sum;
}

std::string model_sha256(const nn::Module& model) {
  serialize::OutputArchive parameters;
  model.save(parameters);
  Adder adder;
  adder.add("model.", parameters);
  return adder.result().sum;
}

std::string first_difference(const StateHash& now, const std::string& recorded) {
  for (std::size_t i = 0; i < now.names.size(); ++i) {
    const std::size_t at = i * StateHash::kDigits;
    if (now.tensors.compare(at, StateHash::kDigits, recorded, std::min(at, recorded.size()), StateHash::kDigits) != 0)
      return now.names[i];
  }
  return "";
}

}  // namespace tandem::cli

// The sum of all is a sum of the tensors' sums, so that every byte is read once.
#include "tandem/cli/train/state_hash.h"

#include <map>

#include "tandem/cli/data/sha256.h"
#include "tandem/nn/module.h"
#include "tandem/nn/optim/optimizer.h"

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
      const std::string name = prefix + item.key(), digits = sum_of(name, item.value());
      put(digits);
      out_.tensors += digits.substr(0, StateHash::kDigits);
      out_.names.push_back(name);
    }
    std::map<std::string, std::string> entries;  // a file may hold them in another order
    for (const auto& item : archive.metadata()) entries[prefix + item.key()] = item.value();
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

// Answers the requests of torch_random.py:  test_torch REQUESTS ANSWERS  (safetensors files).
//   test_torch --describe             prints the elementwise functions (pointwise_table.h)
//
// Request i: metadata "i" is an operation and its arguments (torch_table.h); tensors "i/x0", … hold the
// storages of its inputs, with metadata "sizes strides offset mode". Modes: c is a constant; g is a leaf that
// requires a gradient; w and W are written by the operation: a window on a copy of the storage, with (W) or
// without (w) a gradient of the storage. "i/g0", … are the cotangents of the outputs that need one, in the
// same form; "i/h0", … are those of the gradients that are differentiated again.
// Answer i: "i" is "ok", "no gradient: …" or "error: …". Tensors "i/o0", … are the results followed by every
// written storage, with metadata "strides offset needs-gradient shares-memory"; "i/d0", … are the gradients;
// "i/s0", … are the second gradients, of the leaves and then of the cotangents.
#include <cstdio>

#include "tandem/nn/files/safetensors.h"
#include "tandem/tests/ops/torch_table.h"

namespace tandem::testing {

namespace {

std::vector<int64_t> numbers(const std::string& text) { return read_word<std::vector<int64_t>>("l" + text, {}); }

struct Inputs {
  Tensors tensors, leaves, written;
};

class Server {
 public:
  explicit Server(const std::string& path) : file_(serialize::load_safetensors(path)) {
    add_described(table_);
    add_programs(table_);
  }
  void answer_all() {
    for (std::size_t i = 0; file_.metadata.contains(concat(i)); ++i) texts_.insert(concat(i), answer(concat(i)));
  }
  void save(const std::string& path) const { serialize::save_safetensors(path, answers_, texts_); }

 private:
  std::string answer(const std::string& key) {
    Words words = split_words(file_.metadata[key], ' ');
    const std::string name = words.front();
    words.erase(words.begin());
    Inputs in;
    Tensors outputs;
    try {
      in = inputs(key);
      outputs = table_.call(name, words, in.tensors);
    } catch (const Error& error) {
      return concat("error: ", error.what());
    }
    for (const Tensor& t : in.written) outputs.push_back(t);
    for (std::size_t k = 0; k < outputs.size(); ++k) give_output(concat(key, "/o", k), outputs[k], in);
    try {
      give_gradients(key, outputs, in.leaves);
    } catch (const Error& error) {
      return concat("no gradient: ", error.what());
    }
    return "ok";
  }

  Tensor strided(const Tensor& storage, const Words& form) const {
    return storage.as_strided(numbers(form[0].substr(1)), numbers(form[1].substr(1)), std::stoll(form[2]));
  }

  Inputs inputs(const std::string& key) {
    Inputs in;
    for (std::size_t k = 0; file_.tensors.contains(concat(key, "/x", k)); ++k) {
      Tensor storage = file_.tensors[concat(key, "/x", k)];
      const Words form = split_words(file_.metadata[concat(key, "/x", k)], ' ');
      const char mode = form[3][0];
      if (mode == 'W') in.leaves.push_back(storage.requires_grad_());
      if (mode == 'w' || mode == 'W') in.written.push_back(storage = storage.clone());
      const Tensor x = strided(storage, form);
      if (mode == 'g') in.leaves.push_back(x.requires_grad_());
      in.tensors.push_back(x);
    }
    return in;
  }

  void give_output(const std::string& key, const Tensor& t, const Inputs& in) {
    bool shares = false;
    for (const Tensor& x : in.tensors) shares |= x.storage().get() == t.storage().get();
    texts_.insert(key, concat(t.strides(), " ", t.storage_offset(), " ", t.requires_grad(), " ", shares));
    answers_.insert(key, t.detach().contiguous().clone());
  }

  /// The request's cotangents for the tensors; `kind` is g or h.
  std::pair<Tensors, Tensors> asked(const std::string& key, char kind, const Tensors& tensors) const {
    Tensors roots, cotangents;
    for (std::size_t k = 0; k < tensors.size(); ++k) {
      const std::string name = concat(key, "/", kind, k);
      const Tensor* storage = file_.tensors.find(name);
      if (storage == nullptr) continue;
      cotangents.push_back(strided(*storage, split_words(file_.metadata[name], ' ')));
      roots.push_back(tensors[k]);
    }
    return {roots, cotangents};
  }

  void give(const std::string& key, char kind, const Tensors& gradients) {
    for (std::size_t k = 0; k < gradients.size(); ++k)
      if (gradients[k].defined()) answers_.insert(concat(key, "/", kind, k), gradients[k].detach().contiguous());
  }

  void give_gradients(const std::string& key, const Tensors& outputs, Tensors leaves) {
    const auto [roots, cotangents] = asked(key, 'g', outputs);
    if (roots.empty() || leaves.empty()) return;
    const bool second = !asked(key, 'h', leaves).first.empty();
    for (const Tensor& t : cotangents) t.requires_grad_(second);
    const Tensors gradients = autograd::grad(roots, leaves, cotangents, nullopt, second, true);
    give(key, 'd', gradients);
    if (!second) return;
    Tensors kept, kept_cotangents;
    const auto [all, all_cotangents] = asked(key, 'h', gradients);
    for (std::size_t k = 0; k < all.size(); ++k)  // a constant one has second gradients of 0
      if (all[k].defined() && all[k].requires_grad()) {
        kept.push_back(all[k]);
        kept_cotangents.push_back(all_cotangents[k]);
      }
    leaves.insert(leaves.end(), cotangents.begin(), cotangents.end());
    if (!kept.empty()) give(key, 's', autograd::grad(kept, leaves, kept_cotangents, nullopt, false, true));
  }

  serialize::SafeTensors file_;
  Table table_;
  OrderedDict<std::string, Tensor> answers_;
  OrderedDict<std::string, std::string> texts_;
};

}  // namespace
}  // namespace tandem::testing

int main(int argc, char** argv) try {
  if (argc == 2 && std::string_view(argv[1]) == "--describe") return tandem::testing::print_described(), 0;
  if (argc != 3) throw std::invalid_argument("usage: test_torch REQUESTS ANSWERS");
  tandem::testing::Server server(argv[1]);
  server.answer_all();
  server.save(argv[2]);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "test_torch: %s\n", error.what());
  return 2;
}

// Values as a pickle of protocol 2, with the names that PyTorch uses, so that torch.load(weights_only=True) reads it.
#include <bit>
#include <cstring>
#include <limits>
#include <unordered_map>

#include "tandem/autograd/grad_mode.h"
#include "tandem/core/storage.h"
#include "tandem/nn/files/pt/pickle.h"

namespace tandem::serialize::pt {
namespace {

class Writer {
 public:
  explicit Writer(std::vector<Tensor>& storages) : storages_(storages) {}

  void value(const IValue& v, int level) {
    check(level < kMaxLevels, "pt: values are nested more than ", kMaxLevels, " levels deep");
    if (v.isNone() || (v.isTensor() && !v.toTensor().defined())) {
      out += 'N';
    } else if (v.isTensor()) {
      tensor(v.toTensor());
    } else if (v.isBool()) {
      boolean(v.toBool());
    } else if (v.isInt()) {
      integer(v.toInt());
    } else if (v.isDouble()) {
      real(v.toDouble());
    } else if (v.isString()) {
      text(v.toStringRef());
    } else if (v.isTuple()) {
      out += '(';
      for (const IValue& element : v.toTupleRef().elements()) value(element, level + 1);
      out += 't';
    } else if (v.isGenericDict()) {
      out += "}(";
      for (const auto& entry : v.toGenericDict()) {
        value(entry.key(), level + 1);
        value(entry.value(), level + 1);
      }
      out += 'u';
    } else {
      out += "](";
      for (const IValue& element : v.toListRef()) value(element, level + 1);
      out += 'e';
    }
  }

  std::string out = "\x80\x02";

 private:
  // What a tensor's bytes are stored as: the dtype, too, because a storage of PyTorch has one.
  struct Key {
    const void* storage;
    ScalarType dtype;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const {
      return std::hash<const void*>()(key.storage) ^ static_cast<std::size_t>(key.dtype);
    }
  };

  template <class T>
  void raw(T number) {
    char bytes[sizeof number];
    std::memcpy(bytes, &number, sizeof number);
    out.append(bytes, sizeof number);
  }
  void boolean(bool on) { out += on ? '\x88' : '\x89'; }
  void integer(int64_t number) {
    if (number >= std::numeric_limits<int32_t>::min() && number <= std::numeric_limits<int32_t>::max()) {
      out += 'J';
      raw(static_cast<int32_t>(number));
    } else {
      out += "\x8a\x08";
      raw(number);
    }
  }
  void real(double number) {
    out += 'G';
    raw(__builtin_bswap64(std::bit_cast<uint64_t>(number)));
  }
  void text(const std::string& text) {
    check(text.size() <= std::numeric_limits<uint32_t>::max(), "pt: a string has more than 4 GB");
    out += 'X';
    raw(static_cast<uint32_t>(text.size()));
    out += text;
  }
  void integers(IntArrayRef numbers) {
    out += '(';
    for (const int64_t number : numbers) integer(number);
    out += 't';
  }
  void global(const std::string& module, const std::string& name) { out += "c" + module + "\n" + name + "\n"; }

  void tensor(const Tensor& given) {
    NoGradGuard no_grad;
    const Tensor t = given.detach().to(Device(kCPU));
    const auto item = static_cast<std::size_t>(t.element_size());
    // Views share their storage in the file unless they do not fit its elements.
    const auto offset =
        static_cast<std::size_t>(static_cast<const char*>(t.data_ptr()) - static_cast<const char*>(t.storage().data()));
    const bool fits = t.storage().nbytes() % item == 0 && offset % item == 0;
    const Tensor stored = fits ? t : t.clone();
    const auto elements = static_cast<int64_t>(stored.storage().nbytes() / item);
    const std::size_t next = storages_.size();
    // The key stays unique because storages_ keeps the memory.
    const std::size_t index = indices_.emplace(Key{stored.storage().data(), t.dtype()}, next).first->second;
    if (index == next) storages_.push_back(stored.as_strided({elements}, {1}, 0));
    const char* storage = storage_type(t.dtype());  // for some dtypes PyTorch has no class of storages
    const bool typed = storage == nullptr;
    global("torch._utils", typed ? "_rebuild_tensor_v3" : "_rebuild_tensor_v2");
    out += "((";
    text("storage");
    typed ? global("torch.storage", "UntypedStorage") : global("torch", storage);
    text(std::to_string(index));
    text("cpu");
    integer(typed ? elements * t.element_size() : elements);
    out += "tQ";
    integer(fits ? static_cast<int64_t>(offset / item) : 0);
    integers(stored.sizes());
    integers(stored.strides());
    boolean(given.requires_grad());
    global("collections", "OrderedDict");
    out += ")R";
    if (typed) global("torch", name(t.dtype()));
    out += "tR";
  }

  std::vector<Tensor>& storages_;
  std::unordered_map<Key, std::size_t, Hash> indices_;
};

}  // namespace

std::string pickle(const IValue& value, std::vector<Tensor>& storages) {
  Writer writer(storages);
  writer.value(value, 0);
  return writer.out + '.';
}

}  // namespace tandem::serialize::pt

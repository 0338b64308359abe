// What a pickle may name and call, and the checks of what it passes.
#include <algorithm>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/pointwise/complex.h"
#include "tandem/autograd/ops/pointwise/unary.h"
#include "tandem/autograd/ops/view/as_strided.h"
#include "tandem/core/dims.h"
#include "tandem/nn/files/pt/pickle.h"

namespace tandem::serialize::pt {
namespace {

struct Known {
  const char *module, *function;
  Name name;
};
constexpr Known kNames[] = {
    {"collections", "OrderedDict", Name::kOrderedDict},
    {"collections", "Counter", Name::kOrderedDict},
    {"builtins", "set", Name::kSet},
    {"builtins", "frozenset", Name::kSet},
    {"__builtin__", "set", Name::kSet},
    {"__builtin__", "frozenset", Name::kSet},
    {"torch", "device", Name::kDevice},
    {"torch._utils", "_rebuild_tensor_v2", Name::kRebuildTensor},
    {"torch._utils", "_rebuild_tensor_v3", Name::kRebuildTyped},
    {"torch._utils", "_rebuild_parameter", Name::kRebuildParameter},
    {"torch", "Size", Name::kSize},
    {"torch.jit._pickle", "build_intlist", Name::kIntList},
    {"torch.jit._pickle", "build_doublelist", Name::kDoubleList},
    {"torch.jit._pickle", "build_tensorlist", Name::kTensorList},
    {"torch.jit._pickle", "build_boollist", Name::kBoolList},
    {"torch.jit._pickle", "restore_type_tag", Name::kTypeTag},
};

constexpr std::pair<const char*, ScalarType> kStorageTypes[] = {
    {"FloatStorage", kFloat},
    {"DoubleStorage", kDouble},
    {"HalfStorage", kHalf},
    {"LongStorage", kLong},
    {"IntStorage", kInt},
    {"BFloat16Storage", kBFloat16},
    {"ShortStorage", kShort},
    {"CharStorage", kChar},
    {"ByteStorage", kByte},
    {"BoolStorage", kBool},
    {"ComplexFloatStorage", kComplexFloat},
    {"ComplexDoubleStorage", kComplexDouble},
};

// Those without a class of storages.
constexpr ScalarType kTyped[] = {kComplexHalf, kUInt16, kUInt32, kUInt64};

// At most 100 printable characters: the text comes from the file.
std::string shown(std::string_view text) {
  std::string out(text.substr(0, 100));
  for (char& c : out)
    if (c < ' ' || c > '~') c = '?';
  return out;
}

}  // namespace

const char* storage_type(ScalarType type) {
  for (const auto& known : kStorageTypes)
    if (known.second == type) return known.first;
  return nullptr;
}

void PickleMachine::name(std::string_view module, std::string_view function) {
  Node* node = make(Node::kName);
  push(node);
  for (const Known& known : kNames)
    if (module == known.module && function == known.function) {
      node->name = known.name;
      return;
    }
  for (const auto& known : kStorageTypes)
    if (module == "torch" && function == known.first) {
      node->name = Name::kStorageType;
      node->integer = static_cast<int64_t>(known.second);
      return;
    }
  for (const ScalarType type : kTyped)
    if (module == "torch" && function == tandem::name(type)) {
      node->name = Name::kDtype;
      node->integer = static_cast<int64_t>(type);
      return;
    }
  if (module == "torch.storage" && function == "UntypedStorage") {  // bytes
    node->name = Name::kStorageType;
    node->integer = static_cast<int64_t>(kByte);
    return;
  }
  for (const char* start : {"uint", "float8", "float4", "bits", "bcomplex"})
    if (module == "torch" && function.starts_with(start))
      refuse(concat("a tensor is of dtype torch.", shown(function),
                    ", which Tandem lacks; convert it before it is saved"));
  if (module == "__torch__" || module.starts_with("__torch__.")) {
    node->name = Name::kObject;
    return;
  }
  node->name = Name::kUnknown;
  node->text = concat(shown(module), ".", shown(function));
  count_copied(node->text.size() / 16);
}

std::string refusal_of(const Node& unknown) {
  return concat("the pickle names ", unknown.text,
                ", which is refused: only tensors, dictionaries, lists, tuples, strings and numbers are read; save "
                "the state_dict() alone");
}

void PickleMachine::call() {
  const Node* arguments = pop(Node::kTuple, "the arguments of a call");
  const Node* function = pop(Node::kName, "what is called");
  push(call(*function, arguments->items));
}

Node* PickleMachine::call(const Node& function, const std::vector<Node*>& arguments) {
  switch (function.name) {
    case Name::kOrderedDict: {
      Node* dict = make(Node::kDict);
      if (arguments.empty()) return dict;
      if (arguments.size() == 1 && arguments[0]->kind == Node::kDict) {
        copy_items(arguments[0]->items, dict);
        return dict;
      }
      expect(arguments.size() == 1 && arguments[0]->kind == Node::kList, "OrderedDict takes a list of pairs");
      for (const Node* pair : arguments[0]->items) {
        expect((pair->kind == Node::kTuple || pair->kind == Node::kList) && pair->items.size() == 2,
               "OrderedDict takes a list of pairs");
        copy_items(pair->items, dict);
      }
      return dict;
    }
    case Name::kRebuildTensor:
      return rebuild_tensor(arguments);
    case Name::kRebuildTyped:
      return rebuild_typed(arguments);
    case Name::kRebuildParameter:
      return rebuild_parameter(arguments);
    case Name::kSize:
      expect(arguments.size() == 1 && arguments[0]->kind == Node::kTuple, "torch.Size takes a tuple");
      return arguments[0];
    case Name::kTypeTag:
      expect(arguments.size() == 2, "restore_type_tag takes a value and a type");
      return arguments[0];
    case Name::kIntList:
    case Name::kDoubleList:
    case Name::kTensorList:
    case Name::kBoolList:
      return typed_list(function.name, arguments);
    case Name::kDevice: {
      const std::size_t count = arguments.size();
      constexpr std::size_t kMaxDevice = 32;  // the text is copied
      expect((count == 1 || (count == 2 && arguments[1]->kind == Node::kInt)) && arguments[0]->kind == Node::kString &&
                 arguments[0]->text.size() <= kMaxDevice,
             "torch.device takes a type and an index");
      Node* device = make(Node::kString);
      device->text = count == 1 ? arguments[0]->text : concat(arguments[0]->text, ":", arguments[1]->integer);
      return device;
    }
    case Name::kSet: {
      Node* list = make(Node::kList);
      if (arguments.empty()) return list;
      expect(arguments.size() == 1 && (arguments[0]->kind == Node::kList || arguments[0]->kind == Node::kTuple),
             "a set is not made of a list");
      copy_items(arguments[0]->items, list);
      return list;
    }
    case Name::kObject: {
      expect(arguments.empty(), "an object of LibTorch is made with arguments");
      Node* object = make(Node::kDict);
      object->typed = true;
      return object;
    }
    case Name::kUnknown: {
      Node* dict = make(Node::kDict);
      unknown_.emplace_back(dict, &function);
      return dict;
    }
    case Name::kStorageType:
    case Name::kDtype:
      break;
  }
  refuse("the pickle calls a class that cannot be called");
}

Node* PickleMachine::typed_list(Name type, const std::vector<Node*>& arguments) {
  expect(arguments.size() == 1 && arguments[0]->kind == Node::kList, "the functions of typed lists take a list");
  const Node::Kind kind = type == Name::kIntList      ? Node::kInt
                          : type == Name::kDoubleList ? Node::kDouble
                          : type == Name::kTensorList ? Node::kTensor
                                                      : Node::kBool;
  for (const Node* item : arguments[0]->items)
    expect(item->kind == kind, "a typed list has an element of another type");
  Node* list = make(Node::kList);
  copy_items(arguments[0]->items, list);
  list->name = type;
  list->typed = true;
  return list;
}

void check_bools(const Tensor& elements, const std::string& key, const std::string& file) {
  if (elements.dtype() != kBool) return;
  const auto* bytes = static_cast<const unsigned char*>(elements.data_ptr());
  for (int64_t i = 0; i < elements.numel(); ++i)
    check(bytes[i] <= 1, file, ": element ", i, " of the bool storage ", key, " is ", static_cast<int>(bytes[i]));
}

// ("storage", type, key, device, number of elements[, None])
void PickleMachine::persistent() {
  const Node* id = pop(Node::kTuple, "the description of a storage");
  const std::vector<Node*>& p = id->items;
  expect((p.size() == 5 || (p.size() == 6 && p[5]->kind == Node::kNone)) && p[0]->kind == Node::kString &&
             p[0]->text == "storage" && p[1]->kind == Node::kName && p[1]->name == Name::kStorageType &&
             p[2]->kind == Node::kString && p[3]->kind == Node::kString && p[4]->kind == Node::kInt &&
             p[4]->integer >= 0,
         "a storage is not described by its type, key, device and size");
  Node* node = make(Node::kStorage);
  node->tensor = storages_({static_cast<ScalarType>(p[1]->integer), p[2]->text, p[4]->integer});
  push(node);
}

// (storage, offset, sizes, strides, requires_grad, hooks[, metadata])
Node* PickleMachine::rebuild_tensor(const std::vector<Node*>& a) {
  expect(a.size() >= 6 && a.size() <= 7 && a[0]->kind == Node::kStorage && a[1]->kind == Node::kInt &&
             a[2]->kind == Node::kTuple && a[3]->kind == Node::kTuple && a[4]->kind == Node::kBool,
         "a tensor is not described by its storage, offset, sizes, strides and requires_grad");
  const std::vector<Node*>&sizes = a[2]->items, &strides = a[3]->items;
  expect(sizes.size() == strides.size() && sizes.size() <= static_cast<std::size_t>(kMaxDims),
         "a tensor has more than 12 dimensions, or not one stride per dimension");
  const Tensor& elements = a.size() == 7 ? marked(a[0]->tensor, *a[6]) : a[0]->tensor;
  // The last element, and the size in bytes as if no dimension were empty, so that no later product overflows.
  int64_t last = a[1]->integer, bytes = elements.element_size();
  Dims shape, steps;
  bool empty = false, fits = last >= 0;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    expect(sizes[d]->kind == Node::kInt && strides[d]->kind == Node::kInt && sizes[d]->integer >= 0 &&
               strides[d]->integer >= 0,
           "a size or a stride of a tensor is not an integer of at least 0");
    const int64_t size = sizes[d]->integer, stride = strides[d]->integer;
    int64_t reach = 0;
    fits = fits && !__builtin_mul_overflow(std::max<int64_t>(size, 1), bytes, &bytes) &&
           !__builtin_mul_overflow(std::max<int64_t>(size, 1) - 1, stride, &reach) &&
           !__builtin_add_overflow(last, reach, &last);
    empty = empty || size == 0;
    shape.push_back(size);
    steps.push_back(stride);
  }
  expect(fits && (empty ? a[1]->integer <= elements.numel() : last < elements.numel()),
         "a tensor reaches beyond its storage");
  NoGradGuard no_grad;
  Node* node = make(Node::kTensor);
  node->tensor = as_strided(elements, shape, steps, a[1]->integer);
  if (a[4]->integer != 0) {
    expect(is_differentiable(node->tensor.dtype()), "a tensor of integers requires a gradient");
    node->tensor.requires_grad_(true);
  }
  return node;
}

// (storage of bytes, offset, sizes, strides, requires_grad, hooks, dtype[, metadata]): for the
// dtypes of which PyTorch has no class of storages.
Node* PickleMachine::rebuild_typed(std::vector<Node*> a) {
  constexpr std::size_t kDtype = 6;
  expect(a.size() > kDtype && a[kDtype]->kind == Node::kName && a[kDtype]->name == Name::kDtype,
         "a tensor is not described by its storage, offset, sizes, strides, requires_grad and dtype");
  const auto dtype = static_cast<ScalarType>(a[kDtype]->integer);
  expect(a[0]->kind == Node::kStorage && a[0]->tensor.dtype() == kByte && a[0]->tensor.numel() % item_size(dtype) == 0,
         "a storage is not one of bytes for elements of its dtype");
  Node* storage = make(Node::kStorage);
  storage->tensor = a[0]->tensor.view(dtype);
  a[0] = storage;
  a.erase(a.begin() + kDtype);
  return rebuild_tensor(a);
}

// The metadata says what PyTorch has not computed yet: {"conj": True, "neg": True}. Computing it for the storage, not
// for its windows, keeps their strides, and is bounded by the file: a window can repeat an element endlessly.
const Tensor& PickleMachine::marked(const Tensor& elements, const Node& metadata) {
  if (metadata.kind == Node::kNone) return elements;
  expect(metadata.kind == Node::kDict, "the metadata of a tensor are not a dictionary");
  count_copied(metadata.items.size());  // many tensors may have the same large dictionary
  bool conjugate = false, negate = false;
  for (std::size_t i = 0; i < metadata.items.size(); i += 2) {
    const Node &key = *metadata.items[i], &on = *metadata.items[i + 1];
    expect(key.kind == Node::kString && (key.text == "conj" || key.text == "neg") && on.kind == Node::kBool,
           "a tensor has other metadata than conj and neg");
    (key.text == "conj" ? conjugate : negate) = on.integer != 0;
  }
  if (!conjugate && !negate) return elements;
  const ScalarType dtype = elements.dtype();
  expect(conjugate ? is_complex(dtype) : is_differentiable(dtype),
         "a tensor of this dtype cannot be conjugated or negated");
  Marked& found = marked_[{elements.storage().get(), dtype, conjugate, negate}];
  if (!found.values.defined()) {
    NoGradGuard no_grad;
    found = {elements, empty_like(elements)};
  }
  return found.values;
}

void PickleMachine::resolve() {
  for (const auto& [key, storage] : marked_) {
    const auto& [impl, dtype, conjugate, negate] = key;
    NoGradGuard no_grad;
    Tensor values = conjugate ? conj(storage.elements) : storage.elements;
    if (negate) values = neg(values);
    storage.values.copy_(values);
  }
}

// (tensor, requires_grad, hooks)
Node* PickleMachine::rebuild_parameter(const std::vector<Node*>& a) {
  expect(a.size() == 3 && a[0]->kind == Node::kTensor && a[1]->kind == Node::kBool,
         "a parameter is not described by a tensor and requires_grad");
  expect(a[1]->integer == 0 || is_differentiable(a[0]->tensor.dtype()), "a tensor of integers requires a gradient");
  Node* node = make(Node::kTensor);
  node->tensor = a[0]->tensor.detach();
  node->tensor.requires_grad_(a[1]->integer != 0);
  return node;
}

}  // namespace tandem::serialize::pt

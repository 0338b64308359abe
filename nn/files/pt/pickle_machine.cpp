// The stack machine of pickles: opcodes of protocols 2 to 5 (https://peps.python.org/pep-0307/, pep-3154, pep-0574).
#include <bit>
#include <cstring>

#include "tandem/nn/files/pt/pickle.h"

namespace tandem::serialize::pt {

const char* kind_name(Node::Kind kind) {
  constexpr const char* names[] = {"None",    "a bool",       "an int",  "a float",   "a str",   "a list",
                                   "a tuple", "a dictionary", "a class", "a storage", "a tensor"};
  return names[kind];
}

PickleMachine::PickleMachine(std::string_view pickle, const std::string& file, const StorageReader& storages)
    : rest_(pickle.substr(0, kMaxPickleBytes)), size_(rest_.size()), file_(file), storages_(storages) {}

void PickleMachine::refuse(const std::string& problem) const {
  fail(file_, ": ", problem, " (at byte ", size_ - rest_.size(), " of the pickle)");
}

std::string_view PickleMachine::take(uint64_t bytes) {
  expect(bytes <= rest_.size(), "the pickle is truncated, or longer than 64 MiB");
  const std::string_view taken = rest_.substr(0, bytes);
  rest_.remove_prefix(bytes);
  return taken;
}
uint64_t PickleMachine::number(int bytes) {
  uint64_t value = 0;  // the file and all supported machines are little-endian
  std::memcpy(&value, take(static_cast<uint64_t>(bytes)).data(), static_cast<std::size_t>(bytes));
  return value;
}
std::string_view PickleMachine::line() {
  const std::size_t end = rest_.find('\n');
  expect(end != std::string_view::npos, "the pickle is truncated, or longer than 64 MiB");
  const std::string_view text = take(end);
  take(1);
  return text;
}

Node* PickleMachine::make(Node::Kind kind) {
  expect(nodes_.size() < kMaxNodes, "the pickle has too many values");
  Node* node = &nodes_.emplace_back();
  node->kind = kind;
  return node;
}
Node* PickleMachine::make_int(int64_t value) {
  Node* node = make(Node::kInt);
  node->integer = value;
  return node;
}

Node* PickleMachine::pop() {
  expect(stack_.size() > (marks_.empty() ? 0 : marks_.back()), "the pickle takes a value from an empty stack");
  Node* node = stack_.back();
  stack_.pop_back();
  return node;
}
Node* PickleMachine::pop(Node::Kind kind, const char* what) {
  Node* node = pop();
  if (node->kind != kind) refuse(concat(what, " must be ", kind_name(kind), ", not ", kind_name(node->kind)));
  return node;
}
Node* PickleMachine::top(Node::Kind kind, const char* what) {
  Node* node = pop(kind, what);
  push(node);
  return node;
}
std::vector<Node*> PickleMachine::pop_to_mark() {
  expect(!marks_.empty(), "the pickle lacks a mark");
  const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
  std::vector<Node*> items(begin, stack_.end());
  stack_.erase(begin, stack_.end());
  marks_.pop_back();
  return items;
}
void PickleMachine::copy_items(const std::vector<Node*>& items, Node* node) {
  count_copied(items.size());
  node->items.insert(node->items.end(), items.begin(), items.end());
}
void PickleMachine::set_items(const std::vector<Node*>& items) {
  expect(items.size() % 2 == 0, "a dictionary has a key without a value");
  Node* dict = top(Node::kDict, "the target of an item");
  dict->items.insert(dict->items.end(), items.begin(), items.end());
}

void PickleMachine::put(uint64_t index) {
  expect(!stack_.empty(), "the pickle stores a value from an empty stack");
  memo_[index] = stack_.back();
  expect(memo_.size() <= kMaxNodes, "the pickle stores too many values");
}
void PickleMachine::get(uint64_t index) {
  const auto found = memo_.find(index);
  expect(found != memo_.end(), "the pickle recalls a value that it has not stored");
  push(found->second);
}

// None, numbers and strings.
bool PickleMachine::step_constant(unsigned char code) {
  const auto text = [this](uint64_t bytes) {
    const std::string_view taken = take(bytes);
    Node* node = make(Node::kString);
    node->text = taken;
    push(node);
  };
  switch (code) {
    case 'N':
      push(make(Node::kNone));
      return true;
    case 0x88:
    case 0x89:
      push(make(Node::kBool));
      stack_.back()->integer = code == 0x88;
      return true;
    case 'K':
      push(make_int(static_cast<int64_t>(number(1))));
      return true;
    case 'M':
      push(make_int(static_cast<int64_t>(number(2))));
      return true;
    case 'J':
      push(make_int(static_cast<int32_t>(number(4))));
      return true;
    case 0x8a: {  // a signed integer of any length
      const auto bytes = static_cast<int>(number(1));
      expect(bytes <= 8, "an integer does not fit in 64 bits");
      const uint64_t value = number(bytes);
      const int unused = 64 - 8 * bytes;
      push(make_int(bytes == 0 ? 0 : static_cast<int64_t>(value << unused) >> unused));
      return true;
    }
    case 'G': {
      const uint64_t bits = __builtin_bswap64(number(8));  // the only big-endian value
      push(make(Node::kDouble));
      stack_.back()->number = std::bit_cast<double>(bits);
      return true;
    }
    case 'X':
    case 'T':
      text(number(4));
      return true;
    case 0x8c:
    case 'U':
      text(number(1));
      return true;
    case 0x8d:
      text(number(8));
      return true;
    default:
      return false;
  }
}

bool PickleMachine::step_container(unsigned char code) {
  const auto tuple = [this](std::vector<Node*> items) {
    Node* node = make(Node::kTuple);
    node->items = std::move(items);
    push(node);
  };
  switch (code) {
    case '(':
      expect(marks_.size() < kMaxNodes, "the pickle has too many marks");
      marks_.push_back(stack_.size());
      return true;
    case ']':
      push(make(Node::kList));
      return true;
    case '}':
      push(make(Node::kDict));
      return true;
    case ')':
      tuple({});
      return true;
    case 't':
      tuple(pop_to_mark());
      return true;
    case 0x85:
    case 0x86:
    case 0x87: {
      std::vector<Node*> items(code - 0x84u);
      for (auto item = items.rbegin(); item != items.rend(); ++item) *item = pop();
      tuple(std::move(items));
      return true;
    }
    case 0x8f:  // a set
      push(make(Node::kList));
      return true;
    case 0x91: {  // a frozenset
      const std::vector<Node*> items = pop_to_mark();
      push(make(Node::kList));
      stack_.back()->items = items;
      return true;
    }
    case 'a':
    case 'e':
    case 0x90: {  // elements of a list or, the last one, of a set
      const std::vector<Node*> items = code == 'a' ? std::vector<Node*>{pop()} : pop_to_mark();
      Node* list = top(Node::kList, "the target of an element");
      list->items.insert(list->items.end(), items.begin(), items.end());
      return true;
    }
    case 's': {
      Node* value = pop();
      Node* key = pop();
      set_items({key, value});
      return true;
    }
    case 'u':
      set_items(pop_to_mark());
      return true;
    default:
      return false;
  }
}

bool PickleMachine::step_memo(unsigned char code) {
  switch (code) {
    case 'q':
      put(number(1));
      return true;
    case 'r':
      put(number(4));
      return true;
    case 0x94:
      put(memo_.size());
      return true;
    case 'h':
      get(number(1));
      return true;
    case 'j':
      get(number(4));
      return true;
    case '0':
      pop();
      return true;
    case '1':
      pop_to_mark();
      return true;
    default:
      return false;
  }
}

// Globals and what is done with them.
bool PickleMachine::step_object(unsigned char code) {
  switch (code) {
    case 0x80:
      expect(number(1) <= 5, "the pickle's protocol is above 5");
      return true;
    case 0x95:  // a frame: its length only helps readers of streams
      number(8);
      return true;
    case 'c': {
      const std::string_view module = line();
      name(module, line());
      return true;
    }
    case 0x93: {
      const Node* function = pop(Node::kString, "the name of a global");
      const Node* module = pop(Node::kString, "the module of a global");
      name(module->text, function->text);
      return true;
    }
    case 'R':
    case 0x81:  // cls.__new__(cls, *arguments)
      call();
      return true;
    case 'Q':
      persistent();
      return true;
    case 'b': {  // attributes; those of a state dict are the versions of its modules
      const Node* attributes = pop();
      Node* object = top(Node::kDict, "an object with attributes");
      if (!object->typed) return true;
      expect(attributes->kind == Node::kDict && attributes != object && object->items.empty(),
             "an object's attributes are not one dictionary");
      copy_items(attributes->items, object);
      return true;
    }
    default:
      return false;
  }
}

bool PickleMachine::step(unsigned char code) {
  return step_constant(code) || step_container(code) || step_memo(code) || step_object(code);
}

Node* PickleMachine::run() {
  for (;;) {
    const auto code = static_cast<unsigned char>(take(1)[0]);
    if (code == '.') break;
    if (!step(code)) refuse(concat("the pickle has an unsupported opcode, ", static_cast<int>(code)));
  }
  expect(stack_.size() == 1 && marks_.empty(), "the pickle does not end with one value");
  for (const auto& [made, by] : unknown_)
    if (made->items.empty()) refuse(refusal_of(*by));
  return stack_.back();
}

}  // namespace tandem::serialize::pt

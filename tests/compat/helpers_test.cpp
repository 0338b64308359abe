// Helpers beside tensors and modules: packed sequences, temporary files, queues of loaders, traits.
#include <doctest/doctest.h>
#include <torch/torch.h>

namespace rnn_utils = torch::nn::utils::rnn;
using torch::data::detail::DataShuttle;
using torch::data::detail::Queue;
using torch::data::detail::sequencers::NoSequencer;
using torch::data::detail::sequencers::OrderedSequencer;

TEST_CASE("an LSTM on packed sequences") {
  const auto sequences = {torch::ones({2, 3}), torch::ones({4, 3})};
  const rnn_utils::PackedSequence packed = rnn_utils::pack_sequence(sequences, /*enforce_sorted=*/false);
  torch::nn::LSTM lstm(torch::nn::LSTMOptions(3, 5).batch_first(true));
  const auto [output, state] = lstm->forward_with_packed_input(packed);
  const auto [padded, lengths] = rnn_utils::pad_packed_sequence(output, /*batch_first=*/true);
  CHECK(padded.sizes() == torch::IntArrayRef{2, 4, 5});
  CHECK(torch::equal(lengths, torch::tensor({2, 4})));
  CHECK(padded[0][3].abs().sum().item<float>() == 0);
}

TEST_CASE("temporary files and folders are removed at the end") {
  std::string file_name, folder_name;
  {
    c10::TempFile file = c10::make_tempfile("compat-");
    c10::TempDir folder = c10::make_tempdir();
    file_name = file.name;
    folder_name = folder.name;
    CHECK(file_name.find("/compat-") != std::string::npos);
    torch::save(torch::ones({2}), file.name);
    torch::Tensor back;
    torch::load(back, file.name);
    CHECK(back.numel() == 2);
    const c10::TempFile moved = std::move(file);
    CHECK(moved.name == file_name);
    CHECK(std::ifstream(folder_name).good());
  }
  CHECK_FALSE(std::ifstream(file_name).good());
  CHECK_FALSE(std::ifstream(folder_name).good());
  CHECK_FALSE(c10::try_make_tempfile("no/such/folder/").has_value());
  CHECK_THROWS_AS(c10::make_tempdir("no/such/folder/"), c10::Error);
}

TEST_CASE("the state of an optimizer by LibTorch's keys") {
  const torch::Tensor p = torch::ones({2}, torch::requires_grad());
  torch::optim::Adagrad optimizer({p});
  const auto key = c10::guts::to_string(p.unsafeGetTensorImpl());  // LibTorch 1
  CHECK(optimizer.state()[key] == optimizer.state().at(p.unsafeGetTensorImpl()));
  const std::string text = key;
  CHECK(text.starts_with("0x"));
  ska::flat_hash_map<std::string, int> numbers{{c10::to_string(3), c10::stoi("4")}};
  CHECK(numbers.at("3") == 4);
}

TEST_CASE("queues between threads") {
  Queue<std::unique_ptr<int>> queue;
  std::thread thread([&] { queue.push(std::make_unique<int>(7)); });
  CHECK(*queue.pop() == 7);
  thread.join();
  CHECK_THROWS_WITH_AS(queue.pop(std::chrono::milliseconds(2)),
                       "Timeout in DataLoader queue while waiting for next batch (timeout was 2 ms)", c10::Error);
  queue.push(nullptr);
  queue.push(nullptr);
  CHECK(queue.clear() == 2);
  CHECK(queue.clear() == 0);

  DataShuttle<int, std::string> shuttle;
  CHECK_FALSE(shuttle.pop_result().has_value());
  for (int job = 0; job < 3; ++job) shuttle.push_job(job);
  CHECK(shuttle.pop_job() == 0);
  CHECK(shuttle.in_flight_jobs() == 3);
  shuttle.push_result("zero");
  CHECK(shuttle.pop_result() == "zero");
  CHECK_THROWS_AS(shuttle.pop_result(std::chrono::milliseconds(1)), c10::Error);
  CHECK(shuttle.pop_job() == 1);
  shuttle.push_result("one");
  shuttle.drain();
  CHECK(shuttle.in_flight_jobs() == 0);
}

TEST_CASE("results in the order of their numbers") {
  struct Result {
    std::size_t sequence_number;
  };
  const std::vector<std::size_t> numbers{2, 0, 1, 3};
  std::size_t taken = 0;
  const auto produce = [&]() -> std::optional<Result> {
    if (taken == numbers.size()) return std::nullopt;
    return Result{numbers[taken++]};
  };
  OrderedSequencer<Result> ordered(4);
  std::vector<std::size_t> seen, reads;
  while (const auto result = ordered.next(produce)) {
    seen.push_back(result->sequence_number);
    reads.push_back(taken);
  }
  CHECK(seen == std::vector<std::size_t>{0, 1, 2, 3});
  CHECK(reads == std::vector<std::size_t>{2, 3, 3, 4});
  taken = 0;
  CHECK(NoSequencer<Result>().next(produce)->sequence_number == 2);
  OrderedSequencer<Result> small(2);
  CHECK_THROWS_AS(small.next([] { return Result{1}; }), c10::Error);
}

namespace {
struct Text : torch::nn::Module {
  std::string forward(torch::Tensor&, int) { return ""; }
};
template <class T>
constexpr bool takes_module(const T&) {
  return false;
}
template <class T>
torch::detail::enable_if_module_t<T, bool> constexpr takes_module(T&&) {
  return true;
}
}  // namespace

TEST_CASE("traits of modules") {
  static_assert(torch::detail::is_module<const Text&>::value && !torch::detail::is_module<int>::value);
  static_assert(std::is_same_v<torch::detail::return_type_of_forward_t<Text, torch::Tensor&, int>, std::string>);
  static_assert(std::is_void_v<torch::detail::return_type_of_forward_t<Text, int>>);
  static_assert(torch::detail::check_not_lvalue_references<int, const int&, int&&>());
  static_assert(!torch::detail::check_not_lvalue_references<int, int&>());
  CHECK(takes_module(Text()));
  CHECK_FALSE(takes_module(3));
  int sum = 0;
  torch::apply([&](int x) { sum += x; }, 1, 2, 4);
  CHECK(sum == 7);
}

TEST_CASE("the number of threads can be set at once") {
  torch::init_num_threads();
  torch::set_num_interop_threads(2);
  CHECK(torch::get_num_interop_threads() == 1);
}

// Parts of a data set: Subset has the examples at given indices, random_split divides a data set at random.
//
//   auto parts = data::random_split(data::datasets::FashionMNIST("fashion-mnist"), {0.9, 0.1}, Generator(42));
//   auto loader = data::make_data_loader(parts[0].map(data::transforms::Stack<>()), 64);
#pragma once
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "tandem/core/random/generator.h"
#include "tandem/datasets/dataset.h"

namespace tandem::data {
namespace datasets {
namespace detail {

/// The indices of a Subset. Throws Error unless each is in [0, size); without a size, if one is negative.
std::vector<size_t> subset_indices(ArrayRef<int64_t> indices, optional<size_t> size);
/// The elements of `indices` at the positions `at`. Throws IndexError.
std::vector<size_t> elements(const std::vector<size_t>& indices, ArrayRef<size_t> at);

/// The parts of random_split. Throws Error as it does.
std::vector<std::vector<int64_t>> random_parts(optional<size_t> size, const std::vector<int64_t>& counts,
                                               const optional<Generator>& generator);
std::vector<std::vector<int64_t>> random_parts(optional<size_t> size, const std::vector<double>& fractions,
                                               const optional<Generator>& generator);

}  // namespace detail

/// Example i is example indices[i] of another data set, which must take lists of indices. Copies, those in a loader's
/// workers included, share the data set instead of copying it, and so do the parts of a random_split: with workers,
/// its get and get_batch must be thread-safe, as for SharedBatchDataset.
template <typename SourceDataset>
class Subset : public BatchDataset<Subset<SourceDataset>, typename SourceDataset::BatchType> {
 public:
  using DatasetType = SourceDataset;
  using BatchType = typename SourceDataset::BatchType;
  static_assert(!SourceDataset::is_stateful, "Subset: a stateful data set has no indices");

  /// Throws Error on an index outside of the data set. One whose size is unknown only refuses negative indices.
  template <std::integral Index = int64_t>
  Subset(SourceDataset dataset, const std::vector<Index>& indices)
      : Subset(std::make_shared<SourceDataset>(std::move(dataset)), indices) {}
  template <std::integral Index = int64_t>
  Subset(std::shared_ptr<SourceDataset> dataset, const std::vector<Index>& indices)
      : dataset_(std::move(dataset)),
        indices_(std::make_shared<const std::vector<size_t>>(
            detail::subset_indices(std::vector<int64_t>(indices.begin(), indices.end()), dataset_->size()))) {}

  /// The example at position `index`, if the data set returns single examples. Throws IndexError.
  auto get(size_t index) requires requires(SourceDataset& source) { source.get(index); }
  { return dataset_->get(detail::elements(*indices_, index)[0]); }
  /// The examples at these positions. Throws IndexError.
  BatchType get_batch(ArrayRef<size_t> positions) override {
    return dataset_->get_batch(detail::elements(*indices_, positions));
  }
  /// The same as a stacked batch; MapDataset uses it.
  auto get_stacked(ArrayRef<size_t> positions) requires detail::Gathers<SourceDataset> {
    return dataset_->get_stacked(detail::elements(*indices_, positions));
  }
  optional<size_t> size() const override { return indices_->size(); }
  const SourceDataset& dataset() const noexcept { return *dataset_; }
  const std::vector<size_t>& indices() const noexcept { return *indices_; }

 private:
  std::shared_ptr<SourceDataset> dataset_;
  std::shared_ptr<const std::vector<size_t>> indices_;
};

}  // namespace datasets

using datasets::Subset;

/// Divides a data set at random into subsets that share it. `lengths` are either integers, the counts of their
/// examples, or of type double, their fractions: each subset then has the fraction of the size, rounded down, and the
/// first subsets get one of the remaining examples each. The order is that of randperm with `generator`, by default the
/// default generator, so that in GeneratorMode::kPyTorch the subsets are PyTorch's. Warns of fractions that leave a
/// subset empty. Throws Error if the size is unknown, on negative lengths, counts that do not sum to the size and
/// fractions that do not sum to 1.
template <typename SourceDataset, typename Length>
requires(std::integral<Length> || std::same_as<Length, double>) std::vector<Subset<SourceDataset>> random_split(
    SourceDataset dataset, const std::vector<Length>& lengths, const optional<Generator>& generator = nullopt) {
  using Number = std::conditional_t<std::integral<Length>, int64_t, double>;
  const auto parts =
      datasets::detail::random_parts(dataset.size(), std::vector<Number>(lengths.begin(), lengths.end()), generator);
  const auto shared = std::make_shared<SourceDataset>(std::move(dataset));
  std::vector<Subset<SourceDataset>> out;
  for (const std::vector<int64_t>& part : parts) out.emplace_back(shared, part);
  return out;
}
template <typename SourceDataset, typename Length>
std::vector<Subset<SourceDataset>> random_split(SourceDataset dataset, std::initializer_list<Length> lengths,
                                                const optional<Generator>& generator = nullopt) {
  return random_split(std::move(dataset), std::vector<Length>(lengths), generator);
}

}  // namespace tandem::data
